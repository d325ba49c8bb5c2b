//! What the operator decided before any task arrived.

use std::time::Duration;

use camino::Utf8PathBuf;

use crate::task::Reuse;

/// Where everything is, and how far a run may go.
#[derive(Debug, Clone)]
pub struct Settings {
    pub root: Utf8PathBuf,
    pub catalog: Utf8PathBuf,
    /// Scratch and locks: `.oneact` below the root, unless moved.
    pub state_dir: Utf8PathBuf,
    pub mode: Mode,
    /// The hash of the preview that the run of a plan has to agree with.
    pub expect: Option<String>,
    pub reply: Reply,
    /// The longest the run may take.
    pub budget: Option<Duration>,
    /// Where the ledger is, where `$ONEACT_LEDGER` says so.
    pub ledger: Option<String>,
    pub reuse: Reuse,
    /// The catalog's profile by which oneact was launched.
    pub profile: Option<String>,
}

/// Whether anything is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Run,
    /// Resolve and check everything, start nothing.
    DryRun,
}

/// What is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reply {
    /// The ADL envelope.
    #[default]
    Adl,
    /// 001's execution report of a file plan alone.
    Report,
    /// The `MCPResponse` alone (004 §`MCPResponse`).
    Mcp,
}
