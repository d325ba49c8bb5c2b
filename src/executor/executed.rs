//! The end of a run: its outcome, and what still has to end.

use std::any::Any;

use crate::task::{Admission, Failure, Fault, Outcome, Phase, State};

use super::work::FileWork;

/// A failure before anything was started, and the phase of the run.
#[derive(Debug)]
pub(crate) struct Rejection {
    phase: Phase,
    failure: Failure,
}

/// The outcome of a job, and what still has to end. Drop it after the answer is printed.
pub(crate) struct Executed {
    pub(crate) outcome: Outcome,
    /// The work of a plan that turned out to need an approval.
    pub(crate) again: Option<Box<FileWork>>,
    /// Dropped in this order.
    rest: Vec<Box<dyn Any>>,
}

impl Rejection {
    /// A function that makes a rejection of an error of this phase.
    pub(crate) fn at<E: Into<Failure>>(phase: Phase) -> impl FnOnce(E) -> Self {
        move |error| Self {
            phase,
            failure: error.into(),
        }
    }
}

impl From<Outcome> for Executed {
    fn from(outcome: Outcome) -> Self {
        Self {
            outcome,
            again: None,
            rest: Vec::new(),
        }
    }
}

impl Executed {
    /// The outcome if nothing was started.
    pub(crate) fn rejected(rejection: Rejection) -> Self {
        let Rejection { phase, failure } = rejection;
        let state = match failure.fault {
            Fault::Cancelled => State::Cancelled,
            Fault::RequestInFlight => State::Pending,
            // Another attempt may succeed, so the request is not at fault.
            _ if failure.recoverable => State::Failed,
            _ => State::Rejected,
        };
        Outcome::nothing_done(state, phase, Some(failure)).into()
    }

    /// Keeps something until the answer is printed, because dropping it takes time. It is dropped before what is kept
    /// already.
    pub(crate) fn keeping(mut self, rest: Box<dyn Any>) -> Self {
        self.rest.insert(0, rest);
        self
    }

    /// Adds what the gate decided. The hints of a server may have raised the risk since.
    pub(crate) fn admitted(mut self, admission: Option<Admission>) -> Self {
        let raised = self.outcome.raised.clone().unwrap_or_default();
        self.outcome.admission = admission.map(|found| found.with(raised));
        self
    }

    /// Adds sentences for `audit.compliance_notes`, before the others.
    pub(crate) fn noted(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.outcome.notes.splice(0..0, notes);
        self
    }
}
