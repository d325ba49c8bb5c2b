//! The list of all sessions.

use super::{naming::CommandError, reading::Reading};
use crate::ledger::{Counts, Row, Session, StoreError, Which, read};

/// A session in a list.
#[derive(Debug)]
pub(crate) struct SessionSummary {
    pub(crate) counts: Counts,
    /// None for a session from before oneact.
    pub(crate) opened: Option<Session>,
    /// When its first answer was begun, and when its last one was given.
    pub(crate) first: String,
    pub(crate) last: String,
    pub(crate) last_failure: Option<Row>,
}

impl Reading {
    /// The sessions, the last used first.
    pub(crate) fn sessions(&mut self, most: usize) -> Result<Vec<SessionSummary>, CommandError> {
        let found = read::<_, StoreError>(&mut *self.store, |tx| {
            let all = tx.counts(most)?.into_iter().map(|counts| {
                let id = &counts.session_id;
                let first = tx.row(&Which::session(id))?;
                let last = tx.row(&Which::latest(id))?;
                Ok(SessionSummary {
                    opened: tx.session(id)?,
                    first: first.map(|row| row.started_at).unwrap_or_default(),
                    last: last.map(|row| row.timestamp).unwrap_or_default(),
                    last_failure: tx.row(&Which::latest(id).failed())?,
                    counts,
                })
            });
            all.collect()
        });
        Ok(found?)
    }
}
