//! Cuts the text of a catalog into its entries without parsing it, so that a run parses only the entries that its task
//! names.

use std::ops::Range;

/// The table of the entries.
pub(crate) const CAPABILITY: &str = "capability";

/// The top-level keys of format 1. None of the names can begin a value of an array, so each is recognised in a header.
pub(crate) const TOP: [&str; 12] = [
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

/// Where the entries are in a text, and everything else.
#[derive(Debug)]
pub(crate) struct Cut<'a> {
    pub(super) rest: Vec<Range<usize>>,
    /// The entries, sorted by their ids.
    pub(super) entries: Vec<(&'a str, Range<usize>)>,
}

/// `None` if only a parser can find the entries. In a text without `"""` and `'''`, each line that begins with
/// `[capability.ID` or `[server` is a header; but a key of a header can also be quoted or have spaces around it, and the
/// tables of one entry can be apart from each other.
pub(crate) fn cut(text: &str) -> Option<Cut<'_>> {
    if text.contains("\"\"\"") || text.contains("'''") {
        return None;
    }
    let (mut rest, mut entries) = (Vec::new(), Vec::new());
    let (mut id, mut begins, mut end) = ("", 0, 0);
    let mut push = |id, range| match id {
        "" => rest.push(range),
        id => entries.push((id, range)),
    };
    for line in text.split_inclusive('\n') {
        let at = end;
        end += line.len();
        let header = line.trim_start_matches([' ', '\t']);
        if header.starts_with('[') {
            let next = owner(header)?;
            if next != id {
                push(id, begins..at);
                (id, begins) = (next, at);
            }
        }
    }
    push(id, begins..end);
    entries.sort_by_key(|(id, _)| *id);
    let is_apart = entries.is_sorted_by(|(one, _), (next, _)| one != next);
    is_apart.then_some(Cut { rest, entries })
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
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let (key, rest) = text.split_at_checked(text.find(|c| !is_bare(c))?)?;
    (!key.is_empty() && rest.starts_with(['.', ']'])).then_some(key)
}
