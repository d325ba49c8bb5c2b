//! The lines that differ, with three lines around them.

use std::{borrow::Cow, ops::Range, time::Duration};

use similar::{DiffOp, TextDiff};

/// Lines shown around a difference, as git does.
const CONTEXT: usize = 3;

/// The time limit of the search for a good diff. Only files in which large parts were reordered reach it; their
/// diff is coarser.
const PATIENCE: Duration = Duration::from_secs(1);

/// The most lines between the first and the last difference for which a good diff is searched for, which takes
/// some hundred bytes per line. If there are more, all are shown as replaced.
const MOST_LINES: usize = 1_000_000;

pub(super) struct Hunks<'a> {
    /// Lines of the texts before the window that was compared.
    skipped: usize,
    /// Each a line, or many in a row.
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    groups: Vec<Vec<DiffOp>>,
}

/// A line of a unified diff without its line ending: what stands before the text, and the text.
pub(super) type Line<'a> = (Option<char>, Cow<'a, str>);

impl<'a> Hunks<'a> {
    pub(super) fn between(before: &'a str, after: &'a str) -> Self {
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

    pub(super) fn added(&self) -> u64 {
        let new = |op: &DiffOp| count(&self.new, op.new_range());
        self.operations().map(|op| new(op) as u64).sum()
    }

    pub(super) fn removed(&self) -> u64 {
        let old = |op: &DiffOp| count(&self.old, op.old_range());
        self.operations().map(|op| old(op) as u64).sum()
    }

    pub(super) fn removed_bytes(&self) -> usize {
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
    pub(super) fn lines(&self) -> impl Iterator<Item = Line<'a>> {
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

struct Window<'a> {
    /// What both begin with.
    skipped: &'a str,
    /// At most [`CONTEXT`] lines before the first difference.
    lead: &'a str,
    /// From the first difference to the last, in whole lines.
    old: &'a str,
    new: &'a str,
    /// At most [`CONTEXT`] lines after the last difference.
    tail: &'a str,
}

impl<'a> Window<'a> {
    fn of(before: &'a str, after: &'a str) -> Self {
        let (a, b) = (before.as_bytes(), after.as_bytes());
        let same = |(x, y): &(&u8, &u8)| x == y;
        let common = a.iter().zip(b).take_while(same).count();
        let start = after_newline(a.get(..common).unwrap_or_default());
        let rest = |text: &'a [u8]| text.get(start..).unwrap_or_default().iter().rev();
        let common = rest(a).zip(rest(b)).take_while(same).count();
        // The first line of what they end with may have begun before it.
        let mut end = a.get(a.len() - common..).unwrap_or_default().iter();
        let whole = end
            .position(|byte| *byte == b'\n')
            .map_or(0, |at| common - at - 1);
        let lead = before.get(..start).unwrap_or_default();
        let lead = lead.split_inclusive('\n').rev().take(CONTEXT);
        let first = start - lead.map(str::len).sum::<usize>();
        let tail = before.get(a.len() - whole..).unwrap_or_default();
        let shown = tail.split_inclusive('\n').take(CONTEXT).map(str::len).sum();
        Self {
            skipped: before.get(..first).unwrap_or_default(),
            lead: before.get(first..start).unwrap_or_default(),
            old: before.get(start..a.len() - whole).unwrap_or_default(),
            new: after.get(start..b.len() - whole).unwrap_or_default(),
            tail: tail.get(..shown).unwrap_or_default(),
        }
    }
}

/// The place after the last line ending.
fn after_newline(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1)
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}
