//! Reads a text without one level of the escapes of JSON, and without one level of those of URLs, and maps what is
//! found there back to the text.

use std::ops::Range;

use super::cut::joined;

/// The ranges that `look` finds in a text, and in the text without its escapes, as ranges of the text: in order, with
/// overlapping ranges joined.
pub(super) fn find(text: &[u8], look: impl Fn(&[u8], &mut Vec<Range<usize>>)) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    look(text, &mut found);
    for (lead, escape) in [(b'\\', of_json as Escape), (b'%', of_url)] {
        if let Some(unescaped) = Unescaped::of(text, lead, escape) {
            let mut here = Vec::new();
            look(&unescaped.bytes, &mut here);
            found.extend(here.iter().map(|range| unescaped.source(range)));
        }
    }
    joined(found)
}

/// Writes what the escape at the start of a text stands for, and returns its length. Writes nothing if there is none.
type Escape = fn(&[u8], &mut Vec<u8>) -> Option<usize>;

struct Unescaped {
    bytes: Vec<u8>,
    /// The range of each escape, here and in the text.
    escapes: Vec<(Range<usize>, Range<usize>)>,
}

impl Unescaped {
    /// `None` if there are no escapes.
    fn of(text: &[u8], lead: u8, escape: Escape) -> Option<Self> {
        let (mut bytes, mut escapes) = (Vec::new(), Vec::new());
        let (mut from, mut at) = (0, 0);
        while let Some(rest) = text.get(at..)
            && let Some(skipped) = rest.iter().position(|byte| *byte == lead)
        {
            at += skipped;
            bytes.extend_from_slice(text.get(from..at)?);
            from = at;
            let start = bytes.len();
            if let Some(length) = escape(text.get(at..)?, &mut bytes) {
                escapes.push((start..bytes.len(), at..at + length));
                from += length;
            }
            at = from.max(at + 1);
        }
        bytes.extend_from_slice(text.get(from..)?);
        (!escapes.is_empty()).then_some(Self { bytes, escapes })
    }

    /// The range in the text. An escape is included as a whole.
    fn source(&self, range: &Range<usize>) -> Range<usize> {
        let last = range.end.saturating_sub(1).max(range.start);
        self.byte(range.start).start..self.byte(last).end
    }

    /// The range of one byte in the text.
    fn byte(&self, at: usize) -> Range<usize> {
        let before = self.escapes.partition_point(|(here, _)| here.start <= at);
        match before
            .checked_sub(1)
            .and_then(|last| self.escapes.get(last))
        {
            Some((here, there)) if here.contains(&at) => there.clone(),
            Some((here, there)) => {
                let start = there.end + at - here.end;
                start..start + 1
            }
            None => at..at + 1,
        }
    }
}

fn of_url(text: &[u8], meant: &mut Vec<u8>) -> Option<usize> {
    let digit = |at: usize| char::from(*text.get(at)?).to_digit(16);
    meant.push(u8::try_from(digit(1)? << 4 | digit(2)?).ok()?);
    Some(3)
}

/// `\n` and the like, `\u` with four digits, or two of these that are a surrogate pair.
fn of_json(text: &[u8], meant: &mut Vec<u8>) -> Option<usize> {
    let is_unit = text.get(1) == Some(&b'u');
    let lengths: &[usize] = if is_unit { &[12, 6] } else { &[2] };
    lengths.iter().copied().find_map(|length| {
        let escape = str::from_utf8(text.get(..length)?).ok()?;
        let letter: char = serde_json::from_str(&format!("\"{escape}\"")).ok()?;
        meant.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
        Some(length)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, word: &'static [u8]) -> Vec<String> {
        let ranges = find(text.as_bytes(), |text, found| {
            let windows = text.windows(word.len()).enumerate();
            let hits = windows.filter(|(_, window)| *window == word);
            found.extend(hits.map(|(at, _)| at..at + word.len()));
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
