//! What the doctor finds out without a start, what it leaves out after a problem, and whom a problem concerns.

use std::{fs, os::unix::fs::PermissionsExt as _};

use camino::Utf8Path;

use super::{
    server::{by_hand, of_it, startable},
    *,
};
use crate::host::Program;

/// The server `s` of a catalog, as it can be started in a new root in which `prepare` made something.
fn found(server: &str, prepare: impl FnOnce(&Utf8Path)) -> Result<String, Vec<Finding>> {
    let text = format!("catalog = 1\n[server.s]\n{server}\n");
    let catalog = Catalog::from_bytes(Utf8Path::new("catalog.toml"), text.into()).unwrap();
    let checked = check(&catalog.tables().unwrap(), &[]);
    let dir = tempfile::tempdir().unwrap();
    let root = Utf8Path::from_path(dir.path()).unwrap();
    prepare(root);
    let started = startable(&checked.servers[0], root, root)?;
    Ok(started.1.replace(root.as_str(), "ROOT"))
}

fn kinds(found: Result<String, Vec<Finding>>) -> Vec<FindingKind> {
    let findings = found.unwrap_err().into_iter();
    findings.map(|finding| finding.kind).collect()
}

#[test]
fn after_a_problem_of_a_server_the_later_checks_are_left_out() {
    let variables = "env_pass = [\"ONEACT_UNSET_1\", \"ONEACT_UNSET_2\"]\n";
    let (place, command) = ("cwd = \"nowhere\"\n", "command = [\"no-such-program\"]");
    assert_eq!(
        kinds(found(&[variables, place, command].concat(), |_| ())),
        [FindingKind::VariableUnset, FindingKind::VariableUnset]
    );
    assert_eq!(
        kinds(found(&[place, command].concat(), |_| ())),
        [FindingKind::DirectoryMissing]
    );
    assert_eq!(kinds(found(command, |_| ())), [FindingKind::CommandMissing]);
}

#[test]
fn a_program_has_to_be_there_and_executable() {
    let command = "command = [\"bin/tool\"]";
    let with = |mode| {
        found(command, |root| {
            fs::create_dir(root.join("bin")).unwrap();
            fs::write(root.join("bin/tool"), "").unwrap();
            let mode = fs::Permissions::from_mode(mode);
            fs::set_permissions(root.join("bin/tool"), mode).unwrap();
        })
    };
    assert_eq!(with(0o755).unwrap(), "ROOT/bin/tool");
    assert_eq!(kinds(with(0o644)), [FindingKind::CommandNotExecutable]);
    let missing = found(command, |_| ()).unwrap_err().remove(0);
    assert!(
        missing
            .what
            .starts_with("its command bin/tool does not exist (oneact looked for /")
    );
    assert!(missing.remedy.unwrap().ends_with("into [server.s]"));
    // Only of a name that is looked up, the places of the search help.
    assert!(missing.detail.is_empty());
    let looked_up = found("command = [\"no-such-program\"]", |_| ());
    assert!(looked_up.unwrap_err()[0].detail[0].starts_with("PATH="));
}

#[test]
fn a_problem_concerns_the_tasks_that_use_what_is_wrong() {
    let capability = |id: &str, server: Option<&str>| Capability {
        id: id.to_owned(),
        server: server.map(str::to_owned),
    };
    let not_ready = |subject: Subject| {
        let diagnosis = Diagnosis {
            findings: vec![subject.problem(FindingKind::EntryUnusable, "w", "r")],
            capabilities: vec![
                capability("A", Some("s")),
                capability("B", Some("t")),
                capability("PLAN", None),
            ],
            ..Diagnosis::default()
        };
        diagnosis.not_ready().join(" ")
    };
    for (subject, ids) in [
        (Subject::of(About::Ledger), "A B PLAN"),
        (Subject::of(About::Storage), "A B PLAN"),
        (Subject::of(About::Plans), "PLAN"),
        (Subject::named(About::Pipeline, "p"), "PLAN"),
        (Subject::of(About::Duckdb), ""),
        (Subject::named(About::Server, "t"), "B"),
        (Subject::named(About::Capability, "A"), "A"),
    ] {
        assert_eq!(not_ready(subject.clone()), ids, "{subject}");
    }
    let warning = Subject::of(About::Ledger).warning(FindingKind::SignKeyUnusable, "w", "r");
    let warned = Diagnosis {
        findings: vec![warning],
        capabilities: vec![capability("A", Some("s"))],
        ..Diagnosis::default()
    };
    assert!(warned.not_ready().is_empty());
}

#[test]
fn a_finding_names_its_subject_once_and_hides_secrets() {
    let about = Subject::named(About::Server, "s");
    let (subject, entry) = (about.to_string(), about.entry());
    assert_eq!(
        (subject.as_str(), entry.as_str()),
        ("server s", "[server.s]")
    );
    assert_eq!(Subject::of(About::Scratch).entry(), "");
    for (text, told) in [
        ("server `s`: it is gone", "it is gone"),
        ("server `s` was not ready", "it was not ready"),
        ("another server", "another server"),
    ] {
        assert_eq!(of_it(text, "s"), told);
    }
    let finding = about.problem(FindingKind::ServerFailed, "hunter22", "try hunter22");
    let finding = finding.with(vec!["said hunter22".to_owned()]);
    let shown = finding.without(&Secrets::new(["hunter22".to_owned()]));
    assert_eq!(
        (shown.what, shown.remedy, shown.detail),
        (
            "***".to_owned(),
            Some("try ***".to_owned()),
            vec!["said ***".to_owned()]
        )
    );
}

#[test]
fn a_server_can_be_started_by_hand_with_the_words_that_are_shown() {
    let argv = ["run", "--name=a b", "it's", ""].map(str::to_owned);
    let program = Program::new(argv.into(), "/srv/my app".into(), Vec::new());
    assert_eq!(
        by_hand(&program),
        r"cd '/srv/my app' && run '--name=a b' 'it'\''s' ''"
    );
}
