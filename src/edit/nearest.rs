//! Finds the place of a file that is most like a text that was not found in it. Pure.
//!
//! Lines are compared without white space and in lower case. Every line of the file that is like a line of the text
//! votes for the place where the text would have to begin, and the place with the most votes wins. If no line is
//! like another, the longest common part of the longest line decides.

use std::{
    collections::HashMap,
    fmt::{self, Display},
};

use crate::task::Hiding;

/// The nearest place in the file, and the first difference there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Nearest<'a> {
    /// The lines of the file, counted from 1, both included.
    pub(super) first: usize,
    pub(super) last: usize,
    /// How many lines of the text are there without a difference.
    pub(super) equal: usize,
    /// How many lines the text has.
    pub(super) lines: usize,
    /// The number of the first line of the file that differs, counted from 1.
    pub(super) line: usize,
    /// The line of the text that was expected there.
    pub(super) old: &'a str,
    /// The line of the file; `None` if the text would begin before the file or goes on after its end.
    pub(super) file: Option<&'a str>,
    pub(super) difference: Difference,
}

/// The only difference between two lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Difference {
    LineEnd,
    WhiteSpace,
    Case,
    Other,
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

/// The nearest place for whole lines, with or without their line ends. Of places with as many votes, the one nearest
/// to the `stated` line (counted from 1) is taken, or the first. `None` if nothing in the file is like the text, if it
/// is there, or if both together are too long.
pub(super) fn nearest<'a>(
    old_lines: &[&'a str],
    file_lines: &[&'a str],
    stated: Option<usize>,
) -> Option<Nearest<'a>> {
    nearest_of(old_lines, file_lines, stated, Edges::Whole)
}

/// The same, for a text that may begin and end within a line.
pub(super) fn nearest_of<'a>(
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
    // Counted from the first line of the text at the first line of the file.
    let (before, after) = match voted(old_lines, file_lines, &folded, stated) {
        Some(place) => place,
        None => alike(old_lines, &folded)?,
    };
    let last = old_lines.len().saturating_sub(1);
    let compared = old_lines.iter().enumerate().map(|(index, old)| {
        let at = (index + after).checked_sub(before);
        let file = at.and_then(|at| file_lines.get(at)).copied();
        let same = file.is_some_and(|file| match edges {
            Edges::Whole => file == *old,
            Edges::Partial => match (index == 0, index == last) {
                (false, false) => file == *old,
                (true, false) => file.ends_with(old),
                (false, true) => file.starts_with(old),
                (true, true) => file.contains(old),
            },
        });
        (at, *old, file, same)
    });
    let (mut equal, mut differs) = (0, None);
    for (at, old, file, same) in compared {
        equal += usize::from(same);
        if !same && differs.is_none() {
            differs = Some((at, old, file));
        }
    }
    let (at, old, file) = differs?;
    let end = (after + old_lines.len()).saturating_sub(before);
    Some(Nearest {
        first: after.saturating_sub(before) + 1,
        last: end.clamp(1, file_lines.len().max(1)),
        equal,
        lines: old_lines.len(),
        line: at.map_or(1, |at| at + 1),
        old,
        file,
        difference: file.map_or(Difference::Other, |file| Difference::of(old, file, edges)),
    })
}

/// Where the text begins, as the lines before the file and the lines of the file before it; one of them is 0.
type Offset = (usize, usize);

/// The place with the most votes. An equal line has two votes, one that is only alike has one.
fn voted(
    old_lines: &[&str],
    file_lines: &[&str],
    folded: &[String],
    stated: Option<usize>,
) -> Option<Offset> {
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
    Some((many.saturating_sub(place), place.saturating_sub(many)))
}

/// The place of the longest line, if the file contains two fifths of it from its begin or up to its end.
fn alike(old_lines: &[&str], folded: &[String]) -> Option<Offset> {
    const SHORTEST: usize = 5;
    let lines = old_lines.iter().map(|line| fold(line)).enumerate();
    let (index, longest) = lines.max_by_key(|(_, line)| line.len())?;
    let all = folded.join("\n");
    let cuts: Vec<usize> = (0..=longest.len())
        .filter(|at| longest.is_char_boundary(*at))
        .collect();
    let begin = |cut: &usize| longest.get(..*cut).unwrap_or_default();
    let end = |cut: &usize| longest.get(*cut..).unwrap_or_default();
    let begins = cuts.partition_point(|cut| all.contains(begin(cut)));
    let begin = begins
        .checked_sub(1)
        .and_then(|at| cuts.get(at))
        .map(begin)?;
    let ends = cuts.partition_point(|cut| !all.contains(end(cut)));
    let end = cuts.get(ends).map(end)?;
    let part = if end.len() > begin.len() { end } else { begin };
    if part.len() < SHORTEST.max(longest.len() * 2 / 5) {
        return None;
    }
    let line = all.get(..all.find(part)?)?.matches('\n').count();
    Some((index.saturating_sub(line), line.saturating_sub(index)))
}

fn fold(line: &str) -> String {
    let words = line.chars().filter(|c| !c.is_whitespace());
    words.flat_map(char::to_lowercase).collect()
}

impl Difference {
    fn of(old: &str, file: &str, edges: Edges) -> Self {
        let [old_text, file_text] = [old, file].map(|line| line.trim_end_matches(['\r', '\n']));
        let same = |fold: fn(&str) -> String| {
            let (old, file) = (fold(old), fold(file));
            old == file || (edges == Edges::Partial && file.contains(&old))
        };
        let blanks = |line: &str| line.split_whitespace().collect();
        if old_text == file_text {
            Self::LineEnd
        } else if same(blanks) {
            Self::WhiteSpace
        } else if same(str::to_lowercase) {
            Self::Case
        } else {
            Self::Other
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::LineEnd => "differs only in its line end",
            Self::WhiteSpace => "differs only in white space",
            Self::Case => "differs only in upper and lower case",
            Self::Other => "differs",
        }
    }
}

impl<'a> Nearest<'a> {
    /// A sentence about it, without credentials. `wanted` is the name of the text that was not found.
    pub(super) fn told(self, wanted: impl Display + 'a, hiding: Hiding) -> impl Display + 'a {
        fmt::from_fn(move |f| self.write(&wanted, hiding, f))
    }

    fn write(
        &self,
        wanted: &impl Display,
        hiding: Hiding,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        let (equal, lines) = (self.equal, self.lines);
        if self.first == self.last {
            write!(f, "the nearest place is line {}", self.first)?;
        } else {
            write!(
                f,
                "the nearest place is lines {} to {}",
                self.first, self.last
            )?;
        }
        if lines > 1 {
            write!(f, ", with {equal} of {lines} lines")?;
        }
        let Some(file) = self.file else {
            return write!(f, "; {wanted} goes beyond the file there");
        };
        write!(f, "; line {} {}", self.line, self.difference.words())?;
        let (old, file) = (hiding.hide_all(self.old), hiding.hide_all(file));
        if old == file {
            return f.write_str(" in a value that is not shown");
        }
        let (old, file) = around(&old, &file);
        write!(f, ": {wanted} has `{old}`, the file has `{file}`")
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
        let shown = shown.escape_debug().to_string().replace("\\\"", "\"");
        format!("{lead}{}{tail}", shown.replace("\\'", "'"))
    };
    (short(old), short(file))
}

#[cfg(test)]
mod tests;
