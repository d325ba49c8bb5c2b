//! Cuts the text of a catalog into its entries without parsing it, so that a run parses only the entries that its
//! task names; and counts its lines.

use std::{ops::Range, sync::OnceLock};

/// A part of the text, and where it begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'a> {
    /// The entry that the part belongs to, if it belongs to one.
    pub(super) id: &'a str,
    pub(super) at: usize,
    pub(super) text: &'a str,
}

/// The pieces of one entry, or of everything else.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pieces<'a>(pub(super) &'a [Piece<'a>]);

#[derive(Debug)]
pub(super) struct Cut<'a> {
    /// What belongs to no entry.
    pub(super) rest: Vec<Piece<'a>>,
    /// What belongs to an entry, by the ids of the entries.
    pub(super) entries: Vec<Piece<'a>>,
}

/// The table of the entries.
pub(super) const CAPABILITY: &str = "capability";

/// The top-level keys of format 1. None of the names can begin a value of an array, so each is recognised in a header.
pub(super) const TOP: [&str; 12] = [
    "catalog",
    "application",
    "defaults",
    "approval",
    "server",
    "storage",
    "ledger",
    "profile",
    CAPABILITY,
    "workflow",
    "pipeline",
    "duckdb",
];

impl<'a> Piece<'a> {
    pub(super) fn whole(text: &'a str) -> Self {
        Self {
            id: "",
            at: 0,
            text,
        }
    }
}

impl Pieces<'_> {
    pub(super) fn text(self) -> String {
        self.0.iter().map(|piece| piece.text).collect()
    }

    /// The byte of the whole text that is at this byte of the pieces.
    pub(super) fn at(self, mut at: usize) -> usize {
        let mut end = 0;
        for piece in self.0 {
            if at < piece.text.len() {
                return piece.at + at;
            }
            at -= piece.text.len();
            end = piece.at + piece.text.len();
        }
        end
    }
}

/// The pieces of the text; `None` if only a parser can find them: no line of a text without `"""` and `'''` begins with
/// `[capability.ID` or `[server`, except a header, but a key of a header can also be quoted or have spaces around it.
/// A line with a lone carriage return, a second header, or other characters before its first bracket that can belong to
/// no value, string or comment, is no TOML: its header must not get lost in another entry.
pub(super) fn cut(text: &str) -> Option<Cut<'_>> {
    if has_triple_quotes(text.as_bytes()) {
        return None;
    }
    let mut cut = Cut {
        rest: Vec::new(),
        entries: Vec::new(),
    };
    let (mut id, mut begins, mut end) = ("", 0, 0);
    for line in text.split_inclusive('\n') {
        let at = end;
        end += line.len();
        let Some(bracket) = line.find('[') else {
            continue;
        };
        if line.trim_end().contains('\r') {
            return None;
        }
        let (before, header) = line.split_at(bracket);
        if before.trim_matches([' ', '\t']).is_empty() {
            let next = owner(header)?;
            if next != id || id.is_empty() {
                cut.push(id, text, begins..at);
                (id, begins) = (next, at);
            }
        } else if !is_one_array(before, header) && hides_a_header(line) {
            return None;
        }
    }
    cut.push(id, text, begins..text.len());
    cut.entries.sort_by_key(|piece| piece.id);
    Some(cut)
}

/// Whether a line is a key and a plain array. Most lines with a bracket are, and this is seen fast.
fn is_one_array(before: &str, array: &str) -> bool {
    let quotes = |text: &str| text.bytes().filter(|byte| *byte == b'"').count();
    before.trim_ascii_end().ends_with('=')
        && quotes(before) == 0
        && quotes(array).is_multiple_of(2)
        && !array
            .bytes()
            .skip(1)
            .any(|byte| matches!(byte, b'[' | b'\'' | b'\\' | b'#'))
        && !before.contains(['\'', '#'])
}

