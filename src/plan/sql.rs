//! SQL of a plan (R-001-92, C-22): DuckDB, loaded at run time in a jailed child of this program.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;
use serde_json::Value;

use crate::task::{DuckDb, Failure, Fault, RelPath};

use super::model::{Expects, Order};

/// What a plan asks of the engine.
pub(crate) struct Query<'a> {
    /// The query file, for messages.
    pub(crate) path: &'a RelPath,
    pub(crate) text: &'a str,
    /// Bound by name (R-001-190): null, booleans, numbers and texts. No two names differ by case alone.
    pub(crate) parameters: &'a BTreeMap<String, Value>,
    /// What the query may read.
    pub(crate) reads: Vec<Input<'a>>,
    pub(crate) database: Option<Database<'a>>,
    pub(crate) results: Option<Results<'a>>,
    pub(crate) expects: Expects,
    pub(crate) order: Order,
}

/// A file that a query may read under its path below the root.
pub(crate) struct Input<'a> {
    pub(crate) path: &'a RelPath,
    pub(crate) source: Source<'a>,
}

pub(crate) enum Source<'a> {
    /// The file at this absolute path, without links. Another file that is put there meanwhile is not read.
    File {
        at: Utf8PathBuf,
        device: u64,
        inode: u64,
    },
    /// What the plan will have put there.
    Planned(&'a [u8]),
}

/// The database that is open while the query runs.
pub(crate) enum Database<'a> {
    /// It is opened read-only, so that the query changes nothing.
    Read(Input<'a>),
    /// A copy is changed; the answer has its new content. Empty: there is no such file yet.
    Write {
        path: &'a RelPath,
        bytes: Option<&'a [u8]>,
    },
}

/// Where the rows of the last statement go. The ending of the path decides the format and the compression.
pub(crate) struct Results<'a> {
    pub(crate) path: &'a RelPath,
}

/// What a query did.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Rows of the last statement, if it has any and they could be counted.
    pub(crate) rows: Option<u64>,
    /// The content of the results file.
    pub(crate) results: Option<Vec<u8>>,
    /// The new content of the database that was opened for writing.
    pub(crate) database: Option<Vec<u8>>,
    /// What the format of the results cannot hold exactly, and the like.
    pub(crate) notes: Vec<String>,
    /// `DuckDB v1.5.6`
    pub(crate) engine: String,
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

/// What a child is told.
#[derive(Deserialize)]
pub(crate) struct Job {}

/// Performs a job in a child.
pub(crate) fn work(_job: &Job) {}

/// Performs a query. Nothing outside the scratch directory is written.
pub(crate) fn perform(_query: &Query<'_>, _engine: &Engine<'_>) -> Result<Answer, Failure> {
    Err(Failure::new(
        Fault::OperationNotBuiltIn,
        "SQL is not built in",
    ))
}

/// Whether results can be written to a file of this name: its ending says the format.
pub(crate) fn fits_results(path: &RelPath) -> Result<(), String> {
    let known = [".parquet", ".csv", ".json", ".jsonl"];
    if known.iter().any(|ending| path.name().ends_with(ending)) {
        return Ok(());
    }
    Err(format!(
        "`{path}` does not say the format of the results; end the name in one of {}",
        known.join(", ")
    ))
}
