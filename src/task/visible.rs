//! Makes foreign text safe for terminals and logs. Characters are replaced that control a terminal, change the
//! direction of writing or are invisible: control characters and those that Unicode calls default-ignorable
//! (zero-width characters, tags, variation selectors). No foreign text ends a line.

use std::{borrow::Cow, fmt::Write as _};

/// The text in one line: control characters as `^X`, other replaced characters as `<U+202E>`.
pub fn visible(text: &str) -> Cow<'_, str> {
    rewritten(text, is_unseen, name)
}

/// The same, but line feeds and tabs stay, for a text such as a diff.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    rewritten(text, is_unseen_within_lines, name)
}

/// A JSON text with the same meaning, in which each such character is a `\u` escape.
pub fn visible_json(text: &str) -> Cow<'_, str> {
    rewritten(text, is_unseen_within_json, unit)
}

/// The same for a JSON text on one line, also for the line ends of Unicode.
pub fn visible_json_line(text: &str) -> Cow<'_, str> {
    rewritten(text, is_unseen, unit)
}

/// JSON contains no raw escape character, so an escape character here starts a colour that oneact printed. U+2028
/// and U+2029 end no line in JSON or on a terminal.
fn is_unseen_within_json(c: char) -> bool {
    !matches!(c, '\x1b' | '\u{2028}' | '\u{2029}') && is_unseen_within_lines(c)
}

fn is_unseen_within_lines(c: char) -> bool {
    !matches!(c, '\n' | '\t') && is_unseen(c)
}

/// Control characters, line and paragraph separators, characters that change the direction of writing, and
/// `Default_Ignorable_Code_Point` (Unicode 16, `DerivedCoreProperties.txt`), also the interlinear annotations and
/// the empty Braille pattern.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Rewrites the characters for which `is` holds; borrowed if there are none.
fn rewritten(text: &str, is: fn(char) -> bool, write: fn(char, &mut String)) -> Cow<'_, str> {
    // Printable ASCII is never rewritten, and most texts are little else.
    let rewritten = |(_, c): &(usize, char)| !matches!(c, ' '..='~') && is(*c);
    let mut shown = String::new();
    let mut from = 0;
    for (at, c) in text.char_indices().filter(rewritten) {
        shown.push_str(text.get(from..at).unwrap_or_default());
        write(c, &mut shown);
        from = at + c.len_utf8();
    }
    if from == 0 {
        return Cow::Borrowed(text);
    }
    shown.push_str(text.get(from..).unwrap_or_default());
    Cow::Owned(shown)
}

fn name(c: char, into: &mut String) {
    match u8::try_from(c) {
        Ok(control @ (..=0x1f | 0x7f)) => {
            into.push('^');
            into.push(char::from(control ^ 0x40));
        }
        // Writing to a String cannot fail.
        _ => _ = write!(into, "<U+{:04X}>", u32::from(c)),
    }
}

fn unit(c: char, into: &mut String) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        // Writing to a String cannot fail.
        let _ = write!(into, "\\u{unit:04x}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_does_not_steer_the_terminal() {
        for (text, shown) in [
            ("\x1b[2J\x1b]0;title\x07", "^[[2J^[]0;title^G"),
            ("a\r\nb\tc\x7f", "a^M^Jb^Ic^?"),
            ("\u{9b}2J\u{85}", "<U+009B>2J<U+0085>"),
            ("a\u{202e}b\u{2069}\u{61c}", "a<U+202E>b<U+2069><U+061C>"),
            (
                "a\u{200b}\u{200d}\u{feff}\u{ad}",
                "a<U+200B><U+200D><U+FEFF><U+00AD>",
            ),
            ("\u{e0041}\u{fe0f}\u{e0100}", "<U+E0041><U+FE0F><U+E0100>"),
            ("\u{2028}\u{2029}\u{2800}", "<U+2028><U+2029><U+2800>"),
            ("音声 é \u{1f511} 'x'", "音声 é \u{1f511} 'x'"),
        ] {
            assert_eq!(visible(text), shown);
            assert_eq!(visible(shown), shown, "a second time");
        }
        assert_eq!(visible_lines("a\n\tb\r\n\x1bc"), "a\n\tb^M\n^[c");
    }

    #[test]
    fn json_means_the_same_and_shows_everything() {
        let value = serde_json::json!({"a\u{9b}": "\x1b\x7f\u{85}\u{202e}\u{200b}\u{e0041}é"});
        let text = format!("{value}\n");
        let shown = visible_json(&text);
        assert!(!shown.contains(is_unseen_within_json), "{shown}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&shown).unwrap(),
            value
        );
    }

    #[test]
    fn plain_text_is_borrowed() {
        assert!(matches!(visible("plain, [text]"), Cow::Borrowed(_)));
        assert!(matches!(visible("音声"), Cow::Borrowed(_)));
    }
}
