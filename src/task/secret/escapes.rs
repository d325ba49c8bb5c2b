//! Reads a text without one level of the escapes of JSON, and without one level of those of URLs, and maps what is
//! found there back to the text.

use std::ops::Range;

use super::cut::joined;

/// The ranges that `look` finds in a text, and in the text without its escapes, as ranges of the text: in order, with
/// overlapping ranges joined. UTF-8 without its escapes is UTF-8, and `look` finds whole characters.
pub(super) fn find(text: &[u8], look: impl Fn(&[u8]) -> Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut found = look(text);
    for (lead, escape) in [(b'\\', of_json as Escape), (b'%', of_url)] {
        if text.contains(&lead) {
            let (unescaped, ends) = unescaped(text, lead, escape);
            let here = look(&unescaped).into_iter();
            found.extend(here.map(|here| source(&ends, here.start)..source(&ends, here.end)));
        }
    }
    joined(found)
}

/// The character that the escape at the start of a text stands for, and the length of the escape.
type Escape = fn(&[u8]) -> Option<(char, usize)>;

/// The text without its escapes, and where each escape ends there and in the text.
fn unescaped(text: &[u8], lead: u8, escape: Escape) -> (Vec<u8>, Vec<(usize, usize)>) {
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    let mut rest = text;
    while let Some((first, mut behind)) = rest.split_first() {
        let meant = if *first == lead { escape(rest) } else { None };
        match meant {
            Some((letter, length)) => {
                bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                behind = rest.get(length..).unwrap_or_default();
                ends.push((bytes.len(), text.len() - behind.len()));
            }
            None => bytes.push(*first),
        }
        rest = behind;
    }
    (bytes, ends)
}

/// The place in the text of a place in the text without its escapes.
fn source(ends: &[(usize, usize)], at: usize) -> usize {
    let mut before = ends
        .iter()
        .take(ends.partition_point(|(here, _)| *here <= at));
    let (here, there) = before.next_back().copied().unwrap_or_default();
    there + at - here
}

fn of_url(text: &[u8]) -> Option<(char, usize)> {
    let byte = |escape: &[u8]| match escape {
        [b'%', high, low] => {
            let digit = |letter: &u8| char::from(*letter).to_digit(16);
            u8::try_from(digit(high)? << 4 | digit(low)?).ok()
        }
        _ => None,
    };
    let bytes: Vec<u8> = text.chunks(3).take(4).map_while(byte).collect();
    let letter = bytes.utf8_chunks().next()?.valid().chars().next()?;
    Some((letter, 3 * letter.len_utf8()))
}

/// `\n` and the like, `\u` with four digits, or two of these that are a surrogate pair.
fn of_json(text: &[u8]) -> Option<(char, usize)> {
    let is_unit = text.get(1) == Some(&b'u');
    let lengths: &[usize] = if is_unit { &[12, 6] } else { &[2] };
    lengths.iter().find_map(|length| {
        let escape = str::from_utf8(text.get(..*length)?).ok()?;
        let letter = serde_json::from_str(&format!("\"{escape}\"")).ok()?;
        Some((letter, *length))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, word: &'static [u8]) -> Vec<String> {
        let ranges = find(text.as_bytes(), |text| {
            let windows = text.windows(word.len()).enumerate();
            let hits = windows.filter(|(_, window)| *window == word);
            hits.map(|(at, _)| at..at + word.len()).collect()
        });
        let pieces = ranges.into_iter().map(|range| text[range].to_owned());
        pieces.collect()
    }

    #[test]
    fn what_is_found_is_traced_back_to_what_is_written() {
        for (text, written) in [
            ("xa=bx", "a=b"),
            ("xa%3dbx", "a%3db"),
            ("x%61%3D%62x", "%61%3D%62"),
            (r"\n\u0061\u003d\u0062\n", r"\u0061\u003d\u0062"),
            (r"%\q\ud800a\u003db", r"a\u003db"),
        ] {
            assert_eq!(found(text, b"a=b"), [written], "{text}");
        }
        assert_eq!(
            found(r#"(\"\\\/\n\ud83d\udd11)"#, "\"\\/\n🔑".as_bytes()),
            [r#"\"\\\/\n\ud83d\udd11"#]
        );
        assert_eq!(found("aaa aa", b"aa"), ["aaa", "aa"]);
    }

    #[test]
    fn two_levels_are_not_undone() {
        for text in ["a%253Db", r"a\\u003db", "a&#61;b"] {
            assert!(found(text, b"a=b").is_empty(), "{text}");
        }
    }
}
