//! The built-in server `data-management`: finds results again, stores files, keeps context.
//!
//! Results and context live in one SQLite database, `$ONEACT_DATA_DB` or else `.oneact/data.db`
//! below the working directory. Any number of processes may use it at once.

mod context;
mod database;
mod document;
mod file_storer;
mod index;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use super::tool::Tool;
use crate::host::{self, Clock};

/// The variable that names the database.
const DATABASE: &str = "ONEACT_DATA_DB";

#[derive(Debug, Clone)]
struct Place {
    /// The database's file.
    database: PathBuf,
    /// Where files are stored.
    directory: PathBuf,
    clock: Clock,
}

/// The tools of the server, in the order of the catalog (CAP-DAT-001 …), each writer before its
/// reader.
pub(super) fn tools(clock: Clock) -> Vec<Tool> {
    let database = host::variable(DATABASE).filter(|path| !path.is_empty());
    tools_at(&Place {
        database: database
            .unwrap_or_else(|| ".oneact/data.db".to_owned())
            .into(),
        directory: ".".into(),
        clock,
    })
}

fn tools_at(place: &Place) -> Vec<Tool> {
    vec![
        index::result_indexer(place.clone()),
        index::result_searcher(place.clone()),
        file_storer::file_storer(place.clone()),
        context::context_cacher(place.clone()),
        context::context_reader(place.clone()),
    ]
}
