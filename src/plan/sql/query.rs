//! What a plan asks of the engine, and how the engine is run.

use camino::Utf8Path;

use crate::{
    plan::model::Sql,
    task::{DuckDb, Failure, RelPath},
};

use super::job::Held;

/// What a plan asks of the engine.
pub(crate) struct Query<'a> {
    /// The query file, for messages.
    pub(crate) path: &'a RelPath,
    pub(crate) text: &'a str,
    pub(crate) sql: &'a Sql,
    /// Where the files of [`Sql::inputs`] are, in their order.
    pub(crate) inputs: Vec<Source<'a>>,
    /// The content of the database that is changed, of which a copy is changed. None: there is no such file yet.
    pub(crate) written: Option<&'a [u8]>,
}

/// Where a file is that a query may read.
pub(crate) enum Source<'a> {
    File(Held),
    /// What the plan will have put there.
    Planned(&'a [u8]),
}

/// How a query is run.
pub(crate) struct Engine<'a> {
    pub(crate) settings: &'a DuckDb,
    /// The root: no library is loaded from below it.
    pub(crate) root: &'a Utf8Path,
    /// An empty directory that is the query's own. The caller removes it.
    pub(crate) scratch: &'a Utf8Path,
    /// The largest file of results and the largest database, in bytes.
    pub(crate) most: u64,
    /// Asked now and then; a reason to stop ends the child.
    pub(crate) stopped: &'a dyn Fn() -> Option<Failure>,
}
