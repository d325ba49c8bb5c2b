//! Whether the engine can be used on this machine, for the doctor.

use std::collections::BTreeMap;

use camino::Utf8Path;

use crate::task::{DuckDb, RelPath};

use super::{Engine, Expects, Order, Query, find, perform};

pub(crate) enum Found {
    /// Its version, and where it is.
    Ready(String),
    /// Nobody has named or installed one. How to install it.
    Absent(String),
    Unusable(String),
}

/// Performs a query that reads nothing.
pub(crate) fn probe(settings: &DuckDb, root: &Utf8Path) -> Found {
    let library = match find::find(settings, root) {
        Ok(library) => library,
        Err(failure) if find::is_named(settings) => return Found::Unusable(failure.message),
        Err(failure) => return Found::Absent(failure.message),
    };
    let scratch = tempfile::tempdir().map_err(|error| error.to_string());
    let asked = scratch.and_then(|scratch| {
        let scratch = Utf8Path::from_path(scratch.path()).ok_or("$TMPDIR is not UTF-8")?;
        let query = Query {
            path: &RelPath::parse("query").map_err(str::to_owned)?,
            text: "SELECT 42",
            parameters: &BTreeMap::new(),
            reads: Vec::new(),
            database: None,
            results: None,
            expects: Expects::Rows,
            order: Order::Any,
        };
        let engine = Engine {
            settings,
            root,
            scratch,
            most: 0,
            stopped: &|| None,
        };
        perform(&query, &engine).map_err(|failure| failure.message)
    });
    match asked {
        Ok(answer) => Found::Ready(format!("{} at {library}", answer.engine)),
        Err(why) => Found::Unusable(why),
    }
}
