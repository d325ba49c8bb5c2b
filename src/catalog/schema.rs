//! JSON Schemas of the catalog: compiled when a value must be checked, never before.
//!
//! A `$ref` to somewhere else is never fetched: it is an error of the schema.

use jsonschema::Validator;
use serde_json::Value;

use crate::task::{Failure, Fault, redact_presigned};

use super::{document::Place, plain};

/// A JSON Schema with its place in the catalog.
#[derive(Debug)]
pub(crate) struct Schema {
    pub(crate) value: Value,
    pub(crate) place: Place,
}

/// Whether a message may show the value that does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Values {
    Shown,
    Hidden,
}

/// A problem quotes the value, which may be megabytes: this many characters of it are enough.
const LONGEST: usize = 500;

/// More problems than this help nobody.
const PROBLEMS: usize = 5;

impl Schema {
    /// Checks a value. `unfit` makes the failure of a value that does not fit of what, and where in it; a schema that
    /// is itself wrong is the catalog's fault.
    pub(crate) fn check(
        &self,
        value: &Value,
        values: Values,
        unfit: impl FnOnce(String) -> Failure,
    ) -> Result<(), Failure> {
        if plain::fits(&self.value, value) {
            return Ok(());
        }
        let validator = self
            .compile()
            .map_err(|problem| Failure::new(Fault::CatalogInvalid, problem))?;
        let problems: Vec<String> = validator
            .iter_errors(value)
            .take(PROBLEMS)
            .map(|error| {
                let path = shortened(&error.instance_path().to_string());
                let text = match values {
                    Values::Hidden => error.masked().to_string(),
                    Values::Shown => error.to_string(),
                };
                let text = shortened(&redact_presigned(&text));
                if path.is_empty() {
                    text
                } else {
                    format!("{path}: {text}")
                }
            })
            .collect();
        if problems.is_empty() {
            Ok(())
        } else {
            Err(unfit(problems.join("; ")))
        }
    }

    /// Compiles the schema; an error names its place.
    pub(super) fn compile(&self) -> Result<Validator, String> {
        jsonschema::validator_for(&self.value).map_err(|error| {
            let (place, path) = (&self.place, error.instance_path().to_string());
            let within = match path.as_str() {
                "" => String::new(),
                path => format!(" at `{path}`"),
            };
            format!("{place}: the JSON Schema does not compile; correct it{within}: {error}")
        })
    }

    /// What the schema declares for a property: its sub-schema.
    pub(crate) fn property(&self, name: &str) -> Option<&Value> {
        self.value.get("properties")?.get(name)
    }

    /// The properties in the order in which the catalog lists them.
    pub(crate) fn properties(&self) -> impl Iterator<Item = &String> {
        self.value
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(serde_json::Map::keys)
    }

    /// Whether a value without this property cannot fit.
    pub(crate) fn requires(&self, name: &str) -> bool {
        let required = self.value.get("required").and_then(Value::as_array);
        required.is_some_and(|names| names.iter().any(|each| each.as_str() == Some(name)))
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} …", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}
