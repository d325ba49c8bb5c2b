//! `oneact -v`: every decision of a run, told in the order of events, and no secret among them.

use serde_json::{Value, json};

use crate::program::{Answer, Root, run};

/// A run that tells what it decides.
fn told(root: &Root, task: &Value) -> Answer {
    let mut command = root.command();
    command.arg("-v").env_remove("ONEACT_ROOT");
    run(command, task.to_string().as_bytes())
}

/// The sentences are there, in this order.
fn tells(answer: &Answer, sentences: &[&str]) {
    let mut rest = answer.stderr.as_str();
    for sentence in sentences {
        let at = rest.find(sentence);
        let at = at.unwrap_or_else(|| panic!("no {sentence:?} in\n{rest}\nof\n{}", answer.stderr));
        rest = &rest[at + sentence.len()..];
    }
}

/// Converts, transcribes as a second attempt, and caches with a secret.
fn chain() -> Value {
    json!({
        "task_id": "task_1", "action": "Transcribe it in ms", "attempt": 2,
        "capability_ids": ["CAP-PRE-001", "CAP-AUD-001", "CAP-DAT-003"],
        "input_refs_resolved": [{"ref_id": "store_1", "status": "stored",
            "storage_uri": "s3://bucket/speech.mp4?X-Amz-Signature=0123456789abcdef"}],
        "output_refs_expected": ["derived_3"],
        "parameters": {
            "CAP-PRE-001": {"target_format": "wav"},
            "CAP-DAT-003": {"credentials": {"token": "hunter2-hunter2"}},
        },
    })
}

#[test]
fn a_chain_is_told_from_its_root_to_its_end() {
    let root = Root::new();
    let answer = told(&root, &chain());
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    tells(
        &answer,
        &[
            "the nearest directory upwards with a catalog.toml",
            "The catalog is ",
            "The state directory is ",
            "Read task \"task_1\", attempt 2",
            "The message names no session; oneact created one",
            "CAP-PRE-001 is the tool format_converter of server media-processing (",
            "catalog.toml:",
            "The context AGENT_AUTONOMOUS may perform this; the risk is ",
            "Resolved input_ref store_1.",
            "CAP-PRE-001 takes from the task: target_format.",
            "Took language = \"ms\" from the action text.",
            "CAP-AUD-001 takes from its defaults: timestamps.",
            "Raised the timeout from 60s to 90s for attempt 2.",
            "Set beam_size to 1 for attempt 2.",
            "CAP-PRE-001 makes task_1_step_1.wav, which later capabilities use.",
            "CAP-AUD-001 makes derived_3.json, which is stored.",
            "CAP-PRE-001 gets input_uri from input.uri.",
            "The parameters of CAP-PRE-001 fit its schema (",
            "CAP-DAT-003 has no parameter schema",
            "Input store_1 could not be checked",
            "format_converter may say nothing for 60s (",
            "Server media-processing is started: python3 ",
            "is asked in the legacy era first: it was not met before",
            "Server media-processing speaks MCP 2025-11-25.",
            "The answer is a success",
            "Took task_1_step_1 from the file it was told to write.",
            "is valid WAV",
            "transcriber may say nothing for 90s (",
            "is asked in the legacy era first: it spoke that era before",
        ],
    );
    tells(
        &answer,
        &[
            "The call of transcriber took ",
            "Took derived_3 from structured content.",
            "goes into the answer",
            "Stored derived_3, ",
            "The arguments fit the server's own schema of context_cacher.",
            "The run ends: state \"done\", phase \"complete\", effect \"done\".",
        ],
    );
}

#[test]
fn no_secret_and_no_presign_part_is_told() {
    let root = Root::new();
    let answer = told(&root, &chain());
    tells(&answer, &["CAP-DAT-003 takes from the task: credentials."]);
    for secret in ["hunter2", "0123456789abcdef"] {
        assert!(!answer.stderr.contains(secret), "{}", answer.stderr);
    }
}

#[test]
fn a_failure_is_told_with_the_rule_that_knew_it_and_who_says_whether_to_try_again() {
    let root = Root::new();
    let on = |capability: &str, word: &str| {
        json!({
            "task_id": "task_1", "capability_ids": [capability],
            "input_refs_resolved": [{"ref_id": "store_1", "status": "stored",
                "storage_uri": format!("s3://bucket/{word}.mp4")}],
        })
    };
    tells(
        &told(&root, &on("CAP-VIS-001", "dark")),
        &[
            "is spoken to in the modern era, as `protocol` says",
            "The answer does not fulfil the success rule on `/success`: a failure.",
            "The failure is tool_error, recoverable: false, by `on_failure`: no rule knows its words.",
            "Stopped by tool_error; a retry does not help: object_detector failed",
            "effect \"done\"",
        ],
    );
    tells(
        &told(&root, &on("CAP-VIS-003", "prose")),
        &[
            "The answer matches the failure rule \"(?i)^sorry",
            "Stopped by rate_limited; a retry does not help",
        ],
    );
    tells(
        &told(&root, &on("CAP-VIS-001", "corrupt")),
        &[
            "The answer says `isError`: a failure.",
            "The failure is input_corrupt, recoverable: ",
            "by the built-in table of texts.",
        ],
    );
}

#[test]
fn a_task_that_is_refused_is_told_too_and_so_is_who_named_the_root() {
    let root = Root::new();
    let mut command = root.command();
    command
        .args(["-v", "--catalog", "catalog.toml"])
        .env("ONEACT_ROOT", &root.path)
        .env("ONEACT_STATE_DIR", "state");
    let answer = run(
        command,
        br#"{"task_id": "t", "capability_ids": ["CAP-ACQ-099"]}"#,
    );
    tells(
        &answer,
        &[
            "as ONEACT_ROOT says",
            "as --catalog says",
            "as ONEACT_STATE_DIR says",
            "Read task \"t\"",
            "Stopped by unknown_capability; a retry does not help",
            "The run ends: state \"rejected\", phase \"catalog\", effect \"none\".",
        ],
    );
}
