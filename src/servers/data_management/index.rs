//! The tools `result_indexer` (CAP-DAT-001) and `result_searcher`: a full-text index.
//!
//! The index separates words at spaces, but Chinese text has none. Therefore each Chinese character is indexed as
//! a word of its own, between invisible spaces, and a search for several of them is a phrase.

use std::collections::HashSet;

use rusqlite::{
    Row,
    TransactionBehavior::{Deferred, Immediate},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Place, database::Database, document};
use crate::servers::tool::{self, Effect, Run, Tool, ToolError, World, object, record};

const DEFAULT_LIMIT: i64 = 10;
const MOST: i64 = 100;

/// A smaller BM25 value is better. The time of `snippet` of FTS5 grows with the square of the number of found words, so each
/// of them is marked, and the snippet is cut from the marked text.
const HITS: &str = "
SELECT document.id, -bm25(leaf), highlight(leaf, 1, ?3, ''), document.metadata
FROM leaf JOIN document ON document.id = leaf.id
WHERE leaf MATCH ?1 ORDER BY bm25(leaf), document.id LIMIT ?2";

/// The words of a snippet before the first found word, and from it on.
const BEFORE: usize = 8;
const FROM: usize = 16;

#[derive(Deserialize)]
struct Entry {
    results_data: Value,
    #[serde(default)]
    metadata: Value,
}

