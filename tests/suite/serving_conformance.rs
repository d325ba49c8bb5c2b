//! The server scenarios of MCP's conformance suite that concern tools, against `oneact serve catalog --http`.
//!
//! Not run, because a result of oneact is one JSON value and refs to assets:
//!
//! - `tools-call-image`, `-audio`, `-embedded-resource` and `-mixed-content`: the bytes that a tool returns become a
//!   stored asset, which the result names.
//! - `tools-call-with-logging`, `-sampling`, `-elicitation` and `input-required-…`: oneact passes no such messages through.
//! - The scenarios about prompts, resources and tasks: the server has only tools.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command},
};

use tempfile::TempDir;

use crate::{
    conformance::{LEGACY, MODERN, programs},
    program::{Root, told_on_failure},
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

/// A parameter that a header repeats.
const HEADERS: &str = "parameter_schema_for_action = { type = \"object\", properties = { region = { type = \"string\", \
                       \"x-mcp-header\" = \"Region\" } } }\n";

fn catalog() -> String {
    let tools = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/conformance/tools.py");
    let mut catalog =
        format!("catalog = 1\n[server.tools]\ncommand = [\"python3\", \"-SB\", \"{tools}\"]\n");
    let names = [
        "test_simple_text",
        "test_error_handling",
        "test_tool_with_progress",
        "json_schema_2020_12_tool",
        "test_logging_tool",
        "test_streaming_elicitation",
        "test_headers",
    ];
    for name in names {
        let schema = match name {
            "json_schema_2020_12_tool" => "",
            "test_headers" => HEADERS,
            _ => "parameter_schema_for_action = { type = \"object\" }\n",
        };
        let entry = format!(
            "[capability.{name}]\nis_action = true\ndescription = \"A tool of the suite.\"\neffects = {{ read_only = true }}\n\
             mcp = {{ server = \"tools\", tool = \"{name}\" }}\n{schema}"
        );
        catalog += &entry;
    }
    catalog + &SCHEMA.replace("\\#", "#")
}

/// A server that ends with the test.
struct Served(Child);

impl Drop for Served {
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
    let mut server = root.command();
    server.args(["serve", "catalog", "--http", "127.0.0.1:0"]);
    let mut server = Served(server.spawn().unwrap());
    let mut stderr = BufReader::new(server.0.stderr.take().unwrap());
    let mut told = String::new();
    stderr.read_line(&mut told).unwrap();
    let url = told.split_whitespace().last().unwrap();
    told_on_failure(stderr);
    let output = Command::new(programs.join("conformance"))
        .args([
            "server",
            "--url",
            url,
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

#[test]
fn sessions_and_streams() {
    passes("server-session-lifecycle", LEGACY, 3);
    passes("server-sse-multiple-streams", LEGACY, 2);
    passes("server-sse-multiple-streams", MODERN, 2);
    // A stream is not closed in the middle of a call, which the suite would like to see.
    says(
        "server-sse-polling",
        LEGACY,
        "Passed: 2/2, 0 failed, 1 warnings",
    );
}

#[test]
fn foreign_hosts_and_origins_are_refused() {
    passes("dns-rebinding-protection", LEGACY, 2);
    passes("dns-rebinding-protection", MODERN, 2);
}

#[test]
fn headers() {
    passes("http-header-validation", MODERN, 14);
    passes("http-custom-header-server-validation", MODERN, 10);
}

/// No tool of oneact needs a capability of the client, so the two checks of that find nothing to check.
#[test]
fn requests_without_a_session() {
    says(
        "server-stateless",
        MODERN,
        "Passed: 26/28, 2 failed, 1 warnings",
    );
}
