//! A file on its way into the store, and what is known of it there.

use camino::Utf8Path;

use crate::{
    assets::{objects::Conditions, print::GoOn, reach::Room},
    task::{Stat, Uri},
};

/// A finished file that is to become an asset.
#[derive(Clone, Copy)]
pub(crate) struct Finished<'a> {
    pub(crate) session_id: &'a str,
    pub(crate) file_name: &'a str,
    /// Where the file is now.
    pub(crate) staged: &'a Utf8Path,
    /// The facts about the file when it was checked.
    pub(crate) seen: Option<&'a Stat>,
    pub(crate) operation_id: &'a str,
    /// Whether the run may go on.
    pub(crate) go_on: GoOn<'a>,
}

/// An asset at its final place (R-000-71, R-000-72).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    /// `{store}/{session_id}/{file_name}`.
    pub(crate) uri: Uri,
    pub(crate) bytes: u64,
    /// What the store does not guarantee, for `audit.compliance_notes`.
    pub(crate) note: Option<String>,
}

/// What a test of the store has shown.
#[derive(Debug)]
pub(crate) enum Probed {
    Directory(Room),
    Bucket { uri: String, conditions: Conditions },
}
