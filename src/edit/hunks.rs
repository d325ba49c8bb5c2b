//! The hunks of a diff: what they say, and whether their counts are right. Pure.
//!
//! Only a line feed ends a line of a diff. A hunk has line numbers (`@@ -1,3 +1,4 @@`), or it is a bare one
//! (`@@`, `@@ def f():`), which fits where its old lines occur once.

mod cursor;

use std::fmt;

pub(crate) use cursor::{Cursor, Returns, error_at};

/// A part of a diff that changes one place of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hunk {
    /// The first old line, counted from 1; of an insertion, the line before it. None of a bare hunk.
    pub(crate) start: Option<usize>,
    /// Lines of the file above a bare hunk, in their order (`@@ def f():`).
    pub(crate) landmarks: Vec<String>,
    pub(crate) reach: Reach,
    pub(crate) lines: Vec<Line>,
    /// The header that the body needs, if the counts of its own are wrong.
    pub(crate) recounted: Option<String>,
}

/// Where the old lines of a hunk may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    Anywhere,
    /// At the end of the file (`*** End of File`).
    End,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) mark: Mark,
    /// Without its line feed.
    pub(crate) text: String,
    pub(crate) end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Kept,
    Removed,
    Added,
}

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Feed,
    /// It is the last of its file, which has no line feed at its end.
    Nothing,
}

/// What wrong counts come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counts {
    Binding,
    /// Wrong ones are replaced by what the body says.
    Recounted,
}

impl Hunk {
    pub(crate) fn old_lines(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| line.mark != Mark::Added)
    }

    pub(crate) fn new_lines(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| line.mark != Mark::Removed)
    }

    /// Whether a line ends without a line feed, of each side all but the `kept` last ones.
    fn has_early_end(&self, kept: usize) -> bool {
        let of = |side: Vec<&Line>| {
            let inner = side.len().saturating_sub(kept);
            side.iter().take(inner).any(|line| line.end == End::Nothing)
        };
        of(self.old_lines().collect()) || of(self.new_lines().collect())
    }

    /// Whether the file ends with this hunk.
    pub(crate) fn ends_file(&self) -> bool {
        self.reach == Reach::End
            || self
                .new_lines()
                .last()
                .is_some_and(|line| line.end == End::Nothing)
    }

    pub(crate) fn changes(&self) -> bool {
        let of = |line: &Line| (line.text.clone(), line.end);
        self.old_lines().map(of).ne(self.new_lines().map(of))
    }
}

/// Why the hunks of one file cannot all be made, whatever the file contains.
pub(crate) fn contradiction(hunks: &[Hunk]) -> Option<String> {
    let mut least = 0;
    for (number, hunk) in (1..).zip(hunks) {
        if !hunk.changes() {
            return Some(format!("hunk {number} changes nothing"));
        }
        let is_last = number == hunks.len();
        if hunk.has_early_end(usize::from(is_last)) {
            return Some(format!(
                "hunk {number} has a line without a line feed (`\\ No newline at end of file`) that is not the last of the file"
            ));
        }
        let old = hunk.old_lines().count();
        let Some(start) = hunk.start else { continue };
        if start == 0 && old > 0 {
            return Some(format!(
                "hunk {number} begins at line 0; lines are counted from 1"
            ));
        }
        if start < least {
            return Some(format!(
                "hunk {number} begins at line {start}, which the hunk before it has passed; put the hunks in order, and \
                 join those that overlap"
            ));
        }
        least = start + old;
    }
    None
}

/// What is wrong with a diff, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiffError {
    /// Counted from 1.
    pub(crate) line: usize,
    pub(crate) problem: String,
}

impl fmt::Display for DiffError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the diff: {}", self.line, self.problem)
    }
}

/// The first line and the number of lines, before and after.
struct Ranges {
    old: (usize, usize),
    new: (usize, usize),
}

impl Ranges {
    /// Reads `@@ -1,3 +1,4 @@ section`. A count that is left out is 1.
    fn read(header: &str) -> Option<Self> {
        let rest = header.strip_prefix("@@")?;
        let (ranges, _) = rest.split_once("@@")?;
        let mut parts = ranges.split_whitespace();
        let range = |part: &str, mark| -> Option<(usize, usize)> {
            let part: &str = part.strip_prefix(mark)?;
            match part.split_once(',') {
                Some((first, count)) => Some((number(first)?, number(count)?)),
                None => Some((number(part)?, 1)),
            }
        };
        let old = range(parts.next()?, '-')?;
        let new = range(parts.next()?, '+')?;
        parts.next().is_none().then_some(Self { old, new })
    }

    /// The header with the counts of these lines.
    fn with(&self, lines: &[Line]) -> String {
        let count = |other| lines.iter().filter(|line| line.mark != other).count();
        format!(
            "@@ -{},{} +{},{} @@",
            self.old.0,
            count(Mark::Added),
            self.new.0,
            count(Mark::Removed)
        )
    }
}

fn number(digits: &str) -> Option<usize> {
    let all = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // No file has more lines, and sums cannot overflow.
    let number: Option<u32> = all.then(|| digits.parse().ok()).flatten();
    number.and_then(|number| number.try_into().ok())
}

#[cfg(test)]
mod tests;
