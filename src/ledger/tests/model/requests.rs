//! The requests of the model, as a run gives them to the ledger.

use std::time::Duration;

use super::{
    super::{Ask, Ground, OnDuplicate, StateChange, Unless, Who, ask, reuse},
    Call, Kind, Name, TTL_OF_LOOK,
};
use crate::{ledger::Fence, task::Policy};

impl Kind {
    /// Its entry, and the digest of it.
    pub(super) const fn id(self) -> &'static str {
        match self {
            Self::Look => "look",
            Self::Make => "make",
            Self::Put => "put",
            Self::Send => "send",
            Self::Post => "post",
            Self::Pay => "pay",
        }
    }

    /// The rule for duplicates, in the words of the program.
    fn on_duplicate(self) -> OnDuplicate {
        match self {
            Self::Look => reuse(Some(TTL_OF_LOOK), Ground::Declared),
            Self::Make => reuse(None, Ground::Content),
            Self::Put | Self::Post => OnDuplicate::Repeat,
            Self::Send | Self::Pay => OnDuplicate::Suppress(Unless::InputsChanged),
        }
    }
}

pub(super) fn asked(id: &str, call: Call) -> Ask<'_> {
    let base = ask("op");
    let mut asked = base.asked.clone();
    asked.steps[0].entry = call.kind.id().to_owned();
    asked.fence = call.kind.is_fenced().then(|| Fence {
        entry: call.kind.id().to_owned(),
        ..Fence::default()
    });
    let effects = call.kind.effects();
    Ask {
        who: Who {
            operation_id: id,
            session_id: call.session,
            idempotency_key: (call.name == Name::Key).then_some("k"),
            task_id: call.name.task(),
            attempt: match call.name {
                Name::Attempt(attempt) => Some(attempt),
                Name::Key => Some(1),
                Name::Nameless | Name::Uncounted => None,
            },
            ..base.who
        },
        asked,
        entry_digest: call.kind.id().to_owned(),
        effects,
        strictest: effects,
        on_duplicate: call.kind.on_duplicate(),
        change: if call.kind.changes() {
            StateChange::State
        } else {
            StateChange::Nothing
        },
        ..base
    }
}

pub(super) fn policy() -> Policy {
    Policy {
        root: Some("/r".to_owned()),
        expires: Duration::from_mins(15),
        quorum: 1,
        ..Policy::default()
    }
}
