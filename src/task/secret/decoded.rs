//! Decodes the escapes of JSON, URLs and HTML in a text, repeatedly, and maps what is found in the decoded text
//! back to the original.
//!
//! The work is linear: each round is one pass that shortens the text, and there are at most some sixty rounds in all.

use std::ops::Range;

/// The number of rounds, enough for JSON in JSON in a URL inside a URL.
const ROUNDS: usize = 4;

/// The bytes with which an escape begins: of JSON and C, of URLs, of HTML.
const LEADS: &[u8] = br"\%&";

/// The ranges that `look` finds in a text or in a decoded form of it, as byte ranges of the text: in order, with
/// overlapping ranges joined. `look` gets the text, and then the result of each round.
pub(super) fn find(text: &[u8], look: impl Fn(&[u8], &mut Vec<Range<usize>>)) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    look(text, &mut found);
    let mut rounds = Vec::new();
    loop {
        let leads = leads_in(rounds.last().map_or(text, |round: &Decoded| &round.bytes));
        // The first character of a secret can complete an escape of another kind: `\t` in `CORP\tom&amp;jerry`. So the
        // escapes of some kinds are also decoded alone.
        let before = rounds.len();
        for chosen in 1..(1_usize << leads.len()).saturating_sub(1) {
            let some = leads.iter().enumerate();
            let some = some.filter(|(at, _)| chosen & (1 << at) != 0);
            let some: Vec<u8> = some.map(|(_, lead)| *lead).collect();
            while round(text, &mut rounds, &some, &look, &mut found) {}
            rounds.truncate(before);
        }
        if !round(text, &mut rounds, LEADS, &look, &mut found) {
            return joined(found);
        }
    }
}

/// Decodes once more, and adds what `look` finds then. False if there is no such escape, or there are enough rounds.
fn round(
    text: &[u8],
    rounds: &mut Vec<Decoded>,
    leads: &[u8],
    look: impl Fn(&[u8], &mut Vec<Range<usize>>),
    found: &mut Vec<Range<usize>>,
) -> bool {
    let before = rounds.last().map_or(text, |round| &round.bytes);
    if rounds.len() == ROUNDS {
        return false;
    }
    let Some(decoded) = decode(before, leads) else {
        return false;
    };
    let mut here = Vec::new();
    look(&decoded.bytes, &mut here);
    rounds.push(decoded);
    found.extend(here.into_iter().map(|range| {
        let back = rounds.iter().rev();
        back.fold(range, |range, round| round.source(&range))
    }));
    true
}

fn leads_in(text: &[u8]) -> Vec<u8> {
    let leads = LEADS.iter().copied();
    leads.filter(|lead| text.contains(lead)).collect()
}

pub(super) fn meant(text: &[u8]) -> Vec<u8> {
    let mut bytes = text.to_vec();
    for _ in 0..ROUNDS {
        let Some(decoded) = decode(&bytes, LEADS) else {
            break;
        };
        bytes = decoded.bytes;
    }
    bytes
}

pub(super) fn joined(mut found: Vec<Range<usize>>) -> Vec<Range<usize>> {
    found.sort_by_key(|range| (range.start, range.end));
    found.dedup_by(|next, last| {
        let overlaps = next.start < last.end;
        if overlaps {
            last.end = last.end.max(next.end);
        }
        overlaps
    });
    found
}

struct Decoded {
    bytes: Vec<u8>,
    /// The starts of stretches, here and in the text before the round. A stretch of the same length in both is
    /// plain text; any other one is an escape.
    stretches: Vec<(usize, usize)>,
    /// The length of the text before the round.
    length: usize,
}

impl Decoded {
    /// The range in the text before the round. An escape is included as a whole.
    fn source(&self, range: &Range<usize>) -> Range<usize> {
        let (start, _) = self.place(range.start);
        let (_, end) = self.place(range.end.saturating_sub(1).max(range.start));
        start..end
    }

    /// The range of one byte in the text before the round.
    fn place(&self, at: usize) -> (usize, usize) {
        let next = self.stretches.partition_point(|(here, _)| *here <= at);
        let after = self.stretches.get(next).copied();
        let (end_here, end_there) = after.unwrap_or((self.bytes.len(), self.length));
        let (here, there) = match next.checked_sub(1) {
            Some(before) => self.stretches.get(before).copied().unwrap_or_default(),
            None => (0, 0),
        };
        if end_here - here == end_there - there {
            (there + at - here, there + at - here + 1)
        } else {
            (there, end_there)
        }
    }
}

