//! Whether the words of a failure name a time-out, as words or as a number.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

/// How a time-out is named: in words, or by a number beside a word of HTTP, of JSON-RPC or of curl. The words may be
/// joined or separated by any white space, `_`, `-` and escapes of JSON, also of JSON inside JSON. 524 is the number of
/// Cloudflare, -32001 that of the MCP SDKs.
static TIME_OUT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let escape = r"\\+[nrtbf]|\\+u[0-9a-f]{4}";
    let gap = format!(r"(?:[\s_-]|{escape})");
    let edge = format!(r"(?:\b|_|{escape})");
    let between = format!(r"(?:{escape}|\\*[^a-z0-9\\]|\\+)");
    // A number with an exponent may have one of these values.
    let number = r"(?:408|504|524|32001|\d[\d.]*e[+-]?\d+)";
    Regex::new(&format!(
        r"(?ix)
        timed{gap}*outs? | timeout | {edge}time{gap}+outs?(?:\b|_) | deadline{gap}*exceeded
        | (?:http(?:/[\d.]+)?|status|code|gateway|error)[a-z]{{0,8}}
          (?:{between}{{1,4}}(?:of|is|was))? {between}{{0,4}} {number} (?:m?s\b|[^a-z0-9]|$)
        | {edge}(?:408|504|524){gap}*(?:gateway|(?:server{gap})?error)
        | curl{between}{{0,4}}28\b"
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

/// Searches the words of a failure, and each line of them that is JSON as a value.
pub(super) fn is_told(told: &str) -> bool {
    let read = |line| serde_json::from_str(line).ok();
    is_named(told)
        || told
            .lines()
            .filter_map(read)
            .any(|value| is_below(&value, "error"))
}

/// Whether a value under that key names a time-out. What is below a key such as `status` belongs to it, at any depth.
fn is_below(value: &Value, key: &str) -> bool {
    let is_word = |key: &str| {
        let key = key.to_lowercase();
        key == "code" || key.contains("status") || key.contains("http")
    };
    match value {
        Value::Array(items) => items.iter().any(|item| is_below(item, key)),
        Value::Object(members) => members.iter().any(|(name, item)| {
            let belongs = is_word(key) && !is_word(name);
            is_below(item, if belongs { key } else { name })
        }),
        Value::String(text) => match serde_json::from_str(text) {
            Ok(value) => is_below(&value, key),
            Err(_) => is_named(&format!("{key}: {text}")),
        },
        Value::Number(number) => is_named(&format!("{key}: {number}")),
        Value::Null | Value::Bool(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_out_is_recognised_in_every_spelling_and_a_number_only_beside_a_word_for_it() {
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
        ] {
            assert!(is_told(text), "{text}");
        }
        for text in [
            "syntax error in line 504 of the template",
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
        ] {
            assert!(!is_told(text), "{text}");
        }
    }
}
