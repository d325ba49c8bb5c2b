//! The tools `result_indexer` (CAP-DAT-001) and `result_searcher`: a full-text index.
//!
//! The index separates words at spaces, but Chinese text has none. Therefore each Chinese character is indexed as
//! a word of its own, between invisible spaces, and a search for several of them is a phrase.

use std::collections::HashSet;

use regex::{Regex, RegexBuilder};
use rusqlite::{
    Row,
    TransactionBehavior::{Deferred, Immediate},
};
use serde::Deserialize;
use serde_json::{Value, json};
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use super::{database::Database, document, workspace::Workspace};
use crate::servers::tool::{self, Effect, Run, Tool, ToolError, World, object, record};

const DEFAULT_LIMIT: i64 = 10;
const MOST: i64 = 100;

/// A smaller BM25 value is better. The time of `highlight` and `snippet` of FTS5 grows with the square of the number of
/// found words in a text, so the snippet is cut from the text itself.
const HITS: &str = "
SELECT document.id, -bm25(leaf), leaf.text, document.metadata
FROM leaf JOIN document ON document.id = leaf.id
WHERE leaf MATCH ?1 ORDER BY bm25(leaf), document.id LIMIT ?2";

/// The most characters of a snippet before the first found word, and from it on.
const BEFORE: usize = 60;
const FROM: usize = 140;

#[derive(Deserialize)]
struct Entry {
    results_data: Value,
    #[serde(default)]
    metadata: Value,
}

