//! The programs that a plan can start: pipelines of the catalog (C-23), and the database engine of its queries (C-22).

use std::time::Duration;

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Effects, RelPath};

/// A checked `[pipeline.NAME]`: a fixed program that a plan starts by its name (R-001-21, C-23).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pipeline {
    pub name: String,
    pub description: String,
    /// The program and its arguments, at least one. There is no shell.
    pub command: Vec<Argument>,
    /// A JSON Schema of an object: the parameters that a plan can give.
    pub parameters: Value,
    /// Directories below the root that it may write to, with everything below them. None contains what oneact keeps,
    /// or the catalog.
    pub writes: Vec<RelPath>,
    /// Names of variables that are passed on from oneact's own environment.
    pub env_pass: Vec<String>,
    pub network: Network,
    pub shared_memory: SharedMemory,
    /// At most an hour (R-001-172).
    pub timeout: Duration,
    pub effects: Effects,
    pub approval: PipelineApproval,
    /// The file that contains the entry, which the program may not write.
    pub catalog: Utf8PathBuf,
    /// SHA-256 of the whole entry, in lower-case hexadecimal. An approval is bound to it.
    pub seal: String,
}

/// One argument of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    Fixed(String),
    /// `{name}`: the value of a declared parameter, as one argument.
    Parameter(String),
}

/// Whether a program may use the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    Refused,
    Allowed,
}

/// Whether a program may use POSIX shared memory and semaphores, which other programs of the user may share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SharedMemory {
    Refused,
    Allowed,
}

/// Whether a plan that runs the pipeline waits for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PipelineApproval {
    NotNeeded,
    Needed,
}

/// `[duckdb]`: the database engine that performs the queries of plans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuckDb {
    /// The library that the operator names; none if it has to be found.
    pub library: Option<Utf8PathBuf>,
    /// What a query may use, in bytes.
    pub memory: u64,
    /// At most this many threads.
    pub threads: u32,
}

impl Default for DuckDb {
    fn default() -> Self {
        Self {
            library: None,
            memory: 1 << 30,
            threads: 4,
        }
    }
}
