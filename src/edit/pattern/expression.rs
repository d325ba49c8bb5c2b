//! Searches for regular expressions. A text that is searched is small enough ([`readable`]), so that a search ends in time;
//! a signal or the time limit can stop the edit between two matches.

use std::{ops::Range, sync::LazyLock};

use regex_automata::{
    Input, Match, PatternID,
    meta::{Builder, Config, Regex},
    util::interpolate,
};
use regex_syntax::hir::{Class, Hir, HirKind};

use super::{
    super::{Budget, EditError, budget::readable, text::with_ends},
    PatternError,
    rewriting::{Replacement, Rewriting},
};

/// Bytes of a compiled expression, and of what matching may remember.
const MAX_COMPILED: usize = 1 << 20;

#[derive(Debug, Clone)]
pub(crate) struct Expression {
    text: String,
    parsed: Hir,
    compiled: Regex,
}

impl Expression {
    pub(super) fn read(text: &str) -> Result<Self, PatternError> {
        let mut parser = regex_syntax::ParserBuilder::new().utf8(false).build();
        let parsed = parser
            .parse(text)
            .map_err(|error| PatternError::Syntax(error.to_string()))?;
        let config = Config::new()
            .utf8_empty(false)
            .nfa_size_limit(Some(MAX_COMPILED))
            .hybrid_cache_capacity(MAX_COMPILED);
        let built = Builder::new().configure(config).build_from_hir(&parsed);
        let compiled = built.map_err(|error| match error.size_limit() {
            Some(most) => PatternError::TooLarge { most },
            None => PatternError::Syntax(error.to_string()),
        })?;
        Ok(Self {
            text: text.to_owned(),
            parsed,
            compiled,
        })
    }

    pub(super) fn replace(
        &self,
        body: &str,
        replacement: &str,
        rewriting: &mut Rewriting<'_>,
    ) -> Result<(), EditError> {
        readable(
            "use a literal pattern: a regular expression is searched for in texts of",
            body.len(),
        )?;
        let replacement = self.replacement(replacement)?;
        for captures in self.compiled.captures_iter(body) {
            let groups = captures.iter().map(|it| it.map_or(0..0, |it| it.range()));
            let groups: Vec<_> = groups.collect();
            let Some(found) = groups.first().filter(|found| !found.is_empty()) else {
                return Err(EditError::Unfit(
                    "the pattern matches the empty text; let it match at least one character"
                        .to_owned(),
                ));
            };
            rewriting.replace(&groups, &replacement)?;
            rewriting.apart(body, found.start, self.overlapping(body, found))?;
        }
        Ok(())
    }

    /// Where a match starts that begins within this match and ends beyond it. Matches that end with it or before it, as
    /// of `a+`, are not ambiguous. The first bytes of the match are tried, and the first line starts in it.
    fn overlapping(&self, body: &str, within: &Range<usize>) -> Option<usize> {
        const TRIES: usize = 32;
        let find = |from: usize| self.compiled.find(Input::new(body).range(from..));
        let beyond = |from: &usize| find(*from).filter(|it| it.start() < within.end);
        let is_beyond = |found: &Match| found.end() > within.end;
        if within.len() < 2 {
            return None;
        }
        let mut from = within.start;
        for _ in 0..TRIES {
            let found = beyond(&(from + 1))?;
            if is_beyond(&found) {
                return Some(found.start());
            }
            from = found.start();
        }
        let text = body.as_bytes().get(within.clone()).unwrap_or_default();
        let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let starts = ends.map(|(at, _)| within.start + at + 1).take(TRIES);
        let mut others = starts.filter_map(|start| beyond(&start));
        others.find(is_beyond).map(|found| found.start())
    }

    /// Why it matches nowhere, if the reason is how lines end.
    pub(super) fn hint(
        &self,
        body: &str,
        budget: &Budget<'_>,
    ) -> Result<Option<String>, EditError> {
        const LINES: &str = "`^` and `$` stand for the begin and the end of the file; write `(?m)` before the \
                             pattern, and they stand for those of a line";
        const ENDS: &str =
            "the lines of the file end with CR LF; write `\\r?\\n` for a line end, or `\\r?$`";
        let in_lf = with_ends(body, "\n");
        let ends = (in_lf.len() < body.len()).then_some(ENDS);
        budget.go_on()?;
        if ends.is_some() && self.compiled.is_match(&in_lf) {
            return Ok(ends.map(str::to_owned));
        }
        let by_line = Self::read(&format!("(?m){}", self.text)).ok();
        let by_line = by_line.filter(|it| it.parsed != self.parsed);
        budget.go_on()?;
        if !by_line.is_some_and(|it| it.compiled.is_match(&in_lf)) {
            return Ok(None);
        }
        let hints = [Some(LINES), ends].into_iter().flatten();
        Ok(Some(hints.collect::<Vec<_>>().join("; ")))
    }

