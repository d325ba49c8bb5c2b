//! The part of two texts between their first and their last difference.

use super::CONTEXT;

pub(super) struct Window<'a> {
    /// What both begin with.
    pub(super) skipped: &'a str,
    /// At most [`CONTEXT`] lines before the first difference.
    pub(super) lead: &'a str,
    /// From the first difference to the last, in whole lines.
    pub(super) old: &'a str,
    pub(super) new: &'a str,
    /// At most [`CONTEXT`] lines after the last difference.
    pub(super) tail: &'a str,
}

/// How many bytes are compared at once.
const BLOCK: usize = 4096;

impl<'a> Window<'a> {
    pub(super) fn of(before: &'a str, after: &'a str) -> Self {
        let (a, b) = (before.as_bytes(), after.as_bytes());
        let same = |(x, y): &(&u8, &u8)| x == y;
        let blocks = a.chunks(BLOCK).zip(b.chunks(BLOCK));
        let equal = blocks.take_while(|(x, y)| x == y).map(|(x, _)| x.len());
        let equal: usize = equal.sum();
        let rest = |text: &'a [u8]| text.get(equal..).unwrap_or_default().iter();
        let common = equal + rest(a).zip(rest(b)).take_while(same).count();
        let start = after_newline(a.get(..common).unwrap_or_default());
        let rest = |text: &'a [u8]| text.get(start..).unwrap_or_default();
        let blocks = rest(a).rchunks(BLOCK).zip(rest(b).rchunks(BLOCK));
        let equal = blocks.take_while(|(x, y)| x == y).map(|(x, _)| x.len());
        let equal: usize = equal.sum();
        let back = |text: &'a [u8]| rest(text).iter().rev().skip(equal);
        let common = equal + back(a).zip(back(b)).take_while(same).count();
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
