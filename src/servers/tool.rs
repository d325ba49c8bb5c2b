//! The definition of a built-in tool: the entry of `tools/list` and one blocking function.
//!
//! The protocol is in `stdio`. It translates a [`Tool`] to an entry of `tools/list`, [`Run::progress`] to
//! `notifications/progress`, and a [`ToolError`] to a result with `isError: true`.

use std::{
    io,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// One tool of a built-in server (MCP 2025-11-25, Tools).
///
/// Every tool is idempotent: a second call with the same arguments gives the same answer or refuses to overwrite a
/// file. At most it adds a file for its own answer in the temporary directory.
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    /// The JSON Schema (2020-12) of the arguments, an object.
    pub(super) input: Value,
    /// The JSON Schema (2020-12) of the structured content, an object.
    pub(super) output: Value,
    pub(super) effect: Effect,
    pub(super) world: World,
    pub(super) call: Call,
}

/// The function of a tool. Its arguments were validated against the input schema. Its answer is the
/// `structuredContent` of the call and matches the output schema.
pub(super) type Call =
    Box<dyn Fn(&Map<String, Value>, &Run<'_>) -> Result<Value, ToolError> + Send + Sync>;

/// Makes the function of a tool whose arguments have the type `A`.
pub(super) fn call<A: DeserializeOwned>(
    work: impl Fn(&A, &Run<'_>) -> Result<Value, ToolError> + Send + Sync + 'static,
) -> Call {
    Box::new(move |arguments, run| {
        let arguments = A::deserialize(arguments)
            .map_err(|error| ToolError::argument("arguments", error.to_string()))?;
        work(&arguments, run)
    })
}

/// The hints `readOnlyHint` and `destructiveHint`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    ReadOnly,
    /// The tool adds data, and never overwrites or deletes any.
    Additive,
    /// The tool replaces data.
    Replacing,
}

/// What a tool accesses (`openWorldHint`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum World {
    /// Only files of this machine.
    Closed,
    /// Files of this machine, by programs with these names on the `PATH`.
    Programs(&'static [&'static str]),
    Open,
}

/// The schema of an object in which all `properties` are required and no others are allowed.
pub(super) fn record(properties: Value) -> Value {
    let names = properties.as_object().into_iter().flat_map(Map::keys);
    closed(names.cloned().collect(), properties)
}

/// The schema of an object with the given required properties, in which no others than `properties` are allowed.
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

/// The schema of a string that is not empty.
pub(super) fn text(description: &str) -> Value {
    json!({"type": "string", "minLength": 1, "description": description})
}

pub(super) fn sha256() -> Value {
    json!({"type": "string", "pattern": "^[0-9a-f]{64}$"})
}

/// The connection of a running tool to its caller.
pub(super) struct Run<'a> {
    pub(super) cancelled: &'a AtomicBool,
    pub(super) report: &'a (dyn Fn(Progress) + Sync),
}

/// The progress of a tool: `done` of `total`, in the unit of the tool.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Progress {
    pub(super) done: f64,
    pub(super) total: Option<f64>,
    pub(super) message: String,
}

impl Run<'_> {
    /// Fails with [`ToolError::Cancelled`] if the caller has cancelled or has closed the connection. Tools call
    /// this between blocks of work.
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

/// Why a tool failed. The text says what is wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub(super) enum ToolError {
    /// The caller cancelled, and the tool has cleaned up.
    #[error("cancelled by the caller")]
    Cancelled,
    /// An argument matches the schema but cannot be used.
    #[error("invalid argument `{argument}`: {problem}")]
    Argument {
        argument: &'static str,
        problem: String,
    },
    /// The input is corrupt, incomplete or of another kind.
    #[error("input is corrupt or incomplete: {0}")]
    Corrupt(String),
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

    /// Makes the error of an operation on a file. `operation` is a verb: "read", "create".
    pub(super) fn io(operation: &str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let what = format!("cannot {operation} {}", path.display());
        move |error| Self::Failed(format!("{what}: {error}"))
    }
}
