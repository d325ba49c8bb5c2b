//! Reads over all sessions: a list of them, and the answers of all of them by time.

use super::{Reviews, newest};
use crate::{
    ledger::{Counts, Row, Session, StoreError, Tx, Which, read},
    people::{CommandError, Open, Reading, Step},
};

/// A session in a list.
#[derive(Debug)]
pub(crate) struct Summary {
    pub(crate) counts: Counts,
    /// `None` for a session from before oneact.
    pub(crate) opened: Option<Session>,
    /// When its first answer was begun, and when its last one was given.
    pub(crate) first: String,
    pub(crate) last: String,
    pub(crate) last_failure: Option<Row>,
}

/// The answers of all sessions, or some of them.
#[derive(Debug)]
pub(crate) struct Across {
    /// In the order of their links.
    pub(crate) steps: Vec<Step>,
    pub(crate) open: Vec<Open>,
}

/// Which answers are wanted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    /// RFC 3339, UTC, milliseconds.
    pub(crate) since: Option<String>,
    pub(crate) outcome: Wanted,
    /// The id of an entry.
    pub(crate) capability: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Wanted {
    #[default]
    All,
    Failed,
}

impl Filter {
    /// The rows of `which` that are wanted.
    pub(super) fn of(&self, which: Which) -> Which {
        let which = match &self.since {
            Some(time) => which.answered_since(time),
            None => which,
        };
        let which = match self.outcome {
            Wanted::Failed => which.failed(),
            Wanted::All => which,
        };
        match &self.capability {
            Some(id) => which.of_entry(id),
            None => which,
        }
    }
}

impl Reading {
    /// The sessions, the last used first.
    pub(crate) fn sessions(&mut self, most: usize) -> Result<Vec<Summary>, CommandError> {
        let found = read::<_, StoreError>(&mut *self.store, |tx| {
            let all = tx.counts(most)?;
            all.into_iter().map(|counts| summary(tx, counts)).collect()
        });
        Ok(found?)
    }

    /// The newest answers of all sessions for which the filter and `fits` hold.
    pub(crate) fn across(
        &mut self,
        most: usize,
        filter: &Filter,
        fits: &dyn Fn(&Row) -> bool,
    ) -> Result<Across, CommandError> {
        let now = self.now;
        let (steps, claims) = read::<_, StoreError>(&mut *self.store, |tx| {
            let rows = newest(tx, &filter.of(Which::newest()), most, fits)?;
            let steps = rows.into_iter().map(|row| {
                let reviews = Reviews::of(tx, &row.session_id, std::slice::from_ref(&row), now)?;
                Step::of(tx, &reviews, row)
            });
            Ok((steps.collect::<Result<_, _>>()?, tx.open_claims(None)?))
        })?;
        Ok(Across {
            steps,
            open: self.judged(claims),
        })
    }
}

fn summary(tx: &mut Tx<'_>, counts: Counts) -> Result<Summary, StoreError> {
    let id = &counts.session_id;
    let first = tx.row(&Which::session(id))?;
    let last = tx.row(&Which::latest(id))?;
    Ok(Summary {
        opened: tx.session(id)?,
        first: first.map(|row| row.started_at).unwrap_or_default(),
        last: last.map(|row| row.timestamp).unwrap_or_default(),
        last_failure: tx.row(&Which::latest(id).failed())?,
        counts,
    })
}
