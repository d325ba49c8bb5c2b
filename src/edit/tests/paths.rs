//! Facts about paths into documents (RFC 9535).

use crate::edit::JsonPath;

fn shown(text: &str) -> String {
    JsonPath::parse(text).unwrap().to_string()
}

fn problem(text: &str) -> String {
    JsonPath::parse(text).unwrap_err().to_string()
}

#[test]
fn every_spelling_of_a_place_is_shown_normalized() {
    for (written, normalized) in [
        ("$", "$"),
        ("$.a", "$['a']"),
        ("$['a']", "$['a']"),
        ("$[\"a\"]", "$['a']"),
        ("$.a.b[0]", "$['a']['b'][0]"),
        ("$[ -1 ]", "$[-1]"),
        ("$ .a [ 'b' ]", "$['a']['b']"),
        ("$.größe", "$['größe']"),
        ("$._x1", "$['_x1']"),
        ("$['a.b']", "$['a.b']"),
        ("$['']", "$['']"),
        ("$['it\\'s']", "$['it\\'s']"),
        ("$[\"it's\"]", "$['it\\'s']"),
        ("$[\"a\\\"b\"]", "$['a\"b']"),
        ("$['\\u00e9\\ud83d\\ude00']", "$['é😀']"),
        ("$['\\b\\t\\n\\f\\r\\/\\\\']", "$['\\b\\t\\n\\f\\r/\\\\']"),
        ("$['\\u0001']", "$['\\u0001']"),
        ("$[9007199254740991]", "$[9007199254740991]"),
    ] {
        assert_eq!(shown(written), normalized, "{written}");
        assert_eq!(shown(normalized), normalized);
    }
}

#[test]
fn what_is_no_singular_query_is_refused_where_it_goes_wrong() {
    for (written, at, word) in [
        ("", 1, "`$`"),
        ("a", 1, "`$`"),
        (" $", 1, "`$`"),
        ("$ ", 3, "white space"),
        ("$a", 2, "`.` or `[`"),
        ("$.", 3, "missing"),
        ("$.*", 3, "`*`"),
        ("$[*]", 3, "`*`"),
        ("$..a", 3, "`..`"),
        ("$.0", 3, "digit"),
        ("$.a-b", 4, "`.` or `[`"),
        ("$[?@.a]", 3, "filter"),
        ("$[1:2]", 4, "slice"),
        ("$[:2]", 3, "slice"),
        ("$['a','b']", 6, "several"),
        ("$[0,1]", 4, "several"),
        ("$[01]", 5, "start with 0"),
        ("$[-0]", 5, "whole number"),
        ("$[-]", 4, "whole number"),
        ("$[1-]", 5, "whole number"),
        ("$[9007199254740992]", 19, "2^53"),
        ("$[a]", 3, "quoted"),
        ("$['a", 5, "closing"),
        ("$['a'", 6, "`]`"),
        ("$['\\x']", 6, "escape"),
        ("$['\\\"']", 6, "escape"),
        ("$['\\ud800']", 10, "surrogate"),
        ("$['\\udc00']", 10, "surrogate"),
        ("$['\\u12']", 9, "hexadecimal"),
        ("$['a\nb']", 6, "control"),
    ] {
        let problem = problem(written);
        assert!(problem.contains(word), "{written:?}: {problem}");
        assert!(
            problem.contains(&format!("character {at},")),
            "{written:?}: {problem}"
        );
    }
}
