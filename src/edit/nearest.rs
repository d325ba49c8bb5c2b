//! Finds the place of a file that is most like a text that was not found in it. Pure.
//!
//! Lines are compared without white space and in lower case. Every line of the file that is like a line of the text
//! votes for the place where the text would have to begin, and the place with the most votes wins. If no line is
//! like another, the longest common part of the longest line decides.

use std::{collections::HashMap, fmt::Display};

use crate::task::Hiding;

/// The nearest place in the file, and the first difference there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Nearest<'a> {
    /// The lines of the file, counted from 1, both included.
    pub(super) first: usize,
    pub(super) last: usize,
    /// How many lines of the text are there without a difference.
    equal: usize,
    /// How many lines the text has.
    lines: usize,
    /// The number of the first line of the file that differs, counted from 1.
    line: usize,
    /// The line of the text that was expected there.
    old: &'a str,
    /// The line of the file; `None` if the text would begin before the file or goes on after its end.
    file: Option<&'a str>,
    /// In what the two lines differ.
    difference: &'static str,
}

/// Which part of a line the first and the last line of a text stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edges {
    Whole,
    /// The text may begin and end within a line.
    Partial,
}

/// The longest file and text that are searched, together in bytes.
const LONGEST: usize = 8 << 20;

/// How many equal lines of the text a line of the file votes with.
const VOTES: usize = 16;

/// The nearest place for these lines. Of places with as many votes, the one nearest to the `stated` line (counted from 1)
/// is taken, or the first. `None` if nothing in the file is like the text, if it is there, or if both together are too long.
pub(super) fn nearest<'a>(
    old_lines: &[&'a str],
    file_lines: &[&'a str],
    stated: Option<usize>,
    edges: Edges,
) -> Option<Nearest<'a>> {
    let bytes: usize = old_lines.iter().chain(file_lines).map(|it| it.len()).sum();
    if bytes > LONGEST {
        return None;
    }
    let folded: Vec<String> = file_lines.iter().map(|line| fold(line)).collect();
    let begin =
        voted(old_lines, file_lines, &folded, stated).or_else(|| alike(old_lines, &folded))?;
    let here = |index: usize| {
        let at = index.checked_add_signed(begin)?;
        file_lines.get(at).copied()
    };
    let last = old_lines.len().saturating_sub(1);
    let differs = |(index, old): &(usize, &&str)| {
        !here(*index).is_some_and(|file| match (edges, *index == 0, *index == last) {
            (Edges::Whole, ..) | (Edges::Partial, false, false) => file == **old,
            (Edges::Partial, true, false) => file.ends_with(**old),
            (Edges::Partial, false, true) => file.starts_with(**old),
            (Edges::Partial, true, true) => file.contains(**old),
        })
    };
    let mut differing = old_lines.iter().enumerate().filter(differs);
    let (index, old) = differing.next()?;
    let end = old_lines.len().saturating_add_signed(begin);
    Some(Nearest {
        first: 0_usize.saturating_add_signed(begin) + 1,
        last: end.clamp(1, file_lines.len().max(1)),
        equal: last - differing.count(),
        lines: old_lines.len(),
        line: index.checked_add_signed(begin).map_or(1, |at| at + 1),
        old,
        file: here(index),
        difference: here(index).map_or("", |file| difference(old, file, edges)),
    })
}

/// The place with the most votes: how many lines the text begins below the first line of the file. An equal line has two
/// votes, one that is only alike has one.
fn voted(
    old_lines: &[&str],
    file_lines: &[&str],
    folded: &[String],
    stated: Option<usize>,
) -> Option<isize> {
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, line) in old_lines.iter().enumerate() {
        let places = places.entry(fold(line)).or_default();
        if places.len() < VOTES {
            places.push(index);
        }
    }
    // Lines of white space are alike everywhere.
    places.remove("");
    let many = old_lines.len();
    let mut votes = vec![0_u32; many + file_lines.len()];
    for (at, (line, folded)) in file_lines.iter().zip(folded).enumerate() {
        for index in places.get(folded).into_iter().flatten() {
            let equal = old_lines.get(*index) == Some(line);
            if let Some(votes) = votes.get_mut(at + many - index) {
                *votes += if equal { 2 } else { 1 };
            }
        }
    }
    let most = votes.iter().max().copied().filter(|most| *most > 0)?;
    let wanted = stated.map_or(0, |stated| many + stated.saturating_sub(1));
    let best = votes.iter().enumerate().filter(|(_, it)| **it == most);
    let (place, _) = best.min_by_key(|(place, _)| place.abs_diff(wanted))?;
    place.checked_signed_diff(many)
}

