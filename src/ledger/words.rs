//! The requests to the ledger, and its answers.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    canonical::{canonical, sha256},
    record::{
        AskedApproval, Body, Bound, Effects, Head, Made, Row, RowOutcome, RowState, SeenInput,
        StateChange, Told, word,
    },
    request::{Asked, Hashes},
    store::{Seq, StoreError, Trouble},
};
use crate::task::{Effect, Failure, Fault, Granted, OnDuplicate, Reuse, Review, ReviewRule};

/// A request that is about to be performed.
#[derive(Debug, Clone)]
pub(crate) struct Ask<'a> {
    pub(crate) who: Who<'a>,
    pub(crate) asked: Asked,
    /// The `MCPRequest` without secrets and signatures.
    pub(crate) request: String,
    pub(crate) target: Option<Target>,
    /// The caller's own confidence, from 0 to 1.
    pub(crate) confidence: Option<f64>,
    /// A hash of everything in the catalog that decides what happens.
    pub(crate) entry_digest: String,
    pub(crate) tool_pin: Option<String>,
    /// The parameters that this attempt changes, as JSON text.
    pub(crate) adjusted: Option<String>,
    pub(crate) effects: Effects,
    /// The strictest effects among its steps; without steps, `effects`.
    pub(crate) strictest: Effects,
    /// The number of its steps that have records of their own, or 0.
    pub(crate) parts: usize,
    pub(crate) on_duplicate: OnDuplicate,
    pub(crate) change: StateChange,
    pub(crate) reuse: Reuse,
    /// The grant under which the call is made.
    pub(crate) under: Option<Under<'a>>,
    /// Whether a person reviews the result.
    pub(crate) review: Option<ReviewRule>,
    /// For a plan, the name of the root whose journals record it.
    pub(crate) home: Option<String>,
    /// The longest wait for another run of the same request.
    pub(crate) patience: Duration,
    /// The time limit. An output must be usable for twice that time.
    pub(crate) timeout: Duration,
}

/// A grant as a call names it, and what the call is.
#[derive(Debug, Clone)]
pub(crate) struct Under<'a> {
    /// The operation that opened the grant.
    pub(crate) operation_id: &'a str,
    /// The seal of the entry as the catalog has it now.
    pub(crate) seal: String,
    /// The name of the root in which the call is made.
    pub(crate) home: String,
}

/// Who asks, and in which delivery.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Who<'a> {
    pub(crate) operation_id: &'a str,
    pub(crate) session_id: &'a str,
    pub(crate) context: &'a str,
    pub(crate) profile: &'a str,
    pub(crate) request_id: Option<&'a str>,
    pub(crate) idempotency_key: Option<&'a str>,
    /// Without a task and an idempotency key, no two deliveries are the same.
    pub(crate) task_id: Option<&'a str>,
    /// None if the caller does not count: then the attempt follows the last one for the task.
    pub(crate) attempt: Option<u32>,
    /// Of a step of a task. Then the idempotency key is its own.
    pub(crate) part: Option<&'a Part>,
    /// What an approval of this request is bound to.
    pub(crate) bound: Bound,
    /// The request for an approval with which the task goes on.
    pub(crate) joins: Option<&'a str>,
}

/// A step of a task.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    /// The operation of the task.
    pub(crate) parent: String,
    /// From 1.
    pub(crate) position: u64,
    /// Its delivery ([`TaskRun::key`]), which stands for the caller's idempotency key.
    pub(crate) key: String,
    /// The number of equal steps before it in the task, which are requests of their own.
    pub(crate) equals: usize,
    pub(crate) capability: String,
    /// The number of steps of this capability before it in the task.
    pub(crate) nth: usize,
    pub(crate) run: TaskRun,
}

/// A task that this run performs, as its steps need it.
#[derive(Debug, Clone)]
pub(crate) struct TaskRun {
    pub(crate) attempt: u32,
    /// Its `request_hash`.
    pub(crate) whole: String,
    /// The claim with which the task began, in this run or in an earlier one.
    pub(super) began: Seq,
}

impl TaskRun {
    /// The delivery of the `nth` step of that capability, the same in each run of the task.
    pub(crate) fn key(&self, capability: &str, nth: usize) -> String {
        step_key((&self.whole, self.began), (capability, nth))
    }
}

/// The delivery of a step, by the `request_hash` of its task and the claim with which the task began.
pub(super) fn step_key((whole, began): (&str, Seq), (capability, nth): (&str, usize)) -> String {
    let named = json!({"began": began, "request_hash": whole});
    format!("step:{}:{capability}:{nth}", sha256(canonical(&named)))
}

/// The first ref or file that is made or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// `ref`, `file`, `plan`
    pub(crate) kind: &'static str,
    pub(crate) id: String,
}

#[derive(Debug)]
pub(crate) enum Reply {
    /// This run performs the request, and no other run does.
    Run(Running),
    Answered(Box<Answered>),
}

