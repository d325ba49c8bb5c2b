//! Searches for regular expressions in pieces, so that a signal or the time limit can stop the edit between two
//! searches.
//!
//! A search takes at most time in proportion to the text × the compiled expression. An expression that matches no
//! line end is searched for in a few lines at a time. One that may match across lines is searched for in the whole
//! text, and the size of the text limits its compiled size.

use std::ops::Range;

use regex_automata::{
    Input, Match,
    meta::{Builder, Config, Regex},
    util::{captures::Captures, interpolate},
};
use regex_syntax::hir::{Class, Hir, HirKind};

use super::{
    super::{Budget, EditError, text::with_ends},
    PatternError,
    rewriting::{Rewriting, Template},
};

/// Bytes of a compiled expression, and of what matching may remember.
const MAX_COMPILED: usize = 1 << 20;

/// Bytes of a compiled expression × bytes of a text that is searched at once.
const MAX_WORK: usize = 1 << 42;

/// Bytes of a text that are searched at once, where lines allow it.
const PIECE: usize = 64 << 10;

#[derive(Debug, Clone)]
pub(crate) struct Expression {
    text: String,
    parsed: Hir,
    compiled: Regex,
    reach: Reach,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// It holds no line end.
    Line,
    Anywhere,
}

impl Expression {
    pub(super) fn read(text: &str) -> Result<Self, PatternError> {
        let mut parser = regex_syntax::ParserBuilder::new().utf8(false).build();
        let parsed = parser
            .parse(text)
            .map_err(|error| PatternError::Syntax(error.to_string()))?;
        Ok(Self {
            text: text.to_owned(),
            compiled: compiled(&parsed, MAX_COMPILED)?,
            reach: if matches_line_end(&parsed) {
                Reach::Anywhere
            } else {
                Reach::Line
            },
            parsed,
        })
    }

    pub(super) fn replace(
        &self,
        body: &str,
        replacement: &str,
        rewriting: &mut Rewriting<'_>,
    ) -> Result<(), EditError> {
        let template = self.template(replacement)?;
        let longest = pieces(body, self.reach).map(|piece| piece.len()).max();
        let most = MAX_WORK / longest.unwrap_or_default().max(1);
        // Compiling again tells whether it is small enough for this text.
        if most < MAX_COMPILED {
            compiled(&self.parsed, most).map_err(|error| {
                let longest = longest.unwrap_or_default();
                EditError::Unfit(format!(
                    "{error}: {longest} bytes of the file have to be searched at once. A pattern that matches no line end is searched line by line"
                ))
            })?;
        }
        // If only the whole match is needed, its groups are not searched for.
        let mut captures = if template.has_groups() {
            self.compiled.create_captures()
        } else {
            Captures::matches(self.compiled.group_info().clone())
        };
        let mut last = None;
        for piece in pieces(body, self.reach) {
            rewriting.budget.go_on()?;
            let mut at = piece.start;
            while at < piece.end || piece.end == body.len() {
                let input = Input::new(body).span(at..piece.end);
                self.compiled.search_captures(&input, &mut captures);
                let Some(found) = captures.get_group(0) else {
                    break;
                };
                if found.is_empty() && last == Some(found.end) {
                    // An empty match directly after a match does not count.
                    if at == piece.end {
                        break;
                    }
                    at += 1;
                    continue;
                }
                if found.is_empty() {
                    return Err(EditError::Unfit(
                        "the pattern matches the empty text; let it match at least one character"
                            .to_owned(),
                    ));
                }
                let groups = captures.iter().map(|it| it.map_or(0..0, |it| it.range()));
                let groups: Vec<_> = groups.collect();
                rewriting.replace(&groups, &template)?;
                if rewriting.overlap.is_none() {
                    let within = found.start..found.end;
                    let other = self.overlapping(body, within, piece.end);
                    rewriting.overlap(body, found.start, other);
                }
                at = found.end;
                last = Some(at);
            }
        }
        Ok(())
    }

