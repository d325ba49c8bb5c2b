//! The MCP project's own conformance suite for clients, as far as it concerns tools.
//! `scripts/setup-conformance` installs it.
//!
//! The suite starts a server on HTTP and then a client, `tests/conformance/client.py`, which runs
//! oneact with the address of that server. Each scenario runs in the era that its version names
//! (`protocol = "legacy"` or `"modern"`).
//!
//! Not run:
//!
//! - `auth/…`: they find an authorization server and ask a person in a browser, which oneact does
//!   not do (`docs/remote.md`).
//! - `elicitation-sep1034-client-defaults`: a server of 2025-11-25 that asks while it is called.
//!   oneact declares no elicitation in that era (`docs/waiting.md`), so none may ask.
//! - `sep-2640-…`: an extension, skills read as resources, of which oneact reads none.

use std::{env, process::Command};

use camino::{Utf8Path, Utf8PathBuf};
use tempfile::TempDir;

use crate::program::ONEACT;

/// The newest version with `initialize`, and the one without.
pub(crate) const LEGACY: &str = "2025-11-25";
pub(crate) const MODERN: &str = "2026-07-28";

/// Where npm has put the programs of the suite.
#[expect(
    clippy::disallowed_methods,
    reason = "scripts/setup-conformance reads it too"
)]
pub(crate) fn programs() -> Utf8PathBuf {
    let home = Utf8Path::new(env!("CARGO_MANIFEST_DIR"));
    let servers = env::var("ONEACT_TEST_SERVERS");
    let programs = home
        .join(servers.as_deref().unwrap_or("target/test-servers"))
        .join("conformance/node_modules/.bin");
    assert!(
        programs.is_dir(),
        "{programs} is missing; run scripts/setup-conformance"
    );
    programs
}

/// Runs a scenario: all its checks, so many, must pass, and the client end well. The suite skips
/// what it thinks does not apply, and calls that well too.
#[expect(
    clippy::disallowed_methods,
    reason = "servers are found on the PATH of the tests"
)]
fn passes(scenario: &str, version: &str, checks: usize) {
    let programs = programs();
    let scratch = TempDir::with_prefix("oneact-suite-").unwrap();
    let client = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/conformance/client.py");
    let output = Command::new(programs.join("conformance"))
        .args(["client", "--scenario", scenario, "--spec-version", version])
        .args(["--command", &format!("python3 -SB '{client}'")])
        // Its own is half a minute; nothing here is about time.
        .args(["--timeout", "300000"])
        // A Node of the suite's own comes before that of the machine.
        .env("PATH", format!("{programs}:{}", env::var("PATH").unwrap()))
        .env("ONEACT", ONEACT)
        .env("TMPDIR", scratch.path())
        .current_dir(scratch.path())
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let verdict = format!("Passed: {checks}/{checks}, 0 failed, 0 warnings");
    assert!(
        output.status.success() && said.contains(&verdict) && said.contains("OVERALL: PASSED"),
        "{scenario} at {version}, of which `{verdict}` was expected: {said}"
    );
}

#[test]
fn initialize() {
    passes("initialize", LEGACY, 1);
}

#[test]
fn tools_call_in_the_older_era() {
    passes("tools_call", LEGACY, 2);
}

#[test]
fn tools_call_in_the_modern_era() {
    passes("tools_call", MODERN, 2);
}

#[test]
fn request_metadata() {
    passes("request-metadata", MODERN, 6);
}

#[test]
fn client_request_state() {
    passes("sep-2322-client-request-state", MODERN, 5);
}

#[test]
fn no_network_reference_is_dereferenced() {
    passes("json-schema-ref-no-deref", MODERN, 1);
}

#[test]
fn schemas_are_preserved_in_the_older_era() {
    passes("json-schema-2020-12-preservation", LEGACY, 9);
}

#[test]
fn schemas_are_preserved_in_the_modern_era() {
    passes("json-schema-2020-12-preservation", MODERN, 9);
}

#[test]
fn a_stream_that_ends_early_is_resumed_after_the_time_that_the_server_names() {
    passes("sse-retry", LEGACY, 3);
}

/// Those of `tools/list` and `tools/call`.
#[test]
fn standard_headers() {
    passes("http-standard-headers", MODERN, 3);
}

#[test]
fn headers_of_parameters() {
    passes("http-custom-headers", MODERN, 18);
}

#[test]
fn tools_with_wrong_marks_are_not_called() {
    passes("http-invalid-tool-headers", MODERN, 12);
}
