//! `SCHEMA_UPDATE`: an edit of a JSON or YAML document that describes data.

use serde_json::Value;

use super::{Budget, EditError, Edited, Language, edit, value};
use crate::{plan::model::Edit, task::RelPath};

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
    let was = value(language, last_whole).map(|schema| problem(&schema));
    let edited = edit(change, name, before, last_whole, budget)?;
    let is = match value(language, &edited.bytes) {
        Ok(schema) => problem(&schema),
        Err(error) => {
            let broken = Some(error.after());
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
