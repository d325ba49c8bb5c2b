//! What changed between two contents of a file: counted and begun for the reports, whole for people.
//! Pure.
//!
//! Work and memory go with what lies between the first and the last difference, not with the size of
//! the file.

mod git;
mod hunks;

use crate::task::{Hiding, RelPath};

use super::record::DiffSummary;
use hunks::Hunks;

/// A file before or after a change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Side<'a> {
    pub(crate) name: &'a RelPath,
    pub(crate) bytes: &'a [u8],
    /// Permission bits.
    pub(crate) mode: u32,
}

/// What is compared.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pair<'a> {
    Created(Side<'a>),
    Deleted(Side<'a>),
    /// Names that differ make it a rename.
    Changed {
        before: Side<'a>,
        after: Side<'a>,
    },
}

/// Characters of a preview (R-001-58).
const PREVIEW: usize = 500;

/// The diff as `git diff` prints it and `git apply` reads it; empty where nothing differs.
pub(crate) fn unified(pair: Pair<'_>) -> String {
    git::unified(pair)
}

/// The counted lines and the beginning of the diff (R-001-58). Values that look like credentials are
/// not in it (R-001-161).
pub(crate) fn summary(pair: Pair<'_>) -> DiffSummary {
    let (before, after) = pair.bytes();
    let (old, new) = match (text(before), text(after)) {
        _ if before == after => {
            return DiffSummary {
                preview: git::renaming(pair).chars().take(PREVIEW).collect(),
                ..DiffSummary::default()
            };
        }
        (Some(old), Some(new)) => (old, new),
        _ => {
            return DiffSummary {
                preview: binary(pair),
                ..DiffSummary::default()
            };
        }
    };
    let hunks = Hunks::between(old, new);
    DiffSummary {
        lines_added: hunks.added(),
        lines_removed: hunks.removed(),
        preview: preview(pair, &hunks, Hiding::of(old, new)),
    }
}

/// At most [`PREVIEW`] characters.
fn preview(pair: Pair<'_>, hunks: &Hunks<'_>, hiding: Hiding) -> String {
    let mut shown = git::names(pair);
    let mut left = PREVIEW.saturating_sub(shown.chars().count());
    for line in hunks.lines() {
        if left == 0 {
            break;
        }
        let mark = line.mark();
        let rest = hiding.hide(line.text());
        let piece: String = mark
            .into_iter()
            .chain(rest.chars())
            .chain(['\n'])
            .take(left)
            .collect();
        left -= piece.chars().count();
        shown.push_str(&piece);
    }
    shown.chars().take(PREVIEW).collect()
}

/// A sentence instead of a diff.
fn binary(pair: Pair<'_>) -> String {
    match pair {
        Pair::Created(after) => format!("Binary file of {} bytes.", after.bytes.len()),
        Pair::Deleted(before) => format!("Binary file of {} bytes.", before.bytes.len()),
        Pair::Changed { before, after } => format!(
            "Binary files differ: {} bytes before, {} bytes after.",
            before.bytes.len(),
            after.bytes.len()
        ),
    }
}

/// The bytes as text: UTF-8 without a NUL.
fn text(bytes: &[u8]) -> Option<&str> {
    if bytes.contains(&0) {
        return None;
    }
    std::str::from_utf8(bytes).ok()
}

impl<'a> Pair<'a> {
    /// Before and after; nothing for a file that is not there.
    fn bytes(self) -> (&'a [u8], &'a [u8]) {
        match self {
            Self::Created(after) => (&[], after.bytes),
            Self::Deleted(before) => (before.bytes, &[]),
            Self::Changed { before, after } => (before.bytes, after.bytes),
        }
    }
}

#[cfg(test)]
mod tests;
