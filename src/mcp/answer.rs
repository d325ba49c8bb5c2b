//! The answer to `tools/call`: its bytes as they came, and what they say (MCP, Tools).

use std::borrow::Cow;

use rmcp::model::ErrorCode;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, value::RawValue};

use super::{
    era::{self, Standing},
    error::{CallError, Declared, Hint},
    message::RpcError,
    questions,
    raw::{Answer, Raw},
    session::Session,
    spec::Caller,
};

pub(super) const METHOD: &str = "tools/call";

/// A complete answer. `isError: true` is one too: the tool's own failure, in its own words.
#[derive(Debug, Clone)]
pub(crate) struct ToolAnswer {
    pub(crate) is_error: bool,
    /// `structuredContent`; `Some(Null)` if the server said `null`.
    pub(crate) structured: Option<Part<Value>>,
    pub(crate) content: Vec<Part<Content>>,
}

/// A part of an answer: read, or so large that it stays the text that came until somebody needs it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Part<T> {
    Read(T),
    Large(Raw),
}

/// Parts of more bytes than this stay text: as values they would take many times their size.
const LARGE: usize = 1 << 20;

impl Part<Content> {
    /// The block, read now if it was not before.
    pub(crate) fn read(&self) -> Cow<'_, Content> {
        match self {
            Self::Read(content) => Cow::Borrowed(content),
            Self::Large(raw) => Cow::Owned(parsed(raw.get())),
        }
    }
}

/// One content block.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Content {
    Text(String),
    /// An image, audio, or an embedded resource with bytes.
    Blob {
        mime: Option<String>,
        base64: String,
        uri: Option<String>,
    },
    /// An embedded resource with text.
    TextResource {
        uri: String,
        mime: Option<String>,
        text: String,
    },
    ResourceLink {
        uri: String,
        name: Option<String>,
        mime: Option<String>,
    },
    /// A kind not known here, or a known one that lacks a member.
    Other(Value),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    #[serde(borrow, default)]
    content: Vec<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    structured_content: Option<&'a RawValue>,
    is_error: Option<bool>,
    result_type: Option<String>,
}

/// Tells `null` from absent.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Reads an answer to `tools/call`.
pub(super) fn read(session: &Session, tool: &str, answer: Answer) -> Result<ToolAnswer, CallError> {
    let malformed = |reason: String| CallError::Malformed {
        server: session.server.clone(),
        method: METHOD,
        reason: session.excerpt(&reason),
    };
    let raw = match answer {
        Answer::Result(raw) => raw,
        Answer::Error(error) => return Err(refused(session, METHOD, error)),
        Answer::Malformed(reason) => return Err(malformed(reason)),
    };
    // A struct also reads from an array.
    if !raw.get().starts_with('{') {
        return Err(malformed(format!(
            "its `result` is not an object: {}",
            raw.get()
        )));
    }
    let no_result = |error| malformed(format!("its `result` is no tool result: {error}"));
    let wire: Wire<'_> = serde_json::from_str(raw.get()).map_err(no_result)?;
    match wire.result_type.as_deref() {
        None | Some("complete") => {}
        Some("input_required") => {
            let questions = questions::read(raw.get(), &session.secrets).map_err(malformed)?;
            return Err(CallError::InputRequired {
                server: session.server.clone(),
                tool: tool.to_owned(),
                questions: Box::new(questions),
            });
        }
        Some(other) => {
            return Err(malformed(format!(
                "`{other}` is no kind of result this client declared"
            )));
        }
    }
    let structured = wire
        .structured_content
        .map(|structured| part(&raw, structured, |value| value));
    let blocks = wire.content.into_iter();
    let content = blocks.map(|block| part(&raw, block, content));
    Ok(ToolAnswer {
        is_error: wire.is_error.unwrap_or(false),
        structured: structured.transpose().map_err(no_result)?,
        content: content.collect::<Result<_, _>>().map_err(no_result)?,
    })
}

/// A part of the answer, read unless it is large.
fn part<T>(
    answer: &Raw,
    part: &RawValue,
    read: impl FnOnce(Value) -> T,
) -> Result<Part<T>, serde_json::Error> {
    if part.get().len() > LARGE {
        return Ok(Part::Large(answer.part(part)));
    }
    serde_json::from_str(part.get()).map(|value| Part::Read(read(value)))
}

/// An error answer. A modern server that does not speak our version says so only here.
pub(super) fn refused(session: &Session, method: &'static str, error: RpcError) -> CallError {
    let server = session.server.clone();
    let message = session.secrets.cut(&error.message);
    if error.code == i64::from(ErrorCode::UNSUPPORTED_PROTOCOL_VERSION.0) {
        return session.mismatch(&message);
    }
    let hint = match session.standing {
        Standing::Declared if era::not_understood(error.code) => Hint::MayBeLegacy,
        _ => Hint::None,
    };
    let data = error
        .data
        .map(|data| Box::new(session.secrets.cut_value(data)));
    if error.code == i64::from(ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY.0) {
        return CallError::CapabilityMissing {
            server,
            method,
            required: required(data.as_deref()),
            elicitation: match session.caller {
                Caller::Silent => Declared::NotAsked,
                Caller::Answers if session.is_modern() => Declared::Yes,
                Caller::Answers => Declared::NotInThisEra,
            },
        };
    }
    CallError::Rpc {
        server,
        method,
        code: error.code,
        message,
        data,
        asked: session.question(),
        hint,
    }
}

/// A large block. One whose strings hold half a surrogate pair is no text to work with.
fn parsed(block: &str) -> Content {
    serde_json::from_str(block).map_or(Content::Other(Value::Null), content)
}

/// The names in `data.requiredCapabilities` (2026-07-28, `MissingRequiredClientCapabilityError`).
fn required(data: Option<&Value>) -> Vec<String> {
    let names = data.and_then(|data| data.get("requiredCapabilities")?.as_object());
    names.map_or_else(Vec::new, |names| names.keys().cloned().collect())
}

fn content(block: Value) -> Content {
    known(&block).unwrap_or(Content::Other(block))
}

fn known(block: &Value) -> Option<Content> {
    let block = block.as_object()?;
    Some(match block.get("type")?.as_str()? {
        "text" => Content::Text(text(block, "text")?),
        "image" | "audio" => Content::Blob {
            mime: text(block, "mimeType"),
            base64: text(block, "data")?,
            uri: None,
        },
        "resource" => {
            let resource = block.get("resource")?.as_object()?;
            let uri = text(resource, "uri")?;
            let mime = text(resource, "mimeType");
            match text(resource, "blob") {
                Some(base64) => Content::Blob {
                    mime,
                    base64,
                    uri: Some(uri),
                },
                None => Content::TextResource {
                    uri,
                    mime,
                    text: text(resource, "text")?,
                },
            }
        }
        "resource_link" => Content::ResourceLink {
            uri: text(block, "uri")?,
            name: text(block, "name"),
            mime: text(block, "mimeType"),
        },
        _ => return None,
    })
}

fn text(object: &Map<String, Value>, name: &str) -> Option<String> {
    Some(object.get(name)?.as_str()?.to_owned())
}