/// The place of the longest line, if the file contains two fifths of it from its begin or up to its end.
fn alike(old_lines: &[&str], folded: &[String]) -> Option<isize> {
    const SHORTEST: usize = 5;
    let lines = old_lines.iter().map(|line| fold(line)).enumerate();
    let (index, longest) = lines.max_by_key(|(_, line)| line.len())?;
    let all = folded.join("\n");
    let cuts = (0..=longest.len()).filter(|at| longest.is_char_boundary(*at));
    let cuts: Vec<usize> = cuts.collect();
    let parts = |at: usize| longest.split_at_checked(at).unwrap_or_default();
    let begins = cuts.partition_point(|at| all.contains(parts(*at).0));
    let ends = cuts.partition_point(|at| !all.contains(parts(*at).1));
    let (begin, _) = parts(*cuts.get(begins.checked_sub(1)?)?);
    let (_, end) = parts(*cuts.get(ends)?);
    let part = if end.len() > begin.len() { end } else { begin };
    if part.len() < SHORTEST.max(longest.len() * 2 / 5) {
        return None;
    }
    let line = all.get(..all.find(part)?)?.matches('\n').count();
    line.checked_signed_diff(index)
}

fn fold(line: &str) -> String {
    let words = line.chars().filter(|c| !c.is_whitespace());
    words.flat_map(char::to_lowercase).collect()
}

/// In what two lines differ.
fn difference(old: &str, file: &str, edges: Edges) -> &'static str {
    let [old_text, file_text] = [old, file].map(|line| line.trim_end_matches(['\r', '\n']));
    let same = |fold: fn(&str) -> String| {
        let (old, file) = (fold(old), fold(file));
        old == file || (edges == Edges::Partial && file.contains(&old))
    };
    let blanks = |line: &str| line.split_whitespace().collect();
    if old_text == file_text {
        "differs only in its line end"
    } else if same(blanks) {
        "differs only in white space"
    } else if same(str::to_lowercase) {
        "differs only in upper and lower case"
    } else {
        "differs"
    }
}

impl Nearest<'_> {
    /// A sentence about it, without credentials. `wanted` is the name of the text that was not found.
    pub(super) fn told(self, wanted: impl Display, hiding: Hiding) -> String {
        let (first, last) = (self.first, self.last);
        let place = if first == last {
            format!("line {first}")
        } else {
            format!("lines {first} to {last}")
        };
        let equal = match self.lines {
            0 | 1 => String::new(),
            lines => format!(", with {} of {lines} lines", self.equal),
        };
        let Some(file) = self.file else {
            return format!(
                "the nearest place is {place}{equal}; {wanted} goes beyond the file there"
            );
        };
        let (old, file) = (hiding.hide(self.old), hiding.hide(file));
        let texts = if old == file {
            " in a value that is not shown".to_owned()
        } else {
            let (old, file) = around(&old, &file);
            format!(": {wanted} has `{old}`, the file has `{file}`")
        };
        let (line, difference) = (self.line, self.difference);
        format!("the nearest place is {place}{equal}; line {line} {difference}{texts}")
    }
}

/// Two lines, escaped, and shortened around their first difference.
fn around(old: &str, file: &str) -> (String, String) {
    const BEFORE: usize = 20;
    const SHOWN: usize = 70;
    let same = old.chars().zip(file.chars());
    let same = same.take_while(|(a, b)| a == b).count();
    let short = |line: &str| {
        let skipped = if same > BEFORE && line.chars().count() > SHOWN {
            same - BEFORE
        } else {
            0
        };
        let mut rest = line.chars().skip(skipped);
        let shown: String = rest.by_ref().take(SHOWN).collect();
        let mark = |is_cut| if is_cut { "…" } else { "" };
        let (lead, tail) = (mark(skipped > 0), mark(rest.next().is_some()));
        let shown = shown.escape_debug().to_string();
        let shown = shown.replace("\\\"", "\"").replace("\\'", "'");
        format!("{lead}{shown}{tail}")
    };
    (short(old), short(file))
}

#[cfg(test)]
mod tests;
