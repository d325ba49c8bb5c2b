//! One line of a server's stdout, read no further than its head (JSON-RPC 2.0): the parts that
//! say what it is. Everything below stays the bytes that came.

use std::borrow::Cow;

use rmcp::model::ErrorCode;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, value::RawValue};

use super::{bounds, torn::Torn};
use crate::task::{RESERVED, has_reserved_key};

/// How a line starts if something was printed before it without a newline.
const GLUED: &[u8] = br#"{"jsonrpc""#;

/// What a line is.
#[derive(Debug)]
pub(super) enum Inbound<'a> {
    /// No message of the protocol.
    Noise,
    Response(Response<'a>),
    Progress(Option<&'a RawValue>),
    /// Any other notification: nothing a single call waits for.
    Notification,
    Request,
}

/// An answer. `id` is its JSON text; none with some errors.
#[derive(Debug)]
pub(super) struct Response<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) body: Body<'a>,
}

/// What an answer says.
#[derive(Debug, Clone)]
pub(super) enum Body<'a> {
    Result(&'a RawValue),
    Error(RpcError),
    /// Neither, and why.
    Malformed(String),
}

/// The `error` member (JSON-RPC 2.0, section 5.1).
#[derive(Debug, Clone, Deserialize)]
pub(super) struct RpcError {
    pub(super) code: i64,
    pub(super) message: String,
    #[serde(default)]
    pub(super) data: Option<Value>,
}

impl RpcError {
    /// The server could not read a request of ours, and so could not say which.
    pub(super) fn is_about_an_unread_request(&self) -> bool {
        matches!(self.code, -32700 | -32600)
    }

    /// The version of the request was refused, and this is one that the server supports
    /// (2026-07-28, `UnsupportedProtocolVersionError`).
    pub(super) fn offers(&self, version: &str) -> bool {
        let supported = self.data.as_ref().and_then(|data| data.get("supported"));
        let mut supported = supported.and_then(Value::as_array).into_iter().flatten();
        self.code == i64::from(ErrorCode::UNSUPPORTED_PROTOCOL_VERSION.0)
            && supported.any(|each| each.as_str() == Some(version))
    }
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// Tells `null` from absent.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// The message of a line, and the noise printed before it on the same line.
pub(super) fn read(line: &[u8]) -> (&[u8], Inbound<'_>) {
    let whole = match parse(line) {
        Inbound::Noise => torn(line),
        message => message,
    };
    if !matches!(whole, Inbound::Noise) {
        return (&[], whole);
    }
    let glued = line
        .windows(GLUED.len())
        .position(|window| window == GLUED)
        .and_then(|at| line.split_at_checked(at));
    match glued.map(|(noise, rest)| (noise, parse(rest))) {
        Some((noise, message)) if !matches!(message, Inbound::Noise) => (noise, message),
        _ => (line, Inbound::Noise),
    }
}

fn parse(line: &[u8]) -> Inbound<'_> {
    // A struct also reads from an array, and most noise starts with something else.
    if line.trim_ascii_start().first() != Some(&b'{') {
        return Inbound::Noise;
    }
    let head = match std::str::from_utf8(line) {
        Ok(text) => serde_json::from_str::<Head<'_>>(text).map_err(|error| error.to_string()),
        Err(error) => Err(format!("it is not UTF-8: {error}")),
    };
    match head {
        Ok(head)
            if head
                .jsonrpc
                .is_some_and(|version| version.get() == r#""2.0""#) =>
        {
            classify(&head)
        }
        Ok(_) => Inbound::Noise,
        Err(reason) => garbled(line, reason),
    }
}

fn classify<'a>(head: &Head<'a>) -> Inbound<'a> {
    match (head.method.as_deref(), head.id) {
        (Some(_), Some(_)) => Inbound::Request,
        (Some("notifications/progress"), None) => Inbound::Progress(head.params),
        (Some(_), None) => Inbound::Notification,
        (None, id) if id.is_some() || head.error.is_some() => Inbound::Response(Response {
            id: id.map(|id| Cow::Borrowed(id.get())),
            body: body(head),
        }),
        (None, _) => Inbound::Noise,
    }
}

