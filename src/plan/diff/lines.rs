//! A diff for a page: its lines with their numbers, and the words that changed. Credentials are hidden (R-001-161).

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::task::{CUT, Hiding};

use super::{Hunks, Pair, text};

/// The longest two lines in which changed words are sought, in bytes together. The search takes time by the square.
const WORDS: usize = 1000;

/// How two contents differ.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    None,
    /// One of them is no UTF-8, or contains a NUL.
    Binary,
    /// The diff has more lines than asked for.
    TooLong,
    Lines {
        lines: Vec<Line>,
        /// How many credentials are hidden.
        hidden: usize,
    },
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// The place of the lines after it, as in a unified diff: `@@ -1,4 +1,5 @@`.
    Place(String),
    /// The numbers count from 1.
    Kept(usize, usize, String),
    Removed(usize, Vec<Word>),
    Added(usize, Vec<Word>),
    /// The line before it has no line ending.
    Unended,
}

/// A part of a removed or added line, compared with the line that replaces it or that it replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Word {
    Same(String),
    Changed(String),
}

/// The diff in at most that many lines.
pub(crate) fn lines(pair: Pair<'_>, most: usize) -> Difference {
    let (before, after) = pair.bytes();
    if before == after {
        return Difference::None;
    }
    let (Some(old), Some(new)) = (text(before), text(after)) else {
        return Difference::Binary;
    };
    let hunks = Hunks::between(old, new);
    if hunks.lines().take(most + 1).count() > most {
        return Difference::TooLong;
    }
    let mut shown = Shown {
        hiding: Hiding::of(old, new),
        lines: Vec::new(),
        hidden: 0,
    };
    for group in &hunks.groups {
        shown.lines.push(Line::Place(hunks.head(group)));
        for op in group {
            shown.operation(&hunks, op);
        }
    }
    Difference::Lines {
        lines: shown.lines,
        hidden: shown.hidden,
    }
}

struct Shown {
    hiding: Hiding,
    lines: Vec<Line>,
    hidden: usize,
}

impl Shown {
    fn operation(&mut self, hunks: &Hunks<'_>, op: &DiffOp) {
        let old = hunks.old.get(op.old_range()).unwrap_or_default();
        let new = hunks.new.get(op.new_range()).unwrap_or_default();
        let first_old = hunks.skipped + op.old_range().start + 1;
        let first_new = hunks.skipped + op.new_range().start + 1;
        if let DiffOp::Equal { .. } = op {
            for (at, line) in old.iter().enumerate() {
                let text = self.hide(line);
                self.push(line, Line::Kept(first_old + at, first_new + at, text));
            }
            return;
        }
        let was: Vec<String> = old.iter().map(|line| self.hide(line)).collect();
        let is: Vec<String> = new.iter().map(|line| self.hide(line)).collect();
        let mut pairs = was.iter().zip(&is).map(|(was, is)| words(was, is)).unzip();
        let (removed, added): &mut (Vec<_>, Vec<_>) = &mut pairs;
        let rest = |all: &[String], from: usize| -> Vec<Vec<Word>> {
            let rest = all.iter().skip(from);
            rest.map(|line| vec![Word::Same(line.clone())]).collect()
        };
        removed.extend(rest(&was, removed.len()));
        added.extend(rest(&is, added.len()));
        for (at, (line, words)) in old.iter().zip(pairs.0).enumerate() {
            self.push(line, Line::Removed(first_old + at, words));
        }
        for (at, (line, words)) in new.iter().zip(pairs.1).enumerate() {
            self.push(line, Line::Added(first_new + at, words));
        }
    }

    fn hide(&mut self, line: &str) -> String {
        let line = line.strip_suffix('\n').unwrap_or(line);
        let shown = self.hiding.hide_all(line);
        if *shown != *line {
            self.hidden += shown.matches(CUT).count();
        }
        shown.into_owned()
    }

    fn push(&mut self, line: &str, shown: Line) {
        self.lines.push(shown);
        if !line.ends_with('\n') {
            self.lines.push(Line::Unended);
        }
    }
}

