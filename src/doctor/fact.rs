//! What an examination can find: a closed list, each with its weight and its name.

use std::time::Duration;

use camino::Utf8PathBuf;

use crate::task::{Drift, OnDrift, Pin, Secrets};

/// One thing that was looked at, and what was seen.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) subject: Subject,
    pub(crate) fact: Fact,
    /// Cut out of whatever is said of it.
    pub(super) secrets: Secrets,
}

/// What a finding is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    Catalog,
    /// What runs record in.
    Ledger,
    /// Where assets are kept.
    Store,
    /// Where runs work: the state directory.
    Scratch,
    /// By its name in the catalog.
    Server(String),
    /// By its id.
    Capability(String),
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// As it should be.
    Good,
    /// Runs will do, though not as well as they could, or not always.
    Warning,
    /// Some runs are bound to fail.
    Problem,
}

/// What was seen.
#[derive(Debug)]
pub(crate) enum Fact {
    CatalogGood {
        path: Utf8PathBuf,
        capabilities: usize,
        servers: usize,
    },
    /// Not there, unreadable, or no catalog at all.
    CatalogUnusable(String),
    /// One entry, with its place in the file.
    EntryUnusable(String),
    /// Asked for, and not in the catalog.
    CapabilityUnknown(String),

    LedgerGood {
        /// A path, or a URI without its password.
        place: String,
    },
    /// Another program's, damaged, of a newer oneact, out of reach, or not to be written.
    LedgerUnusable(String),

    StoreGood {
        dir: Utf8PathBuf,
        free_bytes: u64,
    },
    StoreUnusable(String),
    StoreNearlyFull {
        dir: Utf8PathBuf,
        free_bytes: u64,
    },

    ScratchGood {
        dir: Utf8PathBuf,
    },
    ScratchUnusable(String),
    /// Others can look in.
    ScratchOpen {
        dir: Utf8PathBuf,
        mode: u32,
    },
    /// Directories of runs that were killed.
    ScratchLeftOver {
        dirs: Vec<Utf8PathBuf>,
    },

    VariableUnset {
        name: String,
    },
    DirectoryMissing {
        dir: Utf8PathBuf,
    },
    CommandMissing {
        program: String,
        /// Where it was looked for.
        path: String,
    },
    CommandNotExecutable {
        path: Utf8PathBuf,
    },
    /// It may fetch its package at each start.
    ColdStart {
        program: String,
    },
    ServerGood {
        ready_after: Duration,
        protocol: String,
        name: Option<String>,
        tools: usize,
    },
    ServerFailed {
        error: String,
        /// A shell line that starts it.
        by_hand: String,
        /// The last lines of its stderr.
        stderr: Vec<String>,
    },
    /// It does not speak what its entry says, but something else that is known here.
    ProtocolWrong {
        declared: &'static str,
        spoken: String,
    },
    Slow {
        ready_after: Duration,
        startup_timeout: Duration,
    },
    Noise {
        lines: u64,
        sample: Vec<String>,
    },
    /// The end of stdin does not end it.
    EndIgnored {
        grace: Duration,
    },
    LeftBehind {
        processes: Vec<String>,
    },

    ToolGood {
        tool: String,
        server: String,
    },
    ToolMissing {
        tool: String,
        near: Vec<String>,
        available: Vec<String>,
    },
    /// What it is now; as pinned, if it is.
    ToolPin {
        tool: String,
        pin: Pin,
        pinned: Pinned,
    },
    /// It is not as the entry pins it.
    ToolChanged {
        tool: String,
        drift: Box<Drift>,
        on_drift: OnDrift,
    },
    /// Its input schema cannot be used, and the entry has none of its own.
    ToolSchemaUnusable {
        tool: String,
        reason: String,
    },
    ParameterUnknown {
        tool: String,
        parameter: String,
        near: Vec<String>,
        others: Others,
    },
    ParameterMissing {
        tool: String,
        parameter: String,
        gap: Gap,
    },
    EffectsBetter {
        effect: &'static str,
        declared: bool,
    },
    /// The tool says that it starts this one.
    ProgramMissing {
        tool: String,
        program: String,
        /// Where it was looked for.
        path: String,
    },
}

/// What a tool does with parameters it does not list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Others {
    Refused,
    Let,
}

