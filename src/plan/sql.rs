//! SQL of a plan (R-001-92, C-22): DuckDB, loaded at run time in a jailed child of this program.

mod engine;
mod find;
mod job;
mod library;
mod probe;
mod session;
mod text;
mod trouble;
mod view;

use std::{
    collections::BTreeMap,
    fs,
    io::{ErrorKind, Read as _},
    os::unix::process::ExitStatusExt as _,
    process::ExitStatus,
};

use camino::{Utf8Path, Utf8PathBuf};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::task::{DuckDb, Failure, Fault, RelPath};

use super::{
    jail::{Child, Ended},
    model::{Expects, Order},
};
use job::{Access, Done, Failed, Form, OUT, Opened, Reply};

pub(crate) use job::Job;
pub(crate) use probe::{Found, probe};
pub(crate) use session::work;

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

/// Performs a query. Nothing outside the scratch directory is written.
pub(crate) fn perform(query: &Query<'_>, engine: &Engine<'_>) -> Result<Answer, Failure> {
    let form = checked(query)?;
    let library = find::find(engine.settings, engine.root)?;
    let laid = view::lay_out(query, engine)?;
    let threads = match query.order {
        Order::Any => engine.settings.threads,
        Order::Deterministic => 1,
    };
    let job = Job {
        library: library.into_string(),
        scratch: laid.scratch.to_string(),
        memory: engine.settings.memory,
        threads,
        text: query.text.to_owned(),
        parameters: query.parameters.clone(),
        reads: laid.reads,
        held: laid.held,
        database: laid.database,
        results: form,
    };
    let results = laid.scratch.join(OUT).join("results");
    let changed = job
        .database
        .as_ref()
        .filter(|opened| opened.access == Access::Write);
    let changed = changed.map(|Opened { path, .. }| laid.scratch.join(path));
    let files = [Some(&results), changed.as_ref()];
    let stopped = || {
        let large =
            |path: &&Utf8PathBuf| path.metadata().is_ok_and(|file| file.len() > engine.most);
        let large = files.into_iter().flatten().find(large);
        (engine.stopped)().or_else(|| large.map(|_| too_large(query, engine.most)))
    };
    let mut child = Child::start("sql", &job)?;
    let done = match child.answer(&stopped) {
        Ok(Reply::Done(done)) => done,
        Ok(Reply::Failed(failed)) => return Err(told(query, &failed)),
        Err(Ended::Stopped(failure)) => return Err(failure),
        Err(Ended::Died(status)) => return Err(died(query, &job.library, &ended(status))),
        Err(Ended::Garbled) => {
            return Err(died(query, &job.library, "gave no answer that can be read"));
        }
    };
    // It has closed its files.
    drop(child);
    if query.expects == Expects::Rows && done.rows.unwrap_or_default() == 0 {
        let message = format!(
            "the last statement of {} gave no row, but the plan expects one (`expect_results`)",
            query.path
        );
        return Err(Failure::new(Fault::RuleFailed, message));
    }
    let taken = |path: &Utf8Path| content(query, path, engine.most);
    let saved = form.map(|_| taken(&results)).transpose()?;
    if let (Some(Form::Json | Form::JsonLines), Some(bytes)) = (form, &saved) {
        is_json(query, bytes)?;
    }
    let database = changed.as_deref().map(taken).transpose()?;
    Ok(Answer {
        rows: done.rows,
        results: saved,
        database,
        notes: [inexact(form, &done), view::guessed(query)].concat(),
        engine: format!("DuckDB {}", done.version),
    })
}

/// Whether results can be written to a file of this name: its ending says the format.
pub(crate) fn fits_results(path: &RelPath) -> Result<(), String> {
    Form::of(path.name()).map(drop).ok_or_else(|| {
        format!("the ending of {path} names no format; use .parquet, .csv, .json or .jsonl")
    })
}

