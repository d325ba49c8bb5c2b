//! The answer to `tools/call` (MCP, Tools).

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{
    bounds,
    error::CallError,
    message::{Answer, CALL, MISSING_CAPABILITY, RpcError, UNSUPPORTED_VERSION, present},
    questions,
    raw::Raw,
    session::Session,
};

/// A complete answer. It may be a failure that the tool reports (`isError: true`).
#[derive(Debug, Clone)]
pub(crate) struct ToolAnswer {
    pub(crate) is_error: bool,
    /// `structuredContent`; the text `null` if the server said that.
    pub(crate) structured: Option<Raw>,
    pub(crate) content: Vec<Block>,
    /// All of the answer.
    pub(crate) whole: Raw,
}

/// Structured content of more bytes than this is not read as a value, which takes many times the size of its text.
const LARGE: usize = 1 << 20;

/// A content block as text. It is read when it is needed.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    raw: Raw,
    is_text: bool,
}

impl Block {
    /// Fails if its content cannot be read, for example because of half a surrogate pair.
    fn new(raw: Raw) -> Result<Self, serde_json::Error> {
        let is_text = matches!(content(raw.get())?, Content::Text(_));
        Ok(Self { raw, is_text })
    }

    pub(crate) fn is_text(&self) -> bool {
        self.is_text
    }

    pub(crate) fn read(&self) -> Content {
        content(self.raw.get()).unwrap_or(Content::Other)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Content {
    Text(String),
    /// An image, audio, or an embedded resource with bytes.
    Blob {
        mime: Option<String>,
        base64: String,
        uri: Option<String>,
    },
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
    /// An unknown kind, or a block without a required member.
    Other,
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

pub(super) fn read(
    session: &Session,
    tool: &str,
    answer: Answer<Raw>,
) -> Result<ToolAnswer, CallError> {
    let malformed = |reason: String| session.malformed(CALL, &reason);
    let raw = result(session, CALL, answer)?;
    // serde also reads a struct from an array.
    if !raw.get().starts_with('{') {
        return Err(malformed(format!(
            "its `result` is not an object: {}",
            raw.get()
        )));
    }
    let no_result = |error| malformed(format!("its `result` is no tool result: {error}"));
    let wire: Wire<'_> = serde_json::from_str(raw.get()).map_err(no_result)?;
    if wire.content.len() > bounds::BLOCKS {
        let most = bounds::BLOCKS;
        return Err(malformed(format!("it has more than {most} content blocks")));
    }
    match wire.result_type.as_deref() {
        None | Some("complete") => {}
        Some("input_required") if session.is_modern() => {
            let secrets = &session.link.wire.secrets;
            let questions = questions::read(raw.get(), secrets).map_err(malformed)?;
            return Err(CallError::InputRequired {
                server: session.spec.name.clone(),
                tool: tool.to_owned(),
                questions: Box::new(questions),
            });
        }
        Some("input_required") => {
            return Err(malformed(
                "its `resultType` is `input_required`, which the older era does not have; if the server also speaks \
                 2026-07-28, set its `protocol` to `modern` in the catalog"
                    .to_owned(),
            ));
        }
        Some(other) => {
            return Err(malformed(format!(
                "its `resultType` is `{other}`, which oneact does not support"
            )));
        }
    }
    if let Some(structured) = wire.structured_content
        && structured.get().len() <= LARGE
    {
        serde_json::from_str::<Value>(structured.get()).map_err(no_result)?;
    }
    let blocks = wire.content.into_iter();
    let content = blocks.map(|block| Block::new(raw.part(block)));
    Ok(ToolAnswer {
        is_error: wire.is_error.unwrap_or(false),
        structured: wire.structured_content.map(|part| raw.part(part)),
        content: content.collect::<Result<_, _>>().map_err(no_result)?,
        whole: raw,
    })
}

pub(super) fn result(
    session: &Session,
    method: &'static str,
    answer: Answer<Raw>,
) -> Result<Raw, CallError> {
    match answer {
        Answer::Result(raw) => Ok(raw),
        Answer::Error(error) => Err(refused(session, method, error)),
        Answer::Malformed(reason) => Err(session.malformed(method, &reason)),
    }
}

/// The error of an error answer. A modern server without a handshake refuses the version only here.
fn refused(session: &Session, method: &'static str, error: RpcError) -> CallError {
    let (spec, secrets) = (&session.spec, &session.link.wire.secrets);
    match error.code {
        UNSUPPORTED_VERSION => {
            let message = bounds::message(&secrets.cut(&error.message));
            session.mismatch(&message, session.words(&error))
        }
        MISSING_CAPABILITY => CallError::CapabilityMissing {
            server: spec.name.clone(),
            method,
            words: session.words(&error),
            required: required(&secrets.cut_value(error.data.unwrap_or_default())),
            caller: spec.caller,
        },
        _ => session.rpc(method, &error),
    }
}

/// The names in `data.requiredCapabilities` (2026-07-28, `MissingRequiredClientCapabilityError`).
fn required(data: &Value) -> Vec<String> {
    let names = data.get("requiredCapabilities").and_then(Value::as_object);
    names.map_or_else(Vec::new, |names| names.keys().cloned().collect())
}

/// [`Content::Other`] for an unknown kind, or if a required member is missing.
fn content(block: &str) -> Result<Content, serde_json::Error> {
    let mut block: Value = serde_json::from_str(block)?;
    let mime = text(&mut block, "mimeType");
    let read = match text(&mut block, "type").as_deref() {
        Some("text") => text(&mut block, "text").map(Content::Text),
        Some("image" | "audio") => text(&mut block, "data").map(|base64| Content::Blob {
            mime,
            base64,
            uri: None,
        }),
        Some("resource") => block.get_mut("resource").and_then(embedded),
        Some("resource_link") => {
            let name = text(&mut block, "name");
            text(&mut block, "uri").map(|uri| Content::ResourceLink { uri, name, mime })
        }
        _ => None,
    };
    Ok(read.unwrap_or(Content::Other))
}

fn embedded(resource: &mut Value) -> Option<Content> {
    let mime = text(resource, "mimeType");
    let uri = text(resource, "uri")?;
    match text(resource, "blob") {
        Some(base64) => Some(Content::Blob {
            mime,
            base64,
            uri: Some(uri),
        }),
        None => text(resource, "text").map(|text| Content::TextResource { uri, mime, text }),
    }
}

/// Takes a text out of an object.
fn text(object: &mut Value, key: &str) -> Option<String> {
    match object.get_mut(key)?.take() {
        Value::String(text) => Some(text),
        _ => None,
    }
}
