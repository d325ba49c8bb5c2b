//! What the text blocks of an answer say: JSON, several values, or prose.

use std::borrow::Cow;

use serde_json::{Value, json, value::RawValue};

use crate::{
    catalog::Rows,
    mcp::{Content, ToolAnswer},
    task::{Finite, has_reserved_key},
};

/// All texts of an answer, in order.
pub(super) fn texts(answer: &ToolAnswer) -> Vec<String> {
    let blocks = answer.content.iter();
    let texts = blocks.filter_map(|block| match block.read() {
        Content::Text(text) => Some(text),
        _ => None,
    });
    texts.collect()
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Said {
    Nothing,
    /// One text that is neither an object nor an array.
    Prose(String),
    /// The JSON of an object.
    Object(String),
    /// The JSON of an array: one text, or a value for each text.
    Values(String),
    /// The JSON of an array: a string for each text, because not all of them are JSON.
    Texts(String),
}

impl Said {
    /// Notes about what JSON does not have are added to `notes`.
    pub(super) fn of(texts: &[String], rows: Rows, notes: &mut Vec<String>) -> Self {
        let text = match (texts, rows) {
            ([], Rows::Single) => return Self::Nothing,
            ([text], Rows::Single) => text,
            _ => return Self::list(texts, notes),
        };
        let is_list = text.trim_ascii_start().starts_with('[');
        let pointer = if is_list { "/result" } else { "" };
        let mut of_json = Vec::new();
        let said = match json_of(text, pointer, &mut of_json) {
            Some(json) if json.starts_with('{') => Self::Object(json.into_owned()),
            Some(json) if json.starts_with('[') => Self::Values(json.into_owned()),
            _ => return Self::Prose(text.clone()),
        };
        notes.append(&mut of_json);
        said
    }

    fn list(texts: &[String], notes: &mut Vec<String>) -> Self {
        let mut of_values = Vec::new();
        let values: Option<Vec<_>> = texts
            .iter()
            .enumerate()
            .map(|(at, text)| json_of(text, &format!("/result/{at}"), &mut of_values))
            .collect();
        match values {
            Some(values) => {
                notes.append(&mut of_values);
                Self::Values(format!("[{}]", values.join(",")))
            }
            None => Self::Texts(json!(texts).to_string()),
        }
    }

    /// Whether `structured`, an object, says something else. Prose beside structured content is no contradiction, unless
    /// the structured content is a text.
    pub(super) fn contradicts(&self, structured: &Value) -> bool {
        let result = structured.get("result");
        let result = result.filter(|_| structured.as_object().is_some_and(|all| all.len() == 1));
        let read = |json: &str| serde_json::from_str(json).ok();
        // A text that is the structured content may itself be JSON.
        let quoted: Option<Value> = result.and_then(Value::as_str).and_then(read);
        let said: Option<Value> = match (self, result) {
            (Self::Object(json) | Self::Values(json), _) => read(json),
            (Self::Texts(json), Some(Value::Array(items)))
                if items.iter().all(Value::is_string) =>
            {
                read(json)
            }
            (Self::Prose(text), Some(Value::String(same))) => return text.trim() != same.trim(),
            (Self::Prose(text), Some(_)) => read(text),
            _ => None,
        };
        said.is_some_and(|said| {
            let mut same = [Some(structured), result, quoted.as_ref()]
                .into_iter()
                .flatten();
            !same.any(|same| is_same(&said, same))
        })
    }
}

/// The first text that is an object or an array.
pub(super) fn first_json(answer: &ToolAnswer) -> Option<String> {
    let mut texts = texts(answer).into_iter();
    texts.find_map(|text| {
        let json = json_of(&text, "", &mut Vec::new())?.into_owned();
        json.starts_with(['{', '[']).then_some(json)
    })
}

/// The text, if it is JSON. `pointer` is its place in the result.
fn json_of<'t>(text: &'t str, pointer: &str, notes: &mut Vec<String>) -> Option<Cow<'t, str>> {
    let is_json =
        |text: &str| serde_json::from_str::<&RawValue>(text).is_ok() && !has_reserved_key(text);
    let text = text.trim_ascii();
    if is_json(text) {
        return Some(Cow::Borrowed(text));
    }
    let finite = Finite::of(text).filter(|finite| is_json(&finite.json))?;
    notes.push(finite.note(pointer));
    Some(Cow::Owned(finite.json))
}

/// Whether two values are the same, also if their numbers are written differently.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let mut members = one.iter();
            one.len() == other.len()
                && members
                    .all(|(name, one)| other.get(name).is_some_and(|other| is_same(one, other)))
        }
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(texts: &[&str], rows: Rows) -> Said {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        Said::of(&texts, rows, &mut Vec::new())
    }

    #[test]
    fn no_one_and_several_texts_keep_their_boundaries() {
        let json = |text: &str| text.to_owned();
        for (texts, single, listed) in [
            (&[] as &[&str], Said::Nothing, Said::Values(json("[]"))),
            (
                &["{\"a\":1}"],
                Said::Object(json("{\"a\":1}")),
                Said::Values(json("[{\"a\":1}]")),
            ),
            (
                &[" [1] "],
                Said::Values(json("[1]")),
                Said::Values(json("[[1]]")),
            ),
            (&["5"], Said::Prose(json("5")), Said::Values(json("[5]"))),
            (&[""], Said::Prose(json("")), Said::Texts(json("[\"\"]"))),
            (
                &["{\"a\":NaN}", "true"],
                Said::Values(json("[{\"a\":null},true]")),
                Said::Values(json("[{\"a\":null},true]")),
            ),
            (
                &["two rows:", "{}"],
                Said::Texts(json("[\"two rows:\",\"{}\"]")),
                Said::Texts(json("[\"two rows:\",\"{}\"]")),
            ),
        ] {
            assert_eq!(said(texts, Rows::Single), single, "{texts:?}");
            assert_eq!(said(texts, Rows::Listed), listed, "{texts:?}");
        }
    }

    #[test]
    fn text_and_structured_content_are_compared_as_values() {
        for (texts, structured, differs) in [
            (
                &["{\"a\": 1.0, \"b\": 2}"] as &[&str],
                json!({"b": 2, "a": 1}),
                false,
            ),
            (&["{\"a\": 1}"], json!({"a": 2}), true),
            (&["{\"a\": 1}"], json!({"result": {"a": 1}}), false),
            (&["1", "2"], json!({"result": [1, 2]}), false),
            (&["1", "2"], json!({"result": [1]}), true),
            (&["1", "b"], json!({"result": ["1", "b"]}), false),
            (&["1", "b"], json!({"result": ["1", "c"]}), true),
            (&["5"], json!({"result": 5}), false),
            (&["5"], json!({"result": 6}), true),
            (&["hello"], json!({"result": "bye"}), true),
            (&["{}"], json!({"result": "{}"}), false),
            (&["Three rows were found."], json!({"rows": 3}), false),
            (
                &["Three rows were found."],
                json!({"result": [1, 2, 3]}),
                false,
            ),
            (&[], json!({"a": 1}), false),
        ] {
            let said = said(texts, Rows::Single);
            assert_eq!(
                said.contradicts(&structured),
                differs,
                "{texts:?} {structured}"
            );
        }
    }
}