/// Whether a bracket of the line may begin a header behind a value, or a string is still open at its end.
fn hides_a_header(line: &str) -> bool {
    let (mut quote, mut escaped) = (None, false);
    let (mut depth, mut last) = (0_usize, '\n');
    for c in line.trim_end().chars() {
        let inside = quote.is_some();
        match (quote, c) {
            (Some('"'), '\\') if !escaped => {
                escaped = true;
                continue;
            }
            (Some(open), _) if open == c && !escaped => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '#') => return false,
            (None, '[') if depth == 0 && last != '=' => return true,
            (None, '[' | '{') if depth == 0 || matches!(last, '=' | ',' | '[') => depth += 1,
            (None, '[') => return true,
            (None, '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        escaped = false;
        if !inside && !matches!(c, ' ' | '\t') {
            last = c;
        }
    }
    quote.is_some()
}

/// Whether the same quotation mark occurs three times in a row. The loop has no early end, so that the compiler can
/// compare several bytes at once.
fn has_triple_quotes(text: &[u8]) -> bool {
    let (second, third) = (text.iter().skip(1), text.iter().skip(2));
    let three = text.iter().zip(second).zip(third);
    let is = |holds: bool| u8::from(holds);
    let found = three.fold(0, |found, ((a, b), c)| {
        found | is(a == b) & is(b == c) & (is(*a == b'"') | is(*a == b'\''))
    });
    found != 0
}

impl<'a> Cut<'a> {
    fn push(&mut self, id: &'a str, text: &'a str, range: Range<usize>) {
        let pieces = if id.is_empty() {
            &mut self.rest
        } else {
            &mut self.entries
        };
        pieces.push(Piece {
            id,
            at: range.start,
            text: text.get(range).unwrap_or_default(),
        });
    }
}

/// The id of the entry that a header belongs to, or "" for another table; `None` if the form of the header is not plain.
fn owner(header: &str) -> Option<&str> {
    let name = header.strip_prefix('[').unwrap_or(header);
    let name = name.strip_prefix('[').unwrap_or(name);
    if name.split(['"', '\'', '#']).next()?.contains('[') {
        return None;
    }
    if let Some(rest) = name.strip_prefix("capability.") {
        return key(rest);
    }
    let table = key(name)?;
    (table != CAPABILITY && TOP.contains(&table)).then_some("")
}

/// The bare key at the beginning of a text, if a header goes on behind it without a space.
fn key(text: &str) -> Option<&str> {
    let is_bare = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    let end = text.bytes().position(|b| !is_bare(b))?;
    let (key, rest) = text.split_at(end);
    (!key.is_empty() && rest.starts_with(['.', ']'])).then_some(key)
}

/// The number of line ends before each block of the text. They are counted at the first question.
#[derive(Debug, Default)]
pub(super) struct Lines(OnceLock<Vec<usize>>);

const BLOCK: usize = 4096;

impl Lines {
    /// The number of the line in which this byte of the text is, counted from 1.
    pub(super) fn of(&self, text: &[u8], at: usize) -> usize {
        let counted = || {
            let ends = text.chunks(BLOCK).scan(0, |before, block| {
                Some(std::mem::replace(before, *before + ends(block)))
            });
            ends.collect()
        };
        let before = self.0.get_or_init(counted);
        let at = at.min(text.len());
        let block = (at / BLOCK).min(before.len().saturating_sub(1));
        let rest = text.get(block * BLOCK..at).unwrap_or_default();
        before.get(block).unwrap_or(&0) + ends(rest) + 1
    }
}

/// The number of line ends. A sum of 255 bytes fits into one byte, so the compiler can count many at once.
fn ends(text: &[u8]) -> usize {
    let some = |some: &[u8]| some.iter().map(|byte| u8::from(*byte == b'\n')).sum::<u8>();
    text.chunks(255).map(|each| usize::from(some(each))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_counted_from_the_start_of_the_text() {
        let text: Vec<u8> = (0..3 * BLOCK).map(|at| b"ab\ncd\n\n"[at % 7]).collect();
        let lines = Lines::default();
        for at in (0..text.len())
            .step_by(97)
            .chain([BLOCK, 2 * BLOCK, text.len(), text.len() + 9])
        {
            let before = &text[..at.min(text.len())];
            let expected = before.split(|byte| *byte == b'\n').count();
            assert_eq!(lines.of(&text, at), expected, "{at}");
        }
        assert_eq!(Lines::default().of(b"", 0), 1);
    }
}
