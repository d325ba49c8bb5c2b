//! The difference between two contents of a file: a short summary for the reports, and the whole diff for a
//! preview. Pure.
//!
//! The lines that differ, and the hunks that they form, are those of `similar`; names and modes are as git writes them.

mod lines;

use std::{borrow::Cow, fmt::Write, iter, time::Duration};

use similar::{ChangeTag, TextDiff, udiff::UnifiedHunkHeader};

use crate::task::{CUT, Hiding, RelPath};

use super::{change::DiffSummary, hash::hash};
use crate::tree::LINK_MODE;

pub(crate) use lines::{Difference, Line as DiffLine, Word, lines};

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
    let hunks = (before != after).then(|| pair.hunks()).flatten();
    let header = header(pair, hunks.as_ref());
    if before == after && header.is_empty() {
        return (String::new(), 0);
    }
    let mut hidden = 0;
    let mut shown = first(pair) + &header;
    if let Some(hunks) = hunks {
        shown.push_str(&names(pair));
        for Line { mark, text, .. } in hunks.lines() {
            let line = match reader {
                Reader::User => Cow::Borrowed(&*text),
                Reader::Approvers => hunks.hiding.hide(&text),
            };
            if *line != *text {
                hidden += line.matches(CUT).count();
            }
            shown.extend([mark.sign(), &*line, "\n"]);
        }
    } else if before != after {
        let (old, new) = sides(pair);
        // Writing to a String cannot fail.
        let _ = writeln!(shown, "Binary files {old} and {new} differ");
        for (when, side) in [("before", pair.before), ("after", pair.after)] {
            if let Some(Side { bytes, .. }) = side {
                let (size, hash) = (bytes.len(), hash(bytes));
                let _ = writeln!(shown, "{when}: {size} bytes, SHA-256 {hash}");
            }
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
    let Some(hunks) = pair.hunks() else {
        return uncounted(binary(pair));
    };
    let count = |tag| hunks.all(tag).count() as u64;
    DiffSummary {
        lines_added: count(ChangeTag::Insert),
        lines_removed: count(ChangeTag::Delete),
        preview: preview(pair, &hunks),
    }
}

/// At most [`PREVIEW`] characters.
fn preview(pair: Pair<'_>, hunks: &Hunks<'_>) -> String {
    let mut shown = names(pair);
    let mut lines = hunks.lines();
    while shown.chars().count() < PREVIEW
        && let Some(Line { mark, text, .. }) = lines.next()
    {
        shown.extend([mark.sign(), &*hunks.hiding.hide(&text), "\n"]);
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
    let text = std::str::from_utf8(bytes).ok();
    text.filter(|text| !text.contains('\0'))
}

impl<'a> Pair<'a> {
    fn bytes(self) -> (&'a [u8], &'a [u8]) {
        let of = |side: Option<Side<'a>>| side.map_or(&[] as &[u8], |side| side.bytes);
        (of(self.before), of(self.after))
    }

    /// The lines that differ; none if one of the contents is no text.
    fn hunks(self) -> Option<Hunks<'a>> {
        let (before, after) = self.bytes();
        let (old, new) = (text(before)?, text(after)?);
        let lines = |text: &'a str| text.split_inclusive('\n').collect::<Vec<_>>();
        let mut diff = TextDiff::configure();
        let diff = diff.timeout(PATIENCE);
        Some(Hunks {
            diff: diff.diff_slices(&lines(old), &lines(new)),
            hiding: Hiding::of(old, new),
        })
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
    // Of equal files with the same mode of git, all permissions are shown.
    let is_same = mode(before) == mode(after) && before.bytes == after.bytes;
    let [old, new] = [before, after].map(|side| {
        let all = is_same.then(|| format!("100{:03o}", side.mode));
        all.unwrap_or_else(|| mode(side).to_owned())
    });
    if old != new {
        let _ = writeln!(text, "old mode {old}\nnew mode {new}");
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
        let removed: usize = hunks.all(ChangeTag::Delete).map(str::len).sum();
        before.bytes.len().saturating_sub(removed)
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
struct Hunks<'a> {
    diff: TextDiff<'a, 'a, str>,
    hiding: Hiding,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DiffMark {
    Kept,
    /// No line of a content: the place of the lines after it, or that the line before it has no line ending.
    Remark,
    Removed,
    Added,
}

/// A line of a unified diff without its mark and its line ending.
struct Line<'a> {
    mark: DiffMark,
    text: Cow<'a, str>,
    /// The numbers of the line in both contents, counted from 1; 0 where it is not.
    numbers: [usize; 2],
}

impl<'a> Line<'a> {
    fn remark(text: impl Into<Cow<'a, str>>) -> Self {
        Self {
            mark: DiffMark::Remark,
            text: text.into(),
            numbers: [0, 0],
        }
    }
}

impl DiffMark {
    const fn sign(self) -> &'static str {
        match self {
            Self::Kept => " ",
            Self::Remark => "",
            Self::Removed => "-",
            Self::Added => "+",
        }
    }
}

impl Hunks<'_> {
    /// All lines of this kind, with their line endings.
    fn all(&self, tag: ChangeTag) -> impl Iterator<Item = &str> {
        let all = self.diff.iter_all_changes();
        all.filter(move |change| change.tag() == tag)
            .map(|change| change.value())
    }

    /// The diff, line by line, made as it is asked for.
    fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let number = |index: Option<usize>| index.map_or(0, |index| index + 1);
        let hunks = self.diff.grouped_ops(CONTEXT).into_iter();
        hunks.flat_map(move |ops| {
            let head = Line::remark(UnifiedHunkHeader::new(&ops).to_string());
            let changes = ops.into_iter().flat_map(|op| self.diff.iter_changes(&op));
            let lines = changes.flat_map(move |change| {
                let text = change.value().strip_suffix('\n');
                let line = Line {
                    mark: match change.tag() {
                        ChangeTag::Equal => DiffMark::Kept,
                        ChangeTag::Delete => DiffMark::Removed,
                        ChangeTag::Insert => DiffMark::Added,
                    },
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
