//! How a command ends: what it prints to stdout, and its exit code.

use std::{error::Error, process::ExitCode};

use serde::Serialize;

use crate::host::Interrupts;

use super::streams::print;

/// Why a command stopped, and its exit code.
pub(super) struct Stop {
    pub(super) code: u8,
    pub(super) why: String,
}

impl Stop {
    /// The same with the exit code of a refused command.
    pub(super) fn refused(self) -> Self {
        Self { code: 2, ..self }
    }
}

impl<E: Error> From<E> for Stop {
    fn from(error: E) -> Self {
        stop(1)(error)
    }
}

pub(super) fn stop<W: ToString>(code: u8) -> impl FnOnce(W) -> Stop {
    move |why| Stop {
        code,
        why: why.to_string(),
    }
}

/// Prints the result of a command, and returns its exit code, which tells a signal also if nobody reads the result.
pub(super) fn printed(text: impl AsRef<[u8]>, code: u8) -> ExitCode {
    match print(text.as_ref()) {
        Err(_) if code < 128 => ExitCode::FAILURE,
        Ok(()) | Err(_) => ExitCode::from(code),
    }
}

/// A document as one line of JSON.
pub(super) fn json_line(document: &impl Serialize) -> String {
    // Texts, numbers and lists always serialize.
    serde_json::to_string(document).unwrap_or_default() + "\n"
}

/// The exit code after a signal; without one, `code`.
pub(super) fn code_or_signal(code: u8, interrupts: &Interrupts) -> u8 {
    let interrupt = interrupts.caught();
    interrupt.map_or(code, |interrupt| 128 + interrupt.number())
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn an_error_stops_with_exit_code_1_and_a_refusal_with_2() {
        let stopped = Stop::from(io::Error::other("no"));
        assert_eq!((stopped.code, stopped.why.as_str()), (1, "no"));
        assert_eq!(stopped.refused().code, 2);
        assert_eq!(json_line(&[1]), "[1]\n");
    }
}