    /// The replacement of a match. If it consists only of line ends and groups, and the expression matches as many
    /// line ends or only `\r`, the edit is about line ends, and they are kept as written. A group that the expression
    /// does not have is an error.
    fn replacement(&self, replacement: &str) -> Result<Replacement<'_>, EditError> {
        if let Some((written, meant)) = foreign(replacement) {
            return Err(EditError::Unfit(format!(
                "the replacement has `{written}`, which is a group in other languages; write `{meant}`"
            )));
        }
        let groups = self.compiled.group_info();
        let (mut plain, mut unknown) = (Vec::new(), Vec::new());
        let mut numbers = Vec::new();
        interpolate::bytes(
            replacement.as_bytes(),
            |group, _| numbers.push(group),
            |name| {
                let group = groups.to_index(PatternID::ZERO, name);
                unknown.extend(group.is_none().then(|| name.to_owned()));
                group
            },
            &mut plain,
        );
        numbers.retain(|group| *group >= groups.group_len(PatternID::ZERO));
        unknown.extend(numbers.iter().map(usize::to_string));
        if let Some(group) = unknown.first() {
            return Err(EditError::Unfit(format!(
                "the replacement uses `${{{group}}}`, but the pattern has no such group; write `$$` for \
                 a dollar, and braces where a name ends"
            )));
        }
        let (least, may_feed) = matched_ends(&self.parsed);
        let only_ends = plain.iter().all(|byte| matches!(byte, b'\n' | b'\r'));
        let about_ends = least > 0 && only_ends && (least == line_ends(&plain) || !may_feed);
        Ok(Replacement {
            text: replacement.to_owned(),
            groups: Some(groups),
            as_written: about_ends,
        })
    }
}

/// The first group in the spelling of other languages, and how it is written here. A backslash before a
/// backslash stands for itself.
fn foreign(replacement: &str) -> Option<(&str, String)> {
    // Two digits at most, as everywhere; here the braces tell where the number ends.
    static GROUPS: LazyLock<Option<regex::Regex>> = LazyLock::new(|| {
        let groups = r"\\\\|\$\$|\$(&)|\\([0-9]{1,2})|\\[gk][<{](.*?)[>}]";
        regex::Regex::new(groups).ok()
    });
    let mut found = GROUPS.as_ref()?.captures_iter(replacement);
    found.find_map(|found| {
        let group = found.iter().skip(1).flatten().next()?.as_str();
        let meant = match group {
            "&" => "$0".to_owned(),
            group => format!("${{{group}}}"),
        };
        Some((found.get(0)?.as_str(), meant))
    })
}

/// How many line ends, or parts of one, every match holds at least, and whether one can hold a line feed.
fn matched_ends(parsed: &Hir) -> (usize, bool) {
    let all = |parts: &[Hir]| parts.iter().map(matched_ends).collect::<Vec<_>>();
    match parsed.kind() {
        HirKind::Empty | HirKind::Look(_) => (0, false),
        HirKind::Literal(literal) => (line_ends(&literal.0), literal.0.contains(&b'\n')),
        HirKind::Class(class) => {
            let ranges: Vec<(u32, u32)> = match class {
                Class::Unicode(class) => {
                    let ranges = class.ranges().iter();
                    ranges
                        .map(|it| (it.start().into(), it.end().into()))
                        .collect()
                }
                Class::Bytes(class) => {
                    let ranges = class.ranges().iter();
                    ranges
                        .map(|it| (it.start().into(), it.end().into()))
                        .collect()
                }
            };
            let has = |end: u8| {
                let mut ranges = ranges.iter();
                ranges.any(|(first, last)| (*first..=*last).contains(&end.into()))
            };
            let ends = u32::from(has(b'\n')) + u32::from(has(b'\r'));
            let chars: u32 = ranges.iter().map(|(first, last)| last - first + 1).sum();
            (usize::from(chars == ends), has(b'\n'))
        }
        HirKind::Repetition(repetition) => {
            let (least, feeds) = matched_ends(&repetition.sub);
            (least.saturating_mul(repetition.min as usize), feeds)
        }
        HirKind::Capture(capture) => matched_ends(&capture.sub),
        HirKind::Concat(parts) => {
            let parts = all(parts);
            (
                parts.iter().map(|it| it.0).sum(),
                parts.iter().any(|it| it.1),
            )
        }
        HirKind::Alternation(parts) => {
            let parts = all(parts);
            let least = parts.iter().map(|it| it.0).min();
            (least.unwrap_or_default(), parts.iter().any(|it| it.1))
        }
    }
}

/// How many line ends there are: `\n`, `\r\n`, and `\r` alone.
fn line_ends(text: &[u8]) -> usize {
    let pairs = text.windows(2).filter(|pair| pair == b"\r\n").count();
    let ends = text.iter().filter(|byte| matches!(byte, b'\n' | b'\r'));
    ends.count() - pairs
}
