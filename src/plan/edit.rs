//! Edits of file contents, from bytes to bytes. Nothing outside the edit changes. Pure.
//!
//! Every result of an edit of a document is checked: an independent strict reader must find exactly the old
//! document with the change, and the bytes outside the changed lines must be the same. A result that fails this
//! check is refused ([`EditError::Refused`]).

mod draft;
mod error;
mod hunks;
mod json;
pub(crate) mod names;
mod nearest;
mod patch;
mod path;
mod pattern;
mod schema;
mod text;
mod yaml;

pub(crate) use draft::Draft;
pub(crate) use error::{EditError, When};
pub(crate) use hunks::{Counts, Cursor, DiffError, End, Hunk, Line, Mark, Reach, contradiction};
pub(crate) use json::JsonEdit;
pub(crate) use patch::{Index, Patch};
pub(crate) use path::JsonPath;
pub(crate) use pattern::{Count, Pattern, Sought};
pub(crate) use schema::{schema_update, value_of};
pub(crate) use text::Position;
pub(crate) use yaml::{MissingKey, YamlEdit};

use crate::task::{Failure, RelPath};

use json::Grammar;
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
            Self::TextReplace { .. }
            | Self::Patch(_)
            | Self::ReplaceContent(_)
            | Self::LineInsert { .. }
            | Self::LineDelete { .. } => {
                return None;
            }
        };
        let named = Language::of(name).unwrap_or(language);
        (named == language).then_some(language)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edited {
    pub(crate) bytes: Vec<u8>,
    /// What was done, in a sentence: `Property 'new_field' added successfully` (R-001-178).
    pub(crate) said: String,
    /// What is wrong with the result, if the file before it was valid. A later edit may repair it.
    pub(crate) broken: Option<EditError>,
}

impl Edited {
    fn whole(bytes: Vec<u8>, said: String) -> Self {
        Self {
            bytes,
            said,
            broken: None,
        }
    }
}

/// The limits of an edit. An edit that would exceed them is refused before the result is built.
pub(crate) struct Budget<'a> {
    /// Bytes of the result.
    pub(crate) most: u64,
    /// Why the edit must stop now: a signal or the time limit. It is asked often.
    pub(crate) stopped: &'a dyn Fn() -> Option<Failure>,
}

impl<'a> Budget<'a> {
    /// For a check, which has no result.
    fn of_check(stopped: &'a dyn Fn() -> Option<Failure>) -> Self {
        let most = u64::MAX;
        Self { most, stopped }
    }

    fn go_on(&self) -> Result<(), EditError> {
        (self.stopped)().map_or(Ok(()), |failure| Err(EditError::Stopped(failure)))
    }

    fn fits(&self, bytes: u64) -> Result<(), EditError> {
        if bytes <= self.most {
            return Ok(());
        }
        Err(EditError::TooLarge { most: self.most })
    }
}

/// The language of a file, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Json,
    Yaml,
}

impl Language {
    fn of(name: &RelPath) -> Option<Self> {
        let ending = name.as_path().extension()?.to_ascii_lowercase();
        match ending.as_str() {
            "json" | "jsonc" => Some(Self::Json),
            "yaml" | "yml" => Some(Self::Yaml),
            _ => None,
        }
    }
}

impl Language {
    /// The error for a text that is not valid at that byte.
    fn invalid(
        self,
        problem: impl Into<String>,
        text: &str,
        at: impl Into<Option<usize>>,
    ) -> EditError {
        EditError::Invalid {
            language: self,
            problem: problem.into(),
            at: at.into().map(|at| Position::of(text, at)),
            when: When::Before,
        }
    }
}

impl std::fmt::Display for Language {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Json => "JSON",
            Self::Yaml => "YAML",
        })
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
    let check = |bytes: &[u8], grammar| syntax(name, bytes, grammar, budget);
    // A file that already has comments or trailing commas may have them afterwards, whatever its name is.
    let grammars: &[Grammar] = match (Language::of(name), Grammar::of(name)) {
        (Some(Language::Json), Grammar::Strict) => &[Grammar::Strict, Grammar::Loose],
        (_, Grammar::Strict) => &[Grammar::Strict],
        (_, Grammar::Loose) => &[Grammar::Loose],
    };
    for grammar in grammars {
        match check(last_whole, *grammar) {
            Ok(()) => {
                let broken = check(&edited.bytes, *grammar).map_err(EditError::after);
                let broken = unless_given_up(broken)?.err();
                return Ok(Edited { broken, ..edited });
            }
            not_whole => unless_given_up(not_whole)?.unwrap_or_default(),
        }
    }
    Ok(edited)
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
    syntax(name, bytes, Grammar::of(name), &budget)
}

fn syntax(
    name: &RelPath,
    bytes: &[u8],
    grammar: Grammar,
    budget: &Budget<'_>,
) -> Result<(), EditError> {
    match Language::of(name) {
        None => Ok(()),
        Some(Language::Json) => json::check(Text::read(bytes)?, grammar, budget),
        Some(Language::Yaml) => yaml::check(Text::read(bytes)?, budget),
    }
}

/// The longest text that is read as a tree, in bytes. The tree can take some hundred times as much memory.
const MAX_READ: usize = 8 << 20;

/// Checks that a text is short enough to be read as a tree.
fn fits(language: Language, bytes: usize) -> Result<(), EditError> {
    if bytes <= MAX_READ {
        return Ok(());
    }
    Err(EditError::TooLong {
        language,
        bytes,
        most: MAX_READ,
    })
}

/// Whether a file is a document of this language, whatever it is called.
pub(crate) fn check(
    language: Language,
    name: &RelPath,
    bytes: &[u8],
    stopped: &dyn Fn() -> Option<Failure>,
) -> Result<(), EditError> {
    let budget = Budget::of_check(stopped);
    match language {
        _ if Language::of(name) == Some(language) => check_syntax(name, bytes, stopped),
        Language::Json => json::check(Text::read(bytes)?, Grammar::Loose, &budget),
        Language::Yaml => yaml::check(Text::read(bytes)?, &budget),
    }
}

#[cfg(test)]
mod tests;
