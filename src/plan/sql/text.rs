//! The text of a query file: what is code in it, where its last statement is, and what oneact refuses or tells before
//! the engine sees it.

use std::sync::LazyLock;

use regex::Regex;

use super::library::Connection;

/// The line and the column of a byte, both counted from 1, the column in characters.
pub(super) fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

/// The text with a space in place of each byte of a comment and of a string. A quoted name is code, but has no semicolon.
pub(super) fn code(text: &str) -> String {
    // A name may have a dollar in it, so that it opens a string only behind something else. A doubled quote is the end of
    // one string and the beginning of the next.
    static NO_CODE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let pattern = r#"(?s)"[^"]*"?|'[^']*'?|\b[eE]'(?:[^\\']|\\.|'')*'?|--[^\n\r]*|/\*|\B\$(?:[^\W\d]\w*)?\$"#;
        Regex::new(pattern).ok()
    });
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(found) = NO_CODE.as_ref().and_then(|no_code| no_code.find(rest)) {
        let (_, after) = rest.split_at(found.end());
        // Without an end, it is all: the engine refuses it.
        let more = match found.as_str() {
            "/*" => comment(after).unwrap_or(after.len()),
            tag if tag.starts_with('$') => after.find(tag).map_or(after.len(), |at| at + tag.len()),
            _ => 0,
        };
        kept.extend(rest.get(..found.start()));
        if found.as_str().starts_with('"') {
            kept.push_str(&found.as_str().replace(';', " "));
        } else {
            kept.push_str(&" ".repeat(found.len() + more));
        }
        (_, rest) = after.split_at(more);
    }
    kept + rest
}

/// Where a comment ends, which may have others in it.
fn comment(text: &str) -> Option<usize> {
    static MARKS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"/\*|\*/").ok());
    let mut depth = 1;
    let mut marks = MARKS.as_ref()?.find_iter(text);
    let end = marks.find(|mark| {
        depth += if mark.as_str() == "/*" { 1 } else { -1 };
        depth == 0
    });
    end.map(|mark| mark.end())
}

/// Functions that change the engine's logs and profiles, in DuckDB 1 also where its settings are locked. They cannot reach
/// out of the jail, but they can end the engine.
pub(super) fn unlocked(code: &str) -> Option<String> {
    first(
        code,
        r#"(?i)\b(?:(?:en|dis)able_(?:logging|profiling|profile)|truncate_duckdb_logs|(?:force_)?checkpoint)\b"?\s*\("#,
    )
}

/// What gives another value in each run.
pub(super) fn random(code: &str) -> Option<String> {
    const CALLS: &str = r#"(?i)\b(?:random|uuid|gen_random_uuid|uuidv[47]|setseed|now|today|(?:transaction_|get_current_)(?:timestamp|time)|current_local(?:time|timestamp)|txid_current|current_setting|query(?:_table)?)\b"?\s*\(|\bage"?\s*\((?:[^,()]|\([^()]*\))*\)"#;
    const WORDS: &str = r"(?i)\b(?:current_(?:timestamp|date|time)|localtime|localtimestamp)\b";
    const SAMPLE: &str = r"(?i)\b(?:using\s+sample|tablesample)\b[^;]*";
    let seeded = r"(?i)\brepeatable\b|\(\s*\w+\s*,\s*\d+\s*\)";
    let sample = first(code, SAMPLE).filter(|sample| first(sample, seeded).is_none());
    let sample = sample.map(|_| "a sample without a seed".to_owned());
    first(code, CALLS).or_else(|| first(code, WORDS)).or(sample)
}

/// The endings of the files of which a text lets the engine guess the types: none, those of CSV and JSON, or any (`""`).
pub(super) fn guesses(text: &str) -> &'static [&'static str] {
    const READS: &str = r#"(?i)\b(?:read_(?:csv|json|ndjson)(?:_auto)?|sniff_csv)\b"?\s*\([^;)]*"#;
    const SAYS: &str =
        r"(?i)\b(?:sample_size|columns|types|dtypes|column_types|all_varchar)\s*(?:=|:=)";
    const FILE: &str = r#"(?i)\b(?:from|join)\s*['"][^'"]*\.(?:[ct]sv|txt|json|jsonl|ndjson)\b"#;
    let code = code(text);
    let reads = Regex::new(READS).ok();
    let reads = reads.iter().flat_map(|reads| reads.find_iter(&code));
    let says: Vec<bool> = reads
        .map(|read| first(read.as_str(), SAYS).is_some())
        .collect();
    if says.contains(&false) {
        &[""]
    } else if says.is_empty() || first(text, FILE).is_some() {
        &[".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson"]
    } else {
        &[]
    }
}

