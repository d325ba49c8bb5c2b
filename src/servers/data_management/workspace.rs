//! Where the tools of the server keep what they store.

use std::path::PathBuf;

use crate::host::Clock;

/// The variable that names the database.
pub(super) const DATABASE: &str = "ONEACT_DATA_DB";

#[derive(Debug, Clone)]
pub(super) struct Workspace {
    pub(super) database: PathBuf,
    /// The directory below which files are stored.
    pub(super) directory: PathBuf,
    pub(super) clock: Clock,
}
