//! The difference between two contents of a file: a short summary for the reports, and the whole diff for a
//! preview. Pure.
//!
//! Time and memory depend on the part between the first and the last difference, not on the size of the file.

mod lines;
mod window;

use std::{borrow::Cow, fmt::Write, ops::Range, time::Duration};

use similar::{DiffOp, TextDiff};

use crate::task::{CUT, Hiding, RelPath};

use window::Window;

use super::{engine::hash, files::LINK_MODE, record::DiffSummary};

pub(crate) use lines::{Difference, Line as DiffLine, Mark as DiffMark, Word, lines};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Side<'a> {
    pub(crate) name: &'a RelPath,
    pub(crate) bytes: &'a [u8],
    /// Permission bits; of a symbolic link, [`LINK_MODE`].
    pub(crate) mode: u32,
}

/// What is compared: `None` where there is no file. Names that differ make it a rename.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair<'a> {
    pub(crate) before: Option<Side<'a>>,
    pub(crate) after: Option<Side<'a>>,
}

/// Characters of a preview (R-001-58).
const PREVIEW: usize = 500;

/// Who reads a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// The user of this terminal.
    User,
    /// Those who approve. Their diff is recorded and passed on, so it has no credentials.
    Approvers,
}

/// The diff as `git diff` prints it and `git apply` reads it, and how many values it hides from this reader; empty
/// where nothing differs.
pub(crate) fn unified(pair: Pair<'_>, reader: Reader) -> (String, usize) {
    let (before, after) = pair.bytes();
    let hunks = match (text(before), text(after)) {
        (Some(old), Some(new)) if before != after => Some(Hunks::between(old, new)),
        _ => None,
    };
    let header = header(pair, hunks.as_ref());
    if before == after && header.is_empty() {
        return (String::new(), 0);
    }
    let mut hidden = 0;
    let mut shown = first(pair) + &header;
    if let Some(hunks) = hunks {
        shown.push_str(&names(pair));
        let lossy = |bytes| text(bytes).unwrap_or_default();
        let hiding = Hiding::of(lossy(before), lossy(after));
        for (mark, text) in hunks.lines() {
            shown.extend(mark);
            match reader {
                Reader::User => shown.push_str(&text),
                Reader::Approvers => {
                    let line = hiding.hide_all(&text);
                    if *line != *text {
                        hidden += line.matches(CUT).count();
                    }
                    shown.push_str(&line);
                }
            }
            shown.push('\n');
        }
    } else if before != after {
        let (old, new) = sides(pair);
        // Writing to a String cannot fail.
        let _ = writeln!(shown, "Binary files {old} and {new} differ");
        for (when, side) in [("before", pair.before), ("after", pair.after)] {
            let Some(Side { bytes, .. }) = side else {
                continue;
            };
            let _ = writeln!(
                shown,
                "{when}: {} bytes, SHA-256 {}",
                bytes.len(),
                hash(bytes)
            );
        }
    }
    (shown, hidden)
}

