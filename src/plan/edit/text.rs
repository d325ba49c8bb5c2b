//! Text files taken apart: byte order mark, lines, line ends. Only what an edit names is changed.

use super::EditError;

const MARK: &str = "\u{FEFF}";

/// A UTF-8 text without NUL; its byte order mark, if it has one, is kept out of the edit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text<'a> {
    mark: &'a str,
    pub(super) body: &'a str,
}

impl<'a> Text<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, EditError> {
        let text = std::str::from_utf8(bytes).map_err(|error| EditError::NotText {
            offset: error.valid_up_to(),
        })?;
        // UTF-16 and UTF-32 without a mark, and most binary formats: parts of them pass for UTF-8.
        if let Some(offset) = text.find('\0') {
            return Err(EditError::Nul { offset });
        }
        let (mark, body) = match text.strip_prefix(MARK) {
            Some(body) => (MARK, body),
            None => ("", text),
        };
        Ok(Self { mark, body })
    }

    /// A body without a byte order mark.
    pub(super) fn bare(body: &'a str) -> Self {
        Self { mark: "", body }
    }

    /// The byte order mark, if there is one.
    pub(super) fn mark(&self) -> &'a str {
        self.mark
    }

    /// The file with another body; a large one is not copied.
    pub(super) fn with(&self, mut body: String) -> Vec<u8> {
        if !self.mark.is_empty() {
            body.insert_str(0, self.mark);
        }
        body.into_bytes()
    }
}

/// A line without its end, and the end: `\n`, `\r\n`, or nothing.
pub(super) fn parts(line: &str) -> (&str, &str) {
    let text = line.strip_suffix('\n').unwrap_or(line);
    let text = if text.len() < line.len() {
        text.strip_suffix('\r').unwrap_or(text)
    } else {
        text
    };
    line.split_at(text.len())
}

/// The end of the line that holds this byte; of the line before, where it has none.
pub(super) fn end_near(body: &str, at: usize) -> &'static str {
    let before = body.get(..at).unwrap_or(body);
    let after = body.get(at..).unwrap_or_default();
    let end = match after.find('\n') {
        Some(newline) => body.get(..at + newline + 1),
        None => before.rfind('\n').and_then(|newline| body.get(..=newline)),
    };
    match end {
        Some(text) if text.ends_with("\r\n") => "\r\n",
        _ => "\n",
    }
}

/// The same text with these line ends.
pub(super) fn with_ends(text: &str, end: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', end)
}

/// Where a byte is, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    /// Counted from 1.
    pub(crate) line: usize,
    /// In characters, counted from 1.
    pub(crate) column: usize,
}

impl Position {
    pub(super) fn of(body: &str, at: usize) -> Self {
        let before = body.get(..at).unwrap_or(body);
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before.get(start..).map_or(0, |line| line.chars().count()) + 1,
        }
    }
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}
