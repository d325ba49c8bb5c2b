//! What the text blocks of an answer say: JSON, several values, or prose.

use std::borrow::Cow;

use serde_json::{json, value::RawValue};

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

/// What the texts of an answer say, as the JSON of a document.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Said {
    Nothing,
    /// One text that is neither an object nor an array.
    Prose(String),
    /// An object: the only text, or the value of `result`, which has a value for each text, or a string if not all of
    /// them are JSON.
    Json(String),
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
            Some(json) if json.starts_with('{') => Self::Json(json.into_owned()),
            Some(json) if json.starts_with('[') => Self::Json(result(&json)),
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
        let Some(values) = values else {
            return Self::Json(result(&json!(texts).to_string()));
        };
        notes.append(&mut of_values);
        Self::Json(result(&format!("[{}]", values.join(","))))
    }
}

/// The document of a value that is no object.
pub(super) fn result(json: &str) -> String {
    format!("{{\"result\":{json}}}")
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

#[cfg(test)]
mod tests {
    use super::*;

    fn said(texts: &[&str], rows: Rows) -> Said {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        Said::of(&texts, rows, &mut Vec::new())
    }

    #[test]
    fn no_one_and_several_texts_keep_their_boundaries() {
        let (json, listed) = (|text: &str| text.to_owned(), result);
        for (texts, single, listed) in [
            (&[] as &[&str], Said::Nothing, Said::Json(listed("[]"))),
            (
                &["{\"a\":1}"],
                Said::Json(json("{\"a\":1}")),
                Said::Json(listed("[{\"a\":1}]")),
            ),
            (
                &[" [1] "],
                Said::Json(listed("[1]")),
                Said::Json(listed("[[1]]")),
            ),
            (&["5"], Said::Prose(json("5")), Said::Json(listed("[5]"))),
            (&[""], Said::Prose(json("")), Said::Json(listed("[\"\"]"))),
            (
                &["{\"a\":NaN}", "true"],
                Said::Json(listed("[{\"a\":null},true]")),
                Said::Json(listed("[{\"a\":null},true]")),
            ),
            (
                &["two rows:", "{}"],
                Said::Json(listed("[\"two rows:\",\"{}\"]")),
                Said::Json(listed("[\"two rows:\",\"{}\"]")),
            ),
        ] {
            assert_eq!(said(texts, Rows::Single), single, "{texts:?}");
            assert_eq!(said(texts, Rows::Listed), listed, "{texts:?}");
        }
    }
}
