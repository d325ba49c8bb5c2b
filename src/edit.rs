//! Edits of file contents, from bytes to bytes. Nothing outside the edit changes. Pure.
//!
//! Every result of an edit of a document is checked: an independent strict reader must find exactly the old
//! document with the change, and the bytes outside the changed lines must be the same. A result that fails this
//! check is refused ([`EditError::Refused`]).

mod budget;
pub(crate) mod diff;
mod draft;
mod hunks;
mod json;
mod language;
mod nearest;
mod patch;
mod path;
mod pattern;
mod schema;
mod text;
mod yaml;

pub(crate) use budget::{Budget, Edited};
pub(crate) use draft::Draft;
pub(crate) use hunks::{DiffError, DiffRules};
pub(crate) use json::JsonEdit;
pub(crate) use language::Language;
pub(crate) use patch::Patch;
pub(crate) use path::JsonPath;
pub(crate) use pattern::{Count, Pattern, Sought};
pub(crate) use schema::{schema_update, value_of};
pub(crate) use text::Position;
pub(crate) use yaml::{MissingKey, YamlEdit};

use crate::task::{Failure, Fault, RelPath};

use language::Grammar;
use text::Text;

/// A change inside a file (001 §A.1).
#[derive(Debug)]
pub(crate) enum Edit {
    TextReplace {
        pattern: Pattern,
        replacement: String,
        count: Count,
        sought: Sought,
    },
    /// The whole file has these bytes instead.
    ReplaceContent(Vec<u8>),
    /// The content becomes line `line`, counted from 1; one past the last appends.
    LineInsert {
        line: u64,
        content: String,
    },
    /// The hunks of a diff of this file.
    Patch(Patch),
    /// Lines `first` to `last`, both included, counted from 1.
    LineDelete {
        first: u64,
        last: u64,
    },
    Json {
        path: JsonPath,
        edit: JsonEdit,
    },
    Yaml {
        path: JsonPath,
        /// Which document of the file, counted from 1; the only one that has the path, if none is named.
        document: Option<u64>,
        edit: YamlEdit,
    },
}

impl Edit {
    /// The language of the document, if such an edit can be made in a file of that name; none of an edit of
    /// text.
    fn language(&self, name: &RelPath) -> Option<Language> {
        let language = match self {
            Self::Json { .. } => Language::Json,
            Self::Yaml { .. } => Language::Yaml,
            _ => return None,
        };
        let named = Language::of(name).unwrap_or(language);
        (named == language).then_some(language)
    }
}

/// Why an edit was not made. Nothing was changed. The messages do not name the file.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub(crate) enum EditError {
    #[error(
        "the file is not UTF-8 text: invalid byte at offset {offset}; replace it as a whole with replace_content"
    )]
    NotText { offset: usize },
    #[error(
        "the file is not UTF-8 text: there is a NUL byte at offset {offset}, as in UTF-16 or in a program; replace it as a whole with replace_content"
    )]
    Nul { offset: usize },
    /// A text or a hunk that is nowhere in the file.
    #[error("{0}")]
    NotFound(String),
    /// A text or a hunk that is at more than one place.
    #[error("{0}")]
    Ambiguous(String),
    #[error(
        "there is no line {line}: the file ends with line {last}, so {allowed} is the largest number here"
    )]
    LineOutOfRange {
        line: u64,
        last: usize,
        allowed: usize,
    },
    #[error("{path}: {problem}")]
    PlaceNotFound { path: JsonPath, problem: String },
    /// An edit that could change something else.
    #[error("{0}")]
    Refused(String),
    #[error("{what} not valid {language}: {problem}{}", at.map(|at| format!(" at {at}")).unwrap_or_default())]
    Invalid {
        /// `the file is`, or `the result would be`.
        what: &'static str,
        language: Language,
        problem: String,
        at: Option<Position>,
    },
    #[error("the result would be no valid JSON Schema: {problem}")]
    SchemaInvalid { problem: String },
    /// An edit that makes sense in no file, or not in this kind of file.
    #[error("{0}")]
    Unfit(String),
    #[error("the result would have more than the {most} bytes that a file may have here")]
    TooLarge { most: u64 },
    /// The text is too long for what is done with it.
    #[error("the text has {bytes} bytes; {what} up to {most} bytes")]
    TooLong {
        what: &'static str,
        bytes: usize,
        most: usize,
    },
    #[error("{}", .0.message)]
    Stopped(Failure),
}

impl EditError {
    /// The result of an edit is not what was meant.
    fn risky(problem: &str) -> Self {
        Self::Refused(format!(
            "the edit cannot be made safely: its result {problem}; make it with text_replace"
        ))
    }

    fn after(mut self) -> Self {
        if let Self::Invalid { what, .. } = &mut self {
            *what = "the result would be";
        }
        self
    }
}