/// Decodes the escapes that begin with one of these bytes, once; `None` if there are none.
fn decode(text: &[u8], leads: &[u8]) -> Option<Decoded> {
    let (mut bytes, mut stretches) = (Vec::new(), Vec::new());
    let (mut from, mut at) = (0, 0);
    let is_lead = |byte: &u8| leads.contains(byte);
    while let Some(rest) = text.get(at..)
        && let Some(skipped) = rest.iter().position(is_lead)
    {
        at += skipped;
        let Some((meant, length)) = text.get(at..).and_then(escape) else {
            at += 1;
            continue;
        };
        if from == 0 {
            bytes.reserve(text.len());
        }
        bytes.extend_from_slice(text.get(from..at).unwrap_or_default());
        let begin = (bytes.len(), at);
        if stretches.last() != Some(&begin) {
            stretches.push(begin);
        }
        meant.write(&mut bytes);
        at += length;
        from = at;
        stretches.push((bytes.len(), at));
    }
    if from == 0 {
        return None;
    }
    bytes.extend_from_slice(text.get(from..).unwrap_or_default());
    Some(Decoded {
        bytes,
        stretches,
        length: text.len(),
    })
}

/// The character or byte that an escape stands for.
enum Meant {
    Byte(u8),
    Letter(char),
}