/// A request that this run has claimed.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) hashes: Hashes,
    pub(crate) claim: u64,
    pub(crate) why: Why,
    pub(crate) attempt: u32,
    /// Only if its steps have records of their own.
    pub(crate) task: Option<TaskRun>,
    /// The lock that is held until the claim is settled.
    pub(super) held: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) how: Again,
    /// The row whose answer it is.
    pub(crate) original: Row,
    pub(crate) effect: Effect,
    pub(crate) review: Option<Review>,
    pub(crate) request_hash: String,
    /// The link that records it.
    pub(crate) head: Head,
}

/// Makes an enum of reasons from a table: the name, as it is stored and printed, and a sentence for people.
macro_rules! told {
    ($(#[$doc:meta])* $enum:ident { $($reason:ident = $name:literal, $sentence:literal;)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
        pub(crate) enum $enum {
            $(#[serde(rename = $name)] $reason,)*
        }

        impl $enum {
            const fn words(self) -> (&'static str, &'static str) {
                match self {
                    $(Self::$reason => ($name, $sentence),)*
                }
            }
        }
    };
}

told! {
    /// Why an old answer is given.
    Again {
        Replayed = "replayed", "the same delivery had been answered before";
        Reused = "reused", "the same request had been answered, and the answer was still valid";
        Suppressed = "suppressed", "it had been performed already and must not be performed twice";
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// No such request was performed in the session.
    New,
    /// The task failed before.
    Retry,
    /// The catalog says that duplicates are repeated.
    Repeat,
    /// An old answer is no longer good.
    Miss(Miss),
    /// The run that had the claim died.
    TakenOver,
}

told! {
    /// Why an old answer is no longer good. Of several reasons, the first one counts.
    Miss {
        Disabled = "disabled", "reuse is switched off";
        NotSuccessful = "not_successful", "the old run did not succeed completely";
        Pruned = "pruned", "the old answer was pruned";
        LedgerDamaged = "ledger_damaged", "the old answer in the ledger does not match its link";
        Revoked = "revoked", "the old answer was revoked, or rejected in a review";
        CatalogChanged = "catalog_changed", "the entry of the catalog has changed since";
        ToolChanged = "tool_changed", "the pin of the tool has changed since";
        OneactChanged = "oneact_changed", "this version of oneact judges results by other rules";
        Expired = "expired", "the old answer is older than the entry allows";
        InputChanged = "input_changed", "an input has changed since";
        InputChangedDuringRun = "input_changed_during_run", "an input changed during the old run";
        InputUnknown = "input_unknown", "it cannot be known whether an input has changed";
        OutputMissing = "output_missing", "an output of the old run no longer exists";
        OutputChanged = "output_changed", "an output of the old run was changed";
        OutputExpiring = "output_expiring", "the link to an output expires soon";
        Degraded = "degraded", "the old run used parameters that a retry had changed";
        StateMayHaveChanged = "state_may_have_changed", "an operation with effects was performed in the session since";
    }
}

impl Why {
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::New => ("new", "no such request had been performed in this session"),
            Self::Retry => ("retry", "the previous attempt had failed"),
            Self::Repeat => (
                "repeat",
                "the catalog says that this request is performed each time",
            ),
            Self::Miss(miss) => miss.words(),
            Self::TakenOver => (
                "taken_over",
                "the run that performed it had ended without an answer",
            ),
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        self.words().0
    }

    pub(crate) const fn sentence(self) -> &'static str {
        self.words().1
    }

    pub(crate) fn read(name: &str) -> Option<Self> {
        let plain = [Self::New, Self::Retry, Self::Repeat, Self::TakenOver];
        let plain = plain.into_iter().find(|why| why.name() == name);
        plain.or_else(|| word(name).map(Self::Miss))
    }
}

impl Again {
    pub(crate) const fn name(self) -> &'static str {
        self.words().0
    }

    pub(crate) const fn sentence(self) -> &'static str {
        self.words().1
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Ended {
    pub(crate) state: RowState,
    pub(crate) outcome: RowOutcome,
    pub(crate) fault: Option<Fault>,
    pub(crate) told: Told,
    pub(crate) response: String,
    pub(crate) inputs: Vec<SeenInput>,
    pub(crate) outputs: Vec<Made>,
    pub(crate) began: Timestamp,
    pub(crate) at: Timestamp,
    pub(crate) duration_ms: u64,
    pub(crate) approval: Option<ApprovalNote>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recorded {
    /// The link; none if the ledger could not be written.
    pub(crate) head: Option<Head>,
    /// For `audit.compliance_notes`.
    pub(crate) notes: Vec<String>,
}

/// Why the ledger refuses a request.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LedgerError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "the session `{session}` was opened in the context {opened} and cannot be used in the context {now}; use another session, or choose the context with --profile (without it, a terminal at stdin means USER_INVOCATION)"
    )]
    ContextChanged {
        session: String,
        opened: String,
        now: String,
    },
    #[error(
        "the same {what} was sent before with other content (operation {operation}); nothing was performed. Give a changed task a new id"
    )]
    Conflict { what: String, operation: String },
    #[error(
        "operation {operation} performed this step of the task with other parameters, because an earlier step had another result then. It must not happen twice, so it is not performed again. Send the task with another `salt` to perform all of its steps anew"
    )]
    OtherStep { operation: String },
    #[error(
        "{by} is performing the same request, delivery or action and did not end within {waited:?}; send the request again later"
    )]
    InFlight { by: String, waited: Duration },
    #[error(
        "operation {operation} may have performed this request, the same delivery with another content, or the same action (`fence` of the entry): its outcome is unknown, or its result failed a check. Therefore nothing was performed. Find out whether it happened, then record this with `oneact resolve {operation} --happened` or `--did-not`"
    )]
    Unknown { operation: String },
    #[error(
        "operation {operation} performed the same request or answered the same delivery, as link {link} says, but its answer in the ledger was changed or removed. The request is not performed again. `oneact verify` describes the damage. Restore the ledger from a backup, or send the request with another `salt` to perform it again"
    )]
    Damaged { operation: String, link: Seq },
    #[error(
        "the ledger {place} does not contain link {link}, which {head} names: the ledger is an older copy, or its end was cut off. Requests with effects are refused, because they may have been performed before. Restore the newer ledger; to continue with this one, remove {head}"
    )]
    Older {
        place: String,
        link: Seq,
        head: String,
    },
    #[error(
        "{head} cannot be read ({why}), so it is not known whether the ledger {place} is an older copy or its end was cut off. Requests with effects are refused, because they may have been performed before. See `oneact verify`; if this ledger is the newest one, remove {head}"
    )]
    HeadUnreadable {
        place: String,
        head: String,
        why: String,
    },
    #[error("{}", .0.withheld().message)]
    ReviewOpen(Box<Review>),
    #[error(
        "a person must review the result (`requires_post_review`), but the ledger is switched off, so nobody could. Nothing was performed. Name a ledger with `[ledger] uri` or $ONEACT_LEDGER"
    )]
    NoReview,
    #[error("{}", .0.message)]
    Stopped(Failure),
}

