//! What became of a plan whose run died before it could say so.

use std::sync::Arc;

use crate::task::RelPath;

use super::{
    Desk,
    engine::{self, Account, Entry, Folder, Origin, State},
    files::{Faults, Root},
};

/// What the journal says, after everything that was interrupted has been settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    /// All of it was made, and stands.
    Made {
        /// The report directory, below the root.
        directory: String,
        changed: Vec<RelPath>,
    },
    /// Nothing of it was made, or nothing is left.
    NotMade,
    /// Nobody can tell.
    Unknown,
}

/// The fate of the plan that this run carried out.
pub(crate) fn fate(desk: Desk<'_>, operation_id: &str) -> Fate {
    let Ok(root) = Root::open(desk.root, Arc::new(Faults::default())) else {
        return Fate::Unknown;
    };
    let Ok(names) = engine::finished(&root) else {
        return Fate::Unknown;
    };
    for name in names {
        let Ok(folder) = Folder::open(&root, &name) else {
            continue;
        };
        let Ok(account) = engine::account(folder.dir()) else {
            continue;
        };
        if account.operation == operation_id {
            return told(&folder, account);
        }
    }
    // A journal is there before anything is changed.
    Fate::NotMade
}

/// A journal that was not written here tells nothing.
fn told(folder: &Folder<'_>, account: Account) -> Fate {
    match (account.origin, account.state) {
        (Origin::Here, State::Done(entries)) => Fate::Made {
            directory: folder.path().to_string(),
            changed: entries.iter().flat_map(paths).collect(),
        },
        (Origin::Here, State::Empty | State::Ready(_) | State::RolledBack(_)) => Fate::NotMade,
        (Origin::Here, State::Applying(_) | State::Foreign) | (Origin::Unproven, _) => {
            Fate::Unknown
        }
    }
}

fn paths(entry: &Entry) -> Vec<RelPath> {
    match entry {
        Entry::MakeDir { .. } | Entry::RemoveDir { .. } => Vec::new(),
        Entry::Rename { path, to, .. } => vec![path.clone(), to.clone()],
        Entry::Create { path, .. } | Entry::Modify { path, .. } | Entry::Delete { path, .. } => {
            vec![path.clone()]
        }
    }
}
