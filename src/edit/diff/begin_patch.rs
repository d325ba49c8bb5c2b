//! The `*** Begin Patch` text of coding agents: files that are added, deleted, updated and moved, and hunks without line
//! numbers.

use super::{After, Before, FileDiff};
use crate::edit::hunks::{
    Counts, Cursor, DiffError, End, Hunk, Line, Mark, Reach, contradiction, error_at,
};

const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";
const END: &str = "*** End Patch";

/// The files from `*** Begin Patch` to `*** End Patch`.
pub(super) fn read(cursor: &mut Cursor<'_>, counts: Counts) -> Result<Vec<FileDiff>, DiffError> {
    let begin = cursor.at;
    cursor.at += 1;
    let mut files = Vec::new();
    loop {
        let Some(line) = cursor.peek() else {
            return Err(error_at(
                begin,
                "`*** End Patch` is missing, so the text may be incomplete",
            ));
        };
        let at = cursor.at;
        cursor.at += 1;
        if line.trim_end() == END {
            return Ok(files);
        }
        let file = if let Some(path) = line.strip_prefix(ADD) {
            Some(added(cursor, path))
        } else if let Some(path) = line.strip_prefix(DELETE) {
            let before = Before::At(path.trim().to_owned());
            Some(of(at, before, After::Nothing, Vec::new(), None))
        } else if let Some(path) = line.strip_prefix(UPDATE) {
            Some(updated(cursor, path, counts)?)
        } else if line.trim().is_empty() {
            None
        } else {
            return Err(error_at(
                at,
                format!(
                    "`{line}` is no part of a `*** Begin Patch` text; a file begins with `{ADD}`, `{UPDATE}` or `{DELETE}`, \
                 the lines of a new file with `+`, and those of a hunk with a blank, `+` or `-`"
                ),
            ));
        };
        files.extend(file);
    }
}

fn of(at: usize, before: Before, after: After, hunks: Vec<Hunk>, text: Option<String>) -> FileDiff {
    FileDiff {
        line: at + 1,
        before,
        after,
        modes: (None, None),
        index: None,
        hunks,
        text,
    }
}

fn added(cursor: &mut Cursor<'_>, path: &str) -> FileDiff {
    let at = cursor.at - 1;
    let mut lines = Vec::new();
    while let Some(text) = cursor.peek().and_then(|line| line.strip_prefix('+')) {
        lines.push(Line {
            mark: Mark::Added,
            text: text.to_owned(),
            end: End::Feed,
        });
        cursor.at += 1;
    }
    let hunk = Hunk {
        start: None,
        landmarks: Vec::new(),
        reach: Reach::Anywhere,
        lines,
        recounted: None,
    };
    let after = After::At(path.trim().to_owned());
    of(at, Before::Nothing, after, vec![hunk], None)
}

fn updated(cursor: &mut Cursor<'_>, path: &str, counts: Counts) -> Result<FileDiff, DiffError> {
    let at = cursor.at - 1;
    let path = path.trim().to_owned();
    let moved = cursor.peek().and_then(|line| line.strip_prefix(MOVE));
    let to = moved.map_or_else(|| path.clone(), |to| to.trim().to_owned());
    cursor.at += usize::from(moved.is_some());
    if cursor.has_names(cursor.at) {
        return Err(cursor.error(
            "here are the names of a unified diff inside a `*** Begin Patch` text; send the unified diff alone",
        ));
    }
    let from = cursor.at;
    let begins_bare = cursor
        .peek()
        .is_some_and(|line| line.starts_with([' ', '+', '-']));
    let mut hunks = Vec::new();
    if begins_bare {
        // The header of the first hunk may be left out.
        hunks.push(cursor.bare(Vec::new())?);
    }
    hunks.extend(cursor.hunks(counts)?);
    let text = cursor.text(from, cursor.at);
    let header = if begins_bare {
        cursor.written("@@")
    } else {
        String::new()
    };
    if hunks.is_empty() && moved.is_none() {
        return Err(error_at(at, format!("no hunk follows `{UPDATE}{path}`")));
    }
    if let Some(problem) = contradiction(&hunks) {
        return Err(error_at(at, problem));
    }
    Ok(of(
        at,
        Before::At(path),
        After::At(to),
        hunks,
        Some(header + &text),
    ))
}
