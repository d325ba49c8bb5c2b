//! The difference between two contents of a file: a short summary for the reports, and the whole diff for a
//! preview. Pure.
//!
//! The lines that differ, and the hunks that they form, are those of `similar`; names and modes are as git writes them.

mod lines;

use std::{borrow::Cow, fmt::Write, iter, time::Duration};

use similar::{ChangeTag, DiffOp, DiffTag, TextDiff, udiff::UnifiedHunkHeader};

use crate::task::{CUT, Hiding, RelPath};

use super::{change::DiffSummary, files::LINK_MODE, hash::hash};

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
        for Line { tag, text, .. } in hunks.lines() {
            shown.extend(tag.map(mark));
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
    for Line { tag, text, .. } in hunks.lines() {
        if left == 0 {
            break;
        }
        let text = hiding.hide(&text);
        let whole = tag.map(mark).into_iter().chain(text.chars()).chain(['\n']);
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

/// Lines shown around a difference, as git does.
const CONTEXT: usize = 3;

/// The time limit of the search for a good diff. Only files in which large parts were reordered reach it; their
/// diff is coarser.
const PATIENCE: Duration = Duration::from_secs(1);

/// The lines that differ, with three lines around them. Only a line feed ends a line.
struct Hunks<'a>(TextDiff<'a, 'a, str>);

/// A line of a unified diff without its mark and its line ending.
struct Line<'a> {
    /// None of a remark: the place of the lines after it, or that the line before it has no line ending.
    tag: Option<ChangeTag>,
    text: Cow<'a, str>,
    /// The numbers of the line in both contents, counted from 1; 0 where it is not.
    numbers: [usize; 2],
}

impl<'a> Line<'a> {
    fn remark(text: impl Into<Cow<'a, str>>) -> Self {
        Self {
            tag: None,
            text: text.into(),
            numbers: [0, 0],
        }
    }
}

const fn mark(tag: ChangeTag) -> char {
    match tag {
        ChangeTag::Equal => ' ',
        ChangeTag::Delete => '-',
        ChangeTag::Insert => '+',
    }
}

impl<'a> Hunks<'a> {
    fn between(before: &'a str, after: &'a str) -> Self {
        let lines = |text: &'a str| text.split_inclusive('\n').collect::<Vec<_>>();
        let mut diff = TextDiff::configure();
        Self(
            diff.timeout(PATIENCE)
                .diff_slices(&lines(before), &lines(after)),
        )
    }

    fn added(&self) -> u64 {
        self.operations()
            .map(|op| op.new_range().len() as u64)
            .sum()
    }

    fn removed(&self) -> u64 {
        self.operations()
            .map(|op| op.old_range().len() as u64)
            .sum()
    }

    fn removed_bytes(&self) -> usize {
        let lines = self.operations().flat_map(DiffOp::old_range);
        lines
            .filter_map(|at| self.0.old_slice(at))
            .map(str::len)
            .sum()
    }

    /// The operations that change something.
    fn operations(&self) -> impl Iterator<Item = &DiffOp> {
        let all = self.0.ops().iter();
        all.filter(|op| op.tag() != DiffTag::Equal)
    }

    /// The diff, line by line, made as it is asked for.
    fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let number = |index: Option<usize>| index.map_or(0, |index| index + 1);
        let hunks = self.0.grouped_ops(CONTEXT).into_iter();
        hunks.flat_map(move |ops| {
            let head = Line::remark(UnifiedHunkHeader::new(&ops).to_string());
            let changes = ops.into_iter().flat_map(|op| self.0.iter_changes(&op));
            let lines = changes.flat_map(move |change| {
                let text = change.value().strip_suffix('\n');
                let line = Line {
                    tag: Some(change.tag()),
                    text: text.unwrap_or(change.value()).into(),
                    numbers: [change.old_index(), change.new_index()].map(number),
                };
                let remark = || Line::remark("\\ No newline at end of file");
                iter::once(line).chain(text.is_none().then(remark))
            });
            iter::once(head).chain(lines)
        })
    }
}

#[cfg(test)]
mod tests;
