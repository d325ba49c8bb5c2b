//! Pipelines: how they are read, what is refused, and how they are listed.

use std::time::Duration;

use crate::{
    catalog::{Catalog, Executor, check, pipelines, plan_entry},
    task::{Argument, Network, Pipeline, PipelineApproval},
};

use super::{BEGINNING, cut};

/// What a test adds to this stands on line 8.
const PIPELINE: &str = "[pipeline.nightly]\ncommand = [\"make\", \"{day}\"]\n";
const DAY: &str = "parameters = { type = \"object\", required = [\"day\"], properties = { day = { type = \"string\" } } }\n";

fn bounds(catalog: &str) -> Result<Vec<Pipeline>, String> {
    let catalog = Catalog::from_text(catalog);
    let entry = plan_entry(&catalog.tables().unwrap()).map_err(|failure| failure.message)?;
    Ok(entry.bounds.pipelines)
}

#[test]
fn a_pipeline_is_read_with_its_defaults_r_001_172() {
    let pipelines = bounds(&cut(&format!("{PIPELINE}{DAY}"))).unwrap();
    let [pipeline] = pipelines.as_slice() else {
        panic!("{pipelines:?}")
    };
    let argv = [
        Argument::Fixed("make".to_owned()),
        Argument::Parameter("day".to_owned()),
    ];
    assert_eq!(pipeline.command, argv);
    assert_eq!(pipeline.timeout, Duration::from_mins(5));
    assert_eq!(pipeline.network, Network::Refused);
    assert_eq!(pipeline.approval, PipelineApproval::NotNeeded);
    assert_eq!(pipeline.catalog, "catalog.toml");
    assert!(pipeline.writes.is_empty());
    let other = bounds(&cut(&format!("{PIPELINE}{DAY}network = true\n"))).unwrap();
    assert_ne!(pipeline.seal, other[0].seal);
    assert!(bounds(BEGINNING).unwrap().is_empty());
}

#[test]
fn a_plan_waits_for_a_pipeline_by_its_effects() {
    use PipelineApproval::{Needed, NotNeeded};
    let harmless = "effects = { destructive = false, idempotent = true, open_world = false }\n";
    for (more, approval) in [
        ("", NotNeeded),
        ("approval = { when = \"always\" }\n", Needed),
        ("approval = { when = \"risk >= high\" }\n", Needed),
        (
            "[defaults]\napproval = { when = \"risk >= high\" }\n",
            Needed,
        ),
        (
            "approval = { when = \"never\" }\n[defaults]\napproval = { when = \"always\" }\n",
            NotNeeded,
        ),
        (
            &format!("{harmless}approval = {{ when = \"risk >= medium\" }}\n"),
            NotNeeded,
        ),
    ] {
        let pipelines = bounds(&cut(&format!("{PIPELINE}{DAY}{more}"))).unwrap();
        assert_eq!(pipelines[0].approval, approval, "{more}");
    }
}