/// The counted lines and the beginning of the diff (R-001-58). Values that look like credentials are
/// not in it (R-001-161).
pub(crate) fn summary(pair: Pair<'_>) -> DiffSummary {
    let (before, after) = pair.bytes();
    let uncounted = |preview| DiffSummary {
        preview,
        ..DiffSummary::default()
    };
    if before == after {
        return uncounted(renaming(pair).chars().take(PREVIEW).collect());
    }
    let (Some(old), Some(new)) = (text(before), text(after)) else {
        return uncounted(binary(pair));
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
    for (mark, text) in hunks.lines() {
        if left == 0 {
            break;
        }
        let text = hiding.hide(&text);
        let whole = mark.into_iter().chain(text.chars()).chain(['\n']);
        let piece: String = whole.take(left).collect();
        left -= piece.chars().count();
        shown.push_str(&piece);
    }
    shown.chars().take(PREVIEW).collect()
}

/// A sentence instead of a diff.
fn binary(pair: Pair<'_>) -> String {
    let (before, after) = pair.bytes();
    let (before, after) = (before.len(), after.len());
    match (pair.before, pair.after) {
        (Some(_), Some(_)) => {
            format!("Binary files differ: {before} bytes before, {after} bytes after.")
        }
        _ => format!("Binary file of {} bytes.", before + after),
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
    fn bytes(self) -> (&'a [u8], &'a [u8]) {
        let of = |side: Option<Side<'a>>| side.map_or(&[] as &[u8], |side| side.bytes);
        (of(self.before), of(self.after))
    }

    fn renamed(self) -> Option<(Side<'a>, Side<'a>)> {
        let both = self.before.zip(self.after);
        both.filter(|(before, after)| before.name != after.name)
    }
}

/// `--- a/x` and `+++ b/x`, each with its line ending. After a name with a space git puts a tab.
fn names(pair: Pair<'_>) -> String {
    let (old, new) = sides(pair);
    let tab = |name: &str| if name.contains(' ') { "\t" } else { "" };
    format!("--- {old}{}\n+++ {new}{}\n", tab(&old), tab(&new))
}

fn renaming(pair: Pair<'_>) -> String {
    pair.renamed().map_or_else(String::new, |(before, after)| {
        let (from, to) = (quoted("", before.name), quoted("", after.name));
        format!("rename from {from}\nrename to {to}\n")
    })
}

fn sides(pair: Pair<'_>) -> (String, String) {
    let side = |prefix, side: Option<Side<'_>>| {
        side.map_or_else(|| "/dev/null".to_owned(), |side| quoted(prefix, side.name))
    };
    (side("a/", pair.before), side("b/", pair.after))
}

fn first(pair: Pair<'_>) -> String {
    let (old, new) = sides(Pair {
        before: pair.before.or(pair.after),
        after: pair.after.or(pair.before),
    });
    format!("diff --git {old} {new}\n")
}

/// What git says between the first line and the names.
fn header(pair: Pair<'_>, hunks: Option<&Hunks<'_>>) -> String {
    let (before, after) = match (pair.before, pair.after) {
        (Some(before), Some(after)) => (before, after),
        (None, Some(after)) => return format!("new file mode {}\n", mode(after)),
        (Some(before), None) => return format!("deleted file mode {}\n", mode(before)),
        (None, None) => return String::new(),
    };
    let mut text = String::new();
    if mode(before) == mode(after) && before.bytes == after.bytes && before.mode != after.mode {
        let _ = writeln!(
            text,
            "old mode 100{:03o}\nnew mode 100{:03o}",
            before.mode, after.mode
        );
    }
    if mode(before) != mode(after) {
        let _ = writeln!(text, "old mode {}\nnew mode {}", mode(before), mode(after));
    }
    if pair.renamed().is_some() {
        let similarity = similarity(before, after, hunks);
        let _ = writeln!(text, "similarity index {similarity}%");
        text.push_str(&renaming(pair));
    }
    text
}

/// The mode as git writes it: it knows two of files.
fn mode(side: Side<'_>) -> &'static str {
    match side.mode {
        LINK_MODE => "120000",
        mode if mode & 0o100 == 0 => "100644",
        _ => "100755",
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
pub(crate) fn quoted(prefix: &str, name: &RelPath) -> String {
    let bytes = name.as_str().bytes();
    let plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    if bytes.clone().all(|byte| plain(&byte)) {
        return format!("{prefix}{name}");
    }
    let mut text = format!("\"{prefix}");
    for byte in bytes {
        let _ = match byte {
            b'"' | b'\\' => write!(text, "\\{}", char::from(byte)),
            _ if plain(&byte) => write!(text, "{}", char::from(byte)),
            _ => write!(text, "\\{byte:03o}"),
        };
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests;

/// Lines shown around a difference, as git does.
const CONTEXT: usize = 3;

/// The time limit of the search for a good diff. Only files in which large parts were reordered reach it; their
/// diff is coarser.
const PATIENCE: Duration = Duration::from_secs(1);

/// The most lines between the first and the last difference for which a good diff is searched for, which takes
/// some hundred bytes per line. If there are more, all are shown as replaced.
const MOST_LINES: usize = 1_000_000;

/// The lines that differ, with three lines around them.
struct Hunks<'a> {
    /// Lines of the texts before the window that was compared.
    skipped: usize,
    /// Each a line, or many in a row.
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    groups: Vec<Vec<DiffOp>>,
}

/// A line of a unified diff without its line ending: what stands before the text, and the text.
type Line<'a> = (Option<char>, Cow<'a, str>);

impl<'a> Hunks<'a> {
    fn between(before: &'a str, after: &'a str) -> Self {
        let window = Window::of(before, after);
        let too_many = [window.old, window.new]
            .iter()
            .any(|text| newlines(text) > MOST_LINES);
        let lines = |text: &'a str| text.split_inclusive('\n');
        let pieces = |middle: &'a str| -> Vec<&'a str> {
            let whole = Some(middle).filter(|middle| too_many && !middle.is_empty());
            let apart = Some(middle).filter(|_| !too_many);
            let middle = whole.into_iter().chain(apart.into_iter().flat_map(lines));
            let (lead, tail) = (lines(window.lead), lines(window.tail));
            lead.chain(middle).chain(tail).collect()
        };
        let (old, new) = (pieces(window.old), pieces(window.new));
        let mut diff = TextDiff::configure();
        let diff = diff.timeout(PATIENCE).diff_slices(&old, &new);
        Self {
            skipped: newlines(window.skipped),
            groups: diff.grouped_ops(CONTEXT),
            old,
            new,
        }
    }

    fn added(&self) -> u64 {
        let new = |op: &DiffOp| count(&self.new, op.new_range());
        self.operations().map(|op| new(op) as u64).sum()
    }

    fn removed(&self) -> u64 {
        let old = |op: &DiffOp| count(&self.old, op.old_range());
        self.operations().map(|op| old(op) as u64).sum()
    }

    fn removed_bytes(&self) -> usize {
        self.operations()
            .flat_map(|op| self.old.get(op.old_range()).unwrap_or_default())
            .map(|line| line.len())
            .sum()
    }

    /// The operations that change something.
    fn operations(&self) -> impl Iterator<Item = &DiffOp> {
        let all = self.groups.iter().flatten();
        all.filter(|op| !matches!(op, DiffOp::Equal { .. }))
    }

    /// The diff, line by line, made as it is asked for.
    fn lines(&self) -> impl Iterator<Item = Line<'a>> {
        self.groups.iter().flat_map(move |group| {
            let head = (None, Cow::Owned(self.head(group)));
            std::iter::once(head).chain(group.iter().flat_map(move |op| self.shown(op)))
        })
    }

    fn head(&self, group: &[DiffOp]) -> String {
        let span = |all: &[&str], range: fn(&DiffOp) -> Range<usize>| {
            // What comes before the first group is single lines.
            let first = group.first().map_or(0, |op| range(op).start) + self.skipped;
            match group.iter().map(|op| count(all, range(op))).sum() {
                // For no lines, the line before is named.
                0 => format!("{first},0"),
                1 => format!("{}", first + 1),
                lines => format!("{},{lines}", first + 1),
            }
        };
        format!(
            "@@ -{} +{} @@",
            span(&self.old, DiffOp::old_range),
            span(&self.new, DiffOp::new_range)
        )
    }

    fn shown<'s>(&'s self, op: &DiffOp) -> impl Iterator<Item = Line<'a>> + use<'s, 'a> {
        let old = self.old.get(op.old_range()).unwrap_or_default();
        let new = self.new.get(op.new_range()).unwrap_or_default();
        let (kept, removed, added): (&[&str], &[&str], &[&str]) = match op {
            DiffOp::Equal { .. } => (old, &[], &[]),
            DiffOp::Delete { .. } | DiffOp::Insert { .. } | DiffOp::Replace { .. } => {
                (&[], old, new)
            }
        };
        told(kept, ' ')
            .chain(told(removed, '-'))
            .chain(told(added, '+'))
    }
}

/// Those lines with that mark; a remark follows the last one of a file without a line ending.
fn told<'s, 'a>(lines: &'s [&'a str], mark: char) -> impl Iterator<Item = Line<'a>> + use<'s, 'a> {
    let single = lines.iter().flat_map(|lines| lines.split_inclusive('\n'));
    single.flat_map(move |line| {
        let text = line.strip_suffix('\n');
        let remark = (None, Cow::Borrowed("\\ No newline at end of file"));
        let line = (Some(mark), Cow::Borrowed(text.unwrap_or(line)));
        [Some(line), text.is_none().then_some(remark)]
            .into_iter()
            .flatten()
    })
}

fn count(all: &[&str], part: Range<usize>) -> usize {
    let part = all.get(part).unwrap_or_default().iter();
    part.map(|lines| newlines(lines) + usize::from(!lines.ends_with('\n')))
        .sum()
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}
