//! What `scripts/setup-tests` installs, and calls of it through a catalog.

use std::{os::unix::fs::symlink, process::Command};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

use crate::program::{Answer, Root, fresh, run};

/// A file or directory among the test servers.
#[expect(
    clippy::disallowed_methods,
    reason = "scripts/setup-tests reads it too"
)]
pub(crate) fn installed(path: &str) -> Utf8PathBuf {
    let home = Utf8Path::new(env!("CARGO_MANIFEST_DIR"));
    let servers = std::env::var("ONEACT_TEST_SERVERS");
    let place = home
        .join(servers.as_deref().unwrap_or("target/test-servers"))
        .join(path);
    assert!(
        place.exists(),
        "{place} is missing; run scripts/setup-tests"
    );
    place
}

/// An entry for a tool of a server, named as the tool.
pub(crate) fn entry(server: &str, tool: &str, more: &str) -> String {
    format!(
        "[capability.{tool}]\nmcp = {{ server = \"{server}\", tool = \"{tool}\" }}\n\
         effects = {{ read_only = true }}\n{more}\n"
    )
}

/// A task for that capability, with these parameters; nothing of it is left behind.
pub(crate) fn call(root: &Root, tool: &str, parameters: &Value) -> Answer {
    let task = json!({
        "dispatch": {"task_id": "task_1", "capability_ids": [tool], "parameters": parameters, "salt": fresh()},
        "metadata": {"session_id": "sess-1", "request_id": fresh()},
    });
    let answer = run(root.command(), task.to_string().as_bytes());
    assert_eq!(root.processes(), Vec::<i32>::new(), "of {tool}");
    assert_eq!(root.scratch().next(), None, "of {tool}");
    answer
}

/// A root with the shipped catalog, the recipes of docs/families.md and the example servers.
pub(crate) fn families() -> Root {
    families_but(str::to_owned)
}

/// The same with a catalog that is changed a little.
pub(crate) fn families_but(change: impl FnOnce(&str) -> String) -> Root {
    let recipes = include_str!("../../docs/families.md").split("```toml\n");
    let recipes = recipes.skip(1).filter_map(|part| part.split("```").next());
    let shipped = include_str!("../../catalog.toml");
    let catalog = format!("{shipped}\n{}", recipes.collect::<String>());
    let changed = change(&catalog);
    let root = Root::with_catalog(&changed);
    let examples = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    symlink(examples, root.path.join("examples")).unwrap();
    root
}

/// The binary, where the commands of all test servers are found and `python3` has the models.
#[expect(clippy::disallowed_methods, reason = "servers are found on the PATH")]
pub(crate) fn oneact(root: &Root) -> Command {
    let places = [
        "models/bin",
        "node_modules/.bin",
        "servers/bin",
        "older_servers/bin",
    ];
    let mut path = places.map(|place| installed(place).into_string()).join(":");
    path = format!("{path}:{}", std::env::var("PATH").unwrap());
    let mut command = root.command();
    command.env("PATH", path);
    command
}

/// A task for those capabilities on files of the root; nothing of it but assets is left behind.
pub(crate) fn perform(
    root: &Root,
    capabilities: &[&str],
    inputs: &[&str],
    parameters: &Value,
) -> Answer {
    let refs: Vec<Value> = (1..)
        .zip(inputs)
        .map(|(number, uri)| {
            json!({"ref_id": format!("store_{number}"), "storage_uri": uri, "status": "stored"})
        })
        .collect();
    let task = json!({
        "dispatch": {
            "task_id": "task_1", "action": "", "capability_ids": capabilities, "attempt": 1,
            "input_refs_resolved": refs, "output_refs_expected": [], "parameters": parameters, "salt": fresh(),
        },
        "metadata": {"session_id": "sess-1", "request_id": fresh()},
    });
    let answer = run(oneact(root), task.to_string().as_bytes());
    assert_eq!(root.processes(), Vec::<i32>::new(), "of {capabilities:?}");
    assert_eq!(root.scratch().next(), None, "of {capabilities:?}");
    answer
}

/// What a task without parameters found out.
pub(crate) fn result(root: &Root, capabilities: &[&str], inputs: &[&str]) -> Value {
    done(&perform(root, capabilities, inputs, &json!({}))).clone()
}

/// What a task found out that went well.
pub(crate) fn done(answer: &Answer) -> &Value {
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    answer.result_data()
}

/// Where a task that went well has put its first asset.
pub(crate) fn asset(answer: &Answer) -> &str {
    done(answer);
    let uri = answer.at("/output/content/task_result/output_refs_produced/0/storage_uri");
    uri.as_str()
        .and_then(|uri| uri.strip_prefix("file://"))
        .unwrap()
}

/// The words of a tool that failed for good.
pub(crate) fn failed(answer: &Answer) -> &str {
    assert_eq!(answer.exit, 1, "{}", answer.envelope);
    assert_eq!(answer.result_data(), &Value::Null);
    let calls = answer.at("/output/content/task_result/tool_invocations");
    let last = calls.as_array().and_then(|calls| calls.last()).unwrap();
    assert_eq!(last["status"], "error");
    last["error_detail"].as_str().unwrap()
}

/// Runs a program of the test set-up in the root, to its good end.
pub(crate) fn make(root: &Root, program: &str, arguments: &[&str]) {
    let output = root.within(program).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {said}; run scripts/setup-tests if it is missing"
    );
}

pub(crate) fn ffmpeg(root: &Root, arguments: &[&str]) {
    let quiet = ["-hide_banner", "-loglevel", "error", "-nostdin"];
    make(root, "ffmpeg", &[&quiet, arguments].concat());
}

/// Someone says something, in a 16 kHz mono WAV file.
pub(crate) fn say(root: &Root, voice: &str, words: &str, file: &str) {
    make(root, "flite", &["-voice", voice, "-t", words, "-o", file]);
}
