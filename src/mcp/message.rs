//! The messages of the protocol, one in each line (JSON-RPC 2.0). Only the members that show the kind of a message are
//! parsed. The rest of a line stays text.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json, value::RawValue};

use super::{bounds, raw::Raw, spec::Caller};
use crate::task::{RESERVED, Trace, has_reserved_key};

/// The versions of MCP that oneact supports, the oldest first.
pub(super) const VERSIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", LEGACY, MODERN];
/// The last version with a handshake.
pub(super) const LEGACY: &str = "2025-11-25";
/// The first version without one: `_meta` of each request contains what the server needs.
pub(super) const MODERN: &str = "2026-07-28";

pub(super) const INITIALIZE: &str = "initialize";
pub(super) const DISCOVER: &str = "server/discover";
pub(super) const LIST: &str = "tools/list";
pub(super) const CALL: &str = "tools/call";

/// There is no such method (JSON-RPC 2.0, section 5.1).
pub(super) const UNKNOWN_METHOD: i64 = -32601;
/// The version of a request is not supported (2026-07-28, `UnsupportedProtocolVersionError`).
pub(super) const UNSUPPORTED_VERSION: i64 = -32022;
/// The client lacks a capability (2026-07-28, `MissingRequiredClientCapabilityError`).
pub(super) const MISSING_CAPABILITY: i64 = -32021;

/// A request of oneact, or without an id a notification.
#[derive(Serialize)]
pub(super) struct Outbound<'a> {
    pub(super) jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<i64>,
    pub(super) method: &'a str,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(super) params: Map<String, Value>,
}

pub(super) fn is_modern(version: &str) -> bool {
    version >= MODERN
}

pub(super) fn is_greeting(method: &str) -> bool {
    method == INITIALIZE || method == DISCOVER
}

pub(super) fn client() -> Value {
    json!({"name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION")})
}

/// The key of what belongs to the protocol in parameters.
pub(super) const META: &str = "_meta";

/// The members of `_meta` that hand a trace on (2026-07-28, SEP-414).
pub(super) fn traced(trace: &Trace) -> Value {
    let mut meta = members([("traceparent", trace.parent().into())]);
    let state = trace.state.clone();
    meta.extend(state.map(|state| ("tracestate".to_owned(), state.into())));
    meta.into()
}

/// The members of `_meta` of a modern request that describe the sender. The caller answers questions of both modes.
pub(super) fn sender(version: &str, caller: Caller) -> Map<String, Value> {
    let capabilities = match caller {
        Caller::Silent => json!({}),
        Caller::Answers => json!({"elicitation": {"form": {}, "url": {}}}),
    };
    members([
        ("io.modelcontextprotocol/protocolVersion", version.into()),
        ("io.modelcontextprotocol/clientInfo", client()),
        ("io.modelcontextprotocol/clientCapabilities", capabilities),
    ])
}

pub(super) fn members<const N: usize>(members: [(&str, Value); N]) -> Map<String, Value> {
    Map::from_iter(members.map(|(name, value)| (name.to_owned(), value)))
}

/// The beginning of a message. Other text without a newline may stand before it in a line.
const GLUED: &[u8] = br#"{"jsonrpc""#;

#[derive(Debug)]
pub(super) enum Inbound<'a> {
    /// No MCP message.
    Noise,
    Response(Response<'a>),
    Progress(Option<&'a RawValue>),
    /// Any other notification. It is ignored.
    Notification,
    Request(Request<'a>),
}

#[derive(Debug)]
pub(super) struct Request<'a> {
    pub(super) id: &'a RawValue,
    pub(super) method: Cow<'a, str>,
    pub(super) params: Option<&'a RawValue>,
}

/// An answer. `id` is JSON text. Some errors have none.
#[derive(Debug)]
pub(super) struct Response<'a> {
    pub(super) id: Option<&'a str>,
    pub(super) body: Answer<&'a RawValue>,
}

impl Response<'_> {
    pub(super) fn is_malformed(&self) -> bool {
        matches!(self.body, Answer::Malformed(_))
    }
}

/// The content of a response; `R` is its result.
#[derive(Debug, Clone)]
pub(super) enum Answer<R> {
    Result(R),
    Error(RpcError),
    /// Why it is neither.
    Malformed(String),
}

/// The `error` member (JSON-RPC 2.0, section 5.1).
#[derive(Debug, Clone)]
pub(super) struct RpcError {
    pub(super) code: i64,
    pub(super) message: String,
    pub(super) data: Option<Value>,
    pub(super) extent: Extent,
}

impl RpcError {
    /// Whether the server refused the version of the request, and lists it as supported all the same.
    pub(super) fn supports(&self, version: &str) -> bool {
        let supported = self.data.as_ref().and_then(|data| data.get("supported"));
        let mut supported = supported.and_then(Value::as_array).into_iter().flatten();
        self.code == UNSUPPORTED_VERSION && supported.any(|each| each == version)
    }
}

/// How much of an error was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Whole,
    /// The beginning of a long one; or, of two members with one name, the last.
    Part,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
struct Head<'a, T> {
    jsonrpc: Option<T>,
    id: Option<T>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    params: Option<T>,
    #[serde(default, deserialize_with = "present")]
    result: Option<T>,
    error: Option<T>,
}

