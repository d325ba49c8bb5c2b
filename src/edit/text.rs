//! The parts of text files: byte order mark, lines, line ends; `line_insert` and `line_delete`.
//!
//! A line ends with `\n` or `\r\n`; the last one may have no end. Lines are counted from 1. An inserted
//! line gets the line end of its neighbour, and a file that ends without a line end stays so.

use std::ops::Range;

use super::{
    budget::{Budget, Edited},
    error::EditError,
};

const MARK: &str = "\u{FEFF}";

/// A UTF-8 text without NUL; its byte order mark, if it has one, is kept out of the edit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text<'a> {
    pub(super) mark: &'static str,
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

    /// The file with another body; a large one is not copied.
    pub(super) fn with(&self, mut body: String) -> Vec<u8> {
        if !self.mark.is_empty() {
            body.insert_str(0, self.mark);
        }
        body.into_bytes()
    }
}

/// The bytes that are replaced, and the text that replaces them.
pub(super) type Splice = (Range<usize>, String);

/// Makes splices, which are in order and do not overlap. A result that is too large is not built.
pub(super) fn apply(
    body: &str,
    splices: &[Splice],
    budget: &Budget<'_>,
) -> Result<String, EditError> {
    let size = resized(body.len(), splices, budget)?;
    let mut after = String::with_capacity(size);
    let mut done = 0;
    for (range, text) in splices {
        after.push_str(body.get(done..range.start).unwrap_or_default());
        after.push_str(text);
        done = range.end;
    }
    after.push_str(body.get(done..).unwrap_or_default());
    Ok(after)
}

/// The bytes of a text of that size with these splices.
pub(super) fn resized(
    size: usize,
    splices: &[Splice],
    budget: &Budget<'_>,
) -> Result<usize, EditError> {
    let put = splices.iter().map(|(_, text)| text.len()).sum::<usize>();
    let cut = splices.iter().map(|(range, _)| range.len()).sum::<usize>();
    let size = (size + put).saturating_sub(cut);
    budget.fits(size as u64)?;
    Ok(size)
}

/// A text without the line end at its end: `\n`, `\r\n`, or nothing.
pub(super) fn without_end(text: &str) -> &str {
    let line = text.strip_suffix('\n');
    line.map_or(text, |line| line.strip_suffix('\r').unwrap_or(line))
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

/// Where the line that holds this byte starts.
pub(super) fn line_start(body: &str, at: usize) -> usize {
    let before = body.get(..at).unwrap_or_default();
    before.rfind('\n').map_or(0, |newline| newline + 1)
}

pub(super) fn with_ends(text: &str, end: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', end)
}

/// Makes `content` line `line`; one past the last appends. Content of several lines becomes several
/// lines; a line end at its end adds no empty line. An empty file becomes the content as given.
pub(super) fn insert(text: Text<'_>, line: u64, content: &str) -> Result<Edited, EditError> {
    let start = start(text.body, index(line)?).map_err(|last| EditError::LineOutOfRange {
        line,
        last,
        allowed: last + 1,
    })?;
    let content_text = without_end(content);
    let count = content_text.split('\n').count();
    let said = match count {
        1 => format!("Line {line} inserted"),
        _ => format!("{count} lines inserted from line {line}"),
    };
    if text.body.is_empty() {
        return Ok(Edited::whole(text.with(content.to_owned()), said));
    }
    let (before, after) = text.body.split_at(start);
    let end = end_near(text.body, start);
    let content = with_ends(content_text, end);
    let body = if before.is_empty() || before.ends_with('\n') {
        [before, &content, end, after].concat()
    } else {
        [before, end, &content].concat()
    };
    Ok(Edited::whole(text.with(body), said))
}

/// Deletes lines `first` to `last`, both included.
pub(super) fn delete(text: Text<'_>, first: u64, last: u64) -> Result<Edited, EditError> {
    let (from, to) = (index(first)?, index(last)?);
    if from > to {
        return Err(EditError::Unfit(format!(
            "lines {first} to {last} run backwards; give the first line first"
        )));
    }
    let missing = |count| EditError::LineOutOfRange {
        line: last,
        last: count,
        allowed: count,
    };
    let end = start(text.body, to.saturating_add(1)).map_err(missing)?;
    let from = start(text.body, from).map_err(missing)?;
    let (mut before, after) = (
        text.body.get(..from).unwrap_or_default(),
        text.body.get(end..).unwrap_or_default(),
    );
    // The line that is now the last ends as the file ended.
    if after.is_empty() && !text.body.ends_with('\n') {
        before = without_end(before);
    }
    let said = if first == last {
        format!("Line {first} deleted")
    } else {
        format!("Lines {first} to {last} deleted")
    };
    Ok(Edited::whole(text.with([before, after].concat()), said))
}

/// The byte at which this line starts, counted from 0; of one past the last, the end of the text.
/// `Err`: how many lines there are.
fn start(body: &str, index: usize) -> Result<usize, usize> {
    let mut lines = body.split_inclusive('\n');
    let mut at = 0;
    for before in 0..index {
        at += lines.next().ok_or(before)?.len();
    }
    Ok(at)
}

fn index(line: u64) -> Result<usize, EditError> {
    line.checked_sub(1)
        .ok_or_else(|| EditError::Unfit("line 0 is no line; lines are counted from 1".to_owned()))
        .map(|index| usize::try_from(index).unwrap_or(usize::MAX))
}