impl LedgerError {
    /// Whether a record that was to be stored may be in the ledger.
    pub(crate) fn is_unconfirmed(&self) -> bool {
        matches!(self, Self::Store(error) if error.trouble == Trouble::Unconfirmed)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        LedgerError::from(error).into()
    }
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        let fault = match &error {
            LedgerError::Store(error) if error.is_full() => Fault::DiskFull,
            LedgerError::Store(_)
            | LedgerError::NoReview
            | LedgerError::Older { .. }
            | LedgerError::HeadUnreadable { .. } => Fault::LedgerUnavailable,
            LedgerError::ReviewOpen(_) => Fault::ReviewOpen,
            LedgerError::ContextChanged { .. } => Fault::ContextChanged,
            LedgerError::Conflict { .. } | LedgerError::OtherStep { .. } => {
                Fault::IdempotencyConflict
            }
            LedgerError::InFlight { .. } => Fault::RequestInFlight,
            LedgerError::Unknown { .. } | LedgerError::Damaged { .. } => Fault::OutcomeUnknown,
            LedgerError::Stopped(failure) => return failure.clone(),
        };
        let mut failure = Self::new(fault, error.to_string());
        // A ledger that is not usable stays so, unless its own error says that it may pass.
        failure.recoverable &= match &error {
            LedgerError::Store(error) => !error.lasts(),
            _ => fault != Fault::LedgerUnavailable,
        };
        failure
    }
}

/// What an answer says about an approval, or about the grant that it opens. Its link says the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ApprovalNote {
    Requests {
        id: String,
        asked: AskedApproval,
    },
    /// The run found the approval unusable: the next run asks again.
    Ends {
        id: String,
    },
    /// A step of the improvised action waits: the approval is used again when the action goes on.
    Keeps {
        id: String,
    },
    /// The answer opens a grant, which a person has approved, in the root of that name.
    Opens {
        granted: Granted,
        home: String,
    },
}

impl ApprovalNote {
    /// The body of the link of that answer.
    pub(super) fn told(&self, body: Body, row: &Row) -> Body {
        match self {
            Self::Requests { id, asked } => Body {
                approval: Some(id.clone()),
                asked: Some(asked.clone()),
                task: row.task_id.clone(),
                ..body
            },
            Self::Ends { id } | Self::Keeps { id } => Body {
                approval: Some(id.clone()),
                ..body
            },
            Self::Opens { granted, home } => Body {
                grant: Some(granted.clone()),
                home: Some(home.clone()),
                ..body
            },
        }
    }
}
