//! The hunks of a diff: what they say, and whether they can all be made. Pure.
//!
//! Only a line feed ends a line of a diff. A hunk has line numbers (`@@ -1,3 +1,4 @@`), or it is a bare one
//! (`@@`, `@@ def f():`), which fits where its old lines occur once.

mod cursor;

use std::fmt;

pub(crate) use cursor::{Cursor, error_at};

/// A part of a diff that changes one place of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hunk {
    /// The first old line, counted from 1; of an insertion, the line before it. None of a bare hunk.
    pub(crate) start: Option<usize>,
    /// Lines of the file above a bare hunk, in their order (`@@ def f():`).
    pub(crate) landmarks: Vec<String>,
    /// The lines before and after, with their line feeds, which only the last line of a file may lack.
    pub(crate) old: Vec<String>,
    pub(crate) new: Vec<String>,
    /// Whether the file ends with this hunk.
    pub(crate) ends_file: bool,
    /// The header that the body needs, if the counts of its own are wrong.
    pub(crate) recounted: Option<String>,
}

/// How a diff is read.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DiffRules {
    /// Wrong counts are replaced by what the body says, and not refused.
    pub(crate) recount: bool,
    /// The hash in the `index` line must be that of the file.
    pub(crate) require_index: bool,
}

/// Why the hunks of one file cannot all be made, whatever the file contains.
pub(crate) fn contradiction(hunks: &[Hunk]) -> Option<String> {
    let mut least = 0;
    for (number, hunk) in (1..).zip(hunks) {
        let may_lack = usize::from(number == hunks.len());
        let lacks_feed = |side: &[String]| {
            let fed = side.iter().take(side.len().saturating_sub(may_lack));
            fed.clone().any(|line| !line.ends_with('\n'))
        };
        let problem = match hunk.start {
            _ if hunk.old == hunk.new => "changes nothing".to_owned(),
            _ if lacks_feed(&hunk.old) || lacks_feed(&hunk.new) => {
                "has a line without a line feed (`\\ No newline at end of file`) that is not the last of the file"
                    .to_owned()
            }
            Some(0) if !hunk.old.is_empty() => {
                "begins at line 0; lines are counted from 1".to_owned()
            }
            Some(start) if start < least => format!(
                "begins at line {start}, which the hunk before it has passed; put the hunks in order, and join those \
                 that overlap"
            ),
            start => {
                least = start.map_or(least, |start| start + hunk.old.len());
                continue;
            }
        };
        return Some(format!("hunk {number} {problem}"));
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

#[cfg(test)]
mod tests;
