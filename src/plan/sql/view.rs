//! What a query sees: a directory with the listed files under their paths below the root.

use std::{
    fs,
    io::{self, BufReader},
    os::unix::fs::symlink,
};

use camino::{Utf8Path, Utf8PathBuf};

use crate::task::{Failure, Fault, RelPath};

use super::{
    Database, Engine, Input, Query, Source,
    job::{Access, DATABASE, Held, OUT, Opened, SPILLED, VIEW},
    text::{self, Guesses},
};

/// The rows from which the engine guesses the types of a CSV file (DuckDB 1.4 to 2.0).
const SAMPLE: usize = 20_480;

/// A compressed file of that size may have more rows.
const SAMPLE_BYTES: u64 = 100_000;

/// The scratch directory, once it is laid out.
pub(super) struct Laid {
    pub(super) scratch: Utf8PathBuf,
    pub(super) reads: Vec<String>,
    pub(super) held: Vec<Held>,
    pub(super) database: Option<Opened>,
}

/// Makes the directories of the scratch directory, and puts into them what the query may read, and the database.
pub(super) fn lay_out(query: &Query<'_>, engine: &Engine<'_>) -> Result<Laid, Failure> {
    let scratch = engine.scratch;
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
    let mut laid = Laid {
        scratch,
        reads: Vec::new(),
        held: Vec::new(),
        database: None,
    };
    for input in &query.reads {
        let path = laid.put(input)?;
        laid.reads.push(path);
    }
    laid.database = match &query.database {
        None => None,
        Some(Database::Read(input)) => {
            if let Source::File { at, .. } = &input.source {
                is_closed(input.path, at)?;
            }
            if !laid.reads.iter().any(|read| read == input.path.as_str()) {
                laid.put(input)?;
            }
            Some(Opened {
                path: format!("{VIEW}/{}", input.path),
                access: Access::Read,
            })
        }
        Some(Database::Write { path, bytes }) => {
            // The engine names the database after the file.
            let opened = format!("{DATABASE}/{}", path.name());
            if let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) {
                let copy = laid.scratch.join(&opened);
                fs::write(&copy, bytes).map_err(failed(&copy))?;
            }
            Some(Opened {
                path: opened,
                access: Access::Write,
            })
        }
    };
    Ok(laid)
}

impl Laid {
    /// Puts a file into the view, under its path, which it returns.
    fn put(&mut self, input: &Input<'_>) -> Result<String, Failure> {
        let name = input.path.as_str();
        if name.starts_with('~') {
            let message = format!(
                "a query cannot read {name}: the engine takes `~` at the beginning of a name for a home directory; rename the file"
            );
            return Err(Failure::new(Fault::SqlFailed, message));
        }
        if let Some(character) = pattern(name) {
            let message = format!(
                "a query cannot read {name}: the engine takes `{character}` in a name for a pattern; rename the file"
            );
            return Err(Failure::new(Fault::SqlFailed, message));
        }
        let path = self.scratch.join(VIEW).join(name);
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir).map_err(failed(dir))?;
        }
        match &input.source {
            Source::Planned(bytes) => fs::write(&path, bytes).map_err(failed(&path))?,
            Source::File { at, device, inode } => {
                symlink(at, &path).map_err(failed(&path))?;
                self.held.push(Held {
                    at: at.to_string(),
                    device: *device,
                    inode: *inode,
                });
            }
        }
        Ok(name.to_owned())
    }
}

/// What makes the engine take a path for a pattern.
fn pattern(path: &str) -> Option<char> {
    path.chars().find(|c| matches!(c, '*' | '?' | '['))
}

fn failed(path: &Utf8Path) -> impl Fn(io::Error) -> Failure {
    move |error| {
        let full = error.kind() == io::ErrorKind::StorageFull;
        let fault = if full {
            Fault::DiskFull
        } else {
            Fault::FileSystem
        };
        Failure::new(fault, format!("{path} cannot be made: {error}"))
    }
}

/// What was committed lately may stand in a file of its own, which the engine would not see here.
fn is_closed(path: &RelPath, at: &Utf8Path) -> Result<(), Failure> {
    let log = format!("{at}.wal");
    if fs::symlink_metadata(&log).is_err() {
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
    let guesses = text::guesses(query.text);
    let guessed = query.reads.iter();
    let guessed = guessed.filter(|input| is_guessed(input, &guesses));
    let told = guessed.map(|input| {
        format!(
            "{} has more rows than the {SAMPLE} from which the engine guesses types: a later value that does not fit may be rounded, or \
             its key may be missing. To be sure, write `sample_size = -1` or the columns into read_csv or read_json",
            input.path
        )
    });
    told.collect()
}

/// Whether the engine would see only a part of the file before it decides about types.
fn is_guessed(input: &Input<'_>, guesses: &Guesses) -> bool {
    let name = input.path.name().to_lowercase();
    let plain = name.trim_end_matches(".gz").trim_end_matches(".zst");
    let is_text = [".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson"];
    let is_possible = match guesses {
        Guesses::None => false,
        Guesses::Named => is_text.iter().any(|ending| plain.ends_with(ending)),
        Guesses::Any => !plain.ends_with(".parquet"),
    };
    if !is_possible {
        return false;
    }
    match &input.source {
        Source::Planned(bytes) => is_long(*bytes),
        Source::File { at, .. } if plain == name => {
            fs::File::open(at).is_ok_and(|file| is_long(BufReader::new(file)))
        }
        Source::File { at, .. } => at.metadata().is_ok_and(|file| file.len() > SAMPLE_BYTES),
    }
}

/// Whether a text has more lines than the sample.
fn is_long(mut text: impl io::BufRead) -> bool {
    let mut lines = 0;
    while lines <= SAMPLE {
        match text.skip_until(b'\n') {
            Ok(0) | Err(_) => return false,
            Ok(_) => lines += 1,
        }
    }
    true
}
