//! An error of a query, as the child finds it.

use serde_json::Value;

use crate::task::{Failure, Fault};

/// Something that ends the query.
pub(super) struct Trouble {
    pub(super) fault: Fault,
    pub(super) message: String,
    /// The byte of the query file that the engine points to.
    pub(super) at: Option<usize>,
}

impl Trouble {
    pub(super) fn new(fault: Fault, message: impl Into<String>) -> Self {
        let (message, at) = (message.into(), None);
        Self { fault, message, at }
    }

    pub(super) fn failed(message: impl Into<String>) -> Self {
        Self::new(Fault::SqlFailed, message)
    }

    /// What the engine said about a text that begins with `ahead` bytes of ours, and with which the query file goes on
    /// at `start`.
    pub(super) fn said(said: &str, start: usize, ahead: usize) -> Self {
        let json = said.find('{').and_then(|at| said.get(at..));
        let json = json.and_then(|json| serde_json::from_str::<Value>(json).ok());
        let Some(json) = json else {
            return Self::failed(first_line(said));
        };
        let text = |key: &str| json.get(key).and_then(Value::as_str);
        let fault = match text("exception_type") {
            Some("IO" | "FATAL" | "INTERNAL") if is_full(said) => Fault::DiskFull,
            // The engine does not find a file that is not in the view.
            Some("Permission" | "IO") => Fault::SqlRefused,
            Some("Out of Memory") => Fault::OutOfMemory,
            Some("INTERNAL" | "FATAL") => Fault::EngineFailed,
            _ => Fault::SqlFailed,
        };
        let at = text("position").and_then(|at| at.parse::<usize>().ok());
        Self {
            at: at.and_then(|at| Some(start + at.checked_sub(ahead)?)),
            ..Self::new(fault, first_line(text("exception_message").unwrap_or(said)))
        }
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::new(failure.fault, failure.message)
    }
}

/// Whether the operating system had no space to write to.
fn is_full(said: &str) -> bool {
    ["No space left on device", "Disk quota exceeded"]
        .iter()
        .any(|full| said.contains(full))
}

/// The engine's sentence, without its snippets of the text.
fn first_line(said: &str) -> &str {
    said.lines().next().unwrap_or_default()
}
