//! What a run gives to whoever prints it.

use crate::{executor::Executed, task::State};

/// The answer: print it, then drop it. Dropping waits for servers that are still ending.
#[must_use]
pub struct Answer {
    /// One JSON document and a newline.
    pub line: Vec<u8>,
    pub state: State,
    /// Whether sending the same task again may help.
    pub recoverable: bool,
    /// Servers that are ending, and the scratch directory they may still hold.
    _executed: Executed,
}

impl Answer {
    pub(super) fn new(mut line: Vec<u8>, executed: Executed) -> Self {
        line.push(b'\n');
        let failure = executed.outcome.failure.as_ref();
        Self {
            line,
            state: executed.outcome.state,
            recoverable: failure.is_some_and(|failure| failure.recoverable),
            _executed: executed,
        }
    }
}
