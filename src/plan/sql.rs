//! SQL of a plan (R-001-92, C-22): DuckDB, loaded at run time in a jailed child of this program.

mod engine;
mod find;
mod job;
mod library;
mod query;
mod session;
mod text;
mod view;

use std::{fs::File, io::Read as _};

use camino::{Utf8Path, Utf8PathBuf};
use serde::de::IgnoredAny;

use crate::task::{DuckDb, Failure, Fault, RelPath};

use super::{
    jail::{Child, Ended},
    model::{Expects, Order, Sql},
};
use job::{Answer, Form, Opened};

pub(crate) use job::{Held, Job};
pub(crate) use query::{Engine, Query, Source};
pub(crate) use session::work;

/// Performs a query. Nothing outside the scratch directory is written.
pub(crate) fn perform(query: &Query<'_>, engine: &Engine<'_>) -> Result<Answer, Failure> {
    check(query)?;
    let library = find::find(engine.settings, engine.root)?;
    let job = view::lay_out(query, engine, library)?;
    let results = job.results.map(|_| job.out());
    let database = match &job.database {
        Some(Opened::Written(path)) => Some(path.clone()),
        Some(Opened::Read(_)) | None => None,
    };
    let too_large = || {
        let message = format!(
            "the results or the database of {} would be larger than {} bytes, the most that a plan may write to one file",
            query.path, engine.most
        );
        Failure::new(Fault::LimitExceeded, message)
    };
    let stopped = || {
        let mut files = [&results, &database].into_iter().flatten();
        let is_large = |path: &Utf8PathBuf| path.metadata().is_ok_and(|it| it.len() > engine.most);
        (engine.stopped)().or_else(|| files.any(is_large).then(too_large))
    };
    let mut child = Child::start("sql", &job)?;
    let answer: Result<Result<Answer, Failure>, Ended> = child.answer(&stopped);
    // It has closed its files.
    drop(child);
    let mut answer = match answer {
        Ok(answer) => answer?,
        Err(Ended::Stopped(failure)) => return Err(failure),
        Err(Ended::Died(how)) => {
            let message = format!(
                "the engine {how} while it performed {}; nothing was changed. It may be short of memory (`[duckdb] memory`), or have \
                 a defect: try another version of DuckDB than {}",
                query.path, job.library
            );
            return Err(Failure::new(Fault::EngineFailed, message));
        }
    };
    if query.sql.expects == Expects::Rows && answer.rows.unwrap_or_default() == 0 {
        let message = format!(
            "the last statement of {} gave no row, but the plan expects one (`expect_results`)",
            query.path
        );
        return Err(Failure::new(Fault::RuleFailed, message));
    }
    let content = |path: &Utf8Path| {
        let mut bytes = Vec::new();
        let file = File::open(path).map(|file| file.take(engine.most + 1));
        let read = file.and_then(|mut file| file.read_to_end(&mut bytes));
        let unread = |error| format!("{path} cannot be read: {error}");
        read.map_err(|error| Failure::new(Fault::EngineFailed, unread(error)))?;
        let fits = bytes.len() as u64 <= engine.most;
        fits.then_some(bytes).ok_or_else(too_large)
    };
    answer.results = results.as_deref().map(content).transpose()?;
    if let (Some(Form::Json | Form::Jsonl), Some(bytes)) = (job.results, &answer.results) {
        is_json(query, bytes)?;
    }
    answer.database = database.as_deref().map(content).transpose()?;
    answer.notes.extend(view::guessed(query));
    Ok(answer)
}

/// Whether results can be written to a file of this name: its ending says the format.
pub(crate) fn fits_results(path: &RelPath) -> Result<(), String> {
    Form::of(path).map(drop).ok_or_else(|| {
        format!("the ending of {path} names no format; use .parquet, .csv, .json or .jsonl")
    })
}

/// What can be seen without the engine.
fn check(query: &Query<'_>) -> Result<(), Failure> {
    let Query {
        path, text, sql, ..
    } = query;
    let code = text::code(text);
    let (fault, message) = if let Some(at) = text.find('\0') {
        let (line, column) = text::place(text, at);
        let message = format!(
            "{path}:{line}:{column}: a NUL character, at which the engine would stop to read; remove it"
        );
        (Fault::SqlFailed, message)
    } else if let Some(name) = text::unlocked(&code) {
        let message =
            format!("{path}: the function {name} changes the engine's settings; leave it out");
        (Fault::SqlRefused, message)
    } else if let (Order::Deterministic, Some(word)) = (sql.order, text::random(&code)) {
        let message = format!(
            "{path} has {word}, which differs in each run, but the plan says `deterministic`; leave it out, give the value as a \
             parameter, or seed the sample (REPEATABLE)"
        );
        (Fault::SqlFailed, message)
    } else {
        return Ok(());
    };
    Err(Failure::new(fault, message))
}

/// The engine writes NaN and Infinity, which JSON does not have.
fn is_json(query: &Query<'_>, bytes: &[u8]) -> Result<(), Failure> {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<IgnoredAny>();
    let error = values.find_map(Result::err);
    error.map_or(Ok(()), |error| {
        let message = format!(
            "the results of {} are not JSON ({error}), probably because of NaN or Infinity; replace them with NULL \
             (`CASE WHEN isfinite(x) THEN x END`), or save as .parquet or .csv",
            query.path
        );
        Err(Failure::new(Fault::SqlFailed, message))
    })
}

/// What the doctor finds.
pub(crate) enum EngineState {
    /// Its version, and where it is.
    Ready(String),
    /// Nobody has named or installed one. How to install it.
    Absent(String),
    Unusable(String),
}

/// Whether the engine can be used on this machine: performs a query that reads nothing.
pub(crate) fn probe(settings: &DuckDb, root: &Utf8Path) -> EngineState {
    let library = match find::find(settings, root) {
        Ok(library) => library,
        Err(failure) if find::is_named(settings) => return EngineState::Unusable(failure.message),
        Err(failure) => return EngineState::Absent(failure.message),
    };
    let asked = tempfile::tempdir().map_err(|error| error.to_string());
    let asked = asked.and_then(|scratch| {
        let query = Query {
            path: &RelPath::parse("query").map_err(str::to_owned)?,
            text: "SELECT 42",
            sql: &Sql::default(),
            inputs: Vec::new(),
            written: None,
        };
        let engine = Engine {
            settings,
            root,
            scratch: Utf8Path::from_path(scratch.path()).ok_or("$TMPDIR is not UTF-8")?,
            most: 0,
            stopped: &|| None,
        };
        perform(&query, &engine).map_err(|failure| failure.message)
    });
    match asked {
        Ok(answer) => EngineState::Ready(format!("{} at {library}", answer.engine)),
        Err(why) => EngineState::Unusable(why),
    }
}

#[cfg(test)]
mod tests;
