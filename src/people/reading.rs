//! Reads the ledger: the answers of a session or of all sessions, and the one that a person means. Nothing is created or
//! changed.

#[cfg(test)]
mod tests;

use jiff::Timestamp;

use super::{
    naming::{Alone, CommandError, Name, find, known, last_session},
    step::SessionStep,
    unanswered::{Unanswered, unanswered},
};
use crate::ledger::{Place, Row, RowState, Session, Store, StoreError, Tx, Which, Wish, read};
use crate::task::ReviewState;

pub(crate) struct Reading {
    pub(super) store: Box<dyn Store>,
    /// Decides which reviews are overdue.
    pub(super) now: Timestamp,
}

/// Answers of one session or of all sessions.
#[derive(Debug)]
pub(crate) struct Answers {
    /// The session; none if the answers are those of all sessions.
    pub(crate) session: Option<AnsweredSession>,
    /// Ascending, by their numbers, or by their links.
    pub(crate) steps: Vec<SessionStep>,
    pub(crate) open: Vec<Unanswered>,
}

#[derive(Debug)]
pub(crate) struct AnsweredSession {
    pub(crate) session_id: String,
    /// None for a session from before oneact.
    pub(crate) opened: Option<Session>,
    /// The number of answers of the whole session.
    pub(crate) count: u64,
}

/// Which answers are wanted.
#[derive(Default)]
pub(crate) struct Filter<'a> {
    /// RFC 3339, UTC, milliseconds.
    pub(crate) since: Option<String>,
    pub(crate) outcome: WantedOutcome,
    /// The id of an entry.
    pub(crate) capability: Option<&'a str>,
    /// A word in lower case that the row contains.
    pub(crate) word: Option<&'a str>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum WantedOutcome {
    #[default]
    All,
    Failed,
}

impl Filter<'_> {
    /// The rows of `which` that are wanted, whatever they contain.
    fn of(&self, mut which: Which) -> Which {
        if let Some(time) = &self.since {
            which = which.answered_since(time);
        }
        if self.outcome == WantedOutcome::Failed {
            which = which.failed();
        }
        match self.capability {
            Some(id) => which.of_entry(id),
            None => which,
        }
    }

    fn fits(&self, row: &Row) -> bool {
        self.word.is_none_or(|word| holds(row, word))
    }
}

impl Reading {
    pub(crate) fn open(place: &Place, now: Timestamp) -> Result<Self, CommandError> {
        match (place, place.missing()) {
            (_, Some(path)) => Err(CommandError::Missing {
                place: path.to_string(),
            }),
            (Place::Nowhere, None) => Err(CommandError::Off),
            (Place::File(_) | Place::Postgres(_), None) => {
                Ok(Self::of(place.store(Wish::Read)?, now))
            }
        }
    }

    pub(crate) fn of(store: Box<dyn Store>, now: Timestamp) -> Self {
        Self { store, now }
    }

    /// The name of the ledger, for people.
    pub(crate) fn place(&self) -> &str {
        self.store.place()
    }

    /// The session of that id, or the one that was used last.
    pub(crate) fn session(&mut self, said: Option<&str>) -> Result<String, CommandError> {
        read(&mut *self.store, |tx| {
            if let Some(session) = said {
                known(tx, session)?;
                return Ok(session.to_owned());
            }
            let last = last_session(tx)?;
            last.ok_or_else(|| CommandError::Empty {
                place: tx.place().to_owned(),
            })
        })
    }

    /// At most that many of the newest answers of a session, or of all sessions, for which the filter holds.
    pub(crate) fn answers(
        &mut self,
        session_id: Option<&str>,
        most: usize,
        filter: &Filter<'_>,
    ) -> Result<Answers, CommandError> {
        let now = self.now;
        let (session, steps, claims) = read::<_, StoreError>(&mut *self.store, |tx| {
            let which = session_id.map_or_else(Which::newest, Which::latest);
            let rows = newest(tx, &filter.of(which), most, filter)?;
            let steps = SessionStep::all(tx, rows, now)?;
            let session = match session_id {
                Some(id) => Some(AnsweredSession {
                    session_id: id.to_owned(),
                    opened: tx.session(id)?,
                    count: tx.answers(id)?,
                }),
                None => None,
            };
            Ok((session, steps, tx.open_claims(session_id)?))
        })?;
        Ok(Answers {
            session,
            steps,
            open: unanswered(&mut *self.store, claims),
        })
    }

    /// One answer, by the number of its step, or by the beginning of its own id or its operation's id.
    pub(crate) fn find(&mut self, id: &str, session: Option<&str>) -> Result<Row, CommandError> {
        // An empty ledger is an error of its own.
        self.session(session)?;
        let name = Name {
            text: id,
            session,
            alone: Alone::LastSession,
        };
        read(&mut *self.store, |tx| find(tx, name))
    }

    /// The newest answer for a task of that name, else what [`find`](Self::find) finds.
    pub(crate) fn task(&mut self, name: &str, session: Option<&str>) -> Result<Row, CommandError> {
        let session_id = self.session(session)?;
        let which = Which::task_anywhere(name).within(session);
        if let Some(row) = read(&mut *self.store, |tx| tx.row(&which))? {
            return Ok(row);
        }
        self.find(name, session).map_err(|error| match error {
            CommandError::Nothing { text, .. } => CommandError::NoTask {
                session: session_id,
                task: text,
            },
            other => other,
        })
    }
}

/// Whether the row holds this word in its request, its answer or its names.
fn holds(row: &Row, word: &str) -> bool {
    let state = row.state.map(RowState::name);
    let texts = [
        &row.action_type,
        &row.task_id,
        &row.request_id,
        &row.target_id,
        &state,
        &row.fault,
        &row.reason,
        &row.request,
        &row.response,
        &row.output_ids,
    ];
    let texts = texts.into_iter().flatten().map(String::as_str);
    let mut texts = texts.chain([row.outcome.name(), &row.operation_id]);
    texts.any(|text| text.to_lowercase().contains(word))
}

/// The newest `most` answers that fit, of which `which` finds the newest first; in ascending order.
fn newest(
    tx: &mut Tx<'_>,
    which: &Which,
    most: usize,
    filter: &Filter<'_>,
) -> Result<Vec<Row>, StoreError> {
    let mut looked_at = most;
    loop {
        let mut rows = tx.rows(which, looked_at)?;
        let all = rows.len() < looked_at;
        rows.retain(|row| filter.fits(row));
        rows.truncate(most);
        if all || rows.len() == most {
            rows.reverse();
            return Ok(rows);
        }
        looked_at = looked_at.saturating_mul(4);
    }
}

impl Answers {
    /// The number of tasks whose last answer is `pending`.
    pub(crate) fn waiting(&self) -> usize {
        let waits = |(at, step): &(usize, &SessionStep)| {
            let mut later = self.steps.iter().skip(at + 1);
            step.waits() && !later.any(|other| other.row.task_id == step.row.task_id)
        };
        self.steps.iter().enumerate().filter(waits).count()
    }

    /// The open reviews of answers that were made here, by their states.
    pub(crate) fn open_reviews(&self) -> impl Iterator<Item = ReviewState> {
        self.steps.iter().filter_map(SessionStep::open_review)
    }
}
