//! What the journal of a plan that has ended tells: its story, and the files of its report directory.

use super::{
    engine::{Account, State},
    record::Story,
    report::{self, Documents, Later},
};

/// The story that a journal tells, of a plan that has ended.
pub(super) fn story(account: &Account) -> Option<Story> {
    Some(Story {
        run: account.run.clone()?,
        undo: match account.state {
            State::NothingChanged => None,
            _ => account.undo.clone(),
        },
        end: account.ending.clone()?,
    })
}

/// All reports of a plan that has ended.
pub(super) fn documents(account: &Account) -> Documents {
    let later = Later {
        undone: account.undone.clone(),
        has_expired: account.has_expired,
    };
    story(account).map_or_else(Documents::new, |story| report::documents(&story, &later))
}
