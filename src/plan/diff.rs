//! What changed between two contents of a file: counted and begun for the reports, whole for people.
//! Pure.
//!
//! Work and memory go with what lies between the first and the last difference, not with the size of
//! the file.

mod hunks;

use std::fmt::Write;

use crate::task::{Hiding, RelPath};

use super::record::DiffSummary;
use hunks::{Hunks, Line};

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
    let (before, after) = pair.bytes();
    let mut out = Out {
        text: String::new(),
    };
    let hunks = match (text(before), text(after)) {
        _ if before == after => None,
        (Some(old), Some(new)) => Some(Hunks::between(old, new)),
        _ => None,
    };
    let header = header(pair, hunks.as_ref());
    let Some(hunks) = hunks else {
        if before == after && header.is_empty() {
            return String::new();
        }
        out.meta(&first(pair));
        out.meta(&header);
        if before != after {
            let (old, new) = sides(pair);
            out.meta(&format!("Binary files {old} and {new} differ\n"));
        }
        return out.text;
    };
    out.meta(&first(pair));
    out.meta(&header);
    out.meta(&names(pair));
    for line in hunks.lines() {
        out.line(&line);
    }
    out.text
}

/// The counted lines and the beginning of the diff (R-001-58). Values that look like credentials are
/// not in it (R-001-161).
pub(crate) fn summary(pair: Pair<'_>) -> DiffSummary {
    let (before, after) = pair.bytes();
    let (old, new) = match (text(before), text(after)) {
        _ if before == after => {
            return DiffSummary {
                preview: renaming(pair).chars().take(PREVIEW).collect(),
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
    let mut shown = names(pair);
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

/// `--- a/x` and `+++ b/x`, each with its line ending. After a name with a space git puts a tab.
fn names(pair: Pair<'_>) -> String {
    let (old, new) = sides(pair);
    let tab = |name: &str| if name.contains(' ') { "\t" } else { "" };
    format!("--- {old}{}\n+++ {new}{}\n", tab(&old), tab(&new))
}

/// `rename from` and `rename to`, where the names differ.
fn renaming(pair: Pair<'_>) -> String {
    match pair {
        Pair::Changed { before, after } if before.name != after.name => format!(
            "rename from {}\nrename to {}\n",
            quoted("", before.name),
            quoted("", after.name)
        ),
        Pair::Created(_) | Pair::Deleted(_) | Pair::Changed { .. } => String::new(),
    }
}

fn sides(pair: Pair<'_>) -> (String, String) {
    let nothing = || "/dev/null".to_owned();
    match pair {
        Pair::Created(after) => (nothing(), quoted("b/", after.name)),
        Pair::Deleted(before) => (quoted("a/", before.name), nothing()),
        Pair::Changed { before, after } => (quoted("a/", before.name), quoted("b/", after.name)),
    }
}

fn first(pair: Pair<'_>) -> String {
    let (old, new) = match pair {
        Pair::Created(only) | Pair::Deleted(only) => (only.name, only.name),
        Pair::Changed { before, after } => (before.name, after.name),
    };
    format!("diff --git {} {}\n", quoted("a/", old), quoted("b/", new))
}

/// What git says between the first line and the names.
fn header(pair: Pair<'_>, hunks: Option<&Hunks<'_>>) -> String {
    match pair {
        Pair::Created(after) => format!("new file mode {}\n", mode(after)),
        Pair::Deleted(before) => format!("deleted file mode {}\n", mode(before)),
        Pair::Changed { before, after } => {
            let mut text = String::new();
            if mode(before) != mode(after) {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "old mode {}\nnew mode {}", mode(before), mode(after));
            }
            if before.name != after.name {
                let _ = writeln!(
                    text,
                    "similarity index {}%",
                    similarity(before, after, hunks)
                );
                text.push_str(&renaming(pair));
            }
            text
        }
    }
}

/// The two modes git knows of a file.
fn mode(side: Side<'_>) -> &'static str {
    if side.mode & 0o100 == 0 {
        "100644"
    } else {
        "100755"
    }
}

/// How much of the larger file is the same, in hundredths; 100 for equal files alone.
fn similarity(before: Side<'_>, after: Side<'_>, hunks: Option<&Hunks<'_>>) -> usize {
    if before.bytes == after.bytes {
        return 100;
    }
    let larger = before.bytes.len().max(after.bytes.len()).max(1);
    let kept = hunks.map_or(0, |hunks| {
        before.bytes.len().saturating_sub(hunks.removed_bytes())
    });
    (kept * 100 / larger).min(99)
}

/// A name as git quotes it (`core.quotePath`): in double quotes with octal bytes, unless it is plain.
fn quoted(prefix: &str, name: &RelPath) -> String {
    let bytes = name.as_str().bytes();
    let plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    if bytes.clone().all(|byte| plain(&byte)) {
        return format!("{prefix}{name}");
    }
    let mut text = format!("\"{prefix}");
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = match byte {
            b'"' | b'\\' => write!(text, "\\{}", char::from(byte)),
            _ if plain(&byte) => write!(text, "{}", char::from(byte)),
            _ => write!(text, "\\{byte:03o}"),
        };
    }
    text.push('"');
    text
}

struct Out {
    text: String,
}

impl Out {
    /// Whole lines of the header.
    fn meta(&mut self, lines: &str) {
        for line in lines.lines() {
            self.text.push_str(line);
            self.text.push('\n');
        }
    }

    fn line(&mut self, line: &Line<'_>) {
        self.text.extend(line.mark());
        self.text.push_str(line.text());
        self.text.push('\n');
    }
}

#[cfg(test)]
mod tests;
