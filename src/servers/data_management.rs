//! The built-in server `data-management`: finds results again, stores files, keeps context.
//!
//! Results and context live in one SQLite database, `$ONEACT_DATA_DB` or else `.oneact/data.db`
//! below the working directory. Any number of processes may use it at once.

mod context_cacher;
mod context_reader;
mod database;
mod document;
mod file_storer;
mod result_indexer;
mod result_searcher;
mod schema;
mod target;
#[cfg(test)]
mod tests;
mod text;

use std::path::PathBuf;

use context_cacher::ContextCacher;
use context_reader::ContextReader;
use file_storer::FileStorer;
use result_indexer::ResultIndexer;
use result_searcher::ResultSearcher;

use super::tool::Tool;
use crate::host::{self, Clock};

/// The variable that names the database.
const DATABASE: &str = "ONEACT_DATA_DB";

/// What the tools work on.
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
pub(crate) fn tools(clock: Clock) -> Vec<Box<dyn Tool>> {
    let database = host::variable(DATABASE).filter(|path| !path.is_empty());
    tools_at(Place {
        database: database
            .unwrap_or_else(|| ".oneact/data.db".to_owned())
            .into(),
        directory: ".".into(),
        clock,
    })
}

fn tools_at(place: Place) -> Vec<Box<dyn Tool>> {
    vec![
        Box::new(ResultIndexer(place.clone())),
        Box::new(ResultSearcher(place.clone())),
        Box::new(FileStorer(place.clone())),
        Box::new(ContextCacher(place.clone())),
        Box::new(ContextReader(place)),
    ]
}