fn body<'a>(head: &Head<'a>) -> Body<'a> {
    match (head.error, head.result) {
        (Some(said), _) | (None, Some(said)) if has_reserved_key(said.get()) => Body::Malformed(
            format!("it has a key that begins with `{RESERVED}`, which is reserved"),
        ),
        (Some(error), _) if error.get().len() > bounds::ERROR_BYTES => beginning(error.get()),
        (Some(error), _) => serde_json::from_str(error.get()).map_or_else(
            |reason| {
                Body::Malformed(format!(
                    "its `error` is not one ({reason}): {}",
                    error.get()
                ))
            },
            Body::Error,
        ),
        (None, Some(result)) if result.get() != "null" => Body::Result(result),
        (None, Some(_)) => Body::Malformed("its `result` is null".to_owned()),
        (None, None) => Body::Malformed("it has neither `result` nor `error`".to_owned()),
    }
}

/// An error that is too long to be read: its code, and the beginning of its message as it is written.
fn beginning<'a>(error: &str) -> Body<'a> {
    #[derive(Deserialize)]
    struct Long<'a> {
        code: i64,
        #[serde(borrow)]
        message: &'a RawValue,
    }
    match serde_json::from_str::<Long<'_>>(error) {
        Ok(Long { code, message }) => {
            let written = message.get().trim_matches('"');
            let end = written.floor_char_boundary(bounds::ERROR_BYTES);
            Body::Error(RpcError {
                code,
                message: written.get(..end).unwrap_or_default().to_owned(),
                data: None,
            })
        }
        Err(reason) => Body::Malformed(format!("its `error` is not one: {reason}")),
    }
}

/// A line that is nearly JSON: an answer must end its call even then, rather than be waited for.
fn garbled<'a>(line: &[u8], reason: String) -> Inbound<'a> {
    let text = String::from_utf8_lossy(line);
    if serde_json::from_str::<&RawValue>(&text).is_err() {
        return Inbound::Noise;
    }
    let head = Torn::skim(text.trim_ascii());
    match head.id {
        Some(id) if head.version == Some(r#""2.0""#) && head.method.is_none() => {
            Inbound::Response(Response {
                id: Some(Cow::Owned(id.to_owned())),
                body: Body::Malformed(reason),
            })
        }
        _ => Inbound::Noise,
    }
}

/// A line that is no JSON and begins like an answer. Behind other words on its line it may be a
/// log's quotation of one, so only a whole line counts.
fn torn(line: &[u8]) -> Inbound<'_> {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_ascii();
    if !text.starts_with('{') {
        return Inbound::Noise;
    }
    let Err(error) = serde_json::from_str::<&RawValue>(text) else {
        return Inbound::Noise;
    };
    // A server that dies while it writes has died: that tells more.
    if error.is_eof() && !line.ends_with(b"\n") {
        return Inbound::Noise;
    }
    let torn = Torn::skim(text);
    if torn.version != Some(r#""2.0""#) || torn.method.is_some() {
        return Inbound::Noise;
    }
    let reason = match torn.odd {
        Some(odd) => format!("{odd} is no JSON"),
        None => format!("it is no JSON: {error}"),
    };
    Inbound::Response(Response {
        id: torn.id.map(|id| Cow::Owned(id.to_owned())),
        body: Body::Malformed(reason),
    })
}

/// Whether the JSON text of an id is the number we sent; `"1"` and `1.0` are taken for `1`.
pub(super) fn is_number(json: &str, number: i64) -> bool {
    let digits = json.trim_matches('"');
    digits.strip_suffix(".0").unwrap_or(digits).parse() == Ok(number)
}

/// Whether a server answers so that did not look at the request: it knows no such method or no such
/// parameters, or waits for a handshake first (-32002, as some do).
pub(super) fn is_not_understood(code: i64) -> bool {
    matches!(code, -32600 | -32601 | -32602 | -32002)
}

#[cfg(test)]
mod tests {
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
        for (line, named, said) in [
            (
                r#"{"jsonrpc":"2.0","id":1,"result":{"mean":NaN}}"#,
                Some("1"),
                "NaN is no JSON",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"#,
                Some("1"),
                "it is no JSON: EOF",
            ),
            (
                r#"{"jsonrpc":"2.0","result":{},"#,
                None,
                "it is no JSON: EOF",
            ),
        ] {
            let line = format!("{line}\n");
            let ([], Inbound::Response(response)) = read(line.as_bytes()) else {
                panic!("{line}")
            };
            assert_eq!(response.id.as_deref(), named);
            assert!(
                matches!(&response.body, Body::Malformed(reason) if reason.starts_with(said)),
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
                matches!(&response.body, Body::Malformed(reason) if reason.contains("reserved")),
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
}
