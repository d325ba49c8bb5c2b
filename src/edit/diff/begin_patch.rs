//! The `*** Begin Patch` text of coding agents: files that are added, deleted, updated and moved, and hunks without line
//! numbers.

use super::{FileChange, FileDiff};
use crate::edit::hunks::{Cursor, DiffError, DiffRules, Hunk, contradiction, error_at};

const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";
const END: &str = "*** End Patch";

/// The files from `*** Begin Patch` to `*** End Patch`.
pub(super) fn read(cursor: &mut Cursor<'_>, rules: DiffRules) -> Result<Vec<FileDiff>, DiffError> {
    let begin = cursor.at;
    cursor.at += 1;
    let mut files = Vec::new();
    while let Some(line) = cursor.peek() {
        let at = cursor.at;
        cursor.at += 1;
        if line.trim_end() == END {
            return Ok(files);
        }
        let named = |mark| line.strip_prefix(mark).map(|path| path.trim().to_owned());
        let file = |change| FileDiff {
            line: at + 1,
            change,
            modes: [None; 2],
            hunks: Vec::new(),
            text: None,
        };
        if let Some(path) = named(ADD) {
            let hunks = vec![added(cursor)];
            let file = file(FileChange::Created(path));
            files.push(FileDiff { hunks, ..file });
        } else if let Some(path) = named(DELETE) {
            files.push(file(FileChange::Deleted(path)));
        } else if let Some(path) = named(UPDATE) {
            let moved = cursor.peek().and_then(|line| line.strip_prefix(MOVE));
            let to = moved.map_or(path.as_str(), str::trim).to_owned();
            cursor.at += usize::from(moved.is_some());
            let (hunks, text) = updated(cursor, rules)?;
            if hunks.is_empty() && moved.is_none() {
                return Err(error_at(at, format!("no hunk follows `{line}`")));
            }
            if let Some(problem) = contradiction(&hunks) {
                return Err(error_at(at, problem));
            }
            let file = file(FileChange::Edited(path, to));
            let text = Some(text);
            files.push(FileDiff {
                hunks,
                text,
                ..file
            });
        } else if !line.trim().is_empty() {
            return Err(error_at(
                at,
                format!(
                    "`{line}` is no part of a `*** Begin Patch` text; a file begins with `{ADD}`, `{UPDATE}` or \
                     `{DELETE}`, the lines of a new file with `+`, and those of a hunk with a blank, `+` or `-`"
                ),
            ));
        }
    }
    Err(error_at(
        begin,
        "`*** End Patch` is missing, so the text may be incomplete",
    ))
}

/// The lines of a new file.
fn added(cursor: &mut Cursor<'_>) -> Hunk {
    let mut hunk = Hunk::default();
    while let Some(text) = cursor.peek().and_then(|line| line.strip_prefix('+')) {
        hunk.new.push(format!("{text}\n"));
        cursor.at += 1;
    }
    hunk
}

/// The hunks of a file, and their text.
fn updated(cursor: &mut Cursor<'_>, rules: DiffRules) -> Result<(Vec<Hunk>, String), DiffError> {
    if cursor.has_names(cursor.at) {
        return Err(cursor.error(
            "here are the names of a unified diff inside a `*** Begin Patch` text; send the unified diff alone",
        ));
    }
    let first = cursor.at;
    let mut hunks = Vec::new();
    let mut header = "";
    let begins = cursor.peek().unwrap_or_default();
    if begins.starts_with([' ', '+', '-']) {
        // The header of the first hunk may be left out.
        header = "@@\n";
        hunks.push(cursor.bare()?);
    }
    hunks.extend(cursor.hunks(rules)?);
    Ok((hunks, header.to_owned() + &cursor.text_from(first)))
}