    /// Where a match starts that begins within this match and ends beyond it. Matches that end with it or before it, as
    /// of `a+`, are not ambiguous. The first bytes of the match are tried, and the first line starts in it.
    fn overlapping(&self, body: &str, within: Range<usize>, end: usize) -> Option<usize> {
        const TRIES: usize = 32;
        let find = |from: usize| self.compiled.find(Input::new(body).span(from..end));
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
        if ends.is_some() && self.matches(&in_lf, budget)? {
            return Ok(ends.map(str::to_owned));
        }
        let by_line = Self::read(&format!("(?m){}", self.text)).ok();
        let by_line = by_line.filter(|it| it.parsed != self.parsed);
        if !by_line.map_or(Ok(false), |it| it.matches(&in_lf, budget))? {
            return Ok(None);
        }
        let hints = [Some(LINES), ends].into_iter().flatten();
        Ok(Some(hints.collect::<Vec<_>>().join("; ")))
    }

    fn matches(&self, body: &str, budget: &Budget<'_>) -> Result<bool, EditError> {
        for piece in pieces(body, self.reach) {
            budget.go_on()?;
            if self.compiled.is_match(Input::new(body).span(piece)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The replacement of a match. If it consists only of line ends and groups, and the expression matches as many
    /// line ends or only `\r`, the edit is about line ends, and they are kept as written.
    fn template(&self, replacement: &str) -> Result<Template, EditError> {
        if let Some((written, meant)) = foreign(replacement) {
            return Err(EditError::Unfit(format!(
                "the replacement has `{written}`, which is a group in other languages; write `{meant}`"
            )));
        }
        let as_written = self.interpolated(replacement)?;
        let least = least_line_ends(&self.parsed);
        let about_ends = as_written
            .text
            .iter()
            .all(|byte| matches!(byte, b'\n' | b'\r'))
            && (least == line_ends(&as_written.text) || !matches_line_end(&self.parsed));
        if least > 0 && about_ends {
            return Ok(as_written);
        }
        Template::fitted(replacement, |text| self.interpolated(text))
    }

    /// The replacement as the library reads it. A group that the expression does not have is an error.
    fn interpolated(&self, replacement: &str) -> Result<Template, EditError> {
        let pattern = regex_automata::PatternID::ZERO;
        let info = self.compiled.group_info();
        let (mut text, mut groups, mut unknown) = (Vec::new(), Vec::new(), None);
        interpolate::bytes(
            replacement.as_bytes(),
            |group, text| groups.push((text.len(), group)),
            |name| {
                let group = info.to_index(pattern, name);
                if group.is_none() {
                    unknown.get_or_insert_with(|| name.to_owned());
                }
                group
            },
            &mut text,
        );
        let there = info.group_len(pattern);
        let mut numbers = groups.iter().map(|(_, group)| *group);
        let number = numbers.find(|group| *group >= there);
        if let Some(group) = unknown.or(number.map(|number| number.to_string())) {
            return Err(EditError::Unfit(format!(
                "the replacement uses `${{{group}}}`, but the pattern has no such group; write `$$` for \
                 a dollar, and braces where a name ends"
            )));
        }
        Ok(Template::new(text, groups))
    }
}

fn compiled(parsed: &Hir, most: usize) -> Result<Regex, PatternError> {
    let config = Config::new()
        .utf8_empty(false)
        .nfa_size_limit(Some(most))
        .hybrid_cache_capacity(MAX_COMPILED);
    let built = Builder::new().configure(config).build_from_hir(parsed);
    built.map_err(|error| match error.size_limit() {
        Some(_) => PatternError::TooLarge { most },
        None => PatternError::Syntax(error.to_string()),
    })
}

/// The parts of a text that are searched one after the other: no match is in two of them.
fn pieces(body: &str, reach: Reach) -> impl Iterator<Item = Range<usize>> {
    let bytes = body.as_bytes();
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let start = next?;
        let end = match reach {
            Reach::Anywhere => None,
            Reach::Line => {
                let rest = bytes.get(start + PIECE..).unwrap_or_default();
                let newline = rest.iter().position(|byte| *byte == b'\n');
                newline.map(|newline| start + PIECE + newline + 1)
            }
        };
        next = end.filter(|end| *end < bytes.len());
        Some(start..next.unwrap_or(bytes.len()))
    })
}

/// The first group in the spelling of other languages, and how it is written here. A backslash before a
/// backslash stands for itself.
fn foreign(replacement: &str) -> Option<(String, String)> {
    let mut rest = replacement;
    while let Some(at) = rest.find(['\\', '$']) {
        let (sign, after) = rest.get(at..)?.split_at(1);
        let named = ["g", "k"].iter().find_map(|letter| {
            let (name, _) = after
                .strip_prefix(letter)?
                .strip_prefix(['<', '{'])?
                .split_once(['>', '}'])?;
            Some((after.get(..name.len() + 3)?, name))
        });
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        match (sign, named) {
            ("\\", Some((written, name))) => {
                return Some((format!("\\{written}"), format!("${{{name}}}")));
            }
            ("\\", None) if digits > 0 => {
                // Two digits at most, as everywhere; here the braces tell where the number ends.
                let number = after.get(..digits.min(2))?;
                return Some((format!("\\{number}"), format!("${{{number}}}")));
            }
            ("$", _) if after.starts_with('&') => return Some(("$&".to_owned(), "$0".to_owned())),
            _ => {}
        }
        let twice = usize::from(after.starts_with(sign));
        rest = after.get(twice..)?;
    }
    None
}

/// How many line ends, or parts of one, every match holds at least.
fn least_line_ends(parsed: &Hir) -> usize {
    let is_end = |byte: u8| matches!(byte, b'\n' | b'\r');
    match parsed.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(literal) => line_ends(&literal.0),
        HirKind::Class(Class::Unicode(class)) => {
            let within = |c: char| u8::try_from(c).is_ok_and(is_end);
            let mut ranges = class.iter();
            usize::from(ranges.all(|range| (range.start()..=range.end()).all(within)))
        }
        HirKind::Class(Class::Bytes(class)) => {
            let mut ranges = class.iter();
            usize::from(ranges.all(|range| (range.start()..=range.end()).all(is_end)))
        }
        HirKind::Repetition(repetition) => {
            (repetition.min as usize).saturating_mul(least_line_ends(&repetition.sub))
        }
        HirKind::Capture(capture) => least_line_ends(&capture.sub),
        HirKind::Concat(parts) => parts.iter().map(least_line_ends).sum(),
        HirKind::Alternation(parts) => parts.iter().map(least_line_ends).min().unwrap_or_default(),
    }
}

/// How many line ends there are: `\n`, `\r\n`, and `\r` alone.
fn line_ends(text: &[u8]) -> usize {
    let pairs = text.windows(2).filter(|pair| pair == b"\r\n").count();
    let ends = text.iter().filter(|byte| matches!(byte, b'\n' | b'\r'));
    ends.count() - pairs
}

fn matches_line_end(parsed: &Hir) -> bool {
    match parsed.kind() {
        HirKind::Empty | HirKind::Look(_) => false,
        HirKind::Literal(literal) => literal.0.contains(&b'\n'),
        HirKind::Class(Class::Unicode(class)) => {
            let mut ranges = class.iter();
            ranges.any(|range| (range.start()..=range.end()).contains(&'\n'))
        }
        HirKind::Class(Class::Bytes(class)) => {
            let mut ranges = class.iter();
            ranges.any(|range| (range.start()..=range.end()).contains(&b'\n'))
        }
        HirKind::Repetition(repetition) => matches_line_end(&repetition.sub),
        HirKind::Capture(capture) => matches_line_end(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(matches_line_end),
    }
}
