//! A diff for a page: its lines with their numbers, and the words that changed. Credentials are hidden (R-001-161).

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::{DiffMark as Mark, Pair};

/// The longest two lines in which changed words are sought, in bytes together. The search takes time by the square.
const WORDS: usize = 1000;

/// How two contents differ, or why that is not shown.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    None,
    /// One of them is no UTF-8, or contains a NUL.
    Binary,
    /// They are larger than what is compared, or the diff has more lines than asked for.
    TooLarge,
    Lines(Vec<Line>),
    /// The change was undone.
    Undone,
    /// Something else is at the path by now, or nothing.
    ChangedSince,
    /// The file from before the plan is not in the report directory.
    NoBackup,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) mark: Mark,
    /// The numbers of the line in both contents; 0 where it is not.
    pub(crate) numbers: [usize; 2],
    pub(crate) words: Vec<Word>,
}

/// A part of a line, compared with the line that replaces it or that it replaces.
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
    let Some(hunks) = pair.hunks() else {
        return Difference::Binary;
    };
    let lines = hunks.lines().take(most + 1).map(|line| Line {
        mark: line.mark,
        numbers: line.numbers,
        words: vec![Word::Same(hunks.hiding.hide(&line.text).into_owned())],
    });
    let mut lines: Vec<Line> = lines.collect();
    if lines.len() > most {
        return Difference::TooLarge;
    }
    for block in lines.chunk_by_mut(|one, next| one.mark >= Mark::Removed && next.mark >= one.mark)
    {
        compare(block);
    }
    Difference::Lines(lines)
}

/// Marks the changed words of removed lines and of the added lines after them, line by line.
fn compare(block: &mut [Line]) {
    let added = block.partition_point(|line| line.mark < Mark::Added);
    let (removed, added) = block.split_at_mut(added);
    for (old, new) in removed.iter_mut().zip(added) {
        if let ([Word::Same(was)], [Word::Same(is)]) = (&*old.words, &*new.words)
            && let Some((was, is)) = words(was, is)
        {
            (old.words, new.words) = (was, is);
        }
    }
}

/// The words of two lines; `None` if the lines are long, or have little in common.
fn words(old: &str, new: &str) -> Option<(Vec<Word>, Vec<Word>)> {
    if old.len() + new.len() > WORDS {
        return None;
    }
    let (was, is) = (tokens(old), tokens(new));
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    let mut common = 0;
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
    let longer = old.trim().len().max(new.trim().len());
    (common > 0 && common * 3 >= longer).then_some((removed, added))
}

/// Words, runs of white space, and other characters one by one.
fn tokens(line: &str) -> Vec<String> {
    let is_word = |c: char| c == '_' || c.is_alphanumeric();
    let belong = |a: &char, b: &char| {
        (is_word(*a) && is_word(*b)) || (a.is_whitespace() && b.is_whitespace())
    };
    let chars: Vec<char> = line.chars().collect();
    chars.chunk_by(belong).map(String::from_iter).collect()
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

    /// A line as text: its mark and numbers, and its words with brackets around those that changed.
    fn shown(line: &Line) -> String {
        let words = line.words.iter().map(|word| match word {
            Word::Same(text) => text.clone(),
            Word::Changed(text) => format!("[{text}]"),
        });
        let [before, after] = line.numbers;
        format!(
            "{:?} {before} {after} {}",
            line.mark,
            words.collect::<String>()
        )
    }

    fn shown_between(old: &str, new: &str) -> Vec<String> {
        match between(old, new) {
            Difference::Lines(lines) => lines.iter().map(shown).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_line_has_its_numbers_and_its_changed_words() {
        let old = "1\n2\n3\n4\n5\nlet port = 80; // http\nend";
        let new = "1\n2\n3\n4\n5\nlet port = 443; // https\nmore\nend";
        assert_eq!(
            shown_between(old, new),
            [
                "Remark 0 0 @@ -3,5 +3,6 @@",
                "Kept 3 3 3",
                "Kept 4 4 4",
                "Kept 5 5 5",
                "Removed 6 0 let port = [80]; // [http]",
                "Added 0 6 let port = [443]; // [https]",
                "Added 0 7 more",
                "Kept 7 8 end",
                "Remark 0 0 \\ No newline at end of file",
            ]
        );
        assert_eq!(
            shown_between("", "one\n"),
            ["Remark 0 0 @@ -0,0 +1 @@", "Added 0 1 one"]
        );
    }

    #[test]
    fn in_lines_that_have_little_in_common_or_are_long_no_word_is_marked() {
        assert_eq!(words("return a;", "panic!(\"why\");"), None);
        let long = "word ".repeat(200);
        assert_eq!(words(&long, &format!("{long}x")), None);
        assert!(words("one word", "two word").is_some());
    }

    #[test]
    fn a_credential_is_hidden_and_tells_no_word_r_001_161() {
        assert_eq!(
            shown_between("password = a\n", "password = hunter2\n"),
            [
                "Remark 0 0 @@ -1 +1 @@",
                "Removed 1 0 password = ***",
                "Added 0 1 password = ***"
            ]
        );
    }

    #[test]
    fn what_is_no_text_or_too_long_or_the_same_has_no_lines() {
        assert_eq!(between("a\0", "b"), Difference::Binary);
        assert_eq!(between("a", "a"), Difference::None);
        assert_eq!(between("", &"line\n".repeat(100)), Difference::TooLarge);
    }
}