/// The first place where a pattern matches, without the bracket of a call.
fn first(code: &str, pattern: &str) -> Option<String> {
    let found = Regex::new(pattern).ok()?.find(code)?;
    let found = found.as_str().trim_end_matches(['(', ' ', '\n', '\t', '"']);
    Some(found.to_owned())
}

/// What stands before a statement to see its columns, without performing it. A bracket follows.
pub(super) const DESCRIBE: &str = "FROM (DESCRIBE ";

/// Where the last statement of a text with `count` statements begins, and the statement without its semicolon. None if
/// it gives no rows that can be saved.
///
/// The engine parses, but does not say where statements are. They are parted at semicolons, and the engine then has to find
/// one statement in the last part and all others before it.
pub(super) fn last(connection: Connection, text: &str, count: u64) -> Option<(usize, &str)> {
    let number = |text: &str| Some(connection.statements(text).ok()?.count);
    let code = code(text);
    let end = code.trim_end_matches(|c: char| c == ';' || c.is_whitespace());
    let start = end.rfind(';').map_or(0, |at| at + 1);
    let behind = code.get(end.len()..)?.find(';');
    let end = behind.map_or(text.len(), |at| end.len() + at);
    let body = text.get(start..end)?;
    let described = format!("{DESCRIBE}{body}\n)");
    let parts = [text.get(..start)?, body, &described].map(number);
    (parts == [Some(count - 1), Some(1), Some(1)]).then_some((start, body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_counted_in_lines_and_characters() {
        assert_eq!(place("ab", 1), (1, 2));
        assert_eq!(place("a\né nope", 5), (2, 3));
        assert_eq!(place("a", 9), (1, 2));
    }

    #[test]
    fn comments_and_strings_are_no_code() {
        let kept = r#"a  "b'c" $x"#;
        assert_eq!(code(kept), kept);
        for blanked in [
            "a'b; ''c'd",
            "a-- b;'\nd",
            "a/* ' */d",
            "a $$ 'b' $$d",
            "a $tag$ 'b' $$ $tag$d",
            "a-- b\rd",
            "a/* /* b */ ' */d",
            r"a e'b''c\';'d",
            r"a E'b\'c'd",
            "a'é'd",
        ] {
            let code = code(blanked);
            let words: Vec<&str> = code.split_whitespace().collect();
            assert_eq!(
                (words.concat(), code.len()),
                ("ad".to_owned(), blanked.len())
            );
        }
    }

    #[test]
    fn what_changes_between_runs_is_found_r_001_92() {
        for sought in [
            "select random()",
            "select \"uuid\" ()",
            "select Now ( )",
            "select current_date",
            "select 1 as a$$, random() as b$$",
            "select age (d)",
            "select age(max(d))",
            "select current_setting('x')",
            "from query('select 1')",
            "from query_table('t')",
            "from t using sample 5",
            "from t tablesample reservoir(5)",
        ] {
            assert!(random(sought).is_some(), "{sought}");
        }
        for other in [
            "select random from t",
            "select x::uuid",
            "from t tablesample reservoir(5) repeatable (3)",
            "from t using sample 10% (bernoulli, 42)",
            "select sample from t",
            "select age(d, e), age from query",
            "select age(f(d), '2020-01-01'::timestamp)",
            "select * from now",
        ] {
            assert_eq!(random(other), None, "{other}");
        }
        assert_eq!(
            unlocked("from Enable_Logging(x)").as_deref(),
            Some("Enable_Logging")
        );
        assert_eq!(unlocked("select enable_logging"), None);
    }

    #[test]
    fn types_are_guessed_unless_each_call_says_them() {
        for (text, guessed) in [
            ("from 'a.csv'", ".csv"),
            ("from read_csv('a.log')", ""),
            ("from read_csv('a.csv') where types = 1", ""),
            ("from read_json('a', columns = {'a': 'INT'})", "none"),
            (
                "from read_csv('a)', sample_size=-1) join 'b.csv' using (a)",
                ".csv",
            ),
            (
                "from read_csv('a', all_varchar = true), read_csv_auto('b')",
                "",
            ),
        ] {
            let first = guesses(text).first().copied().unwrap_or("none");
            assert_eq!(first, guessed, "{text}");
        }
    }
}
