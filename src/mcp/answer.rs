//! The answer to `tools/call`: its bytes as they came, and what they say (MCP, Tools).

use rmcp::model::ErrorCode;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::{
    era::{self, Standing},
    error::{CallError, Hint},
    message::{Body, RpcError},
    session::Session,
};

pub(super) const METHOD: &str = "tools/call";

/// A complete answer. `isError: true` is one too: the tool's own failure, in its own words.
#[derive(Debug, Clone)]
pub(crate) struct ToolAnswer {
    pub(crate) is_error: bool,
    /// `structuredContent`; `Some(Null)` if the server said `null`.
    pub(crate) structured: Option<Value>,
    pub(crate) content: Vec<Content>,
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
struct Wire {
    #[serde(default)]
    content: Vec<Value>,
    #[serde(default, deserialize_with = "present")]
    structured_content: Option<Value>,
    is_error: Option<bool>,
    result_type: Option<String>,
}

/// Tells `null` from absent.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Reads an answer to `tools/call`.
pub(super) fn read(session: &Session, tool: &str, body: Body) -> Result<ToolAnswer, CallError> {
    let malformed = |reason: String| CallError::Malformed {
        server: session.server.clone(),
        method: METHOD,
        reason: session.excerpt(&reason),
    };
    let raw = match body {
        Body::Result(raw) => raw,
        Body::Error(error) => return Err(refused(session, METHOD, error)),
        Body::Malformed(reason) => return Err(malformed(reason)),
    };
    // A struct also reads from an array.
    if !raw.get().starts_with('{') {
        return Err(malformed(format!(
            "its `result` is not an object: {}",
            raw.get()
        )));
    }
    let wire: Wire = serde_json::from_str(raw.get())
        .map_err(|error| malformed(format!("its `result` is no tool result: {error}")))?;
    match wire.result_type.as_deref() {
        None | Some("complete") => {}
        Some("input_required") => {
            let result =
                serde_json::from_str(raw.get()).map_err(|error| malformed(error.to_string()))?;
            return Err(CallError::InputRequired {
                server: session.server.clone(),
                tool: tool.to_owned(),
                result,
            });
        }
        Some(other) => {
            return Err(malformed(format!(
                "`{other}` is no kind of result this client declared"
            )));
        }
    }
    Ok(ToolAnswer {
        is_error: wire.is_error.unwrap_or(false),
        structured: wire.structured_content,
        content: wire.content.into_iter().map(content).collect(),
    })
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
