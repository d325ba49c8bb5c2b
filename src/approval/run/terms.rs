//! The rules for the approvals of a run, and what they make of it.

use std::time::Duration;

use serde_json::Value;

use super::super::stored::Approved;
use crate::{
    catalog::{ApprovalSettings, Caller},
    envelope::Received,
    executor::{Context, Hidden},
    host::{self, Program},
    ledger::ApprovalNote,
    task::{Admission, ApprovalRule, Outcome, Policy},
};

/// How long the program that is told of a request may take.
const NOTIFIED: Duration = Duration::from_secs(4);

/// The rules for the approvals of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Approvals {
    /// The decision of the gate, which is recorded with the request. None if the task names no entry.
    pub(crate) admission: Option<Admission>,
    /// One for each entry of the task.
    pub(crate) rules: Vec<ApprovalRule>,
    pub(crate) settings: ApprovalSettings,
    /// How long the run itself waits for people (`--wait`).
    pub(crate) wait: Option<Duration>,
    pub(crate) through: Through,
    /// The request that `--approved` names.
    pub(crate) approved: Option<Approved>,
}

/// The way in which a task has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Through {
    #[default]
    Command,
    /// `oneact serve catalog`.
    Gateway,
}

/// A task as it was sent, and who sent it.
#[derive(Clone, Copy)]
pub(crate) struct SentTask<'a> {
    pub(crate) received: &'a Received,
    pub(crate) caller: &'a Caller,
    pub(crate) hidden: &'a Hidden,
}

/// What a run does after its request was claimed.
pub(crate) enum Pass {
    Go,
    /// Nothing is performed: this is the answer, and what its link says about the approval.
    Held(Box<Outcome>, Option<Box<Asks>>),
}

/// A request for an approval, or what becomes of one, to be recorded with the answer.
pub(crate) struct Asks {
    pub(crate) note: ApprovalNote,
    /// The request as the row keeps it, if the answer asks.
    pub(crate) request: Option<String>,
    /// What is sent to the program that is told of requests.
    pub(crate) told: Option<Value>,
}

impl Approvals {
    pub(crate) fn policy(&self) -> Policy {
        let (risk, because) = match &self.admission {
            Some(admission) => (admission.risk, admission.because.as_slice()),
            None => Default::default(),
        };
        Policy::of(self.rules.iter(), risk, because)
    }

    /// Tells the operator's program, in one line of JSON, of a `subject`. Its failure is a note.
    pub(crate) fn notify(
        &self,
        told: &Value,
        subject: &str,
        context: &Context<'_>,
    ) -> Option<String> {
        if self.settings.notify.is_empty() {
            return None;
        }
        let program = Program::new(
            self.settings.notify.clone(),
            context.desk.root.to_owned(),
            host::plain_environment(),
        );
        let told = format!("{told}\n").into_bytes();
        let told = host::tell(&program, told, NOTIFIED, context.desk.host.interrupts());
        let why = told.err()?;
        let note =
            format!("The program of `[approval] notify` was not told of the {subject}: {why}.");
        tracing::warn!("{note}");
        Some(note)
    }
}
