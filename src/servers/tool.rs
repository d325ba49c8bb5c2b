//! What a built-in tool is: what any MCP client can read of it, and one blocking function.
//!
//! A tool knows nothing of the protocol. `stdio` turns a [`Tool`] into an entry of `tools/list`,
//! [`Run::progress`] into `notifications/progress` and a [`ToolError`] into a result with
//! `isError: true`.

use std::{
    io,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// One tool of a built-in server, as `tools/list` shows it (MCP 2025-11-25, Tools).
///
/// Every tool here is idempotent: called again with the same arguments it answers the same or refuses to
/// overwrite, and adds at most a file of that answer's own in the temporary directory.
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    /// JSON Schema 2020-12 of the arguments, an object.
    pub(super) input: Value,
    /// JSON Schema 2020-12 of the structured content, an object.
    pub(super) output: Value,
    pub(super) effect: Effect,
    pub(super) world: World,
    pub(super) call: Call,
}

/// Does the work of a tool. The arguments have been checked against the input schema. The answer is
/// the call's `structuredContent` and fits the output schema.
pub(super) type Call =
    Box<dyn Fn(&Map<String, Value>, &Run<'_>) -> Result<Value, ToolError> + Send + Sync>;

/// The function of a tool whose arguments are of type `A`.
pub(super) fn call<A: DeserializeOwned>(
    work: impl Fn(&A, &Run<'_>) -> Result<Value, ToolError> + Send + Sync + 'static,
) -> Call {
    Box::new(move |arguments, run| {
        let arguments = A::deserialize(arguments)
            .map_err(|error| ToolError::argument("arguments", error.to_string()))?;
        work(&arguments, run)
    })
}

/// `readOnlyHint` and `destructiveHint` in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    ReadOnly,
    /// Adds, and never overwrites or deletes what was there.
    Additive,
    /// Puts the new in place of what was there.
    Replacing,
}

/// What a tool works with (`openWorldHint`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum World {
    /// Files of this machine alone.
    Closed,
    /// The same, by programs of this machine with these names on the `PATH`.
    Programs(&'static [&'static str]),
    Open,
}

/// The schema of an object that has all of `properties` and no others.
pub(super) fn record(properties: Value) -> Value {
    let names = properties.as_object().into_iter().flat_map(Map::keys);
    closed(names.cloned().collect(), properties)
}

/// The schema of an object that may have `properties`, has those of `required`, and no others.
pub(super) fn object(required: &[&str], properties: Value) -> Value {
    closed(required.iter().copied().collect(), properties)
}

fn closed(required: Value, properties: Value) -> Value {
    Value::from_iter([
        ("type", "object".into()),
        ("required", required),
        ("additionalProperties", false.into()),
        ("properties", properties),
    ])
}

/// The schema of a text that is not empty.
pub(super) fn text(description: &str) -> Value {
    json!({"type": "string", "minLength": 1, "description": description})
}

/// The schema of a SHA-256.
pub(super) fn sha256() -> Value {
    json!({"type": "string", "pattern": "^[0-9a-f]{64}$"})
}

/// What a running tool may ask of, and tell, its caller.
pub(super) struct Run<'a> {
    pub(super) cancelled: &'a AtomicBool,
    pub(super) report: &'a (dyn Fn(Progress) + Sync),
}

/// How far a tool is: `done` of `total`, in the tool's own unit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Progress {
    pub(super) done: f64,
    pub(super) total: Option<f64>,
    pub(super) message: String,
}

impl Run<'_> {
    /// Fails with [`ToolError::Cancelled`] once the caller has cancelled or gone; called between
    /// blocks of work.
    pub(super) fn check_cancelled(&self) -> Result<(), ToolError> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(ToolError::Cancelled);
        }
        Ok(())
    }

    pub(super) fn progress(&self, done: f64, total: Option<f64>, message: &str) {
        (self.report)(Progress {
            done,
            total,
            message: message.to_owned(),
        });
    }
}

/// Why a tool failed, in words for the caller: what is wrong, where, what to do.
#[derive(Debug, thiserror::Error)]
pub(super) enum ToolError {
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

impl ToolError {
    pub(super) fn argument(argument: &'static str, problem: impl Into<String>) -> Self {
        Self::Argument {
            argument,
            problem: problem.into(),
        }
    }

    /// What failed at a file. `operation` is a verb: "read", "create".
    pub(super) fn io(operation: &str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let what = format!("cannot {operation} {}", path.display());
        move |error| Self::Failed(format!("{what}: {error}"))
    }
}