pub(super) fn result_indexer(place: Workspace) -> Tool {
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

pub(super) fn result_searcher(place: Workspace) -> Tool {
    Tool {
        name: "result_searcher",
        title: "Search indexed results",
        description: "Find indexed documents that contain all given words, best first. Case is ignored, and so \
            are the accents of Latin letters. Only whole words are found. There are no operators.",
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

fn index(place: &Workspace, entry: &Entry, run: &Run<'_>) -> Result<Value, ToolError> {
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

fn search(place: &Workspace, search: &Search) -> Result<Value, ToolError> {
    let limit = search.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MOST);
    let phrases = phrases(&search.query);
    let database = Database::find(&place.database)?;
    let Some(mut database) = database.filter(|_| !phrases.is_empty()) else {
        return Ok(json!({"hits": [], "total": 0}));
    };
    let query = query(&phrases);
    let pattern = pattern(&phrases)?;
    let (hits, total) = database.within("search", Deferred, |transaction| {
        let total: i64 = transaction.query_row(
            "SELECT count(*) FROM leaf WHERE leaf MATCH ?",
            [&query],
            |row| row.get(0),
        )?;
        let mut statement = transaction.prepare(HITS)?;
        let hits = statement.query_map((&query, limit), |row| hit(row, &pattern))?;
        Ok((hits.collect::<Result<Vec<_>, _>>()?, total))
    })?;
    Ok(json!({"hits": hits, "total": total}))
}

fn hit(row: &Row<'_>, phrases: &Regex) -> rusqlite::Result<Value> {
    let (id, score, text, metadata): (String, f64, String, String) =
        (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
    Ok(json!({
        "index_id": id,
        "score": score,
        "snippet": snippet(&text, phrases),
        // The indexer has written this JSON.
        "metadata": serde_json::from_str::<Value>(&metadata).unwrap_or_default(),
    }))
}

/// The surroundings of the first place where one of the phrases is written, in whatever case, or the beginning of the text.
/// It is cut between words, if it is cut.
fn snippet(text: &str, phrases: &Regex) -> String {
    let begin = phrases.find(text).map_or(0, |found| found.start());
    let (before, from) = text.split_at(begin);
    let cut = before.char_indices().nth_back(BEFORE);
    let before = match cut.and_then(|(at, _)| before.get(at..)) {
        Some(cut) => format!("…{}", cut.split_once(is_gap).map_or("", |(_, rest)| rest)),
        None => before.to_owned(),
    };
    let cut = from.char_indices().nth(FROM);
    let from = match cut.and_then(|(at, _)| from.get(..at)) {
        Some(cut) => format!("{}…", cut.rsplit_once(is_gap).map_or(cut, |(head, _)| head)),
        None => from.to_owned(),
    };
    unseamed(&(before + &from)).trim().to_owned()
}

/// A pattern for any of the phrases as whole words.
fn pattern(phrases: &[String]) -> Result<Regex, ToolError> {
    let words = phrases
        .iter()
        .map(|phrase| format!(r"\b{}\b", regex::escape(phrase.trim_matches(is_gap))));
    let any = words.collect::<Vec<_>>().join("|");
    let pattern = RegexBuilder::new(&any).case_insensitive(true).build();
    pattern.map_err(|error| ToolError::argument("query", error.to_string()))
}

fn is_gap(letter: char) -> bool {
    !letter.is_alphanumeric() && !is_combining_mark(letter)
}

/// The words of a text, each with the place where it begins.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 0;
    let places = text.split_inclusive(is_gap).map(move |word| {
        let begin = next;
        next += word.len();
        (begin, word.trim_end_matches(is_gap))
    });
    places.filter(|(_, word)| !word.is_empty())
}

/// The largest number of words of a query that are searched for, as the index counts them.
const MOST_WORDS: usize = 64;

/// A zero-width space, at which the index separates words.
const SEAM: char = '\u{200B}';

/// Composes the characters (NFC), because the index compares code points, and puts each ideograph between seams.
fn seamed(text: &str) -> String {
    let mut seamed = String::with_capacity(text.len());
    for character in text.nfc().filter(|character| *character != SEAM) {
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

/// The words of a query that contain a letter or digit. Each is a phrase: the index may see several words in it, and the
/// time of a search grows with their number.
fn phrases(text: &str) -> Vec<String> {
    let mut met = HashSet::new();
    let mut room = MOST_WORDS;
    text.split(|character: char| character.is_whitespace() || character.is_control())
        .filter(|word| word.contains(char::is_alphanumeric) && met.insert(*word))
        .map_while(|word| {
            if room == 0 {
                return None;
            }
            let mut phrase = seamed(word);
            let end = words(&phrase).nth(room).map(|(place, _)| place);
            phrase.truncate(end.unwrap_or(phrase.len()));
            room -= words(&phrase).count();
            Some(phrase)
        })
        .collect()
}

/// An FTS5 query for texts that contain all phrases. Each is quoted, so that none is an operator.
fn query(phrases: &[String]) -> String {
    let quoted = phrases
        .iter()
        .map(|phrase| format!("\"{}\"", phrase.replace('"', "\"\"")));
    quoted.collect::<Vec<_>>().join(" ")
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

    /// The snippet of a text in which the words of a query are found.
    fn cut(text: &str, query: &str) -> String {
        snippet(&seamed(text), &pattern(&phrases(query)).unwrap())
    }

    #[test]
    fn a_snippet_is_cut_between_words_around_the_first_found_word() {
        let text = |words: std::ops::Range<u32>| {
            let words: Vec<String> = words.map(|word| format!("w{word:02}")).collect();
            words.join(" ")
        };
        let long = format!("{} fox, {} fox", text(0..20), text(20..60));
        let expected = format!("…{} fox, {}…", text(5..20), text(20..53));
        assert_eq!(cut(&long, "w59 fox"), expected);
        assert_eq!(cut(&text(0..40), "w08"), text(0..40));
        assert_eq!(cut(&text(0..10), "no word of it"), text(0..10));
        assert_eq!(cut("(a) fox\nb", "fox"), "(a) fox\nb");
        assert_eq!(cut("", "fox"), "");
        assert_eq!(cut("讨论机器学习", "机器"), "讨论机器学习");
        let long = "é".repeat(1000);
        assert_eq!(cut(&long, "é"), format!("{}…", "é".repeat(140)));
        assert_eq!(cut(&format!("{long} fox {long}"), "fox"), "…fox…");
    }

    #[test]
    fn a_snippet_shows_whole_phrases_whatever_their_case() {
        let far = "x ".repeat(30);
        for (text, query, shown) in [
            ("机会很多", "机器学习", "机器学习"),
            ("fox", "Fox-Dog", "fox-dog"),
            ("foxes", "fox", "FOX"),
            ("x", "οδος", "ΟΔΟΣ"),
            ("வண", "வணக்கம்", "வணக்கம்"),
        ] {
            let cut = cut(&format!("{text} {far} {shown}"), query);
            assert!(
                cut.starts_with('…') && cut.ends_with(shown),
                "{query}: {cut}"
            );
        }
    }

    #[test]
    fn of_a_query_64_words_are_searched_for_as_the_index_counts_them() {
        let of = |text: &str| {
            phrases(text)
                .iter()
                .map(|phrase| words(phrase).count())
                .sum::<usize>()
        };
        assert_eq!(of(&"a-".repeat(1000)), 64);
        assert_eq!(of(&"学".repeat(1000)), 64);
        let several: Vec<String> = (0..100).map(|word| format!("w{word}-x")).collect();
        assert_eq!(of(&several.join(" ")), 64);
        assert_eq!(of(&format!("{} -b", "a-".repeat(64))), 64);
        assert_eq!(phrases("- . a"), ["a"]);
    }

    #[test]
    fn every_word_is_quoted_whatever_it_holds() {
        let query = |text: &str| query(&phrases(text));
        assert_eq!(query("fox NOT dog fox"), r#""fox" "NOT" "dog""#);
        assert_eq!(query(r#"a" OR "b"#), r#""a""" "OR" """b""#);
        assert_eq!(query("nul\0l"), r#""nul" "l""#);
        assert_eq!(query(" * - \" () "), "");
    }

    #[test]
    fn seams_are_taken_out_again() {
        let text = "机器 learning 学习。";
        assert_ne!(seamed(text), text);
        assert_eq!(unseamed(&seamed(text)), text);
    }
}
