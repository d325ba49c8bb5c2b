//! What an edit may take, and what it gives.

use crate::task::Failure;

use super::error::EditError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edited {
    pub(crate) bytes: Vec<u8>,
    /// What was done, in a sentence: `Property 'new_field' added successfully` (R-001-178).
    pub(crate) said: String,
    /// What is wrong with the result, if the file before it was valid. A later edit may repair it.
    pub(crate) broken: Option<EditError>,
}

impl Edited {
    pub(super) fn whole(bytes: Vec<u8>, said: String) -> Self {
        Self {
            bytes,
            said,
            broken: None,
        }
    }
}

/// The limits of an edit. An edit that would exceed them is refused before the result is built.
pub(crate) struct Budget<'a> {
    /// Bytes of the result.
    pub(crate) most: u64,
    /// Why the edit must stop now: a signal or the time limit. It is asked often.
    pub(crate) stopped: &'a dyn Fn() -> Option<Failure>,
}

impl<'a> Budget<'a> {
    /// For a check, which has no result.
    pub(super) fn of_check(stopped: &'a dyn Fn() -> Option<Failure>) -> Self {
        let most = u64::MAX;
        Self { most, stopped }
    }

    pub(super) fn go_on(&self) -> Result<(), EditError> {
        (self.stopped)().map_or(Ok(()), |failure| Err(EditError::Stopped(failure)))
    }

    pub(super) fn fits(&self, bytes: u64) -> Result<(), EditError> {
        if bytes <= self.most {
            return Ok(());
        }
        Err(EditError::TooLarge { most: self.most })
    }
}

/// The longest text that is read as a tree or searched for an expression, in bytes. A tree can take some hundred times as
/// much memory, and a search takes time in proportion to the text × the compiled expression.
pub(super) const MAX_READ: usize = 8 << 20;

/// Checks that a text is short enough for what is done with it.
pub(super) fn readable(what: &'static str, bytes: usize) -> Result<(), EditError> {
    if bytes <= MAX_READ {
        return Ok(());
    }
    Err(EditError::TooLong {
        what,
        bytes,
        most: MAX_READ,
    })
}
