//! The server scenarios of MCP's conformance suite that concern tools, against `oneact serve catalog`.
//!
//! The suite speaks HTTP; `tests/conformance/host.py` hands its messages to the server unchanged.
//!
//! Not run, because a result of oneact is one JSON value and refs to assets:
//!
//! - `tools-call-image`, `-audio`, `-embedded-resource` and `-mixed-content`: the bytes that a tool returns become a
//!   stored asset, which the result names.
//! - `tools-call-with-logging`, `-sampling` and `-elicitation`: oneact passes no such messages through.
//! - `server-stateless` and all scenarios about HTTP, prompts and resources: the server has only tools, on stdio.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command},
};

use tempfile::TempDir;

use crate::{
    conformance::{LEGACY, MODERN, programs},
    program::{ONEACT, Root, told_on_failure},
};

/// The tool whose schema the suite compares with its own.
const SCHEMA: &str = r#"
[capability.json_schema_2020_12_tool.parameter_schema_for_action]
"$schema" = "https://json-schema.org/draft/2020-12/schema"
type = "object"
"$defs" = { address = { "$anchor" = "addressDef", type = "object", properties = { street = { type = "string" }, city = { type = "string" } } } }
properties = { name = { type = "string" }, address = { "$ref" = "\#/$defs/address" }, contactMethod = { type = "string", enum = ["phone", "email"] }, phone = { type = "string" }, email = { type = "string" } }
allOf = [{ anyOf = [{ required = ["phone"] }, { required = ["email"] }] }]
if = { properties = { contactMethod = { const = "phone" } }, required = ["contactMethod"] }
then = { required = ["phone"] }
else = { required = ["email"] }
additionalProperties = false
"#;

fn catalog() -> String {
    let tools = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/conformance/tools.py");
    let mut catalog =
        format!("catalog = 1\n[server.tools]\ncommand = [\"python3\", \"-SB\", \"{tools}\"]\n");
    let names = [
        "test_simple_text",
        "test_error_handling",
        "test_tool_with_progress",
        "json_schema_2020_12_tool",
    ];
    for name in names {
        let schema = if name.starts_with("json") {
            ""
        } else {
            "parameter_schema_for_action = { type = \"object\" }\n"
        };
        let entry = format!(
            "[capability.{name}]\nis_action = true\ndescription = \"A tool of the suite.\"\neffects = {{ read_only = true }}\n\
             mcp = {{ server = \"tools\", tool = \"{name}\" }}\n{schema}"
        );
        catalog += &entry;
    }
    catalog + &SCHEMA.replace("\\#", "#")
}

/// The bridge, which ends with the test.
struct Host(Child);

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// All of so many checks hold.
fn passes(scenario: &str, version: &str, checks: usize) {
    says(
        scenario,
        version,
        &format!("Passed: {checks}/{checks}, 0 failed, 0 warnings"),
    );
}

/// Runs a scenario, of which this must be the verdict.
#[expect(
    clippy::disallowed_methods,
    reason = "servers are found on the PATH of the tests"
)]
fn says(scenario: &str, version: &str, verdict: &str) {
    let (root, programs, scratch) = (
        Root::with_catalog(&catalog()),
        programs(),
        TempDir::with_prefix("oneact-suite-").unwrap(),
    );
    let mut host = root.within("python3");
    host.args([
        "-B",
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/conformance/host.py"),
        root.path.as_str(),
    ]);
    let mut host = Host(host.env("ONEACT", ONEACT).spawn().unwrap());
    told_on_failure(host.0.stderr.take().unwrap());
    let mut url = String::new();
    BufReader::new(host.0.stdout.as_mut().unwrap())
        .read_line(&mut url)
        .unwrap();
    let output = Command::new(programs.join("conformance"))
        .args([
            "server",
            "--url",
            url.trim(),
            "--scenario",
            scenario,
            "--spec-version",
            version,
        ])
        .args(["--timeout", "300000", "--output-dir"])
        .arg(scratch.path())
        .env(
            "PATH",
            format!("{programs}:{}", std::env::var("PATH").unwrap()),
        )
        .current_dir(scratch.path())
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let passed = verdict.contains(" 0 failed");
    assert!(
        output.status.success() == passed && said.contains(verdict),
        "{scenario} at {version}, of which `{verdict}` was expected: {said}"
    );
}

#[test]
fn initialize_and_ping() {
    passes("server-initialize", LEGACY, 3);
    passes("ping", LEGACY, 2);
}

#[test]
fn tools_list() {
    passes("tools-list", LEGACY, 3);
    passes("tools-list", MODERN, 4);
}

#[test]
fn tools_call_simple_text() {
    passes("tools-call-simple-text", LEGACY, 2);
    passes("tools-call-simple-text", MODERN, 2);
}

#[test]
fn tools_call_error() {
    passes("tools-call-error", LEGACY, 2);
    passes("tools-call-error", MODERN, 2);
}

#[test]
fn tools_call_with_progress() {
    passes("tools-call-with-progress", LEGACY, 2);
    passes("tools-call-with-progress", MODERN, 2);
}

#[test]
fn json_schemas_are_preserved() {
    passes("json-schema-2020-12", LEGACY, 8);
    passes("json-schema-2020-12", MODERN, 8);
}

/// The results that a client may cache say so.
#[test]
fn caching() {
    // Prompts and resources are not offered, so their lists are refused; the suite asks for them all the same.
    says("caching", MODERN, "Passed: 4/7, 3 failed, 0 warnings");
}