impl Meant {
    fn write(&self, into: &mut Vec<u8>) {
        match self {
            Self::Byte(byte) => into.push(*byte),
            Self::Letter(letter) => {
                into.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
    }
}

/// The escape at the start of a text, and its length.
fn escape(text: &[u8]) -> Option<(Meant, usize)> {
    match text {
        [b'%', b'u' | b'U', rest @ ..] => unit(rest, b"%u"),
        [b'%', rest @ ..] => Some((Meant::Byte(u8::try_from(hex(rest, 2)?).ok()?), 3)),
        [b'\\', b'x', rest @ ..] => Some((Meant::Byte(u8::try_from(hex(rest, 2)?).ok()?), 4)),
        [b'\\', b'u', b'{', rest @ ..] => {
            let digits = rest.iter().take(7).position(|byte| *byte == b'}')?;
            Some((
                Meant::Letter(char::from_u32(hex(rest, digits)?)?),
                digits + 4,
            ))
        }
        [b'\\', b'u', rest @ ..] => unit(rest, br"\u"),
        [b'\\', b'U', rest @ ..] => Some((Meant::Letter(char::from_u32(hex(rest, 8)?)?), 10)),
        [b'\\', b'0'..=b'7', ..] => Some(octal(text)),
        [b'\\', letter, ..] => {
            let meant = match letter {
                b'b' => 0x8,
                b'f' => 0xc,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'"' | b'\'' | b'\\' | b'/' => *letter,
                _ => return None,
            };
            Some((Meant::Byte(meant), 2))
        }
        [b'&', b'#', rest @ ..] => numbered(rest),
        [b'&', rest @ ..] => named(rest),
        _ => None,
    }
}

/// The value of that many hexadecimal digits at the start of a text.
fn hex(text: &[u8], digits: usize) -> Option<u32> {
    let digits = text.get(..digits).filter(|digits| !digits.is_empty())?;
    digits.iter().try_fold(0u32, |number, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        number.checked_mul(16)?.checked_add(digit)
    })
}

/// An octal escape of C and shells: a backslash and up to three digits.
fn octal(text: &[u8]) -> (Meant, usize) {
    let digits = text
        .iter()
        .skip(1)
        .take(3)
        .take_while(|byte| matches!(byte, b'0'..=b'7'));
    let (count, number) = digits.fold((0, 0u8), |(count, number), digit| {
        (count + 1, number.wrapping_mul(8).wrapping_add(digit - b'0'))
    });
    (Meant::Byte(number), 1 + count)
}

/// A UTF-16 escape after `lead`: one unit, or a surrogate pair.
fn unit(text: &[u8], lead: &[u8]) -> Option<(Meant, usize)> {
    let first = hex(text, 4)?;
    if let Some(letter) = char::from_u32(first) {
        return Some((Meant::Letter(letter), 6));
    }
    let low = text.get(4..)?.strip_prefix(lead)?;
    let units = [first, hex(low, 4)?].map(|unit| u16::try_from(unit).unwrap_or_default());
    let letter = char::decode_utf16(units).next()?.ok()?;
    Some((Meant::Letter(letter), 12))
}

/// The most digits of a numeric HTML reference, without leading zeros.
const LONGEST_NUMBER: usize = 8;

/// A numeric HTML reference after its `&#`. The semicolon may be missing.
fn numbered(text: &[u8]) -> Option<(Meant, usize)> {
    let (digits_from, radix) = match text {
        [b'x' | b'X', ..] => (1, 16),
        _ => (0, 10),
    };
    let digits = text.get(digits_from..)?;
    let is_digit = |byte: &&u8| char::from(**byte).is_digit(radix);
    let zeros = digits.iter().take_while(|byte| **byte == b'0').count();
    let others = digits.iter().skip(zeros).take(LONGEST_NUMBER);
    let count = zeros + others.take_while(is_digit).count();
    let number = std::str::from_utf8(digits.get(..count)?).ok()?;
    let letter = char::from_u32(u32::from_str_radix(number, radix).ok()?)?;
    let closed = usize::from(digits.get(count) == Some(&b';'));
    Some((Meant::Letter(letter), 2 + digits_from + count + closed))
}

/// The named HTML references, for ASCII and Latin-1: a character, and the names of it and of those that follow it. A
/// character without a name has the name "".
const NAMED: &[(u8, &[&str])] = &[
    (b'\t', &["Tab", "NewLine"]),
    (
        b'!',
        &[
            "excl", "quot", "num", "dollar", "percnt", "amp", "apos", "lpar", "rpar", "ast",
            "plus", "comma", "", "period", "sol",
        ],
    ),
    (
        b':',
        &["colon", "semi", "lt", "equals", "gt", "quest", "commat"],
    ),
    (b'[', &["lsqb", "bsol", "rsqb", "Hat", "lowbar", "grave"]),
    (b'{', &["lcub", "verbar", "rcub"]),
    (
        0xa0,
        &[
            "nbsp", "iexcl", "cent", "pound", "curren", "yen", "brvbar", "sect", "uml", "copy",
            "ordf", "laquo", "not", "shy", "reg", "macr", "deg", "plusmn", "sup2", "sup3", "acute",
            "micro", "para", "middot", "cedil", "sup1", "ordm", "raquo", "frac14", "frac12",
            "frac34", "iquest", "Agrave", "Aacute", "Acirc", "Atilde", "Auml", "Aring", "AElig",
            "Ccedil", "Egrave", "Eacute", "Ecirc", "Euml", "Igrave", "Iacute", "Icirc", "Iuml",
            "ETH", "Ntilde", "Ograve", "Oacute", "Ocirc", "Otilde", "Ouml", "times", "Oslash",
            "Ugrave", "Uacute", "Ucirc", "Uuml", "Yacute", "THORN", "szlig", "agrave", "aacute",
            "acirc", "atilde", "auml", "aring", "aelig", "ccedil", "egrave", "eacute", "ecirc",
            "euml", "igrave", "iacute", "icirc", "iuml", "eth", "ntilde", "ograve", "oacute",
            "ocirc", "otilde", "ouml", "divide", "oslash", "ugrave", "uacute", "ucirc", "uuml",
            "yacute", "thorn", "yuml",
        ],
    ),
    // Other names of the same characters.
    (b'"', &["QUOT"]),
    (b'&', &["AMP"]),
    (b'*', &["midast"]),
    (b'<', &["LT"]),
    (b'>', &["GT"]),
    (b'[', &["lbrack"]),
    (b']', &["rbrack"]),
    (b'_', &["UnderBar"]),
    (b'`', &["DiacriticalGrave"]),
    (b'{', &["lbrace", "vert", "rbrace"]),
    (b'|', &["VerticalLine"]),
];

/// The length of the longest of these names.
const LONGEST_NAME: usize = 16;

/// A named HTML reference after its `&`.
fn named(text: &[u8]) -> Option<(Meant, usize)> {
    let mut within = text.iter().take(LONGEST_NAME + 1);
    let end = within.position(|byte| *byte == b';')?;
    let name = text.get(..end).filter(|name| !name.is_empty())?;
    let letter = NAMED.iter().find_map(|(first, names)| {
        let place = names.iter().position(|known| known.as_bytes() == name)?;
        first.checked_add(u8::try_from(place).ok()?)
    })?;
    Some((Meant::Letter(char::from(letter)), end + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        let decoded = decode(text.as_bytes(), LEADS);
        decoded.map_or_else(
            || text.to_owned(),
            |decoded| String::from_utf8(decoded.bytes).unwrap(),
        )
    }

    #[test]
    fn each_escape_is_undone_once() {
        for (text, meant) in [
            (
                r#"\"\\\/\b\n\u00e9\ud83d\udd11\x41\u{1f511}"#,
                "\"\\/\u{8}\né🔑A🔑",
            ),
            ("%41%2d%C3%A9%2541", "A-é%41"),
            ("&amp;&lt;&#61;&#x3D;&#61 &#x1F511;&equals;", "&<=== 🔑="),
            ("&#000000090;&#x0000000005a;&#000000000000", "ZZ\0"),
            (
                "&lcub;&rcub;&vert;&VerticalLine;&DiacriticalGrave;&eacute;&nbsp;&yuml;",
                "{}||`é\u{a0}ÿ",
            ),
            (r"%u007B%uD83D%uDD11\173\0\1018\U0001f511", "{🔑{\0A8🔑"),
            (
                r"plain \q \u12 \ud800 %4 %zz %u12 &alpha; &#; & \",
                r"plain \q \u12 \ud800 %4 %zz %u12 &alpha; &#; & \",
            ),
            ("", ""),
        ] {
            assert_eq!(said(text), meant);
        }
    }

    #[test]
    fn what_is_found_is_traced_back_to_what_is_written() {
        let found = |text: &str, word: &'static [u8]| {
            let ranges = find(text.as_bytes(), |text, found| {
                let windows = text.windows(word.len()).enumerate();
                let hits = windows.filter(|(_, window)| *window == word);
                found.extend(hits.map(|(at, _)| at..at + word.len()));
            });
            let pieces = ranges
                .into_iter()
                .map(|range| text.get(range).unwrap().to_owned());
            pieces.collect::<Vec<String>>()
        };
        for (text, written) in [
            ("xa=bx", "a=b"),
            ("xa%3dbx", "a%3db"),
            ("x%61%3D%62x", "%61%3D%62"),
            (r"\n\u0061\u003d\u0062\n", r"\u0061\u003d\u0062"),
            (r"\\n\\u0061=b\\n", r"\\u0061=b"),
            ("&amp;a&amp;#61;b", "a&amp;#61;b"),
            ("%25253Aa%25253Db", "a%25253Db"),
            (r"\u0025\u0036\u0031=b", r"\u0025\u0036\u0031=b"),
        ] {
            assert_eq!(found(text, b"a=b"), [written], "{text}");
        }
        assert_eq!(found("aaa aa", b"aa"), ["aaa", "aa"]);
        // An escape of another kind begins before the word, or ends behind it.
        for (text, word, written) in [
            (r"CORP\t&amp;j", b"t&j".as_slice(), "t&amp;j"),
            (r"CORP\t&amp;amp;j", b"t&j", "t&amp;amp;j"),
            (r"CORP\n%2Fs", b"n/s", "n%2Fs"),
            (r#"100%25x\"y"#, b"25x\"y", r#"25x\"y"#),
            (r#"&lt;\"s"#, b"lt;\"s", r#"lt;\"s"#),
            (r"%2Fs&lt;", b"/s&", "%2Fs&"),
            (r"\u0026s%41", b"&s%", r"\u0026s%"),
            (r#"&amp;a\"b%2Fc"#, b"amp;a\"b/c", r#"amp;a\"b%2Fc"#),
        ] {
            assert_eq!(found(text, word), [written], "{text}");
        }
    }

    #[test]
    fn rounds_end() {
        let deep = format!("%{}3D", "25".repeat(100_000));
        let looks = std::cell::Cell::new(0);
        find(deep.as_bytes(), |_, _| looks.set(looks.get() + 1));
        assert_eq!(looks.get(), ROUNDS + 1);
    }
}
