//! Cuts the text of a catalog into its entries without parsing it, so that a run parses only the entries that its
//! task names.

use std::collections::HashMap;

use aho_corasick::AhoCorasick;

/// A part of the text, and where it begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'a> {
    at: usize,
    pub(super) text: &'a str,
}

/// The pieces of one entry, or of everything else.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pieces<'a>(pub(super) &'a [Piece<'a>]);

#[derive(Debug)]
pub(super) struct Cut<'a> {
    /// What belongs to no entry.
    pub(super) rest: Vec<Piece<'a>>,
    pub(super) entries: HashMap<&'a str, Vec<Piece<'a>>>,
}

/// What the header of a table begins.
enum Header<'a> {
    Entry(&'a str),
    Other,
}

/// The top-level tables whose headers are recognised: without `capability`. None of the names can begin a value of an
/// array.
const OTHERS: [&str; 8] = [
    "application",
    "defaults",
    "approval",
    "server",
    "storage",
    "ledger",
    "profile",
    "workflow",
];

/// What ends the search, and then the beginnings of lines that can be headers.
const MARKS: [&str; 5] = ["\"\"\"", "'''", "\n[", "\n ", "\n\t"];
const QUOTES: usize = 2;

impl<'a> Piece<'a> {
    pub(super) fn whole(text: &'a str) -> Self {
        Self { at: 0, text }
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
pub(super) fn cut(text: &str) -> Option<Cut<'_>> {
    let marks = AhoCorasick::new(MARKS).ok()?;
    let mut cut = Cut {
        rest: Vec::new(),
        entries: HashMap::new(),
    };
    let (mut begins, mut header) = (0, Header::Other);
    let lines = marks.find_iter(text).map(|mark| {
        let is_line = mark.pattern().as_usize() >= QUOTES;
        is_line.then_some(mark.start() + 1)
    });
    for line in [Some(0)].into_iter().chain(lines) {
        let at = line?;
        let line = text.get(at..)?.trim_start_matches([' ', '\t']);
        if line.starts_with('[') {
            let next = Header::of(line)?;
            cut.push(&header, text, begins..at);
            (begins, header) = (at, next);
        }
    }
    cut.push(&header, text, begins..text.len());
    Some(cut)
}

impl<'a> Cut<'a> {
    fn push(&mut self, header: &Header<'a>, text: &'a str, range: std::ops::Range<usize>) {
        let piece = Piece {
            at: range.start,
            text: text.get(range).unwrap_or_default(),
        };
        match header {
            Header::Entry(id) => self.entries.entry(id).or_default().push(piece),
            Header::Other => self.rest.push(piece),
        }
    }
}

impl<'a> Header<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let name = line.trim_start_matches('[');
        let (group, rest) = key(name)?;
        if OTHERS.contains(&group) {
            return Some(Self::Other);
        }
        let (id, _) = key(rest.strip_prefix('.')?)?;
        (group == "capability").then_some(Self::Entry(id))
    }
}

/// The bare key at the beginning of a text, if a header goes on behind it without a space.
fn key(text: &str) -> Option<(&str, &str)> {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let (key, rest) = text.split_at(text.find(|c| !is_bare(c))?);
    (!key.is_empty() && rest.starts_with(['.', ']'])).then_some((key, rest))
}