/// What can be seen without the engine. Gives the form of the results.
fn checked(query: &Query<'_>) -> Result<Option<Form>, Failure> {
    let wrong = |message: String| Err(Failure::new(Fault::SqlFailed, message));
    if let Some(at) = query.text.find('\0') {
        let (line, column) = text::place(query.text, at);
        return wrong(format!(
            "{}:{line}:{column}: a NUL character, at which the engine would stop to read; remove it",
            query.path
        ));
    }
    let code = text::code(query.text);
    if query.order == Order::Deterministic
        && let Some(word) = text::random(&code)
    {
        return wrong(format!(
            "{} has {word}, which differs in each run, but the plan says `deterministic`; leave it out, give the value as a \
             parameter, or seed the sample (REPEATABLE)",
            query.path
        ));
    }
    let results = query.results.as_ref();
    Ok(results.and_then(|results| Form::of(results.path.name())))
}

/// The failure that the child told.
fn told(query: &Query<'_>, failed: &Failed) -> Failure {
    let place = failed.at.map(|at| text::place(query.text, at));
    let place = place.map_or(String::new(), |(line, column)| format!(":{line}:{column}"));
    let fault = Fault::named(&failed.fault).unwrap_or(Fault::EngineFailed);
    let advice = match fault {
        Fault::SqlRefused => {
            ". A query sees the files that the action lists in `reads`, and writes to its database and its results alone"
        }
        Fault::OutOfMemory => {
            ". Raise `[duckdb] memory` in the catalog, or let the query hold less at once"
        }
        _ => "",
    };
    let message = format!("{}{place}: {}{advice}", query.path, failed.message);
    let recoverable = false;
    Failure {
        recoverable,
        ..Failure::new(fault, message)
    }
}

fn ended(status: ExitStatus) -> String {
    match status.signal() {
        Some(signal) => format!("was ended by signal {signal}"),
        None => format!("ended with {status}"),
    }
}

fn died(query: &Query<'_>, library: &str, how: &str) -> Failure {
    let message = format!(
        "the engine {how} while it performed {}; nothing was changed. It may be short of memory (`[duckdb] memory`), or have \
         a defect: try another version of DuckDB than {library}",
        query.path
    );
    Failure::new(Fault::EngineFailed, message)
}

fn too_large(query: &Query<'_>, most: u64) -> Failure {
    let message = format!(
        "the results or the database of {} would be larger than {most} bytes, the most that a plan may write to one file",
        query.path
    );
    Failure::new(Fault::LimitExceeded, message)
}

/// What the engine has written there.
fn content(query: &Query<'_>, path: &Utf8Path, most: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
    match read {
        Ok(_) if bytes.len() as u64 <= most => Ok(bytes),
        Ok(_) => Err(too_large(query, most)),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let message = format!(
                "the engine says that it has performed {}, but wrote no file",
                query.path
            );
            Err(Failure::new(Fault::EngineFailed, message))
        }
        Err(error) => Err(Failure::new(
            Fault::FileSystem,
            format!("{path} cannot be read: {error}"),
        )),
    }
}

/// The engine writes NaN and Infinity, which JSON does not have.
fn is_json(query: &Query<'_>, bytes: &[u8]) -> Result<(), Failure> {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<IgnoredAny>();
    match values.find_map(Result::err) {
        None => Ok(()),
        Some(error) => {
            let message = format!(
                "the results of {} are not JSON ({error}), probably because of NaN or Infinity; replace them with NULL \
                 (`CASE WHEN isfinite(x) THEN x END`), or save as .parquet or .csv",
                query.path
            );
            Err(Failure::new(Fault::SqlFailed, message))
        }
    }
}

/// What the format does not hold exactly.
fn inexact(form: Option<Form>, done: &Done) -> Vec<String> {
    if form != Some(Form::Parquet) {
        return Vec::new();
    }
    let told = done.columns.iter().filter_map(|(name, kind)| {
        if kind.contains("HUGEINT") {
            return Some(format!(
                "Parquet has no HUGEINT, so the column `{name}` ({kind}) is stored with DOUBLE, which has 53 bits. To keep every \
                 digit, cast to BIGINT or DECIMAL(38,0)"
            ));
        }
        kind.contains("INTERVAL").then(|| {
            format!(
                "Parquet has no microseconds in an INTERVAL, so the column `{name}` ({kind}) is stored with milliseconds. To keep \
                 them, save `epoch_us` of it or its text"
            )
        })
    });
    told.collect()
}

#[cfg(test)]
mod tests;
