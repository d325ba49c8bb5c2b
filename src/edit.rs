//! Edits of file contents, from bytes to bytes. Nothing outside the edit changes. Pure.
//!
//! Every result of an edit of a document is checked: an independent strict reader must find exactly the old
//! document with the change, and the bytes outside the changed lines must be the same. A result that fails this
//! check is refused ([`EditError::Refused`]).

mod budget;
pub(crate) mod diff;
mod draft;
mod error;
mod hunks;
mod json;
mod language;
mod make;
mod nearest;
mod patch;
mod path;
mod pattern;
mod schema;
mod syntax;
mod text;
mod yaml;

pub(crate) use budget::{Budget, Edited};
pub(crate) use draft::Draft;
pub(crate) use error::EditError;
pub(crate) use hunks::{DiffError, DiffRules};
pub(crate) use json::JsonEdit;
pub(crate) use language::Language;
pub(crate) use make::{Edit, edit, patched};
pub(crate) use patch::Patch;
pub(crate) use path::JsonPath;
pub(crate) use pattern::{Count, Pattern, Sought};
pub(crate) use schema::{schema_update, value_of};
pub(crate) use syntax::{check, check_syntax};
pub(crate) use yaml::{MissingKey, YamlEdit};

#[cfg(test)]
mod tests;
