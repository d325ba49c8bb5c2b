//! Text on its way into and out of the full-text index.
//!
//! The index cuts words at spaces, and Chinese has none: its characters are indexed one by one,
//! with an invisible space between them, and found again as a phrase.

/// A space of no width: the index cuts there, and nobody sees it.
const SEAM: char = '\u{200B}';

/// Words of a query that are looked for, at most.
const MOST_WORDS: usize = 64;

/// The text with a seam after each ideograph.
pub(super) fn seamed(text: &str) -> String {
    let mut seamed = String::with_capacity(text.len());
    for character in text.chars().filter(|character| *character != SEAM) {
        if is_ideograph(character) {
            seamed.extend([SEAM, character, SEAM]);
        } else {
            seamed.push(character);
        }
    }
    seamed
}

/// The text as it was before.
pub(super) fn unseamed(text: &str) -> String {
    text.replace(SEAM, "")
}

/// An FTS5 query for texts that hold all words of `text`. Each word is a quoted phrase, so that
/// nothing in it is an operator; `None` if it has no letter and no digit.
pub(super) fn query(text: &str) -> Option<String> {
    let words: Vec<String> = text
        .split(|character: char| character.is_whitespace() || character.is_control())
        .filter(|word| word.contains(char::is_alphanumeric))
        .take(MOST_WORDS)
        .map(|word| format!("\"{}\"", seamed(word).replace('"', "\"\"")))
        .collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// Han, Hiragana and Katakana: scripts that are written without spaces.
fn is_ideograph(character: char) -> bool {
    matches!(character,
        '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_quoted_whatever_it_holds() {
        assert_eq!(
            query("fox NOT dog"),
            Some(r#""fox" "NOT" "dog""#.to_owned())
        );
        assert_eq!(query(r#"a" OR "b"#), Some(r#""a""" "OR" """b""#.to_owned()));
        assert_eq!(query("nul\0l"), Some(r#""nul" "l""#.to_owned()));
        assert_eq!(query(" * - \" () "), None);
    }

    #[test]
    fn seams_are_taken_out_again() {
        let text = "机器 learning 学习。";
        assert_ne!(seamed(text), text);
        assert_eq!(unseamed(&seamed(text)), text);
    }
}
