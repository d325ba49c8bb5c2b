//! The width of texts on a terminal, and how they are made to fit.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The width of a text, in columns.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// Shortens a text to that many columns. Its middle is left out, because ids differ at their ends.
pub(super) fn fit(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(1);
    let head = take(text.chars(), room.div_ceil(2));
    let tail = take(text.chars().rev(), room / 2);
    head.into_iter()
        .chain(['…'])
        .chain(tail.into_iter().rev())
        .collect()
}

fn take(chars: impl Iterator<Item = char>, columns: usize) -> Vec<char> {
    let mut used = 0;
    chars
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= columns
        })
        .collect()
}

/// Pads a text with spaces to that many columns.
pub(super) fn padded(text: &str, columns: usize) -> String {
    let blanks = columns.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(blanks))
}

/// Breaks a text into lines of at most that many columns. A longer word is cut, a path after a `/` if possible.
pub(super) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').flat_map(|word| cut(word, columns)) {
        match lines.last_mut() {
            Some(line) if !word.cut && width(line) + 1 + width(word.text) <= columns => {
                line.push(' ');
                line.push_str(word.text);
            }
            _ => lines.push(word.text.to_owned()),
        }
    }
    lines
}

/// The same as one text. All lines but the first begin with that many spaces.
pub(super) fn hanging(text: &str, columns: usize, blanks: usize) -> String {
    let room = columns.saturating_sub(blanks).max(1);
    wrapped(text, room).join(&format!("\n{}", " ".repeat(blanks)))
}

/// A word, or a part of one.
struct Piece<'a> {
    text: &'a str,
    /// Whether the piece continues the word of the piece before it.
    cut: bool,
}

fn cut(word: &str, columns: usize) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut from, mut used, mut part) = (0, 0, 0);
    for (at, c) in word.char_indices() {
        let wide = c.width().unwrap_or(0);
        if used + wide > columns && used > 0 {
            let to = if part > from { part } else { at };
            pieces.push((from, to));
            from = to;
            used = width(word.get(from..at).unwrap_or_default());
        }
        used += wide;
        if c == '/' {
            part = at + 1;
        }
    }
    pieces.push((from, word.len()));
    let piece = |(from, to): (usize, usize)| Piece {
        text: word.get(from..to).unwrap_or_default(),
        cut: from > 0,
    };
    pieces.into_iter().map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_count_as_two() {
        assert_eq!(padded("音声", 6), "音声  ");
        assert_eq!(fit("音声認識タスク", 7), "音…ク");
        assert!(width(&fit("音声認識タスク", 7)) <= 7);
        assert_eq!(fit("task_123456789", 9), "task…6789");
        assert_eq!(fit("short", 9), "short");
    }

    #[test]
    fn notes_are_broken_between_words_and_lose_none() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("an unbreakable", 5), ["an", "unbre", "akabl", "e"]);
        assert_eq!(wrapped("/one/two/three", 10), ["/one/two/", "three"]);
        assert_eq!(wrapped("a 音声認識", 5), ["a", "音声", "認識"]);
        assert_eq!(wrapped("", 5), [""]);
        assert_eq!(hanging("one two three", 9, 2), "one two\n  three");
    }
}
