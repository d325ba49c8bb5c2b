//! Builds the new text match by match.

use std::ops::Range;

use regex_automata::{
    PatternID,
    util::{captures::GroupInfo, interpolate},
};

use super::{
    super::{
        Budget, EditError,
        error::Position,
        text::{end_near, with_ends},
    },
    Count, Sought,
};

/// How many places of matches a message contains.
const TOLD: usize = 10;

/// What a match becomes.
#[derive(Debug)]
pub(super) struct Replacement<'r> {
    /// As the library reads it: `$1` and `${name}` stand for groups of the match, `$$` for a dollar.
    pub(super) text: String,
    /// The groups that the names mean; none of a literal.
    pub(super) groups: Option<&'r GroupInfo>,
    /// Whether its line ends stay as they are written. Otherwise they become those of the line that a match starts in.
    pub(super) as_written: bool,
}

impl Replacement<'_> {
    /// Appends a text of it to `after`, and calls this for each group.
    fn expand(&self, text: &str, after: &mut Vec<u8>, group: impl FnMut(usize, &mut Vec<u8>)) {
        let index = |name: &str| self.groups?.to_index(PatternID::ZERO, name);
        interpolate::bytes(text.as_bytes(), group, index, after);
    }
}

/// Counts and replaces matches. A result that would be too large is refused before it is built, and nothing is
/// built if there are more matches than wanted.
pub(super) struct Rewriting<'t> {
    body: &'t str,
    count: Count,
    budget: &'t Budget<'t>,
    sought: Sought,
    pub(super) number: u64,
    /// Where the first matches start.
    first: Vec<usize>,
    after: Vec<u8>,
    /// The text before this byte is done.
    done: usize,
    /// The last line that was asked for: where it ends, and with what.
    line: (usize, &'static str),
}

impl<'t> Rewriting<'t> {
    pub(super) fn new(
        body: &'t str,
        count: Count,
        sought: Sought,
        budget: &'t Budget<'t>,
    ) -> Result<Self, EditError> {
        if count == Count::Exactly(0) {
            return Err(EditError::Unfit(
                "a count of 0 replaces nothing; leave the edit out".to_owned(),
            ));
        }
        Ok(Self {
            body,
            count,
            budget,
            sought,
            number: 0,
            first: Vec::new(),
            after: Vec::new(),
            done: 0,
            line: (0, "\n"),
        })
    }

    /// One more match. The first of its groups is the whole of it.
    pub(super) fn replace(
        &mut self,
        groups: &[Range<usize>],
        replacement: &Replacement<'_>,
    ) -> Result<(), EditError> {
        self.budget.go_on()?;
        let found = groups.first().cloned().unwrap_or_default();
        self.number += 1;
        if self.first.len() < TOLD {
            self.first.push(found.start);
        }
        if matches!(self.count, Count::Exactly(wanted) if self.number > wanted) {
            self.after = Vec::new();
            return Ok(());
        }
        if replacement.as_written {
            return self.put(groups, replacement, &replacement.text);
        }
        let text = with_ends(&replacement.text, self.end_at(found.start));
        let whole = self.with_whole_ends(&found);
        let fitted = groups.iter().map(|group| {
            let starts = group.start == found.start && !group.is_empty();
            let start = if starts { whole.start } else { group.start };
            start.min(whole.end)..group.end.min(whole.end)
        });
        self.put(&fitted.collect::<Vec<_>>(), replacement, &text)
    }

    /// Refuses a match that starts here in the text, if another one that overlaps it starts there.
    pub(super) fn apart(
        &self,
        body: &str,
        start: usize,
        other: Option<usize>,
    ) -> Result<(), EditError> {
        let Some(other) = other else { return Ok(()) };
        let [first, second] = [start, other].map(|at| Position::of(body, at).line);
        Err(EditError::Ambiguous(format!(
            "{} is found at two places that overlap (they start in the lines {first} and {second}), so it is not clear \
             which is meant, whatever the count is; lengthen it until its places do not overlap",
            self.sought
        )))
    }

    /// A match that starts between `\r` and `\n` starts before them; one that ends there ends before them.
    fn with_whole_ends(&self, found: &Range<usize>) -> Range<usize> {
        let is_end = |at: usize| self.body.as_bytes().get(at..at + 2) == Some(b"\r\n");
        let before = |at: usize| {
            at.checked_sub(1)
                .filter(|at| *at >= self.done && is_end(*at))
        };
        let start = before(found.start).unwrap_or(found.start);
        let end = before(found.end).unwrap_or(found.end);
        start..end.max(start)
    }

    fn put(
        &mut self,
        groups: &[Range<usize>],
        replacement: &Replacement<'_>,
        text: &str,
    ) -> Result<(), EditError> {
        let body = self.body.as_bytes();
        let of = |group: usize| groups.get(group).cloned().unwrap_or_default();
        let found = of(0);
        let kept = body.get(self.done..found.start).unwrap_or_default();
        let (mut filled, mut plain) = (0_u64, Vec::new());
        replacement.expand(text, &mut plain, |group, _| {
            filled = filled.saturating_add(of(group).len() as u64);
        });
        self.fits(filled.saturating_add((kept.len() + plain.len()) as u64))?;
        self.after.extend_from_slice(kept);
        replacement.expand(text, &mut self.after, |group, after| {
            after.extend_from_slice(body.get(of(group)).unwrap_or_default());
        });
        self.done = found.end;
        Ok(())
    }

    /// How the line ends that holds this byte; where it has no end, the line before it. The calls come in order, so
    /// that no byte is examined twice.
    fn end_at(&mut self, at: usize) -> &'static str {
        if at >= self.line.0 {
            let rest = self.body.get(at..).unwrap_or_default();
            let length = rest.find('\n').map_or(rest.len(), |feed| feed + 1);
            self.line = (at + length, end_near(self.body, at));
        }
        self.line.1
    }

    /// The new text, if there were as many matches as wanted.
    pub(super) fn finish(mut self) -> Result<String, EditError> {
        if let Count::Exactly(wanted) = self.count
            && wanted != self.number
        {
            let lines = self.first.iter();
            let lines = lines.map(|start| Position::of(self.body, *start).line.to_string());
            return Err(EditError::Ambiguous(format!(
                "{} was found {} times (lines {}), not {wanted}; lengthen it until it is unique, or {}",
                self.sought,
                self.number,
                lines.collect::<Vec<_>>().join(", "),
                self.sought.all_of_them()
            )));
        }
        let rest = self.body.as_bytes().get(self.done..).unwrap_or_default();
        self.fits(rest.len() as u64)?;
        self.after.extend_from_slice(rest);
        String::from_utf8(self.after).map_err(|_| {
            EditError::Refused("the replacement would leave bytes that are not UTF-8".to_owned())
        })
    }

    fn fits(&self, more: u64) -> Result<(), EditError> {
        self.budget
            .fits(more.saturating_add(self.after.len() as u64))
    }
}
