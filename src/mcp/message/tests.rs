//! Ids, errors and lines of JSON-RPC, as servers write them.

use super::*;

#[test]
fn an_id_comes_back_as_a_number_a_float_or_a_string() {
    for json in ["1", "1.0", "\"1\""] {
        assert!(is_number(json, 1), "{json}");
    }
    for json in ["10", "null", "\"x\"", "1.5"] {
        assert!(!is_number(json, 1), "{json}");
    }
}

#[test]
fn a_torn_answer_is_one_and_a_torn_log_line_is_none() {
    for (line, said) in [
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{"mean":NaN}}"#,
            "it is no JSON: expected value",
        ),
        (
            r#"{"jsonrpc": "2.0","id":1,"result":{"content":[{"#,
            "it is no JSON: EOF",
        ),
        (r#"{"jsonrpc":"2.0","result":{},"#, "it is no JSON: EOF"),
    ] {
        let line = format!("{line}\n");
        let ([], Inbound::Response(response)) = read(line.as_bytes()) else {
            panic!("{line}")
        };
        assert_eq!(response.id, None);
        assert!(
            matches!(&response.body, Answer::Malformed(reason) if reason.starts_with(said)),
            "{:?}",
            response.body
        );
    }
    for line in [
        r#"{"level":"info","loss":NaN}"#,
        r#"{"level":"info","id":1,"sent":{"jsonrpc":"2.0"},"loss":NaN}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":NaN}}"#,
        r#"sent {"jsonrpc":"2.0","id":1,"result":{}} in 2 ms"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"a server died he"#,
        "{",
    ] {
        assert!(matches!(read(line.as_bytes()).1, Inbound::Noise), "{line}");
    }
}

#[test]
fn an_answer_with_a_reserved_key_is_refused_where_it_would_be_misread() {
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"result":{"a":{"$serde_json::private::RawValue":"{}lue"}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"\u0024serde_json::private::Number":"12"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"","data":{"$serde_json::private::Number":"x"}}}"#,
    ] {
        let ([], Inbound::Response(response)) = read(line.as_bytes()) else {
            panic!("{line}")
        };
        assert!(
            matches!(&response.body, Answer::Malformed(reason) if reason.contains("reserved")),
            "{:?}",
            response.body
        );
    }
}

#[test]
fn only_an_object_that_says_jsonrpc_2_is_a_message() {
    for line in [
        "",
        "text",
        "[]",
        "42",
        "{}",
        r#"{"id":1,"result":{}}"#,
        r#"{"jsonrpc":"1.0","id":1,"result":{}}"#,
    ] {
        assert!(matches!(read(line.as_bytes()).1, Inbound::Noise), "{line}");
    }
    let line = br#" {"jsonrpc":"2.0","method":"notifications/message","params":{}} "#;
    assert!(matches!(read(line), ([], Inbound::Notification)));
}
