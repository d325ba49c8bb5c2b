//! What a built-in tool is: a definition any MCP client can read, and one blocking function.
//!
//! A tool knows nothing of the protocol. `stdio` turns definitions into `tools/list`, calls into
//! `tools/call`, [`Run::progress`] into `notifications/progress` and a [`ToolError`] into a result
//! with `isError: true`.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value};

/// One tool of a built-in server.
pub(crate) trait Tool: Send + Sync {
    /// Name, schemas and annotations, as `tools/list` shows them.
    fn definition(&self) -> Definition;

    /// Programs of this machine that it starts, by their names on the `PATH`.
    fn needs(&self) -> &'static [&'static str] {
        &[]
    }

    /// Does the work. Arguments have been checked against the definition's input schema. The
    /// answer is the call's `structuredContent` and fits the output schema.
    fn call(&self, arguments: &Map<String, Value>, run: &Run<'_>) -> Result<Value, ToolError>;
}

/// A tool as `tools/list` shows it (MCP 2025-11-25, Tools).
#[derive(Debug, Clone)]
pub(crate) struct Definition {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) description: &'static str,
    /// JSON Schema 2020-12 of the arguments, an object.
    pub(crate) input_schema: Value,
    /// JSON Schema 2020-12 of the structured content, an object.
    pub(crate) output_schema: Value,
    pub(crate) annotations: Annotations,
}

/// MCP's tool hints, all said. Every tool here is idempotent: called again with the same arguments it
/// answers the same or refuses to overwrite, and adds at most a file of that answer's own in the
/// temporary directory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Annotations {
    pub(crate) effect: Effect,
    pub(crate) world: World,
}

/// `readOnlyHint` and `destructiveHint` in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Changes nothing.
    ReadOnly,
    /// Adds, and never overwrites or deletes what was there.
    Additive,
    /// Puts the new in place of what was there.
    Replacing,
}

/// `openWorldHint`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum World {
    /// Works on this machine's files alone.
    Closed,
    /// Reaches the network.
    Open,
}

/// What a running tool may ask of, and tell, its caller.
pub(crate) struct Run<'a> {
    pub(crate) cancelled: &'a AtomicBool,
    pub(crate) report: &'a (dyn Fn(Progress) + Sync),
}

/// How far a tool is: `done` of `total`, in the tool's own unit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Progress {
    pub(crate) done: f64,
    pub(crate) total: Option<f64>,
    pub(crate) message: String,
}

impl Run<'_> {
    /// Fails with [`ToolError::Cancelled`] once the caller has cancelled or gone; called between
    /// blocks of work.
    pub(crate) fn check_cancelled(&self) -> Result<(), ToolError> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(ToolError::Cancelled);
        }
        Ok(())
    }

    /// Tells the caller how far the work is.
    pub(crate) fn progress(&self, done: f64, total: Option<f64>, message: &str) {
        (self.report)(Progress {
            done,
            total,
            message: message.to_owned(),
        });
    }
}

/// Why a tool failed, in words for the caller: what is wrong, where, what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ToolError {
    /// The caller cancelled; nothing is left behind.
    #[error("cancelled by the caller")]
    Cancelled,
    /// An argument is well-formed but cannot be used.
    #[error("invalid argument `{argument}`: {problem}")]
    Argument {
        argument: &'static str,
        problem: String,
    },
    /// The input is corrupt or incomplete, or not what it should be.
    #[error("input is corrupt or incomplete: {0}")]
    Corrupt(String),
    /// The work could not be done.
    #[error("{0}")]
    Failed(String),
}
