//! The result document of an answer, which stays text if it is large.

use std::{borrow::Cow, collections::HashMap, fmt};

use serde_json::{Value, json, value::RawValue};

use crate::{
    catalog::Entry,
    mcp::{Raw, ToolAnswer},
    task::Secrets,
};

use super::texts::{Said, first_json, result, texts};

/// A text of more bytes than this stays text.
const LARGE: usize = 1 << 20;

/// The result of a tool (000 §Step 6).
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Document {
    Read(Value),
    /// The text of a JSON value.
    Large(Raw),
}

impl Document {
    /// What the answer says: the structured content, or, if that is empty, the texts. What is no object becomes the value
    /// of `result`, as servers write it in the older era. None if the answer says nothing, but `{}` if the entry only
    /// reads. Notes about the answer are added to `notes`.
    pub(super) fn of(entry: &Entry, answer: &ToolAnswer, notes: &mut Vec<String>) -> Option<Self> {
        let mut of_texts = Vec::new();
        let said = Said::of(&texts(answer), entry.result.rows, &mut of_texts);
        if let Some(raw) = &answer.structured
            && (!is_empty(raw) || said == Said::Nothing)
        {
            return Some(match raw.get() {
                object if object.starts_with('{') => Self::read(raw.clone()),
                other => Self::json(result(other)),
            });
        }
        notes.append(&mut of_texts);
        match said {
            Said::Nothing => {
                let reads = entry.effects.read_only == Some(true);
                reads.then(|| Self::Read(json!({})))
            }
            Said::Prose(text) => Some(Self::Read(json!({ "text": text }))),
            Said::Json(json) => Some(Self::json(json)),
        }
    }

    /// The first text of the answer that is JSON.
    pub(super) fn first_of(answer: &ToolAnswer) -> Option<Self> {
        first_json(answer).map(Self::json)
    }

    fn json(json: String) -> Self {
        Self::read(json.into())
    }

    /// A text that cannot be read as a value, for example because of half a surrogate pair, stays text.
    fn read(raw: Raw) -> Self {
        if raw.get().len() > LARGE {
            return Self::Large(raw);
        }
        let value = serde_json::from_str(raw.get());
        Self::Read(value.unwrap_or_else(|_| json!({ "text": raw.get() })))
    }

    /// The value at a JSON Pointer (RFC 6901), unless the value itself is large and unread.
    pub(super) fn pointer(&self, pointer: &str) -> Option<Cow<'_, Value>> {
        match self {
            Self::Read(value) => value.pointer(pointer).map(Cow::Borrowed),
            Self::Large(raw) => find(raw.get(), pointer).map(Cow::Owned),
        }
    }

    /// The whole document as a value, unless it contains too many values.
    pub(super) fn value(&self) -> Result<Cow<'_, Value>, String> {
        match self {
            Self::Read(value) => Ok(Cow::Borrowed(value)),
            Self::Large(raw) => raw.value().map(Cow::Owned),
        }
    }

    pub(super) fn without(self, secrets: &Secrets) -> Self {
        match self {
            Self::Read(value) => Self::Read(secrets.cut_value(value)),
            Self::Large(raw) if secrets.is_empty() => Self::Large(raw),
            Self::Large(raw) => {
                let cut = secrets.cut(raw.get());
                if cut == raw.get() {
                    return Self::Large(raw);
                }
                // Redaction in the text may change a number or an escape, and the rest would be no JSON. If the text
                // cannot be read as a value, the redacted text becomes a string.
                match raw.value() {
                    Ok(value) => Self::Read(secrets.cut_value(value)),
                    Err(_) => Self::Read(Value::String(cut)),
                }
            }
        }
    }
}

/// Its JSON text.
impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(value) => value.fmt(f),
            Self::Large(raw) => f.write_str(raw.get()),
        }
    }
}

/// Whether structured content says nothing, so that a text beside it counts.
fn is_empty(structured: &Raw) -> bool {
    let json = structured.get();
    let inside = json
        .strip_prefix('{')
        .and_then(|json| json.strip_suffix('}'));
    json == "null" || inside.is_some_and(|inside| inside.trim().is_empty())
}

/// The value at a pointer in a JSON text. Other values are not built. Of several members with the same name, the last one
/// counts, as elsewhere in serde.
fn find(json: &str, pointer: &str) -> Option<Value> {
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return None;
    }
    let mut json = json;
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        json = if json.starts_with('{') {
            let members: HashMap<String, &RawValue> = serde_json::from_str(json).ok()?;
            members.get(&token)?.get()
        } else if json.starts_with('[') {
            let items: Vec<&RawValue> = serde_json::from_str(json).ok()?;
            items.get(index(&token)?)?.get()
        } else {
            return None;
        };
    }
    let whole = (json.len() <= LARGE).then(|| serde_json::from_str(json).ok());
    whole.flatten()
}

/// An index into an array: digits, without a leading zero (RFC 6901, section 4).
fn index(token: &str) -> Option<usize> {
    let leading = token.len() > 1 && token.starts_with('0') || token.starts_with('+');
    token.parse().ok().filter(|_| !leading)
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = r#"{"a": [1, {"b/c": "x", "~": null}, 123456789012345678901234567890], "n": 5, "s": "t", "": true}"#;

    #[test]
    fn a_pointer_finds_the_same_in_the_text_as_in_the_value() {
        let value: Value = serde_json::from_str(JSON).unwrap();
        let large = Document::Large(JSON.to_owned().into());
        for pointer in [
            "",
            "/",
            "/a",
            "/a/0",
            "/a/1/b~1c",
            "/a/1/~0",
            "/a/2",
            "/a/3",
            "/a/00",
            "/a/+0",
            "/a/x",
            "/n",
            "/n/0",
            "/s/0",
            "/missing",
            "a",
        ] {
            assert_eq!(
                large.pointer(pointer).as_deref(),
                value.pointer(pointer),
                "{pointer}"
            );
        }
    }

    #[test]
    fn without_secrets_a_large_document_is_still_json() {
        let cut = |text: &str, secret: &str| {
            let secrets = Secrets::new([secret.to_owned()]);
            let document = Document::Large(text.to_owned().into()).without(&secrets);
            serde_json::from_str::<Value>(&document.to_string()).unwrap()
        };
        let text = r#"{"port": 80801, "url": "a:8080", "ok": true, "line": "a\nfoo"}"#;
        assert_eq!(cut(text, "8080")["url"], "a:***");
        // Digits, literals and escapes that happen to look like a secret are none.
        assert_eq!(cut(text, "8080")["port"], json!(80801));
        assert_eq!(cut(text, "true")["ok"], json!(true));
        assert_eq!(cut(text, "nfoo")["line"], "a\nfoo");
        // Half a surrogate pair: JSON by its grammar, and no value.
        let text = r#"{"half": "\ud800", "word": "opensesame"}"#;
        let left = cut(text, "opensesame");
        assert!(
            left.as_str()
                .is_some_and(|text| text.contains("***") && !text.contains("sesame"))
        );
    }
}
