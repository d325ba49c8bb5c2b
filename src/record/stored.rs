//! The task of a request for an approval, as its row keeps it: `run --approved` performs it without the caller.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Project, grants};
use crate::{
    envelope::{Received, Source, parse},
    executor::Hidden,
    gate::Caller,
    host::{self, Host},
    ledger::{Approval, Asked, Bound, Row, VoteError},
    task::{CallContext, Failure, Fault, NamedSession, SessionFrom},
};

/// The key of the kept task in the request of a row, beside what people see of the approval.
pub(super) const KEPT: &str = "kept";

/// What a row keeps of the task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kept {
    /// The bytes of the task as they were received, and in which context.
    Task {
        text: String,
        context: CallContext,
        profile: Option<String>,
    },
    /// Why it is not kept.
    Without(Lack),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Lack {
    /// The record must not contain the secrets of the task.
    Secrets,
    TooLarge,
    /// The task did not come as JSON.
    NoText,
}

impl Lack {
    pub(super) const fn why(self) -> &'static str {
        match self {
            Self::Secrets => "the record of its task does not contain the secrets",
            Self::TooLarge => "its task has more than 512 KiB, so it is not kept",
            Self::NoText => "its task is not kept",
        }
    }
}

impl Kept {
    /// Keeps the task, if nothing in it has to be redacted and it is small enough.
    pub(super) fn of(
        (received, asked): (&Received, &Asked),
        hidden: &Hidden,
        caller: &Caller,
    ) -> Self {
        let text = match &received.source {
            Source::Text(text) => text,
            Source::TooLarge => return Self::Without(Lack::TooLarge),
            Source::Unknown => return Self::Without(Lack::NoText),
        };
        let Ok(whole) = parse(text.as_bytes()) else {
            return Self::Without(Lack::NoText);
        };
        let mut steps = asked.steps.iter();
        let is_secret = steps.any(|step| step.shown.is_some() || step.answers.is_some());
        if is_secret || hidden.value(whole.clone()) != whole {
            return Self::Without(Lack::Secrets);
        }
        Self::Task {
            text: text.clone(),
            context: caller.context,
            profile: caller.profile.clone(),
        }
    }
}

/// What the row of a request says about its approval.
pub(super) fn about(row: Option<&Row>) -> Option<Value> {
    let mut request: Value = serde_json::from_str(row?.request.as_deref()?).ok()?;
    request.pointer_mut("/context/approval").map(Value::take)
}

/// The request for an approval with which a run goes on, and in which session.
#[derive(Debug, Clone)]
pub(super) struct Joined {
    pub(super) id: String,
    pub(super) session_id: String,
    pub(super) task: Option<String>,
    pub(super) bound: Bound,
}

impl Joined {
    pub(super) fn of(case: &Approval) -> Self {
        Self {
            id: case.id.clone(),
            session_id: case.session_id.clone(),
            task: case.task.clone(),
            bound: case.asked.bound,
        }
    }
}

/// A request for an approval whose stored call a run performs (`--approved`).
#[derive(Debug, Clone)]
pub struct Approved {
    pub(super) joined: Joined,
    /// Whether the request is for the whole task, and not for one of its steps.
    pub(super) is_whole: bool,
    pub(crate) context: CallContext,
    pub(crate) profile: Option<String>,
}

impl Approved {
    /// The session for a task that names none.
    pub(crate) fn session(&self) -> NamedSession {
        NamedSession {
            id: self.joined.session_id.clone(),
            from: match self.joined.bound {
                Bound::Call => SessionFrom::Run,
                Bound::Session | Bound::Task => SessionFrom::Caller,
            },
        }
    }

    pub(crate) fn id(&self) -> &str {
        &self.joined.id
    }
}

/// The request whose id begins with `text`, and its task, if this user may perform it in this project now. Whether it was
/// approved is checked when it is performed.
pub(crate) fn approved(
    project: &Project,
    text: &str,
    host: &Host,
) -> Result<(Approved, Vec<u8>), Failure> {
    let mut reading = project
        .reading(host)
        .map_err(|error| Failure::new(Fault::LedgerUnavailable, error.to_string()))?;
    let (case, row) = reading.approval(text).map_err(|error| match error {
        VoteError::Nothing(_) => {
            let why = format!(
                "{error}, and --root DIR names another root (this one is {})",
                project.root
            );
            Failure::new(Fault::InvalidUsage, why)
        }
        error => error.into(),
    })?;
    let (id, asked) = (&case.id, &case.asked);
    let mismatch = |why: String| Failure::new(Fault::ApprovalMismatch, why);
    let about = about(row.as_ref()).unwrap_or_default();
    let root = &project.root;
    if asked.root != Some(grants::root_of(&project.state_dir, root)) {
        let other = about.get("root").and_then(Value::as_str);
        let other = other.unwrap_or("that is not known");
        return Err(mismatch(format!(
            "{id} was requested in the root {other}, but this is the root {root}; perform it there: \
             `oneact run --approved {id} --root {other}`"
        )));
    }
    let us = format!("uid:{}", host::user_id());
    if case.by != us {
        return Err(mismatch(format!(
            "{id} was requested by {}, and only that user performs it; this is {us}",
            case.by
        )));
    }
    case.decidable(host.timestamp())?;
    let lack = match about.get(KEPT).map(Kept::deserialize) {
        Some(Ok(Kept::Task {
            text,
            context,
            profile,
        })) => {
            let approved = Approved {
                joined: Joined::of(&case),
                is_whole: asked.whole.is_none(),
                context,
                profile,
            };
            return Ok((approved, text.into_bytes()));
        }
        Some(Ok(Kept::Without(lack))) => lack.why(),
        Some(Err(_)) | None => "its row was changed or pruned",
    };
    Err(mismatch(format!(
        "{id} cannot be performed from the ledger, because {lack}. Send the task again: its next run uses the approval"
    )))
}

impl From<VoteError> for Failure {
    fn from(error: VoteError) -> Self {
        let fault = match &error {
            VoteError::Denied(_) => Fault::ApprovalDenied,
            VoteError::Expired(..) | VoteError::Early(..) => Fault::ApprovalExpired,
            VoteError::Nothing(_) | VoteError::Several(..) => Fault::InvalidUsage,
            VoteError::Command(_) => Fault::LedgerUnavailable,
            _ => Fault::ApprovalMismatch,
        };
        Self::new(fault, error.to_string())
    }
}
