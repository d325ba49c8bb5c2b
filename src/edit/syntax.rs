//! Whether the content of a file is a document of the language that its name tells.

use crate::task::{Failure, RelPath};

use super::{
    budget::Budget,
    error::EditError,
    json,
    language::{Grammar, Language},
    text::Text,
    yaml,
};

/// Checks that the content of a file fits its name (R-001-162): `.json` one JSON value, `.jsonc` and the names
/// known for that the same with comments and trailing commas; `.yaml` and `.yml` any number of YAML
/// documents. Duplicate keys are an error in all of them. Files with other names are not checked.
pub(crate) fn check_syntax(
    name: &RelPath,
    bytes: &[u8],
    stopped: &dyn Fn() -> Option<Failure>,
) -> Result<(), EditError> {
    let budget = Budget::of_check(stopped);
    syntax(name, bytes, Grammar::of(name), &budget).map(drop)
}

/// Whether a file is a document of this language, whatever it is called.
pub(crate) fn check(
    language: Language,
    name: &RelPath,
    bytes: &[u8],
    stopped: &dyn Fn() -> Option<Failure>,
) -> Result<(), EditError> {
    let allowed = if Language::of(name) == Some(language) {
        Grammar::of(name)
    } else {
        Grammar::Loose
    };
    read(language, bytes, allowed, &Budget::of_check(stopped)).map(drop)
}

/// The grammar that the content of a file uses.
pub(super) fn syntax(
    name: &RelPath,
    bytes: &[u8],
    allowed: Grammar,
    budget: &Budget<'_>,
) -> Result<Grammar, EditError> {
    let language = Language::of(name);
    language.map_or(Ok(Grammar::Strict), |language| {
        read(language, bytes, allowed, budget)
    })
}

fn read(
    language: Language,
    bytes: &[u8],
    allowed: Grammar,
    budget: &Budget<'_>,
) -> Result<Grammar, EditError> {
    let text = Text::read(bytes)?;
    match language {
        Language::Json => json::check(text, allowed, budget),
        Language::Yaml => yaml::check(text, budget).map(|()| Grammar::Strict),
    }
}
