//! What the journal of a plan tells: its story, and the files of its report directory.

use super::{
    engine::{Account, State},
    record::Story,
    report::{self, Documents},
};
use crate::tree::Jail;

/// The story that a journal tells, also of a plan that has not ended.
pub(super) fn so_far(account: &Account) -> Option<Story> {
    let begun = Story::begun(account.run.clone()?, Jail::Unavailable);
    let undo = account.undo.clone();
    Some(Story {
        undo: undo.filter(|_| account.state != State::NothingChanged),
        end: account.ending.clone().unwrap_or(begun.end),
        undone: account.undone.clone(),
        has_expired: account.has_expired,
        run: begun.run,
    })
}

/// The same of a plan that has ended.
pub(super) fn story(account: &Account) -> Option<Story> {
    so_far(account).filter(|_| account.ending.is_some())
}

/// All reports of a plan that has ended.
pub(super) fn documents(account: &Account) -> Documents {
    story(account).map_or_else(Documents::new, |story| report::documents(&story))
}
