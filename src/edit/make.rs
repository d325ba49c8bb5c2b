//! Makes one edit of a file.

use crate::task::{Failure, RelPath};

use super::{
    budget::{Budget, Edited},
    error::{EditError, unless_given_up},
    json::{self, JsonEdit},
    language::{Grammar, Language},
    patch::{self, Patch},
    path::JsonPath,
    pattern::{self, Count, Pattern, Sought},
    syntax::syntax,
    text::{self, Text},
    yaml::{self, YamlEdit},
};

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
    pub(super) fn language(&self, name: &RelPath) -> Option<Language> {
        let language = match self {
            Self::Json { .. } => Language::Json,
            Self::Yaml { .. } => Language::Yaml,
            _ => return None,
        };
        let named = Language::of(name).unwrap_or(language);
        (named == language).then_some(language)
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
            syntax(name, bytes, Grammar::of(name), budget).map_err(EditError::of_result)?;
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
    let is = syntax(name, &edited.bytes, allowed, budget).map_err(EditError::of_result);
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

fn must_not_be(language: Language, name: &RelPath, instead: &str) -> Result<(), EditError> {
    match Language::of(name) {
        Some(found) if found == language => Err(EditError::Unfit(format!(
            "the file is {language} by its name; {instead}"
        ))),
        _ => Ok(()),
    }
}
