//! `oneact doctor`: every planted fault is found, and explained with what to do.

mod servers;
mod setup;

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    process::{Command, Stdio},
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::program::{Root, signal_child, text, until};

/// The server of one mode of `misbehaving.py`, with more lines of its entry.
fn server(mode: &str, more: &str) -> String {
    format!(
        "[server.s]\ncommand = [\"python3\", \"-SB\", \"servers/misbehaving.py\", \"{mode}\"]\n\
         env = {{ RECEIVED = \"received\", PIDS = \"pids\" }}\n{more}\n"
    )
}

/// A capability on its tool `echo`.
const ECHO: &str = "[capability.C]\nmcp = { server = \"s\", tool = \"echo\" }\n";

fn root(parts: &[&str]) -> Root {
    Root::with_catalog(&format!("catalog = 1\n{}", parts.join("\n")))
}

/// What `oneact doctor --json` found.
pub(crate) struct Diagnosis {
    pub(crate) exit: i32,
    pub(crate) report: Value,
}

pub(crate) fn examine(root: &Root, words: &[&str]) -> Diagnosis {
    examine_by(root.command(), root, words)
}

fn examine_by(mut program: Command, root: &Root, words: &[&str]) -> Diagnosis {
    let output = program.args(["doctor", "--json"]).args(words).output();
    let output = output.unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let schema = include_str!("../../schemas/doctor.schema.json");
    let schema = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let misfits: Vec<String> = validator
        .iter_errors(&report)
        .map(|error| error.to_string())
        .collect();
    assert_eq!(misfits, Vec::<String>::new(), "{report}");
    assert_eq!(root.processes(), Vec::<i32>::new());
    assert_eq!(root.scratch().next(), None);
    Diagnosis {
        exit: output.status.code().unwrap(),
        report,
    }
}

impl Diagnosis {
    /// The findings of that name.
    pub(crate) fn all(&self, name: &str) -> Vec<&Value> {
        let findings = self.report["findings"].as_array().unwrap().iter();
        findings
            .filter(|finding| finding["finding"] == name)
            .collect()
    }

    /// The only finding of that name: its texts hold these words.
    fn says(&self, name: &str, level: &str, words: &[&str]) {
        let found = self.all(name);
        assert_eq!(found.len(), 1, "{name}: {}", self.report);
        assert_eq!(found[0]["level"], level);
        for word in words {
            assert!(found[0].to_string().contains(word), "{word}: {}", found[0]);
        }
        assert!(level == "good" || found[0]["remedy"].is_string());
    }
}

/// One server of that mode with one capability: its exit code and report.
fn planted(mode: &str, more: &str, entry: &str) -> Diagnosis {
    examine(&root(&[&server(mode, more), entry]), &[])
}

#[test]
fn a_sound_setup_is_well_and_its_servers_are_described() {
    let diagnosis = planted("good", "", ECHO);
    assert_eq!(
        (diagnosis.exit, &diagnosis.report["verdict"]),
        (0, &json!("well"))
    );
    let server = &diagnosis.report["servers"][0];
    let tools = server["tools"].as_array().unwrap().iter();
    let names: Vec<&Value> = tools.map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["first", "echo", "remote"]);
    assert_eq!(server["server_name"], "misbehaving");
    assert_eq!(
        (&server["era"], &server["ended"]),
        (&json!("legacy"), &json!("exit code 0"))
    );
    diagnosis.says("tool_good", "good", &["echo"]);
}

#[test]
fn no_tool_is_ever_called() {
    let root = root(&[&server("good", ""), ECHO]);
    examine(&root, &[]);
    let received = fs::read_to_string(root.path.join("received")).unwrap();
    assert!(received.contains("tools/list"));
    assert!(!received.contains("tools/call"), "{received}");
}

#[test]
fn ctrl_c_ends_the_examination_and_the_server_it_has_started() {
    let interrupted = |arguments: &[&str]| {
        let root = root(&[&server("silent", ""), ECHO]);
        let mut command = root.command();
        command.args(arguments).stdin(Stdio::null());
        let child = command.spawn().unwrap();
        until("the server is greeted", || {
            let received = fs::read_to_string(root.path.join("received")).ok()?;
            received.contains("initialize").then_some(())
        });
        signal_child(&child, Signal::INT);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{arguments:?}");
        root.assert_untouched();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    assert_eq!(interrupted(&["doctor", "--json"])["verdict"], "interrupted");
    let checked = interrupted(&["catalog", "check", "--live", "--json"]);
    assert_eq!(checked["entries"], 1);
}

#[test]
fn people_get_marks_and_remedies_on_eighty_columns_and_no_colour_in_a_pipe() {
    let entry = "[capability.C]\nmcp = { server = \"s\", tool = \"ecco\" }\n";
    let root = root(&[&server("noisy_start", ""), entry]);
    let output = root.command().arg("doctor").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = text(&*output.stdout);
    let has = |start: &str| said.lines().any(|line| line.starts_with(start));
    assert!(
        has("✓ server s: ") && has("! server s: ") && has("✗ capability C: "),
        "{said}"
    );
    assert!(
        has("  | Loading model...") && has("  → did you mean `echo`?"),
        "{said}"
    );
    assert!(
        said.ends_with(
            "\nProblems: 1, warnings: 1.\nReady: 0 of 1 capabilities. Not ready: C. Tasks that name one of these\ncapabilities fail until it is set up; all other tasks can be performed.\n"
        ),
        "{said}"
    );
    assert!(!said.contains('\x1b'));
    let wide = |line: &&str| line.chars().count() > 80 && line.trim().contains(' ');
    assert_eq!(said.lines().find(wide), None);
}
