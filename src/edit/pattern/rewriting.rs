//! Builds the new text match by match.

use std::ops::Range;

use regex_automata::{
    PatternID,
    util::{captures::GroupInfo, interpolate},
};

use super::{
    super::{
        Budget, EditError,
        text::{Position, with_ends},
    },
    Count, Sought,
};

/// How many places of matches a message contains.
const TOLD: usize = 10;

/// What a match becomes.
#[derive(Debug)]
pub(super) struct Replacement<'r> {
    /// As the library reads it: `$1` and `${name}` stand for groups of the match, `$$` for a dollar.
    text: String,
    /// The groups that the names mean; none of a literal.
    groups: Option<&'r GroupInfo>,
    ends: Ends,
}

/// The line ends of a replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    AsWritten,
    /// Those of the line that a match starts in.
    OfTheFile,
}

impl<'r> Replacement<'r> {
    /// A text without groups.
    pub(super) fn plain(text: &str, ends: Ends) -> Self {
        Self {
            text: text.replace('$', "$$"),
            groups: None,
            ends,
        }
    }

    pub(super) fn new(text: &str, groups: &'r GroupInfo, ends: Ends) -> Self {
        Self {
            text: text.to_owned(),
            groups: Some(groups),
            ends,
        }
    }

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
    wanted: Option<usize>,
    budget: &'t Budget<'t>,
    sought: Sought,
    pub(super) number: usize,
    /// Where the first matches start.
    first: Vec<usize>,
    after: Vec<u8>,
    /// The text before this byte is done.
    done: usize,
    /// Where the line ends that was asked for last, and whether with `\r\n`.
    line_end: Option<usize>,
    crlf: bool,
}

impl<'t> Rewriting<'t> {
    pub(super) fn new(
        body: &'t str,
        count: Count,
        sought: Sought,
        budget: &'t Budget<'t>,
    ) -> Result<Self, EditError> {
        let wanted = match count {
            Count::All => None,
            Count::Exactly(0) => {
                return Err(EditError::Unfit(
                    "a count of 0 replaces nothing; leave the edit out".to_owned(),
                ));
            }
            Count::Exactly(wanted) => Some(usize::try_from(wanted).unwrap_or(usize::MAX)),
        };
        Ok(Self {
            body,
            wanted,
            budget,
            sought,
            number: 0,
            first: Vec::new(),
            after: Vec::new(),
            done: 0,
            line_end: None,
            crlf: false,
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
        if self.wanted.is_some_and(|wanted| self.number > wanted) {
            self.after = Vec::new();
            return Ok(());
        }
        if replacement.ends == Ends::AsWritten {
            return self.put(groups, replacement, &replacement.text);
        }
        let end = if self.is_crlf(found.start) {
            "\r\n"
        } else {
            "\n"
        };
        let text = with_ends(&replacement.text, end);
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
        other.map_or(Ok(()), |other| {
            Err(EditError::PatternOverlaps {
                sought: self.sought,
                first: Position::of(body, start).line,
                second: Position::of(body, other).line,
            })
        })
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

    /// Whether the line that holds this byte ends with `\r\n`; where it has no end, the line before it.
    /// The calls come in order, so that no byte is examined twice.
    fn is_crlf(&mut self, at: usize) -> bool {
        if self.line_end.is_some_and(|end| at <= end) {
            return self.crlf;
        }
        let (before, after) = self.body.split_at_checked(at).unwrap_or((self.body, ""));
        let end = after.find('\n').map(|end| at + end);
        let known = self.line_end.is_some();
        if let Some(end) = end.or_else(|| before.rfind('\n').filter(|_| !known)) {
            let line = self.body.get(..end);
            self.crlf = line.is_some_and(|line| line.ends_with('\r'));
        }
        self.line_end = Some(end.unwrap_or(self.body.len()));
        self.crlf
    }

    /// The new text, if there were as many matches as wanted.
    pub(super) fn finish(mut self) -> Result<String, EditError> {
        if let Some(wanted) = self.wanted.filter(|wanted| self.number != *wanted) {
            let lines = self.first.iter();
            let lines = lines.map(|start| Position::of(self.body, *start).line.to_string());
            return Err(EditError::PatternAmbiguous {
                sought: self.sought,
                found: self.number,
                wanted,
                lines: lines.collect::<Vec<_>>().join(", "),
            });
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