#[test]
fn what_is_wrong_in_a_pipeline_has_its_line_and_a_remedy_c_23() {
    let plain = |more: &str| format!("[pipeline.p]\ncommand = [\"make\"]\n{more}\n");
    let taking = |command: &str| format!("[pipeline.p]\ncommand = {command}\n{DAY}");
    for (lines, line, why) in [
        ("[pipeline.p]\n".to_owned(), 6, "`command` is missing"),
        (
            "[pipeline.p]\ncommand = []\n".to_owned(),
            7,
            "must name a program",
        ),
        (
            "[pipeline.p]\ncommand = \"make all\"\n".to_owned(),
            7,
            "write an array in [ ]",
        ),
        (plain("writs = []"), 8, "did you mean `writes`?"),
        (
            taking("[\"{day}\"]"),
            7,
            "must begin with the program itself",
        ),
        (taking("[\"make\"]"), 7, "no argument is `{day}`"),
        (
            taking("[\"make\", \"--day={day}\"]"),
            7,
            "must be an argument of its own",
        ),
        (
            taking("[\"make\", \"{dya}\", \"{day}\"]"),
            7,
            "did you mean `{day}`?",
        ),
        (
            plain("parameters = { properties = {} }"),
            8,
            "add type = \"object\"",
        ),
        (
            plain("parameters = { type = \"object\", properties = { root = {} } }"),
            8,
            "cannot be called `root`",
        ),
        (
            plain("parameters = { type = \"object\", properties = { day = {} } }"),
            8,
            "give it a `default`",
        ),
        (plain("timeout = \"2h\""), 8, "at most one hour"),
        (
            plain("env_pass = [\"TMPDIR\"]"),
            6,
            "oneact itself sets `TMPDIR`",
        ),
        (
            plain("env_pass = [\"A=B\"]"),
            6,
            "no variable can have the name",
        ),
        (
            plain("approval = { quorum = 2 }"),
            8,
            "unknown key `quorum`",
        ),
        (
            "[pipeline.\"a b\"]\ncommand = [\"make\"]\n".to_owned(),
            6,
            "has a name that no plan can write",
        ),
        (
            "[pipeline.cut]\ncommand = [\"make\"]\n".to_owned(),
            6,
            "has the id of a capability",
        ),
    ] {
        let message = bounds(&cut(&lines)).unwrap_err();
        assert!(
            message.starts_with(&format!("catalog.toml:{line}: ")),
            "{message}"
        );
        assert!(message.contains(why), "{message} does not say {why}");
    }
}

#[test]
fn a_pipeline_writes_to_directories_that_are_not_oneacts() {
    let writes = |dir: &str| {
        bounds(&cut(&format!(
            "[pipeline.p]\ncommand = [\"make\"]\nwrites = [\"{dir}\"]\n"
        )))
    };
    for good in [
        "out/**",
        "a/b c/**",
        "agent_outputs/assets/**",
        "reports/**",
    ] {
        assert!(writes(good).is_ok(), "{good}");
    }
    for bad in [
        "**",
        "out",
        "out/*",
        "/out/**",
        "../out/**",
        "a/../b/**",
        "o?t/**",
        "a/**/**",
        ".oneact/**",
        ".ONEACT/x/**",
        "agent_outputs/**",
        "agent_outputs/reports/**",
        "x/agent_outputs/reports/y/**",
        "agent_logs/**",
        "agent_logs/executor/**",
    ] {
        let message = writes(bad).unwrap_err();
        assert!(message.starts_with("catalog.toml:8: "), "{message}");
        assert!(message.contains("`writes`"), "{message}");
    }
}

#[test]
fn programs_of_pipelines_count_as_programs_that_plans_may_not_change() {
    let catalog = Catalog::from_text(&cut(
        "[pipeline.p]\ncommand = [\"{root}/bin/run\", \"scripts/load.py\"]\n",
    ));
    let entry = plan_entry(&catalog.tables().unwrap()).unwrap();
    let programs = entry.bounds.protection.executes.unwrap().programs;
    for program in ["bin/run", "scripts/load.py"] {
        assert!(programs.iter().any(|path| path == program), "{programs:?}");
    }
}

#[test]
fn check_names_an_error_of_a_pipeline_once_and_list_has_the_others() {
    let broken = cut("[capability.apply_file_plan.file_plan]\n[pipeline.p]\ncommand = []\n");
    let catalog = Catalog::from_text(&broken);
    let checked = check(&catalog.tables().unwrap(), &[]);
    let problems: Vec<_> = checked
        .problems
        .iter()
        .map(|problem| &problem.text)
        .collect();
    assert_eq!(problems.len(), 1, "{problems:?}");
    let schema = cut(&format!(
        "{PIPELINE}{}",
        DAY.replace("\"string\"", "\"strin\"")
    ));
    let catalog = Catalog::from_text(&schema);
    let checked = check(&catalog.tables().unwrap(), &[]);
    assert!(
        checked.problems[0].text.contains("does not compile"),
        "{:?}",
        checked.problems
    );
    let catalog = Catalog::from_text(&cut(&format!("{PIPELINE}{DAY}")));
    let listed = pipelines(&catalog.tables().unwrap()).unwrap();
    assert!(
        matches!(&listed[0].executor, Executor::Pipeline(pipeline) if pipeline.name == "nightly")
    );
}
