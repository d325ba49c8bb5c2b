//! What the program and its child say to each other about a query, and how the child tells what went wrong.

use std::collections::BTreeMap;

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::task::{Failure, Fault, RelPath};

use super::text;

/// Directories of the scratch directory.
pub(super) const VIEW: &str = "view";
pub(super) const SPILLED: &str = "spilled";
pub(super) const OUT: &str = "out";
pub(super) const DATABASE: &str = "database";

#[derive(Serialize, Deserialize)]
pub(crate) struct Job {
    /// The query file, for messages.
    pub(super) path: RelPath,
    pub(super) text: String,
    pub(super) library: Utf8PathBuf,
    /// A real path, without links. Its directory `view` is the working directory of the query.
    pub(super) scratch: Utf8PathBuf,
    /// In bytes.
    pub(super) memory: u64,
    pub(super) threads: u32,
    pub(super) parameters: BTreeMap<String, Value>,
    /// What can be read, by its path in the view.
    pub(super) reads: Vec<RelPath>,
    /// The files to which the view has links.
    pub(super) held: Vec<Held>,
    pub(super) database: Option<Opened>,
    pub(super) results: Option<Form>,
}

/// A file outside the scratch directory, at this absolute path, without links. Another file that is put there meanwhile
/// is not read.
#[derive(Serialize, Deserialize, Clone)]
pub(crate) struct Held {
    pub(crate) at: Utf8PathBuf,
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

/// The file of the database.
#[derive(Serialize, Deserialize)]
pub(super) enum Opened {
    Read(Utf8PathBuf),
    Written(Utf8PathBuf),
}

/// A format of results (R-001-190), under the ending of its files.
#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Form {
    Parquet,
    Csv,
    /// One document: an array of objects.
    Json,
    /// An object a line.
    Jsonl,
}

impl Form {
    /// The form that the ending of the name asks for.
    pub(super) fn of(path: &RelPath) -> Option<Self> {
        let (_, ending) = path.name().rsplit_once('.')?;
        serde_json::from_value(ending.to_ascii_lowercase().into()).ok()
    }

    /// The options of COPY, and the table function that reads what it writes. The engine would take the options from the
    /// name, which is not the final one.
    pub(super) const fn copied(self) -> (&'static str, &'static str) {
        match self {
            Self::Parquet => ("FORMAT parquet, COMPRESSION snappy", "read_parquet"),
            Self::Csv => ("FORMAT csv, HEADER true, COMPRESSION none", "read_csv"),
            Self::Json => ("FORMAT json, ARRAY true, COMPRESSION none", "read_json"),
            Self::Jsonl => ("FORMAT json, ARRAY false, COMPRESSION none", "read_json"),
        }
    }
}

/// What a query did. The child answers with it, or with a failure, and the program adds the files.
#[derive(Serialize, Deserialize, Debug, Default)]
pub(crate) struct Answer {
    /// Rows of the last statement, if it has any and they could be counted.
    pub(crate) rows: Option<u64>,
    /// What the format of the results cannot hold exactly, and the like.
    pub(crate) notes: Vec<String>,
    /// `DuckDB v1.5.6`
    pub(crate) engine: String,
    /// The content of the results file.
    pub(crate) results: Option<Vec<u8>>,
    /// The new content of the database that was opened for writing.
    pub(crate) database: Option<Vec<u8>>,
}

impl Job {
    /// The file of the results.
    pub(super) fn out(&self) -> Utf8PathBuf {
        self.scratch.join(OUT).join("results")
    }

    /// The failure of the query, at the byte of its text that the engine points to.
    pub(super) fn failure(&self, fault: Fault, message: &str, at: Option<usize>) -> Failure {
        let place = at.map(|at| text::place(&self.text, at));
        let place = place.map_or(String::new(), |(line, column)| format!(":{line}:{column}"));
        let advice = match fault {
            Fault::SqlRefused => {
                ". A query sees the files that the action lists in `reads`, and writes to its database and its results alone"
            }
            Fault::OutOfMemory => {
                ". Raise `[duckdb] memory` in the catalog, or let the query hold less at once"
            }
            _ => "",
        };
        let message = format!("{}{place}: {message}{advice}", self.path);
        let recoverable = false;
        Failure {
            recoverable,
            ..Failure::new(fault, message)
        }
    }

    pub(super) fn failed(&self, message: &str) -> Failure {
        self.failure(Fault::SqlFailed, message, None)
    }

    /// What the engine said about the query, or about a text of ours.
    pub(super) fn said(&self, said: &str) -> Failure {
        self.said_of(said, 0, 0)
    }

    /// What the engine said about a text that begins with `ahead` bytes of ours, and with which the query file goes on
    /// at `start`.
    pub(super) fn said_of(&self, said: &str, start: usize, ahead: usize) -> Failure {
        let (fault, message, at) = understood(said);
        let at = at.and_then(|at| Some(start + at.checked_sub(ahead)?));
        self.failure(fault, &message, at)
    }
}

/// The class, the sentence and the place of what the engine said. Its snippets of the text are left out.
pub(super) fn understood(said: &str) -> (Fault, String, Option<usize>) {
    let first_line = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    let json = said.find('{').and_then(|at| said.get(at..));
    let json = json.and_then(|json| serde_json::from_str::<Value>(json).ok());
    let Some(json) = json else {
        return (Fault::SqlFailed, first_line(said), None);
    };
    let text = |key: &str| json.get(key).and_then(Value::as_str);
    let mut full = ["No space left on device", "Disk quota exceeded"].iter();
    let fault = match text("exception_type") {
        Some("IO" | "FATAL" | "INTERNAL") if full.any(|full| said.contains(full)) => {
            Fault::DiskFull
        }
        // The engine does not find a file that is not in the view.
        Some("Permission" | "IO") => Fault::SqlRefused,
        Some("Out of Memory") => Fault::OutOfMemory,
        Some("INTERNAL" | "FATAL") => Fault::EngineFailed,
        _ => Fault::SqlFailed,
    };
    let at = text("position").and_then(|at| at.parse().ok());
    let message = first_line(text("exception_message").unwrap_or(said));
    (fault, message, at)
}
