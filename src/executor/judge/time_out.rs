//! Whether the words of a failure name a time-out, as words or as a number.

use std::{fmt::Display, sync::LazyLock};

use regex::Regex;
use serde_json::{Deserializer, Value, value::RawValue};

use crate::task::{has_all_members, has_reserved_key};

/// How a time-out is named: in words, or by a number in front of or behind a word of HTTP, of JSON-RPC or of curl. The
/// words may be joined or separated by any white space, `_`, `-` and escapes of JSON, also of JSON inside JSON. 524 is the
/// number of Cloudflare, -32001 that of the MCP SDKs.
static TIME_OUT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    // The search takes far longer for a text with other characters than those of ASCII if they count as parts of words.
    let boundary = r"(?-u:\b)";
    let escape = r"\\+[nrtbf]|\\+u[0-9a-f]{4}";
    let gap = format!(r"(?:[\s_-]|{escape})");
    let edge = format!(r"(?:{boundary}|_|{escape})");
    let between = format!(r"(?:{escape}|\\*[^a-z0-9\\]|\\+)");
    // A number with an exponent may have one of these values.
    let number = r"(?:408|504|524|32001|\d[\d.]*e[+-]?\d+)";
    Regex::new(&format!(
        r"(?ix)
        timed{gap}*outs? | timeout | {edge}time{gap}+outs?(?:{boundary}|_)
        | deadline{gap}*(?:(?:has|was){gap}+(?:been{gap}+)?)?(?:exceeded|elapsed)
        | (?:http(?:/?[\d.]{{1,3}})?|status|code|gateway|error)[a-z_]{{0,24}}
          (?:{between}{{1,4}}(?:of|is|was))? {between}{{0,4}} {number} (?:m?s{boundary}|[^a-z0-9]|$)
        | {edge}(?:408|504|524|32001)(?:{gap}|[(\[{{]){{0,8}}(?:http|status|code|gateway|(?:server{gap}+)?error)
        | curl[a-z]{{0,8}}(?:{between}{{1,4}}(?:err|error|errno|code|exit|status)){{0,3}}{between}{{0,4}}28{boundary}"
    ))
    .ok()
});

/// The characters that show nothing, and the hyphens that can stand within a word.
static UNSEEN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"[\p{Default_Ignorable_Code_Point}\u{2010}\u{2011}]").ok());

pub(super) fn is_named(text: &str) -> bool {
    let unseen = UNSEEN.as_ref();
    let text = unseen.map(|unseen| unseen.replace_all(text, ""));
    // The patterns are constants, which a test compiles.
    match (TIME_OUT.as_ref(), text) {
        (Some(named), Some(text)) => named.is_match(&text),
        _ => true,
    }
}

/// Searches the words of a failure, the JSON text with which they begin, and each line of them that is JSON.
pub(super) fn is_told(told: &str) -> bool {
    let read = |line| serde_json::from_str(line).ok();
    is_named(told)
        || begins_with(told, "error")
        || told
            .lines()
            .filter_map(read)
            .any(|value| is_below(&value, "error"))
}

/// What every key that contains one of [`CODES`] counts as.
const STATUS: &str = "status";

/// The parts of keys for the code of an answer, such as `errorCode`, `http_response` and `status_line`.
const CODES: [&str; 3] = ["code", STATUS, "http"];

/// Whether a value under that key names a time-out. Everything below a key such as `status` belongs to it, at any depth.
fn is_below(value: &Value, key: &str) -> bool {
    let is_code = |name: &str| {
        let name = name.to_lowercase();
        CODES.iter().any(|code| name.contains(code))
    };
    match value {
        Value::Array(items) => items.iter().any(|item| is_below(item, key)),
        Value::Object(members) => members.iter().any(|(name, item)| {
            let below = if key == STATUS || is_code(name) {
                STATUS
            } else {
                name
            };
            is_named(name) || is_below(item, below)
        }),
        Value::String(text) => {
            is_named(&with_key(key, text))
                || begins_with(text, key)
                || serde_json::from_str(text)
                    .is_ok_and(|inner| is_below(&Value::String(inner), key))
        }
        Value::Number(number) => is_named(&with_key(key, number)),
        Value::Null | Value::Bool(_) => false,
    }
}

