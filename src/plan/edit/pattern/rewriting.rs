//! Builds the new text match by match.

use std::ops::Range;

use super::super::{
    Budget, EditError,
    text::{Position, with_ends},
};

/// How many places of matches a message contains.
const TOLD: usize = 10;

/// The replacement of a match: a text with places for the groups of the match.
#[derive(Debug)]
pub(super) struct Template {
    pub(super) text: Vec<u8>,
    /// The byte of the text before which each group is inserted, in order.
    groups: Vec<(usize, usize)>,
    /// How often each group comes, so that a size is known without building anything.
    times: Vec<u64>,
    ends: Ends,
}

#[derive(Debug)]
enum Ends {
    AsWritten,
    /// Those of the line that a match starts in; the template for lines that end with `\r\n`, if it is
    /// another one.
    OfTheFile(Option<Box<Template>>),
}

impl Template {
    pub(super) fn plain(text: &str) -> Self {
        Self::new(text.as_bytes().to_vec(), Vec::new())
    }

    pub(super) fn new(text: Vec<u8>, groups: Vec<(usize, usize)>) -> Self {
        let highest = groups.iter().map(|(_, group)| *group).max();
        let mut times = vec![0; highest.map_or(0, |highest| highest + 1)];
        for (_, group) in &groups {
            if let Some(times) = times.get_mut(*group) {
                *times += 1;
            }
        }
        Self {
            text,
            groups,
            times,
            ends: Ends::AsWritten,
        }
    }

    /// A template with the line ends of the file.
    pub(super) fn fitted<E>(
        replacement: &str,
        make: impl Fn(&str) -> Result<Self, E>,
    ) -> Result<Self, E> {
        let lf = with_ends(replacement, "\n");
        let in_crlf = if lf.contains('\n') {
            Some(Box::new(make(&with_ends(replacement, "\r\n"))?))
        } else {
            None
        };
        Ok(Self {
            ends: Ends::OfTheFile(in_crlf),
            ..make(&lf)?
        })
    }

    /// Whether it uses groups other than the whole match.
    pub(super) fn has_groups(&self) -> bool {
        self.times.len() > 1
    }

    fn size(&self, groups: &[Range<usize>]) -> u64 {
        let each = self.times.iter().zip(groups);
        let filled = each.fold(0_u64, |sum, (times, group)| {
            sum.saturating_add(times.saturating_mul(group.len() as u64))
        });
        filled.saturating_add(self.text.len() as u64)
    }

    fn write(&self, body: &[u8], groups: &[Range<usize>], after: &mut Vec<u8>) {
        let mut done = 0;
        for (at, group) in &self.groups {
            after.extend_from_slice(self.text.get(done..*at).unwrap_or_default());
            let group = groups.get(*group).cloned().unwrap_or_default();
            after.extend_from_slice(body.get(group).unwrap_or_default());
            done = *at;
        }
        after.extend_from_slice(self.text.get(done..).unwrap_or_default());
    }
}

/// Counts and replaces matches. A result that would be too large is refused before it is built, and nothing is
/// built if there are more matches than wanted.
pub(super) struct Rewriting<'t> {
    body: &'t [u8],
    wanted: Option<usize>,
    pub(super) budget: &'t Budget<'t>,
    pub(super) number: usize,
    pub(super) first: Vec<usize>,
    /// The lines in which the first two matches that overlap start.
    pub(super) overlap: Option<(usize, usize)>,
    after: Vec<u8>,
    /// The text before this byte is done.
    done: usize,
    /// Where the line ends that was asked for last, and whether with `\r\n`.
    line_end: Option<usize>,
    crlf: bool,
}

impl<'t> Rewriting<'t> {
    pub(super) fn new(body: &'t str, wanted: Option<usize>, budget: &'t Budget<'t>) -> Self {
        Self {
            body: body.as_bytes(),
            wanted,
            budget,
            number: 0,
            first: Vec::new(),
            overlap: None,
            after: Vec::new(),
            done: 0,
            line_end: None,
            crlf: false,
        }
    }

    /// One more match. The first of its groups is the whole of it.
    pub(super) fn replace(
        &mut self,
        groups: &[Range<usize>],
        template: &Template,
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
        let Ends::OfTheFile(in_crlf) = &template.ends else {
            return self.put(groups, template);
        };
        let other = in_crlf.as_deref().filter(|_| self.is_crlf(found.start));
        let template = other.unwrap_or(template);
        let whole = self.with_whole_ends(&found);
        if whole == found {
            return self.put(groups, template);
        }
        let fitted = groups.iter().map(|group| {
            let starts = group.start == found.start && !group.is_empty();
            let start = if starts { whole.start } else { group.start };
            start.min(whole.end)..group.end.min(whole.end)
        });
        self.put(&fitted.collect::<Vec<_>>(), template)
    }

    /// The last match starts here in the text, and another one that overlaps it there.
    pub(super) fn overlap(&mut self, body: &str, start: usize, other: Option<usize>) {
        if let (None, Some(other)) = (self.overlap, other) {
            let line = |at| Position::of(body, at).line;
            self.overlap = Some((line(start), line(other)));
        }
    }

    /// A match that starts between `\r` and `\n` starts before them; one that ends there ends before them.
    fn with_whole_ends(&self, found: &Range<usize>) -> Range<usize> {
        let is_end = |at: usize| self.body.get(at..at + 2) == Some(b"\r\n");
        let before = |at: usize| {
            at.checked_sub(1)
                .filter(|at| *at >= self.done && is_end(*at))
        };
        let start = before(found.start).unwrap_or(found.start);
        let end = before(found.end).unwrap_or(found.end);
        start..end.max(start)
    }

    fn put(&mut self, groups: &[Range<usize>], template: &Template) -> Result<(), EditError> {
        let found = groups.first().cloned().unwrap_or_default();
        let kept = self.body.get(self.done..found.start).unwrap_or_default();
        self.fits(template.size(groups).saturating_add(kept.len() as u64))?;
        self.after.extend_from_slice(kept);
        template.write(self.body, groups, &mut self.after);
        self.done = found.end;
        Ok(())
    }

    /// Whether the line that holds this byte ends with `\r\n`; where it has no end, the line before it.
    /// The calls come in order, so that no byte is examined twice.
    fn is_crlf(&mut self, at: usize) -> bool {
        if self.line_end.is_some_and(|end| at <= end) {
            return self.crlf;
        }
        let newline = |byte: &u8| *byte == b'\n';
        let (before, after) = self.body.split_at(at.min(self.body.len()));
        let end = after.iter().position(newline).map(|end| at + end);
        let known = self.line_end.is_some();
        if let Some(end) = end.or_else(|| before.iter().rposition(newline).filter(|_| !known)) {
            self.crlf = self
                .body
                .get(..end)
                .is_some_and(|line| line.ends_with(b"\r"));
        }
        self.line_end = Some(end.unwrap_or(self.body.len()));
        self.crlf
    }

    pub(super) fn finish(mut self) -> Result<Vec<u8>, EditError> {
        let rest = self.body.get(self.done..).unwrap_or_default();
        self.fits(rest.len() as u64)?;
        self.after.extend_from_slice(rest);
        Ok(self.after)
    }

    fn fits(&self, more: u64) -> Result<(), EditError> {
        self.budget
            .fits(more.saturating_add(self.after.len() as u64))
    }
}
