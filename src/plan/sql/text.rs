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

/// The text with a space in place of each byte of a comment and of a string. A quoted name is code.
pub(super) fn code(text: &str) -> String {
    blank(text, |found| !found.starts_with('"'))
}

/// The text with spaces in place of those comments, strings and quoted names that are to go.
fn blank(text: &str, goes: impl Fn(&str) -> bool) -> String {
    // A name may have a dollar in it, so that it opens a string only behind something else.
    static OPENS: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#""|'|\b[eE]'|--|/\*|\B\$(?:[^\W\d]\w*)?\$"#).ok());
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(opens) = OPENS.as_ref().and_then(|opens| opens.find(rest)) {
        let (before, found) = rest.split_at(opens.start());
        let (found, after) = found.split_at(length(found, opens.as_str()));
        kept.push_str(before);
        if goes(found) {
            kept.push_str(&" ".repeat(found.len()));
        } else {
            kept.push_str(found);
        }
        rest = after;
    }
    kept + rest
}

/// How many bytes the comment, string or name has that `text` begins with. Without an end, it is all: the engine refuses it.
fn length(text: &str, opens: &str) -> usize {
    let after = text.get(opens.len()..).unwrap_or_default();
    let end = match opens {
        "--" => after.find(['\n', '\r']),
        "/*" => comment(after),
        "e'" | "E'" => escaped(after),
        // A doubled quote is the end of one and the beginning of the next.
        _ => after.find(opens).map(|at| at + opens.len()),
    };
    end.map_or(text.len(), |end| opens.len() + end)
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

/// Where a string with backslashes ends.
fn escaped(text: &str) -> Option<usize> {
    let mut bytes = text.bytes().enumerate().peekable();
    while let Some((at, byte)) = bytes.next() {
        let is_quote = |next: &(usize, u8)| next.1 == b'\'';
        match byte {
            b'\\' => drop(bytes.next()),
            b'\'' if bytes.next_if(is_quote).is_none() => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Functions that change the engine's logs and profiles, also where its settings are locked (DuckDB 1). They cannot
/// reach out of the jail, but they can end the engine.
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

/// The files whose types the engine guesses.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Guesses {
    None,
    /// Those whose ending says that they are CSV or JSON.
    Named,
    /// Any file may be read as CSV or JSON.
    Any,
}

/// Of which files a text lets the engine guess the types.
pub(super) fn guesses(text: &str) -> Guesses {
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
        Guesses::Any
    } else if says.is_empty() || first(text, FILE).is_some() {
        Guesses::Named
    } else {
        Guesses::None
    }
}

/// The first place where a pattern matches, without the bracket of a call.
fn first(code: &str, pattern: &str) -> Option<String> {
    let found = Regex::new(pattern).ok()?.find(code)?;
    let found = found.as_str().trim_end_matches(['(', ' ', '\n', '\t', '"']);
    Some(found.to_owned())
}

/// What stands before a statement to see its columns, without performing it.
pub(super) const DESCRIBED: &str = "FROM (DESCRIBE ";

pub(super) fn described(statement: &str) -> String {
    format!("{DESCRIBED}{statement}\n)")
}

/// Where the last statement of a text with `count` statements begins, and the statement without its semicolon. None if
/// it gives no rows that can be saved.
///
/// The engine parses, but does not say where statements are. They are parted at semicolons, and the engine then has to find
/// one statement in the last part and all others before it.
pub(super) fn last<'t>(
    connection: &Connection<'_>,
    text: &'t str,
    count: u64,
) -> Option<(usize, &'t str)> {
    let number = |text: &str| match connection.statements(text) {
        Ok(statements) => Some(statements.count()),
        Err(None) => Some(0),
        Err(Some(_)) => None,
    };
    let bare = blank(text, |_| true);
    let end = bare.trim_end_matches(|c: char| c == ';' || c.is_whitespace());
    let start = end.rfind(';').map_or(0, |at| at + 1);
    let end = bare
        .get(end.len()..)?
        .find(';')
        .map_or(text.len(), |at| end.len() + at);
    let body = text.get(start..end)?;
    let others = number(text.get(..start)?)?;
    (others + 1 == count && number(body) == Some(1) && number(&described(body)) == Some(1))
        .then_some((start, body))
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
        use Guesses::{Any, Named, None};
        for (text, guessed) in [
            ("from 'a.csv'", Named),
            ("from read_csv('a.log')", Any),
            ("from read_csv('a.csv') where types = 1", Any),
            ("from read_json('a', columns = {'a': 'INT'})", None),
            (
                "from read_csv('a)', sample_size=-1) join 'b.csv' using (a)",
                Named,
            ),
            (
                "from read_csv('a', all_varchar = true), read_csv_auto('b')",
                Any,
            ),
        ] {
            assert_eq!(guesses(text), guessed, "{text}");
        }
    }
}
