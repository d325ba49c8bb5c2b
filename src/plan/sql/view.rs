//! What a query sees: a directory with the listed files under their paths below the root.

use std::{
    fs,
    io::{BufRead, BufReader, Error, ErrorKind},
    os::unix::fs::symlink,
};

use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    plan::model::{Access, Database, Order},
    task::{Failure, Fault, RelPath},
};

use super::{
    Engine, Query, Source,
    job::{DATABASE, Form, Job, OUT, Opened, SPILLED, VIEW},
    text,
};

/// The rows from which the engine guesses the types of a CSV file (DuckDB 1.4 to 2.0).
const SAMPLE: usize = 20_480;

/// A compressed file of that size may have more rows.
const SAMPLE_BYTES: u64 = 100_000;

/// Makes the directories of the scratch directory, and puts into them what the query may read, and the database.
pub(super) fn lay_out(
    query: &Query<'_>,
    engine: &Engine<'_>,
    library: Utf8PathBuf,
) -> Result<Job, Failure> {
    let (sql, scratch) = (query.sql, engine.scratch);
    let scratch = scratch.canonicalize_utf8().map_err(failed(scratch))?;
    if let Some(character) = pattern(scratch.as_str()) {
        let message = format!(
            "queries cannot run in {scratch}: the engine takes `{character}` in a path for a pattern; rename the directory that has it in its name"
        );
        return Err(Failure::new(Fault::SqlFailed, message));
    }
    for name in [VIEW, OUT, SPILLED, DATABASE] {
        let path = scratch.join(name);
        fs::create_dir(&path).map_err(failed(&path))?;
    }
    let mut held = Vec::new();
    for (path, source) in sql.inputs().zip(&query.inputs) {
        is_readable(path)?;
        let at = scratch.join(VIEW).join(path.as_path());
        if at.symlink_metadata().is_ok() {
            // The database is one of the listed files, too.
            continue;
        }
        if let Some(dir) = at.parent() {
            fs::create_dir_all(dir).map_err(failed(dir))?;
        }
        match source {
            Source::Planned(bytes) => fs::write(&at, bytes).map_err(failed(&at))?,
            Source::File(file) => {
                symlink(&file.at, &at).map_err(failed(&at))?;
                held.push(file.clone());
            }
        }
    }
    let mut database = None;
    if let Some(Database { path, access }) = &sql.database {
        database = Some(match access {
            Access::Read => {
                if let Some(Source::File(file)) = query.inputs.last() {
                    is_closed(path, &file.at)?;
                }
                Opened::Read(scratch.join(VIEW).join(path.as_path()))
            }
            Access::Write => {
                // The engine names the database after the file.
                let at = scratch.join(DATABASE).join(path.name());
                if let Some(bytes) = query.written.filter(|bytes| !bytes.is_empty()) {
                    fs::write(&at, bytes).map_err(failed(&at))?;
                }
                Opened::Written(at)
            }
        });
    }
    Ok(Job {
        path: query.path.clone(),
        text: query.text.to_owned(),
        library,
        memory: engine.settings.memory,
        threads: match sql.order {
            Order::Any => engine.settings.threads,
            Order::Deterministic => 1,
        },
        parameters: sql.parameters.clone(),
        reads: sql.reads.clone(),
        held,
        database,
        results: sql.results.as_ref().and_then(Form::of),
        scratch,
    })
}

/// Whether the engine takes the path as it is.
fn is_readable(path: &RelPath) -> Result<(), Failure> {
    let taken = if path.as_str().starts_with('~') {
        "`~` at the beginning of a name for a home directory".to_owned()
    } else if let Some(character) = pattern(path.as_str()) {
        format!("`{character}` in a name for a pattern")
    } else {
        return Ok(());
    };
    let message = format!("a query cannot read {path}: the engine takes {taken}; rename the file");
    Err(Failure::new(Fault::SqlFailed, message))
}

/// What makes the engine take a path for a pattern.
fn pattern(path: &str) -> Option<char> {
    path.chars().find(|c| matches!(c, '*' | '?' | '['))
}

fn failed(path: &Utf8Path) -> impl Fn(Error) -> Failure {
    move |error| {
        let fault = match error.kind() {
            ErrorKind::StorageFull => Fault::DiskFull,
            _ => Fault::FileSystem,
        };
        Failure::new(fault, format!("{path} cannot be made: {error}"))
    }
}

/// What was committed lately may stand in a file of its own, which the engine would not see here.
fn is_closed(path: &RelPath, at: &Utf8Path) -> Result<(), Failure> {
    if fs::symlink_metadata(format!("{at}.wal")).is_err() {
        return Ok(());
    }
    let message = format!(
        "{path}.wal exists, so the database {path} is in use or was not closed cleanly; end the program that uses it, or open \
         and close it with DuckDB, and send the task again"
    );
    Err(Failure::new(Fault::InFlight, message))
}

/// A note for each file whose types the engine guesses from its first rows: a later number is rounded silently.
pub(super) fn guessed(query: &Query<'_>) -> Vec<String> {
    let endings = text::guesses(query.text);
    let inputs = query.sql.reads.iter().zip(&query.inputs);
    let guessed = inputs.filter(|(path, source)| {
        let name = path.name().to_lowercase();
        let plain = name.trim_end_matches(".gz").trim_end_matches(".zst");
        let is_text = endings.iter().any(|ending| plain.ends_with(ending));
        is_text
            && !plain.ends_with(".parquet")
            && match source {
                Source::Planned(bytes) => is_long(*bytes),
                Source::File(file) if plain == name => {
                    fs::File::open(&file.at).is_ok_and(|file| is_long(BufReader::new(file)))
                }
                Source::File(file) => file.at.metadata().is_ok_and(|it| it.len() > SAMPLE_BYTES),
            }
    });
    let told = guessed.map(|(path, _)| {
        format!(
            "{path} has more rows than the {SAMPLE} from which the engine guesses types: a later value that does not fit may be rounded, or \
             its key may be missing. To be sure, write `sample_size = -1` or the columns into read_csv or read_json"
        )
    });
    told.collect()
}

/// Whether a text has more lines than the sample.
fn is_long(mut text: impl BufRead) -> bool {
    (0..=SAMPLE).all(|_| text.skip_until(b'\n').is_ok_and(|bytes| bytes > 0))
}
