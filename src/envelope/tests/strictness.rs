//! The strict reader.

use serde_json::Value;

use crate::envelope::{JsonError, MAX_BYTES, MAX_DEPTH, MAX_VALUES, parse};

fn problem(text: &str) -> String {
    parse(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn what_two_parsers_could_read_differently_is_refused() {
    for (text, why) in [
        (r#"{"a":1,"a":2}"#, "duplicate key \"a\""),
        (r#"{"a":{"b":1,"c":2,"b":3}}"#, "duplicate key \"b\""),
        (r#"{"a":NaN}"#, "expected value"),
        (r#"{"a":-Infinity}"#, "invalid number"),
        (r#"{"a":"\ud800"}"#, "hex escape"),
        (r#"{"a":1}]"#, "trailing characters"),
        (r#"{"a":01}"#, "invalid number"),
        (r#"{"a":1,}"#, "trailing comma"),
        ("{\"a\":\"\u{1}\"}", "control character"),
    ] {
        assert!(problem(text).contains(why), "{text}: {}", problem(text));
    }
}

#[test]
fn several_documents_are_told_with_the_line_of_the_second_r_000_06() {
    for (text, line) in [
        (r#"{"a":1}{"#, 1),
        ("{}\n{}\n", 2),
        ("{\n\"é\": 1}\n\n  {\"b\": 1}\n", 4),
    ] {
        assert_eq!(
            parse(text.as_bytes()),
            Err(JsonError::Several { line }),
            "{text}"
        );
    }
    assert!(problem("{}\n\"a\"").contains("trailing characters at line 2"));
}

#[test]
fn a_syntax_error_says_line_and_column() {
    assert!(problem("{\n  \"a\": nope\n}").contains("at line 2, column 9"));
}

#[test]
fn keys_that_differ_only_by_escape_are_the_same_key() {
    assert!(problem(r#"{"a":1,"\u0061":2}"#).contains("duplicate key"));
}

#[test]
fn empty_input_a_mark_and_broken_utf_8_are_told_apart() {
    assert_eq!(parse(b""), Err(JsonError::Empty));
    assert_eq!(parse(b" \n\t"), Err(JsonError::Empty));
    assert_eq!(parse(b"\xEF\xBB\xBF{}"), Err(JsonError::ByteOrderMark));
    assert_eq!(
        parse(b"{\"a\":\"\xFF\"}"),
        Err(JsonError::NotUtf8 { offset: 6 })
    );
}

#[test]
fn the_deepest_level_is_read_and_one_more_is_not() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(parse(nested(MAX_DEPTH).as_bytes()).is_ok());
    assert!(problem(&nested(MAX_DEPTH + 1)).contains("64 levels"));
    assert!(problem(&"[".repeat(1_000_000)).contains("levels"));
}

#[test]
fn the_largest_input_is_read_and_one_more_byte_is_not() {
    let mut text = b"{}".to_vec();
    text.resize(MAX_BYTES, b' ');
    assert!(parse(&text).is_ok());
    text.push(b' ');
    assert_eq!(parse(&text), Err(JsonError::TooLarge));
}

#[test]
fn numbers_keep_every_digit() {
    for text in [
        "9007199254740993",
        "-9223372036854775809",
        "123456789012345678901234567890",
        "1e+400",
        "0.10",
    ] {
        assert_eq!(parse(text.as_bytes()).unwrap().to_string(), text);
    }
}

#[test]
fn order_and_text_of_a_document_survive() {
    let text = r#"{"z":[1,2.50,"é\n"],"a":{"y":null,"x":true}}"#;
    assert_eq!(parse(text.as_bytes()).unwrap().to_string(), text);
}

#[test]
fn the_reader_agrees_with_serde_json_on_what_is_valid() {
    // A small generator: cuts and flips of a document that has one of everything.
    let seed = br#"{"a":[1,-2.5e3,"x\u00e9\\",true,false,null,{}],"b":{"c":[[]]}}"#;
    let mut state = 1_u64;
    let mut next = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    for _ in 0..20_000 {
        let mut text = seed.to_vec();
        for _ in 0..=next(3) {
            let at = next(text.len());
            match next(3) {
                0 => {
                    text.remove(at);
                }
                1 => text[at] = b"{}[]\",:0\\tn"[next(11)],
                _ => text.insert(at, b"{}[]\",:0\\tn"[next(11)]),
            }
        }
        let ours = parse(&text);
        let theirs = serde_json::from_slice::<Value>(&text);
        match (&ours, &theirs) {
            (Ok(ours), Ok(theirs)) => assert_eq!(ours, theirs),
            (Err(error), Ok(_)) => {
                let error = error.to_string();
                assert!(
                    error.contains("duplicate") || error.contains("empty"),
                    "{error}"
                );
            }
            (Ok(_), Err(error)) => panic!("accepted what is no JSON: {error}"),
            (Err(_), Err(_)) => {}
        }
    }
}

#[test]
fn more_values_than_the_most_are_refused_as_soon_as_they_are_counted() {
    let most = |count: usize| format!("[{}0]", "0,".repeat(count - 2));
    assert!(parse(most(MAX_VALUES).as_bytes()).is_ok());
    for shape in ["0", "[]", "{}", "[[0]]", r#"{"a":0}"#, "\"\""] {
        // What comes after is not even looked at.
        let text = format!("[{}oops", format!("{shape},").repeat(MAX_VALUES));
        assert_eq!(
            parse(text.as_bytes()),
            Err(JsonError::TooManyValues),
            "{shape}"
        );
    }
    assert_eq!(JsonError::TooManyValues.fault().name(), "limit_exceeded");
}