/// Whether the entry has a pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pinned {
    Yes,
    No,
}

/// Why a parameter that a tool requires may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gap {
    /// The entry's schema lets no task say it.
    Forbidden,
    /// The entry's schema lets a task leave it out.
    Optional,
}

impl Fact {
    pub(crate) fn level(&self) -> Level {
        match self {
            Self::CatalogGood { .. }
            | Self::LedgerGood { .. }
            | Self::StoreGood { .. }
            | Self::ScratchGood { .. }
            | Self::ServerGood { .. }
            | Self::ToolGood { .. }
            | Self::ToolPin { .. } => Level::Good,
            Self::StoreNearlyFull { .. }
            | Self::ScratchOpen { .. }
            | Self::ScratchLeftOver { .. }
            | Self::ColdStart { .. }
            | Self::Slow { .. }
            | Self::Noise { .. }
            | Self::EndIgnored { .. }
            | Self::LeftBehind { .. }
            | Self::EffectsBetter { .. }
            | Self::ToolChanged {
                on_drift: OnDrift::Warn,
                ..
            }
            | Self::ParameterUnknown {
                others: Others::Let,
                ..
            }
            | Self::ParameterMissing {
                gap: Gap::Optional, ..
            } => Level::Warning,
            Self::CatalogUnusable(_)
            | Self::EntryUnusable(_)
            | Self::CapabilityUnknown(_)
            | Self::LedgerUnusable(_)
            | Self::StoreUnusable(_)
            | Self::ScratchUnusable(_)
            | Self::VariableUnset { .. }
            | Self::DirectoryMissing { .. }
            | Self::CommandMissing { .. }
            | Self::CommandNotExecutable { .. }
            | Self::ServerFailed { .. }
            | Self::ProtocolWrong { .. }
            | Self::ToolMissing { .. }
            | Self::ToolChanged {
                on_drift: OnDrift::Fail,
                ..
            }
            | Self::ToolSchemaUnusable { .. }
            | Self::ParameterUnknown { .. }
            | Self::ParameterMissing { .. }
            | Self::ProgramMissing { .. } => Level::Problem,
        }
    }

    /// Its name for machines.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::CatalogGood { .. } => "catalog_good",
            Self::CatalogUnusable(_) => "catalog_unusable",
            Self::EntryUnusable(_) => "entry_unusable",
            Self::CapabilityUnknown(_) => "capability_unknown",
            Self::LedgerGood { .. } => "ledger_good",
            Self::LedgerUnusable(_) => "ledger_unusable",
            Self::StoreGood { .. } => "store_good",
            Self::StoreUnusable(_) => "store_unusable",
            Self::StoreNearlyFull { .. } => "store_nearly_full",
            Self::ScratchGood { .. } => "scratch_good",
            Self::ScratchUnusable(_) => "scratch_unusable",
            Self::ScratchOpen { .. } => "scratch_open",
            Self::ScratchLeftOver { .. } => "scratch_left_over",
            Self::VariableUnset { .. } => "variable_unset",
            Self::DirectoryMissing { .. } => "directory_missing",
            Self::CommandMissing { .. } => "command_missing",
            Self::CommandNotExecutable { .. } => "command_not_executable",
            Self::ColdStart { .. } => "cold_start",
            Self::ServerGood { .. } => "server_good",
            Self::ServerFailed { .. } => "server_failed",
            Self::ProtocolWrong { .. } => "protocol_wrong",
            Self::Slow { .. } => "slow",
            Self::Noise { .. } => "noise",
            Self::EndIgnored { .. } => "end_ignored",
            Self::LeftBehind { .. } => "left_behind",
            Self::ToolGood { .. } => "tool_good",
            Self::ToolMissing { .. } => "tool_missing",
            Self::ToolPin { .. } => "tool_pin",
            Self::ToolChanged { .. } => "tool_changed",
            Self::ToolSchemaUnusable { .. } => "tool_schema_unusable",
            Self::ParameterUnknown { .. } => "parameter_unknown",
            Self::ParameterMissing { .. } => "parameter_missing",
            Self::EffectsBetter { .. } => "effects_better",
            Self::ProgramMissing { .. } => "program_missing",
        }
    }
}
