//! What a diff says of one file.

use crate::{
    edit::{
        Counts, Index, Patch,
        hunks::{End, Hunk, Mark},
        patched,
    },
    task::RelPath,
};

/// How a diff is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DiffRules {
    pub(crate) counts: Counts,
    pub(crate) index: Index,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileDiff {
    /// Where it begins, counted from 1.
    pub(crate) line: usize,
    pub(crate) before: Before,
    pub(crate) after: After,
    /// The modes before and after, as far as the diff names them.
    pub(crate) modes: (Option<Mode>, Option<Mode>),
    /// The `index` line, as it was written.
    pub(crate) index: Option<String>,
    pub(crate) hunks: Vec<Hunk>,
    /// The hunks, as they were written; none where the diff does not tell the content that it deletes.
    pub(crate) text: Option<String>,
}

/// Where the content comes from. Paths are as the diff names them, without prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Before {
    Nothing,
    At(String),
    Copied(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum After {
    Nothing,
    At(String),
}

/// The modes that git knows and a plan can express.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Plain,
    Executable,
    Link,
}

impl FileDiff {
    /// The diff that an action carries.
    pub(crate) fn diff(&self) -> Option<String> {
        let index = self.index.as_deref().unwrap_or_default();
        self.text.as_ref().map(|text| [index, text].concat())
    }

    /// The content of a new file.
    pub(crate) fn content(&self) -> Result<String, String> {
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
    pub(crate) fn applied(
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