/// The words of two lines that differ. If the lines have little in common, no word is told from the others.
fn words(old: &str, new: &str) -> (Vec<Word>, Vec<Word>) {
    let (was, is) = (tokens(old), tokens(new));
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    let mut common = 0;
    if old.len() + new.len() <= WORDS {
        for op in capture_diff_slices(Algorithm::Myers, &was, &is) {
            let old = was.get(op.old_range()).unwrap_or_default().concat();
            let new = is.get(op.new_range()).unwrap_or_default().concat();
            let word = if let DiffOp::Equal { .. } = op {
                common += old.trim().len();
                Word::Same
            } else {
                Word::Changed
            };
            removed.extend(Some(old).filter(|text| !text.is_empty()).map(word));
            added.extend(Some(new).filter(|text| !text.is_empty()).map(word));
        }
    }
    if common * 3 < old.trim().len().max(new.trim().len()) || common == 0 {
        let whole = |line: &str| vec![Word::Same(line.to_owned())];
        return (whole(old), whole(new));
    }
    (removed, added)
}

/// Words, runs of white space, and other characters one by one.
fn tokens(line: &str) -> Vec<&str> {
    let kind = |c: char| match c {
        '_' => 1,
        c if c.is_alphanumeric() => 1,
        c if c.is_whitespace() => 2,
        _ => 0,
    };
    let mut tokens = Vec::new();
    let (mut from, mut before) = (0, 0);
    for (at, c) in line.char_indices() {
        let now = kind(c);
        if at > from && (now == 0 || now != before) {
            tokens.extend(line.get(from..at));
            from = at;
        }
        before = now;
    }
    tokens.extend(line.get(from..).filter(|rest| !rest.is_empty()));
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{plan::diff::Side, task::RelPath};

    fn between(old: &str, new: &str) -> Difference {
        let name = &RelPath::parse("f").unwrap();
        let side = |text| Side {
            name,
            bytes: str::as_bytes(text),
            mode: 0o644,
        };
        let pair = Pair {
            before: Some(side(old)),
            after: Some(side(new)),
        };
        lines(pair, 100)
    }

    fn same(text: &str) -> Word {
        Word::Same(text.to_owned())
    }

    fn changed(text: &str) -> Word {
        Word::Changed(text.to_owned())
    }

    #[test]
    fn each_line_has_its_numbers_and_its_changed_words() {
        let old = "1\n2\n3\n4\n5\nlet port = 80; // http\nend";
        let new = "1\n2\n3\n4\n5\nlet port = 443; // https\nmore\nend";
        let expected = vec![
            Line::Place("@@ -3,5 +3,6 @@".to_owned()),
            Line::Kept(3, 3, "3".to_owned()),
            Line::Kept(4, 4, "4".to_owned()),
            Line::Kept(5, 5, "5".to_owned()),
            Line::Removed(
                6,
                vec![
                    same("let port = "),
                    changed("80"),
                    same("; // "),
                    changed("http"),
                ],
            ),
            Line::Added(
                6,
                vec![
                    same("let port = "),
                    changed("443"),
                    same("; // "),
                    changed("https"),
                ],
            ),
            Line::Added(7, vec![same("more")]),
            Line::Kept(7, 8, "end".to_owned()),
            Line::Unended,
        ];
        let shown = Difference::Lines {
            lines: expected,
            hidden: 0,
        };
        assert_eq!(between(old, new), shown);
    }

    #[test]
    fn in_lines_that_have_little_in_common_or_are_long_no_word_is_marked() {
        assert_eq!(
            words("return a;", "panic!(\"why\");"),
            (vec![same("return a;")], vec![same("panic!(\"why\");")])
        );
        let long = "word ".repeat(200);
        let other = format!("{long}x");
        assert_eq!(
            words(&long, &other),
            (vec![same(&long)], vec![same(&other)])
        );
    }

    #[test]
    fn a_credential_is_hidden_and_counted_and_tells_no_word_r_001_161() {
        let shown = Difference::Lines {
            lines: vec![
                Line::Place("@@ -1 +1 @@".to_owned()),
                Line::Removed(1, vec![same("password = ***")]),
                Line::Added(1, vec![same("password = ***")]),
            ],
            hidden: 2,
        };
        assert_eq!(between("password = a\n", "password = hunter2\n"), shown);
    }

    #[test]
    fn what_is_no_text_or_too_long_or_the_same_has_no_lines() {
        assert_eq!(between("a\0", "b"), Difference::Binary);
        assert_eq!(between("a", "a"), Difference::None);
        assert_eq!(between("", &"line\n".repeat(100)), Difference::TooLong);
    }
}
