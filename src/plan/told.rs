//! What the journal of a plan that has ended tells: its story, and the files of its report directory.

use super::{
    engine::{Account, State},
    record::Story,
    report::{self, Documents, Later, Manifest},
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

/// The manifest of a plan that has changed something.
pub(super) fn manifest(account: &Account) -> Option<Manifest> {
    let (run, undo) = (account.run.as_ref()?, account.undo.as_ref()?);
    let story = story(account);
    Some(report::manifest(run, undo, story.as_ref(), &later(account)))
}

fn later(account: &Account) -> Later {
    Later {
        undone: account.undone.clone(),
        has_expired: account.has_expired,
    }
}

/// All reports of a plan that has ended.
pub(super) fn documents(account: &Account) -> Documents {
    let later = later(account);
    story(account).map_or_else(Documents::new, |story| report::documents(&story, &later))
}