impl From<EditError> for Failure {
    fn from(error: EditError) -> Self {
        let fault = match &error {
            EditError::NotText { .. } | EditError::Nul { .. } => Fault::NotText,
            EditError::NotFound(_) => Fault::PatternNotFound,
            EditError::Ambiguous(_) => Fault::PatternAmbiguous,
            EditError::LineOutOfRange { .. } => Fault::LineOutOfRange,
            EditError::PlaceNotFound { .. } => Fault::PlaceNotFound,
            EditError::Refused(_) => Fault::EditRefused,
            EditError::Invalid { .. } => Fault::ContentInvalid,
            EditError::SchemaInvalid { .. } => Fault::SchemaInvalid,
            EditError::Unfit(_) => Fault::PlanInvalid,
            EditError::TooLarge { .. } | EditError::TooLong { .. } => Fault::LimitExceeded,
            EditError::Stopped(failure) => return failure.clone(),
        };
        Self::new(fault, error.to_string())
    }
}

/// Makes one edit. The name tells the language of the file.
///
/// An edit of text may repair an invalid document, but not make a valid one invalid (R-001-162). The result of
/// several edits is compared with the file as it was when it was `last_whole`.
pub(crate) fn edit(
    edit: &Edit,
    name: &RelPath,
    before: &[u8],
    last_whole: &[u8],
    budget: &Budget<'_>,
) -> Result<Edited, EditError> {
    let text = || Text::read(before);
    let edited = match edit {
        Edit::TextReplace {
            pattern,
            replacement,
            count,
            sought,
        } => pattern::replace(text()?, (pattern, *sought), replacement, *count, budget)?,
        Edit::ReplaceContent(bytes) => {
            budget.fits(bytes.len() as u64)?;
            syntax(name, bytes, Grammar::of(name), budget).map_err(EditError::after)?;
            let said = format!("Content replaced with {} bytes", bytes.len());
            return Ok(Edited::whole(bytes.clone(), said));
        }
        Edit::Patch(patch) => patch::apply(text()?, patch, budget)?,
        Edit::LineInsert { line, content } => text::insert(text()?, *line, content)?,
        Edit::LineDelete { first, last } => text::delete(text()?, *first, *last)?,
        Edit::Json { path, edit } => {
            let instead = match edit {
                JsonEdit::Remove { .. } => "use yaml_remove",
                JsonEdit::Append { .. } => "use yaml_append",
                JsonEdit::Add { .. } | JsonEdit::Update { .. } => "use yaml_update",
            };
            must_not_be(Language::Yaml, name, instead)?;
            return json::edit(text()?, path, edit, budget);
        }
        Edit::Yaml {
            path,
            document,
            edit,
        } => {
            let instead = match edit {
                YamlEdit::Update { .. } => "use json_update_value",
                YamlEdit::Append { .. } => "use json_append",
                YamlEdit::Remove => "use json_remove_property",
            };
            must_not_be(Language::Json, name, instead)?;
            return yaml::edit(text()?, path, *document, edit, budget);
        }
    };
    // A file that already has comments or trailing commas may have them afterwards, whatever its name is.
    let Ok(was) = unless_given_up(syntax(name, last_whole, Grammar::Loose, budget))? else {
        return Ok(edited);
    };
    let allowed = was.max(Grammar::of(name));
    let is = syntax(name, &edited.bytes, allowed, budget).map_err(EditError::after);
    let broken = unless_given_up(is)?.err();
    Ok(Edited { broken, ..edited })
}

/// The content of a file with the hunks of a diff.
pub(crate) fn patched(
    patch: &Patch,
    before: &[u8],
    stopped: &dyn Fn() -> Option<Failure>,
) -> Result<Edited, EditError> {
    patch::apply(Text::read(before)?, patch, &Budget::of_check(stopped))
}

/// The result of a check, unless the check was given up before its end.
fn unless_given_up<T>(looked: Result<T, EditError>) -> Result<Result<T, EditError>, EditError> {
    match looked {
        Err(error @ (EditError::Stopped(_) | EditError::TooLong { .. })) => Err(error),
        looked => Ok(looked),
    }
}

fn must_not_be(language: Language, name: &RelPath, instead: &str) -> Result<(), EditError> {
    match Language::of(name) {
        Some(found) if found == language => Err(EditError::Unfit(format!(
            "the file is {language} by its name; {instead}"
        ))),
        _ => Ok(()),
    }
}

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
fn syntax(
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

/// The longest text that is read as a tree or searched for an expression, in bytes. A tree can take some hundred times as
/// much memory, and a search takes time in proportion to the text × the compiled expression.
const MAX_READ: usize = 8 << 20;

/// Checks that a text is short enough for what is done with it.
fn fits(what: &'static str, bytes: usize) -> Result<(), EditError> {
    if bytes <= MAX_READ {
        return Ok(());
    }
    Err(EditError::TooLong {
        what,
        bytes,
        most: MAX_READ,
    })
}

#[cfg(test)]
mod tests;
