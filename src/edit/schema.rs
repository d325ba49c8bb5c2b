//! Edits of JSON Schemas, and the documents that are checked against a schema.

use serde_json::Value;

use crate::task::{Failure, RelPath};

use super::{
    Budget, Edit, EditError, Edited, Language, budget::MAX_READ, edit, error::unless_given_up,
    json, text::Text, yaml,
};

/// The document in a file, read strictly (R-001-162). A file that is no YAML by its name is read as
/// JSON.
pub(crate) fn value_of(
    name: &RelPath,
    bytes: &[u8],
    stopped: &dyn Fn() -> Option<Failure>,
) -> Result<Value, EditError> {
    let language = Language::of(name).unwrap_or(Language::Json);
    value(language, bytes, &Budget::of_check(stopped))
}

/// The document in these bytes, read strictly, for a check against a schema.
fn value(language: Language, bytes: &[u8], budget: &Budget<'_>) -> Result<Value, EditError> {
    if bytes.len() > MAX_READ {
        return Err(EditError::Unfit(format!(
            "the document has {} bytes; documents of at most {MAX_READ} bytes are checked against a schema",
            bytes.len()
        )));
    }
    let text = Text::read(bytes)?;
    match language {
        Language::Json => json::value(text, budget),
        Language::Yaml => yaml::value(text, budget),
    }
}

/// Makes one edit of a schema. What was a valid JSON Schema before must be one afterwards. A document
/// of another kind, which no meta-schema of the known drafts accepts, only keeps its syntax; the
/// answer says so. Nothing is fetched.
pub(crate) fn schema_update(
    change: &Edit,
    name: &RelPath,
    before: &[u8],
    last_whole: &[u8],
    budget: &Budget<'_>,
) -> Result<Edited, EditError> {
    let language = Language::of(name).ok_or_else(|| {
        EditError::Unfit(
            "SCHEMA_UPDATE edits .json, .jsonc, .yaml and .yml files; use FILE_MODIFY".to_owned(),
        )
    })?;
    let was = value(language, last_whole, budget).map(|schema| problem(&schema));
    let edited = edit(change, name, before, last_whole, budget)?;
    let is = match unless_given_up(value(language, &edited.bytes, budget))? {
        Ok(schema) => problem(&schema),
        Err(error) => {
            let broken = Some(error.of_result());
            return Ok(Edited { broken, ..edited });
        }
    };
    Ok(match (was, is) {
        (_, None) => edited,
        (Ok(None), Some(problem)) => Edited {
            broken: Some(EditError::SchemaInvalid { problem }),
            ..edited
        },
        (Ok(Some(_)) | Err(_), Some(_)) => Edited {
            said: format!(
                "{} (checked as {language} only: it was no JSON Schema before)",
                edited.said
            ),
            ..edited
        },
    })
}

/// What makes it no JSON Schema of the draft it names (of 2020-12, if it names none).
fn problem(schema: &Value) -> Option<String> {
    let checked = jsonschema::meta::options().validate(schema);
    checked.err().map(|error| {
        let place = error.instance_path().to_string();
        if place.is_empty() {
            error.to_string()
        } else {
            format!("{error} at {place}")
        }
    })
}
