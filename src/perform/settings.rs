//! What the operator decides before a task arrives.

use std::time::Duration;

use clap::ValueEnum;

use crate::{
    approval::{Approved, Through},
    record::Project,
    task::{Nameable, NamedSession, Reuse, Trace},
};

/// The operator's decisions, which are made before a task arrives.
#[derive(Debug, Clone)]
pub struct Settings {
    pub project: Project,
    pub mode: Mode,
    /// The preview hash that the run of a plan must match.
    pub expect: Option<String>,
    pub reply: Reply,
    /// The longest time that the run may take.
    pub budget: Option<Duration>,
    pub reuse: Reuse,
    /// The profile of the catalog that the operator chose.
    pub profile: Option<String>,
    /// How long the run waits for the approval of a person.
    pub wait: Option<Duration>,
    pub nameable: Nameable,
    /// The session of a task that names none: `$ONEACT_SESSION`.
    pub session: Option<NamedSession>,
    /// The trace of a task that belongs to none: `$TRACEPARENT`.
    pub trace: Option<Trace>,
    /// What is unusual about the settings, for `audit.compliance_notes`.
    pub notes: Vec<String>,
    pub through: Through,
    /// The request for an approval whose stored call is performed.
    pub approved: Option<Approved>,
}

/// Whether anything is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Run,
    /// Resolve and check everything, and start nothing.
    DryRun,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Reply {
    /// The ADL envelope
    #[default]
    Adl,
    /// The execution report of a file plan alone
    Report,
    /// The `MCPResponse` alone, as the ledger stores it
    Mcp,
    /// The result data alone; an object with `error` after a failure
    Result,
}

impl Settings {
    pub fn of(project: Project) -> Self {
        Self {
            project,
            mode: Mode::Run,
            expect: None,
            reply: Reply::Adl,
            budget: None,
            reuse: Reuse::Allowed,
            profile: None,
            wait: None,
            nameable: Nameable::default(),
            session: None,
            trace: None,
            notes: Vec::new(),
            through: Through::Command,
            approved: None,
        }
    }
}
