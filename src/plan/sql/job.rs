//! What the program and its child say to each other about a query.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Directories of the scratch directory.
pub(super) const VIEW: &str = "view";
pub(super) const SPILLED: &str = "spilled";
pub(super) const OUT: &str = "out";
pub(super) const DATABASE: &str = "database";

#[derive(Serialize, Deserialize)]
pub(crate) struct Job {
    pub(super) library: String,
    /// A real path, without links. Its directory `view` is the working directory of the query.
    pub(super) scratch: String,
    /// In bytes.
    pub(super) memory: u64,
    pub(super) threads: u32,
    pub(super) text: String,
    pub(super) parameters: BTreeMap<String, Value>,
    /// What can be read, by its path in the view.
    pub(super) reads: Vec<String>,
    /// The files of these that are somewhere else. The view has links to them.
    pub(super) held: Vec<Held>,
    pub(super) database: Option<Opened>,
    pub(super) results: Option<Form>,
}

/// A file outside the scratch directory.
#[derive(Serialize, Deserialize)]
pub(super) struct Held {
    pub(super) at: String,
    pub(super) device: u64,
    pub(super) inode: u64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Opened {
    /// Its path, below the scratch directory.
    pub(super) path: String,
    pub(super) access: Access,
}

#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// A format of results (R-001-190).
#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Parquet,
    Csv,
    /// One document: an array of objects.
    Json,
    /// An object a line.
    JsonLines,
}

impl Form {
    /// The form that the ending of a name asks for.
    pub(super) fn of(name: &str) -> Option<Self> {
        let (_, ending) = name.rsplit_once('.')?;
        match &*ending.to_ascii_lowercase() {
            "parquet" => Some(Self::Parquet),
            "csv" => Some(Self::Csv),
            "json" => Some(Self::Json),
            "jsonl" => Some(Self::JsonLines),
            _ => None,
        }
    }

    /// The options of COPY. The engine would take them from the name, which is not the final one.
    pub(super) const fn options(self) -> &'static str {
        match self {
            Self::Parquet => "FORMAT parquet, COMPRESSION snappy",
            Self::Csv => "FORMAT csv, HEADER true, COMPRESSION none",
            Self::Json => "FORMAT json, ARRAY true, COMPRESSION none",
            Self::JsonLines => "FORMAT json, ARRAY false, COMPRESSION none",
        }
    }

    /// The table function that reads it.
    pub(super) const fn reader(self) -> &'static str {
        match self {
            Self::Parquet => "read_parquet",
            Self::Csv => "read_csv",
            Self::Json | Self::JsonLines => "read_json",
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) enum Reply {
    Done(Done),
    Failed(Failed),
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Done {
    pub(super) rows: Option<u64>,
    /// Names and types of the saved columns, as `DESCRIBE` writes them.
    pub(super) columns: Vec<(String, String)>,
    pub(super) version: String,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Failed {
    /// The name of the fault.
    pub(super) fault: String,
    pub(super) message: String,
    /// The byte of the query file that the engine points to.
    pub(super) at: Option<usize>,
}