/// The bytes at the end of a key that are searched together with each value. [`TIME_OUT`] reaches over fewer bytes of a
/// key, unless the key contains escapes.
const KEY_END: usize = 100;

/// A value behind the end of its key. A long key may have many values, and is searched as a whole only once.
fn with_key(key: &str, value: impl Display) -> String {
    let start = key.ceil_char_boundary(key.len().saturating_sub(KEY_END));
    format!("{}: {value}", key.get(start..).unwrap_or(key))
}

/// Whether an object or an array at the beginning of a text names a time-out, or one of those that follow it. One that
/// is cut off, or of which a part cannot be read, could name one.
fn begins_with(text: &str, key: &str) -> bool {
    let is_container = |text: &str| text.trim_start().starts_with(['{', '[']);
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let mut values = Deserializer::from_str(text).into_iter::<&RawValue>();
    loop {
        let rest = text.get(values.byte_offset()..).unwrap_or_default();
        match values.next().filter(|_| is_container(rest)) {
            None => return false,
            Some(Err(error)) => return error.is_eof() || is_cut_number(rest),
            Some(Ok(raw)) => match whole(raw.get()) {
                Some(value) if !is_below(&value, key) => {}
                _ => return true,
            },
        }
    }
}

/// Whether a text ends within a number: with one more digit, only the rest of its JSON is missing.
fn is_cut_number(text: &str) -> bool {
    let longer = format!("{text}0");
    serde_json::from_str::<&RawValue>(&longer).is_err_and(|error| error.is_eof())
}

