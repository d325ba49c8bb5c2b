//! Pipelines of a plan (R-001-93, C-23): a program of the catalog, in a domain of its own.

use camino::Utf8Path;
use serde_json::{Map, Value};

use crate::task::{Failure, Fault, Pipeline, RelPath};

/// A program to be started.
pub(crate) struct Launch<'a> {
    pub(crate) pipeline: &'a Pipeline,
    /// The values of its declared parameters.
    pub(crate) parameters: &'a Map<String, Value>,
    /// Its working directory.
    pub(crate) root: &'a Utf8Path,
    /// An empty directory that is the program's own (`TMPDIR`). The caller removes it.
    pub(crate) scratch: &'a Utf8Path,
    /// Asked now and then; a reason to stop ends the program and everything it has started.
    pub(crate) stopped: &'a dyn Fn() -> Option<Failure>,
}

/// What a program that ended by itself, with status 0, left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    /// The end of what it printed, for the report.
    pub(crate) output: String,
}

/// The arguments of the program, each parameter as one argument; an error if the parameters do not fit the schema.
pub(crate) fn arguments(
    _pipeline: &Pipeline,
    _parameters: &Map<String, Value>,
) -> Result<Vec<String>, Failure> {
    Err(not_built_in())
}

/// Runs the program to its end. An error if it could not be started, failed or was stopped; its message has the end of
/// the output. Afterwards nothing that it started is running.
pub(crate) fn run(_launch: &Launch<'_>) -> Result<Ran, Failure> {
    Err(not_built_in())
}

/// The files in the directories that the pipeline may write to which were changed (ctime) since then (nanoseconds since 1970), at most 100, and
/// how many there are.
pub(crate) fn written_since(
    _root: &Utf8Path,
    _writes: &[RelPath],
    _since: i64,
) -> (Vec<RelPath>, usize) {
    (Vec::new(), 0)
}

fn not_built_in() -> Failure {
    Failure::new(Fault::OperationNotBuiltIn, "pipelines are not built in")
}