pub(super) fn result_indexer(place: Place) -> Tool {
    Tool {
        name: "result_indexer",
        title: "Index results",
        description: "Add a JSON document to the full-text index, with optional metadata. result_searcher finds \
            all its strings. The same document with the same metadata is indexed once and always has the same \
            index_id.",
        input: object(
            &["results_data"],
            json!({
                "results_data": {
                    "description": "any JSON value; a string is the path or file:// URI of a JSON file (64 MiB)"
                },
                "metadata": {"type": "object", "description": "returned with every hit"}
            }),
        ),
        output: record(json!({
            "index_id": {"type": "string", "pattern": "^idx_[0-9a-f]{32}$"},
            "indexed": {"const": true},
            "entries": {"type": "integer", "minimum": 0, "description": "the number of strings that can be found"},
            "duplicate": {"type": "boolean", "description": "whether it was indexed before"}
        })),
        effect: Effect::Additive,
        world: World::Closed,
        call: tool::call(move |entry, run: &Run<'_>| index(&place, entry, run)),
    }
}

#[derive(Deserialize)]
struct Search {
    query: String,
    limit: Option<i64>,
}

pub(super) fn result_searcher(place: Place) -> Tool {
    Tool {
        name: "result_searcher",
        title: "Search indexed results",
        description: "Find indexed documents that contain all given words, best first. Case and accents are \
            ignored. Only whole words are found. There are no operators.",
        input: object(
            &["query"],
            json!({
                "query": {"type": "string", "minLength": 1, "maxLength": 2000},
                "limit": {"type": "integer", "minimum": 1, "maximum": MOST, "default": DEFAULT_LIMIT}
            }),
        ),
        output: record(json!({
            "hits": {"type": "array", "items": record(json!({
                "index_id": {"type": "string"},
                "score": {"type": "number", "description": "BM25: a greater value is better, within one answer"},
                "snippet": {"type": "string"},
                "metadata": {"type": ["object", "null"]}
            }))},
            "total": {"type": "integer", "minimum": 0, "description": "all documents that were found, also beyond the limit"}
        })),
        effect: Effect::ReadOnly,
        world: World::Closed,
        call: tool::call(move |arguments, _: &Run<'_>| search(&place, arguments)),
    }
}

fn index(place: &Place, entry: &Entry, run: &Run<'_>) -> Result<Value, ToolError> {
    let content = document::by_value_or_file("results_data", &entry.results_data)?;
    let strings = document::strings(&content);
    let text = seamed(&strings.join("\n"));
    let entries = strings.len().cast_signed();
    let written = content.to_string();
    // The values take many times the memory of the text, so they end here.
    let id = document::id(content, entry.metadata.clone());
    let now = place.clock.timestamp().to_string();
    run.check_cancelled()?;
    let added = Database::open(&place.database)?.within("index into", Immediate, |transaction| {
        let added = transaction.execute(
            "INSERT OR IGNORE INTO document (id, content, metadata, entries, indexed) VALUES (?, ?, ?, ?, ?)",
            (&id, written, entry.metadata.to_string(), entries, now),
        )?;
        if added > 0 {
            transaction.execute("INSERT INTO leaf (id, text) VALUES (?, ?)", (&id, text))?;
        }
        Ok(added)
    })?;
    Ok(json!({"index_id": id, "indexed": true, "entries": entries, "duplicate": added == 0}))
}

fn search(place: &Place, search: &Search) -> Result<Value, ToolError> {
    let limit = search.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MOST);
    let query = query(&search.query);
    let (Some(query), Some(mut database)) = (query, Database::find(&place.database)?) else {
        return Ok(json!({"hits": [], "total": 0}));
    };
    let (hits, total) = database.within("search", Deferred, |transaction| {
        let total: i64 = transaction.query_row(
            "SELECT count(*) FROM leaf WHERE leaf MATCH ?",
            [&query],
            |row| row.get(0),
        )?;
        let mut statement = transaction.prepare(HITS)?;
        let hits = statement.query_map((&query, limit, MARK), hit)?;
        Ok((hits.collect::<Result<Vec<_>, _>>()?, total))
    })?;
    Ok(json!({"hits": hits, "total": total}))
}

fn hit(row: &Row<'_>) -> rusqlite::Result<Value> {
    let (id, score, marked, metadata): (String, f64, String, String) =
        (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
    Ok(json!({
        "index_id": id,
        "score": score,
        "snippet": snippet(&marked),
        // The indexer has written this JSON.
        "metadata": serde_json::from_str::<Value>(&metadata).unwrap_or_default(),
    }))
}

/// A zero-width space, at which the index separates words.
const SEAM: char = '\u{200B}';

/// Stands before each found word. Between two ideographs there are only two seams.
const MARK: &str = "\u{200B}\u{200B}\u{200B}";

/// The surroundings of the first found word.
fn snippet(marked: &str) -> String {
    let (before, from) = marked.split_at(marked.find(MARK).unwrap_or_default());
    let begin = gap_after(BEFORE, before.char_indices().rev());
    let end = gap_after(FROM, from.char_indices());
    let before = before.get(begin.unwrap_or_default()..);
    let from = from.get(..end.unwrap_or(from.len()));
    let shown = [before, from].map(Option::unwrap_or_default).concat();
    let cut = |place: Option<usize>| if place.is_some() { "…" } else { "" };
    format!("{}{}{}", cut(begin), unseamed(&shown).trim(), cut(end))
}

/// The place of the gap after so many words, if more words follow.
fn gap_after(words: usize, letters: impl Iterator<Item = (usize, char)>) -> Option<usize> {
    let (mut seen, mut in_word, mut gap) = (0, false, None);
    for (at, letter) in letters {
        let is_gap = letter == SEAM || letter.is_whitespace();
        if !is_gap && !in_word {
            if seen == words {
                return gap;
            }
            seen += 1;
        }
        if is_gap && in_word {
            gap = Some(at);
        }
        in_word = !is_gap;
    }
    None
}

/// The largest number of words of a query that are searched for.
const MOST_WORDS: usize = 64;

/// Puts each ideograph between seams.
fn seamed(text: &str) -> String {
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

/// Removes the seams.
fn unseamed(text: &str) -> String {
    text.replace(SEAM, "")
}

/// An FTS5 query for texts that contain all words of `text`. Each word is quoted, so that none is an operator.
/// `None` if no word contains a letter or digit.
fn query(text: &str) -> Option<String> {
    let mut met = HashSet::new();
    let words: Vec<String> = text
        .split(|character: char| character.is_whitespace() || character.is_control())
        .filter(|word| word.contains(char::is_alphanumeric) && met.insert(*word))
        .take(MOST_WORDS)
        .map(|word| format!("\"{}\"", seamed(word).replace('"', "\"\"")))
        .collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// Han, Hiragana and Katakana, which are written without spaces.
fn is_ideograph(character: char) -> bool {
    matches!(character,
        '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_is_cut_between_words_around_the_first_found_word() {
        let text = |words: std::ops::Range<u32>| {
            let words: Vec<String> = words.map(|word| format!("w{word}")).collect();
            words.join(" ")
        };
        let marked = format!("{} {MARK}fox {} {MARK}fox", text(0..20), text(20..60));
        let expected = format!("…{} fox {}…", text(12..20), text(20..35));
        assert_eq!(snippet(&marked), expected);
        assert_eq!(snippet(&format!("a {MARK}fox\nb")), "a fox\nb");
        assert_eq!(snippet("no mark"), "no mark");
        let ideographs =
            seamed("讨论机器学习").replace(&seamed("机"), &format!("{SEAM}{MARK}机{SEAM}"));
        assert_eq!(snippet(&ideographs), "讨论机器学习");
    }

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
