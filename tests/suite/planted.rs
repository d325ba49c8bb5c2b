//! Faults planted in one setup: `oneact doctor` finds each of them, and says what it is, where, and what to do.

use std::fs;

use rusqlite::Connection;

use crate::{doctor::examine, program::Root};

/// A fault to each of its parts, but for `WELL`.
const CATALOG: &str = r#"catalog = 1

[server.gone]
command = ["no-such-server"]

[server.plain]
command = ["./catalog.toml"]

[server.npm]
command = ["bin/npx", "server"]

[server.needy]
command = ["python3", "-SB", "servers/misbehaving.py", "good"]
env = { RECEIVED = "received", PIDS = "pids" }
env_pass = ["SPEECH_KEY"]

[server.noisy]
command = ["python3", "-SB", "servers/misbehaving.py", "noisy_start"]
env = { RECEIVED = "received", PIDS = "pids" }

[server.deaf]
command = ["python3", "-SB", "servers/misbehaving.py", "stubborn"]
env = { RECEIVED = "received", PIDS = "pids" }

[server.dumb]
command = ["python3", "-SB", "servers/misbehaving.py", "silent"]
env = { RECEIVED = "received", PIDS = "pids" }
startup_timeout = "1s"

[server.new]
command = ["python3", "-SB", "servers/misbehaving.py", "modern"]
env = { RECEIVED = "received", PIDS = "pids" }
protocol = "legacy"

[server.closed]
command = ["python3", "-SB", "servers/misbehaving.py", "closed"]
env = { RECEIVED = "received", PIDS = "pids" }

[capability.GONE]
mcp = { server = "gone", tool = "echo" }

[capability.PLAIN]
mcp = { server = "plain", tool = "echo" }

[capability.NPM]
mcp = { server = "npm", tool = "echo" }

[capability.NEEDY]
mcp = { server = "needy", tool = "echo" }

[capability.NOISY]
mcp = { server = "noisy", tool = "ecco" }

[capability.DEAF]
mcp = { server = "deaf", tool = "first" }
effects = { destructive = false }

[capability.DUMB]
mcp = { server = "dumb", tool = "echo" }

[capability.NEW]
mcp = { server = "new", tool = "echo" }

[capability.UNKNOWN]
mcp = { server = "closed", tool = "echo" }
defaults = { texts = "hi" }

[capability.DRIFT]
mcp = { server = "closed", tool = "echo" }
pin = "sha256:0000000000000000000000000000000000000000000000000000000000000000/00000000/-"

[capability.TYPO]
mcp = { server = "closed", tool = "echo" }
timout = "3s"

[capability.LOST]
mcp = { server = "nosy", tool = "echo" }

[capability.SCHEMA]
mcp = { server = "closed", tool = "echo" }
result = { kind = "metadata", schema = { type = "objekt" } }

[capability.WELL]
mcp = { server = "noisy", tool = "echo" }
"#;

/// Whose fault it is, its name, words of its explanation, and words of what to do.
const FAULTS: [[&str; 4]; 16] = [
    [
        "ledger",
        "ledger_unusable",
        "is not a ledger: ",
        "name another ledger with `[ledger] uri`",
    ],
    [
        "gone",
        "command_missing",
        "in no directory of PATH",
        "into [server.gone]",
    ],
    [
        "plain",
        "command_not_executable",
        "not a program that this user may execute",
        "chmod +x",
    ],
    [
        "npm",
        "cold_start",
        "download it, at every start",
        "install the package",
    ],
    [
        "needy",
        "variable_unset",
        "needs the environment variable SPEECH_KEY",
        "export SPEECH_KEY",
    ],
    ["noisy", "noise", "2 lines", "log to stderr"],
    [
        "NOISY",
        "tool_missing",
        "no tool `ecco`",
        "did you mean `echo`?",
    ],
    [
        "deaf",
        "end_ignored",
        "after its stdin was closed",
        "`shutdown_grace`",
    ],
    [
        "DEAF",
        "effects_better",
        "`destructive = false`, but the server says true",
        "`effects` of [capability.DEAF]",
    ],
    [
        "dumb",
        "server_failed",
        "not ready after 1 s",
        "start it by hand to see the error: cd ",
    ],
    [
        "new",
        "server_failed",
        "set `protocol = \"modern\"` in [server.new]",
        "start it by hand to see the error: cd ",
    ],
    [
        "UNKNOWN",
        "parameter_unknown",
        "refuses the parameter `texts`",
        "did you mean `text`?",
    ],
    [
        "DRIFT",
        "tool_changed",
        "does not match its pin",
        "write the new pin into [capability.DRIFT]",
    ],
    [
        "TYPO",
        "entry_unusable",
        "unknown key `timout`; did you mean `timeout`?",
        "correct the entry",
    ],
    [
        "LOST",
        "entry_unusable",
        "the catalog has no [server.nosy]; did you mean `noisy`?",
        "correct the entry",
    ],
    [
        "SCHEMA",
        "entry_unusable",
        "correct it at `/type`: \"objekt\"",
        "correct the entry",
    ],
];

#[test]
fn every_fault_of_a_setup_is_found_and_explained_in_one_examination() {
    let root = Root::with_catalog(CATALOG);
    fs::create_dir(root.path.join(".oneact")).unwrap();
    let foreign = Connection::open(root.path.join(".oneact/ledger.db")).unwrap();
    foreign
        .execute_batch("CREATE TABLE customers (id)")
        .unwrap();
    let diagnosis = examine(&root, &[]);
    assert_eq!(diagnosis.exit, 1);
    for [whose, name, what, remedy] in FAULTS {
        let found = diagnosis.all(name).into_iter();
        let mut found = found.filter(|found| {
            let subject = &found["subject"];
            subject["name"] == whose || subject["kind"] == whose
        });
        let fault = found
            .next()
            .unwrap_or_else(|| panic!("no {name} of {whose} in {}", diagnosis.report));
        let says = |key: &str, word: &str| fault[key].as_str().unwrap().contains(word);
        assert!(says("what", what) && says("remedy", remedy), "{fault}");
        // A mistake in the file is told with its line.
        let place = format!("{}/catalog.toml:", root.path);
        assert_eq!(says("what", &place), name == "entry_unusable", "{fault}");
    }
}

#[test]
fn what_can_be_used_in_spite_of_the_faults_is_told() {
    let diagnosis = examine(&Root::with_catalog(CATALOG), &[]);
    let not_ready = &diagnosis.report["not_ready"];
    let fine = ["DEAF", "WELL"];
    let faulty = [
        "GONE", "PLAIN", "NPM", "NEEDY", "NOISY", "DUMB", "NEW", "UNKNOWN", "DRIFT", "TYPO",
        "LOST", "SCHEMA",
    ];
    let is_told = |id: &str| not_ready.as_array().unwrap().iter().any(|told| told == id);
    assert!(faulty.iter().all(|id| is_told(id)), "{not_ready}");
    assert!(!fine.iter().any(|id| is_told(id)), "{not_ready}");
}
