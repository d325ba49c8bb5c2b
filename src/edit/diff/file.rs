//! What a diff says of one file.

use crate::edit::hunks::Hunk;

/// What a diff says of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileDiff {
    /// Where it begins, counted from 1.
    pub(crate) line: usize,
    pub(crate) change: FileChange,
    /// The modes before and after, as far as the diff names them.
    pub(crate) modes: [Option<Mode>; 2],
    pub(crate) hunks: Vec<Hunk>,
    /// The `index` line and the hunks, as an action carries them; none where the diff does not tell the content that it
    /// deletes.
    pub(crate) text: Option<String>,
}

/// What becomes of a file. Paths are as the diff names them, without prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileChange {
    Created(String),
    /// The first path is that of the source.
    Copied(String, String),
    Deleted(String),
    /// The paths before and after, which may be the same.
    Edited(String, String),
}

/// The modes that git knows and a plan can express.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Plain,
    Executable,
    Link,
}