/// Tells `null` from absent.
pub(super) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// The noise at the beginning of a line, and the message after it. A message after noise must be JSON, because a log
/// line may quote a part of one.
pub(super) fn read(line: &[u8]) -> (&[u8], Inbound<'_>) {
    let whole = parse(line);
    if !matches!(whole, Inbound::Noise) {
        return (&[], whole);
    }
    let glued = line
        .windows(GLUED.len())
        .position(|window| window == GLUED)
        .and_then(|at| line.split_at_checked(at))
        .filter(|(_, rest)| {
            serde_json::from_str::<&RawValue>(&String::from_utf8_lossy(rest)).is_ok()
        });
    match glued.map(|(noise, rest)| (noise, parse(rest))) {
        Some((noise, message)) if !matches!(message, Inbound::Noise) => (noise, message),
        _ => (line, Inbound::Noise),
    }
}

fn parse(line: &[u8]) -> Inbound<'_> {
    // serde also reads a struct from an array. Most noise does not begin with `{`.
    if line.trim_ascii_start().first() != Some(&b'{') {
        return Inbound::Noise;
    }
    let head = match std::str::from_utf8(line) {
        Ok(text) => {
            serde_json::from_str::<Head<'_, &RawValue>>(text).map_err(|error| error.to_string())
        }
        Err(error) => Err(format!("it is not UTF-8: {error}")),
    };
    match head {
        Ok(head)
            if head
                .jsonrpc
                .is_some_and(|version| version.get() == r#""2.0""#) =>
        {
            classify(head)
        }
        Ok(_) => Inbound::Noise,
        Err(reason) => broken(line, reason),
    }
}

fn classify<'a>(head: Head<'a, &'a RawValue>) -> Inbound<'a> {
    match (head.method, head.id) {
        (Some(method), Some(id)) => Inbound::Request(Request {
            id,
            method,
            params: head.params,
        }),
        (Some(method), None) if method == "notifications/progress" => {
            Inbound::Progress(head.params)
        }
        (Some(_), None) => Inbound::Notification,
        (None, None) if head.error.is_none() => Inbound::Noise,
        (None, id) => Inbound::Response(Response {
            id: id.map(RawValue::get),
            body: body(head.error, head.result),
        }),
    }
}

fn body<'a>(error: Option<&'a RawValue>, result: Option<&'a RawValue>) -> Answer<&'a RawValue> {
    match (error, result) {
        (Some(error), Some(result)) if error.get() != "null" && result.get() != "null" => {
            Answer::Malformed("it has both `result` and `error`".to_owned())
        }
        (Some(said), _) | (None, Some(said)) if has_reserved_key(said.get()) => Answer::Malformed(
            format!("it has a key that begins with `{RESERVED}`, which is reserved"),
        ),
        (Some(error), _) => refusal(error.get()),
        (None, Some(result)) if result.get() != "null" => Answer::Result(result),
        (None, Some(_)) => Answer::Malformed("its `result` is null".to_owned()),
        (None, None) => Answer::Malformed("it has neither `result` nor `error`".to_owned()),
    }
}

/// Reads an error. Of a long one, only the code and the beginning of the message are kept.
fn refusal<R>(json: &str) -> Answer<R> {
    #[derive(Deserialize)]
    struct Wire<'a> {
        code: i64,
        message: String,
        #[serde(borrow)]
        data: Option<&'a RawValue>,
    }
    let Wire {
        code,
        mut message,
        data,
    } = match serde_json::from_str(json) {
        Ok(read) => read,
        Err(reason) => {
            let problem = format!("its `error` is no JSON-RPC error ({reason}): {json}");
            return Answer::Malformed(problem);
        }
    };
    let is_long = json.len() > bounds::ERROR_BYTES;
    message.truncate(message.floor_char_boundary(bounds::ERROR_BYTES));
    let data = data.filter(|_| !is_long);
    Answer::Error(RpcError {
        code,
        message,
        data: data.and_then(|data| serde_json::from_str(data.get()).ok()),
        extent: if is_long || Raw::from(json.to_owned()).distinct().is_err() {
            Extent::Part
        } else {
            Extent::Whole
        },
    })
}

/// A line that begins like a message and cannot be parsed. If it is an answer, it ends its call, which would otherwise
/// wait until its limit. Which request it answers is not read from it.
fn broken<'a>(line: &[u8], reason: String) -> Inbound<'a> {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_ascii();
    let reason = match serde_json::from_str::<&RawValue>(text) {
        Ok(_) => reason,
        // The server ended while it wrote the line. Its end is reported instead.
        Err(error) if error.is_eof() && !line.ends_with(b"\n") => return Inbound::Noise,
        Err(error) => format!("it is no JSON: {error}"),
    };
    let is_answer =
        text.starts_with(r#"{"jsonrpc":"2.0","#) || text.starts_with(r#"{"jsonrpc": "2.0","#);
    if !is_answer || text.contains(r#""method""#) {
        return Inbound::Noise;
    }
    Inbound::Response(Response {
        id: None,
        body: Answer::Malformed(reason),
    })
}

/// Whether the JSON text of an id is the number that was sent. `"1"` and `1.0` count as `1`.
pub(super) fn is_number(json: &str, number: i64) -> bool {
    let digits = json.trim_matches('"');
    digits.strip_suffix(".0").unwrap_or(digits).parse() == Ok(number)
}

/// Whether the code says that the server did not process the request: unknown method or parameters, or a handshake is
/// missing (-32002 of some servers).
pub(super) fn is_not_understood(code: i64) -> bool {
    matches!(code, -32600 | -32601 | -32602 | -32002)
}