/// The value of a JSON text. None if a part of it cannot be read.
fn whole(text: &str) -> Option<Value> {
    let value = serde_json::from_str(text).ok()?;
    (has_all_members(&value, text) && !has_reserved_key(text)).then_some(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_time_out_is_recognised_in_every_spelling_and_as_a_number_beside_a_word_for_it() {
        for text in [
            "net::ERR_TIMED_OUT at https://x",
            "net::ERR_CONNECTION_TIMED_OUT",
            "status: timed_out",
            "TIME_OUT",
            "Gateway Time-out",
            "request timed  out",
            "request timed\nout",
            r#"{"cause":"timed\nout"}"#,
            r#"{"cause":"timed\u00a0out"}"#,
            "4 DEADLINE_EXCEEDED",
            "rpc error: code = DeadlineExceeded desc = stream reset",
            "deadline has elapsed",
            "the deadline has been exceeded",
            "connect ETIMEDOUT 192.0.2.1:443",
            "ReadTimeoutError",
            "http_504",
            "error-504",
            "HTTP status 524",
            "HTTP/1.1 504",
            "Request failed with status code 408",
            "the server responded with a status of 504 ()",
            r#"{"statusCode":504}"#,
            r#"{"status":5.04e2}"#,
            r#"{"code":-3.2001e+4}"#,
            r#"{"body":"{\"status\": \"504\"}"}"#,
            r#"{"body":"{\"body\":\"{\\\"status\\\": \\\"504\\\"}\"}"}"#,
            r#"{"body":"it failed:\ntime out"}"#,
            r#"{"body":"status:\n504"}"#,
            r#"{"body":"\n504 Gateway"}"#,
            r"status\504",
            "504 Server Error",
            "error 504\n",
            "MCP error -32001: x",
            "curl: (28) Operation too slow",
            "cURL error 28: Operation too slow. Less than 1 bytes/sec transferred",
            "Curl error (28)",
            "curl exit code 28",
            "pycurl.error: (28, 'Operation too slow')",
            "CURLcode 28",
            "the server returned a 504 status code",
            "504 HTTP status",
            "504 (HTTP)",
            "504 (error)",
            "failed with -32001 error",
            "a 408 code",
            "HttpException: 504",
            "HttpRequestException 504",
            "GatewayException 504",
            "errorDescription 504",
            "http_response 504",
            "status_line: 504",
            "HTTP2 504",
            "504   -   error",
            "504 {code}",
            r#"{"e":"ti\u006ded out","n":1."#,
            r#"{"e":"ti\u006ded out","n":-"#,
            r#"{"e":"ti\u006ded out","n":1e+"#,
            "[504.",
            "status 504ms",
            "timed\u{200b}out",
            "Gateway Ti\u{ad}me\u{2060}-out",
            "read ti\u{feff}meout",
            "time\u{2010}out",
            "timed\u{2011}out",
            "504\u{2011}gateway",
            r#"{"status":[503,504]}"#,
            r#"{"status":{"value":504}}"#,
            r#"{"status":{"":[[504]]}}"#,
            r#"{"text":"{\"httpStatus\":{\"was\":[\"504\"]}}"}"#,
            r#"{"text":"{\"cause\":\"timed\\u200bout\"}"}"#,
            "no\n504",
            "no\n[504]",
            r#"{"status":{"status_line":504}}"#,
            r#"{"status":{"http_result":[{"v":"504"}]}}"#,
            r#"{"code":{"status_seen":504}}"#,
            r#"{"errorCode":{"value":504}}"#,
            r#"{"error_code":{"is":-32001}}"#,
            r#"{"CODES":[{"v":504}]}"#,
            r#"{"responseCode":{"n":5.24e2}}"#,
            r#"{"http_response":504}"#,
            r#"{"status_line":"408 x"}"#,
            r#"{"statusFromUpstream":504}"#,
        ] {
            assert!(is_told(text), "{text}");
        }
    }

    #[test]
    fn only_the_end_of_a_long_key_is_searched_with_each_of_its_values() {
        for long in ["x".repeat(4000), "ü☂".repeat(4000)] {
            assert!(with_key(&long, 504).len() <= KEY_END + ": 504".len());
            let told = json!({format!("{long}_errorDescription"): [503, [504]]});
            assert!(is_told(&told.to_string()));
            let told = json!({format!("{long} time out"): [0, [1]]});
            assert!(is_told(&told.to_string()));
            assert!(!is_told(&json!({long: [503, [504]]}).to_string()));
        }
        assert_eq!(with_key("error", "504"), "error: 504");
    }

    #[test]
    fn a_number_is_no_time_out_by_itself() {
        for text in [
            "syntax error in line 504 of the template",
            "main.c:504: error: expected ;",
            r#"{"line":504,"code":1}"#,
            "main.py:504: HttpError: no such file",
            "foo.c:408: http_parse failed",
            "error_15504",
            "curl error 2800",
            "curl: (7) after 28 tries",
            r#"{"width":408}"#,
            "wrote 15040 bytes",
            "code 15040",
            "run time: out of memory",
            "datetime output",
            "error 5041",
            r"error\n5041",
            "nothing wrong",
            r#"{"error":{"line":504},"width":[408]}"#,
            r#"{"time":"out of range","status":["failed",5040]}"#,
            r#"{"status":"failed","sizes":[504]}"#,
            "no\n{\"line\":504}",
            r#"{"status":{"bytes":15040,"ratio":0.504,"line":5041}}"#,
        ] {
            assert!(!is_told(text), "{text}");
        }
    }

    #[test]
    fn json_text_in_a_string_is_searched_and_names_a_time_out_if_a_part_of_it_cannot_be_read() {
        let deep = format!("{}504{}", "[".repeat(130), "]".repeat(130));
        for text in [
            r#"{"e":"ti\u006ded out"}"#,
            "{\"ti\\u006ded_out\":true}",
            "\u{feff} {\"status\":{\"v\":504}}",
            "{\"a\":1}\n{\"status\":{\"v\":504}}",
            "{\n \"status\": {\n \"v\": 504}}",
            "{\"status\":[503,504]} was the answer",
            r#"{"e":"ti\u006ded out","e":"no"}"#,
            r#"{"e":"\ud800"}"#,
            r#"{"a":{"$serde_json::private::RawValue":"[1,2]"}}"#,
            r#"["it began", {"e"#,
            &deep,
        ] {
            assert!(is_told(&json!({"body": text}).to_string()), "{text}");
            assert!(
                is_told(&format!("{text}\n\nerror -1")) || text.ends_with("\"e"),
                "{text}"
            );
        }
        for text in [
            "[Errno 2] No such file",
            "{path} not found",
            "[12:30:01] failed",
            "[1] no",
            "[2026-11-26] {job} no",
            "{\"a\":1} {b} no",
            "{\n \"a\": {\n \"v\": 504}}",
            "504 files",
            "\"quoted",
            "{}",
            r#"{"e":"no","line":504}"#,
        ] {
            assert!(!is_told(&json!({"text": text}).to_string()), "{text}");
            assert!(!is_told(&format!("{text}\n\nerror -1")), "{text}");
        }
    }
}
