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

/// The text with a space in place of each byte of a comment and of a string.
pub(super) fn code(text: &str) -> String {
    static OTHER: LazyLock<Option<Regex>> = LazyLock::new(|| {
        // A quoted name is code. The last two alternatives are the ends of texts that the engine refuses.
        Regex::new(
            r#"(?s)"[^"]*"|--[^\n]*|\b[eE]'(?:[^'\\]|\\.|'')*'|'[^']*'|\$\$.*?\$\$|/\*.*?\*/|/\*.*|'.*"#,
        )
        .ok()
    });
    let Some(other) = &*OTHER else {
        return text.to_owned();
    };
    let blank = |found: &regex::Captures<'_>| {
        let found = found.get(0).map_or("", |found| found.as_str());
        if found.starts_with('"') {
            return found.to_owned();
        }
        " ".repeat(found.len())
    };
    other.replace_all(text, blank).into_owned()
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
    const CALLS: &str = r#"(?i)\b(?:random|uuid|gen_random_uuid|uuidv[47]|setseed|now|today|(?:transaction_|get_current_)(?:timestamp|time)|current_local(?:time|timestamp)|txid_current)\b"?\s*\("#;
    const WORDS: &str = r"(?i)\b(?:current_(?:timestamp|date|time)|localtime|localtimestamp)\b";
    const SAMPLE: &str = r"(?i)\b(?:using\s+sample|tablesample)\b[^;]*";
    let seeded = r"(?i)\brepeatable\b|\(\s*\w+\s*,\s*\d+\s*\)";
    let sample = first(code, SAMPLE).filter(|sample| first(sample, seeded).is_none());
    let sample = sample.map(|_| "a sample without a seed".to_owned());
    first(code, CALLS).or_else(|| first(code, WORDS)).or(sample)
}

/// Whether the text says how to find the types of a file that it reads.
pub(super) fn says_types(code: &str) -> bool {
    first(
        code,
        r"(?i)\b(?:sample_size|columns|types|dtypes|column_types|all_varchar|maximum_sample_files)\s*(?:=|:=)",
    )
    .is_some()
}

/// The first place where a pattern matches, without the bracket of a call.
fn first(code: &str, pattern: &str) -> Option<String> {
    let found = Regex::new(pattern).ok()?.find(code)?;
    let found = found.as_str().trim_end_matches(['(', ' ', '\n', '\t', '"']);
    Some(found.to_owned())
}

/// Where the last statement of a text with `count` statements begins, and the statement without its semicolon. None if
/// it cannot stand within brackets, because it gives no rows that can be saved.
///
/// The engine parses, but does not say where statements are. A semicolon ends the statement before the last one if one
/// statement is behind it and all others are in front of it.
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
    let ends = || text.match_indices(';').map(|(at, _)| at);
    let mut starts: Vec<usize> = vec![0];
    if count > 1 {
        starts.clear();
        for at in ends().rev() {
            let (before, after) = text.split_at(at);
            match number(before) {
                Some(fewer) if fewer + 1 < count => break,
                Some(all) if all + 1 == count => {}
                _ => continue,
            }
            if number(after.get(1..).unwrap_or_default()) == Some(1) {
                starts.push(at + 1);
            }
        }
    }
    let within = |start: usize| {
        let body = text.get(start..)?;
        let end = body.match_indices(';').map(|(at, _)| at).find(|at| {
            let (statement, rest) = body.split_at(*at);
            number(rest.get(1..).unwrap_or_default()) == Some(0) && number(statement) == Some(1)
        });
        let body = body.get(..end.unwrap_or(body.len()))?;
        (number(&format!("({body}\n) LIMIT 0")) == Some(1)).then_some((start, body))
    };
    starts.into_iter().rev().find_map(within)
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
            "a$$ 'b' $$d",
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
}
