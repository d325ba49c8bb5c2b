//! The task of a request for an approval, as its row keeps it: `run --approved` performs it without the caller.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::request::Approval;
use crate::{
    catalog::Caller,
    envelope::{Received, Source, parse},
    executor::Hidden,
    ledger::{Asked, Bound, Row},
    task::{CallContext, NamedSession, SessionFrom},
};

/// The key of the kept task in the request of a row, beside what people see of the approval.
pub(crate) const KEPT: &str = "kept";

/// What a row keeps of the task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kept {
    /// The bytes of the task as they were received, and in which context.
    Task {
        text: String,
        context: CallContext,
        profile: Option<String>,
    },
    /// Why it is not kept, as a part of a sentence.
    Without(String),
}

impl Kept {
    /// Keeps the task, if nothing in it has to be redacted and it is small enough.
    pub(super) fn of(
        (received, asked): (&Received, &Asked),
        hidden: &Hidden,
        caller: &Caller,
    ) -> Self {
        let without = |why: &str| Self::Without(why.to_owned());
        let (text, whole) = match &received.source {
            Source::Text(text) => (text, parse(text.as_bytes())),
            Source::TooLarge => {
                return without("its task has more than 512 KiB, so it is not kept");
            }
            Source::Unknown => return without("its task is not kept"),
        };
        let Ok(whole) = whole else {
            return without("its task is not kept");
        };
        let mut steps = asked.steps.iter();
        let is_secret = steps.any(|step| step.shown.is_some() || step.answers.is_some());
        if is_secret || hidden.value(whole.clone()) != whole {
            return without("the record of its task does not contain the secrets");
        }
        Self::Task {
            text: text.clone(),
            context: caller.context,
            profile: caller.profile.clone(),
        }
    }
}

/// What the row of a request says about its approval.
pub(crate) fn about(row: Option<&Row>) -> Option<Value> {
    let mut request: Value = serde_json::from_str(row?.request.as_deref()?).ok()?;
    request.pointer_mut("/context/approval").map(Value::take)
}

/// The request for an approval with which a run goes on, and in which session.
#[derive(Debug, Clone)]
pub(crate) struct Joined {
    pub(crate) id: String,
    pub(crate) session_id: String,
    pub(crate) task: Option<String>,
    pub(crate) bound: Bound,
}

impl Joined {
    pub(crate) fn of(case: &Approval) -> Self {
        Self {
            id: case.id.clone(),
            session_id: case.session_id.clone(),
            task: case.task_id.clone(),
            bound: case.asked.bound,
        }
    }
}

/// A request for an approval whose stored call a run performs (`--approved`).
#[derive(Debug, Clone)]
pub struct Approved {
    pub(crate) joined: Joined,
    /// Whether the request is for the whole task, and not for one of its steps.
    pub(crate) is_whole: bool,
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
}
