//! The built-in server `data-management`: indexes results, stores files, caches context, keeps tasks.
//!
//! The index, the cache and the tasks are in one SQLite database, `$ONEACT_DATA_DB` or `.oneact/data.db` below the working
//! directory. Any number of processes may use it at the same time.

mod context;
mod database;
mod document;
mod file_storer;
mod index;
mod tasks;
#[cfg(test)]
mod tests;
mod workspace;

use super::tool::Tool;
use crate::host::{self, Clock};
use workspace::{DATABASE, Workspace};

/// The tools of the server, in the order of the catalog (CAP-DAT-001 …, `task_create`).
pub(super) fn tools(clock: Clock) -> Vec<Tool> {
    let database = host::variable(DATABASE).filter(|path| !path.is_empty());
    tools_at(&Workspace {
        database: database
            .unwrap_or_else(|| ".oneact/data.db".to_owned())
            .into(),
        directory: ".".into(),
        clock,
    })
}

fn tools_at(place: &Workspace) -> Vec<Tool> {
    vec![
        index::result_indexer(place.clone()),
        index::result_searcher(place.clone()),
        file_storer::file_storer(place.clone()),
        context::context_cacher(place.clone()),
        context::context_reader(place.clone()),
        tasks::task_create(place.clone()),
        tasks::task_list(place.clone()),
        tasks::task_complete(place.clone()),
    ]
}
