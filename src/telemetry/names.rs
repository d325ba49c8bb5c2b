//! The names of spans, metrics and attributes: those of OpenTelemetry's conventions for generative AI and MCP (0.1.0, in
//! development), and oneact's own.

/// The span of a run.
pub(super) const RUN: &str = "oneact run";
/// The span of the questions to the ledger, and of the wait for other runs that hold it.
pub(super) const LEDGER: &str = "ledger";
pub(super) const PLAN: &str = "apply_file_plan";

pub(super) fn start(server: &str) -> String {
    format!("start_server {server}")
}

pub(super) fn call(tool: &str) -> String {
    format!("{EXECUTE_TOOL} {tool}")
}

pub(super) const OPERATION: &str = "gen_ai.operation.name";
pub(super) const EXECUTE_TOOL: &str = "execute_tool";
pub(super) const TOOL: &str = "gen_ai.tool.name";
pub(super) const CALL_ID: &str = "gen_ai.tool.call.id";
pub(super) const METHOD: &str = "mcp.method.name";
pub(super) const TOOLS_CALL: &str = "tools/call";
/// The fault of a failure.
pub(super) const ERROR: &str = "error.type";

pub(super) const SERVER: &str = "oneact.server";
pub(super) const CAPABILITY: &str = "oneact.capability";
pub(super) const STATE: &str = "oneact.state";
pub(super) const EFFECT: &str = "oneact.effect";
pub(super) const REQUEST: &str = "oneact.request_hash";

pub(super) const SERVICE: &str = "service.name";
pub(super) const VERSION: &str = "service.version";

/// How long runs take, in seconds. Its count is the number of runs.
pub(super) const RUN_DURATION: &str = "oneact.run.duration";
/// How long calls take, in seconds.
pub(super) const CALL_DURATION: &str = "mcp.client.operation.duration";
/// The bounds that the conventions give for this histogram, in seconds.
pub(super) const BOUNDS: [f64; 14] = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
];
