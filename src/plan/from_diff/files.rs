//! What a diff says of one file.

use serde_json::{Map, Value};

use crate::{
    plan::edit::{End, Hunk, Index, Mark, Patch, patched},
    task::RelPath,
};

use super::DiffRules;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileDiff {
    /// Where it begins, counted from 1.
    pub(super) line: usize,
    pub(super) before: Before,
    pub(super) after: After,
    /// The modes before and after, as far as the diff names them.
    pub(super) modes: (Option<Mode>, Option<Mode>),
    /// The `index` line, as it was written.
    pub(super) index: Option<String>,
    pub(super) hunks: Vec<Hunk>,
    /// The hunks, as they were written; none where the diff does not tell the content that it deletes.
    pub(super) text: Option<String>,
}

/// Where the content comes from. Paths are as the diff names them, without prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Before {
    Nothing,
    At(String),
    Copied(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum After {
    Nothing,
    At(String),
}

/// The modes that git knows and a plan can express.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Plain,
    Executable,
    Link,
}

impl FileDiff {
    /// The diff that an action carries.
    fn diff(&self) -> Option<String> {
        let index = self.index.as_deref().unwrap_or_default();
        self.text.as_ref().map(|text| [index, text].concat())
    }

    /// An operation of that type with the diff.
    pub(super) fn with_diff(&self, kind: &str, rules: DiffRules) -> Value {
        let mut operation = Map::from_iter([("type".to_owned(), Value::from(kind))]);
        if let Some(diff) = self.diff() {
            operation.insert("diff".to_owned(), Value::from(diff));
            let recount = self.hunks.iter().any(|hunk| hunk.recounted.is_some());
            let flags = [
                ("recount", recount),
                ("require_index", rules.index == Index::Required),
            ];
            let set = flags.into_iter().filter(|(_, is_set)| *is_set);
            operation.extend(set.map(|(key, _)| (key.to_owned(), Value::Bool(true))));
        }
        Value::Object(operation)
    }

    /// The content of a new file.
    pub(super) fn content(&self) -> Result<String, String> {
        let lines = || self.hunks.iter().flat_map(|hunk| &hunk.lines);
        if self.hunks.len() > 1 || lines().any(|line| line.mark != Mark::Added) {
            return Err("the diff of a new file has old lines or several hunks".to_owned());
        }
        let end = |end| if end == End::Feed { "\n" } else { "" };
        Ok(lines()
            .flat_map(|line| [line.text.as_str(), end(line.end)])
            .collect())
    }

    /// The content of a file with the hunks.
    pub(super) fn applied(
        &self,
        name: &RelPath,
        bytes: &[u8],
        rules: DiffRules,
    ) -> Result<String, String> {
        if self.hunks.is_empty() {
            return String::from_utf8(bytes.to_vec()).map_err(|error| error.to_string());
        }
        let diff = self.diff().unwrap_or_default();
        let patch = Patch::parse(&diff, name, rules.counts, rules.index)
            .map_err(|error| error.to_string())?;
        let edited = patched(&patch, bytes, &|| None).map_err(|error| error.to_string())?;
        String::from_utf8(edited.bytes).map_err(|error| error.to_string())
    }
}
