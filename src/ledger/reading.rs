//! Looking at the record: sessions, their steps, and why each was done or not. Nothing is made or changed.

#[cfg(test)]
mod tests;

use super::{
    Place,
    begin::lock_of,
    decision::Decision,
    record::{ClaimState, Event, Link, Row, RowState, Session},
    store::{PostgresStore, SqliteStore, Store, StoreError, Tx, Which, Wish, read},
};

/// A ledger that is only looked at.
pub(crate) struct Reading {
    store: Box<dyn Store>,
}

/// Why there is nothing to be seen.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("there is no ledger at {place}: nothing has been recorded here yet")]
    Missing { place: String },
    #[error("nothing is recorded here: the ledger is switched off (`none`)")]
    Off,
    #[error("the ledger {place} is empty: nothing has been recorded yet")]
    Empty { place: String },
    #[error("the ledger has no session `{session}`; the last one that was used is `{last}`")]
    NoSession { session: String, last: String },
    #[error("the session `{session}` has no step {step}; {}", steps(*.count))]
    NoStep {
        session: String,
        step: u64,
        count: u64,
    },
    #[error("nothing in the ledger has an id that begins with `{id}`")]
    NoId { id: String },
    #[error("`{id}` is the beginning of several ids: {several}; give more of it")]
    Ambiguous { id: String, several: String },
    #[error("the session `{session}` has no task `{task}`, and nothing has an id that begins so")]
    NoTask { session: String, task: String },
}

fn steps(count: u64) -> String {
    match count.checked_sub(1) {
        None => "it has none yet".to_owned(),
        Some(0) => "its only one is 0".to_owned(),
        Some(last) => format!("they go from 0 to {last}"),
    }
}

/// Part of a session, or all of it.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) session_id: String,
    /// None of sessions of before oneact.
    pub(crate) opened: Option<Session>,
    /// Ascending.
    pub(crate) steps: Vec<Step>,
    /// How many there are in the session.
    pub(crate) count: u64,
    /// What is being done, or was when its owner died.
    pub(crate) open: Vec<Open>,
}

/// One answer.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) row: Row,
    /// Whose answer it is, where it was given again.
    pub(crate) from: Option<u64>,
}

/// Something without an answer yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Open {
    pub(crate) operation_id: String,
    pub(crate) since: String,
    pub(crate) how: How,
}

/// How it stands with something that is without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    AtWork,
    /// Its owner died before anything could happen.
    Died,
    /// Its owner died when it may have happened.
    Unknown,
}

/// Everything about one answer.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) step: Step,
    pub(crate) decision: Decision,
    /// Its links and those about it, in their order.
    pub(crate) links: Vec<Link>,
    /// The steps to which its answer was given again.
    pub(crate) again: Vec<u64>,
}

/// Which answers of a session.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Most {
    All,
    /// The newest so many.
    Newest(usize),
}

/// How sessions are named that only try whether an answer comes out the same.
pub(crate) const SCRATCH: &str = "replay-";

impl Reading {
    /// Opens what is there.
    pub(crate) fn open(place: &Place) -> Result<Self, ReadError> {
        let store: Box<dyn Store> = match place {
            Place::File(path) if !path.exists() => {
                return Err(ReadError::Missing {
                    place: path.to_string(),
                });
            }
            Place::File(path) => Box::new(SqliteStore::open(path, Wish::Read)?),
            Place::Nowhere => return Err(ReadError::Off),
            Place::Postgres(uri) => Box::new(PostgresStore::open(uri, Wish::Read)?),
        };
        Ok(Self { store })
    }

    #[cfg(test)]
    pub(crate) fn of(store: Box<dyn Store>) -> Self {
        Self { store }
    }

    /// Where it is, for people.
    pub(crate) fn place(&self) -> &str {
        self.store.place()
    }

    /// The session of that id, or the one that was used last.
    pub(crate) fn session(&mut self, said: Option<&str>) -> Result<String, ReadError> {
        let place = self.store.place().to_owned();
        read(&mut *self.store, |tx| {
            let last = last_session(tx)?;
            let Some(session) = said else {
                return last.ok_or_else(|| ReadError::Empty {
                    place: place.clone(),
                });
            };
            let known =
                tx.session(session)?.is_some() || !tx.rows(&Which::Session(session), 1)?.is_empty();
            match (known, last) {
                (true, _) => Ok(session.to_owned()),
                (false, None) => Err(ReadError::Empty {
                    place: place.clone(),
                }),
                (false, Some(last)) => Err(ReadError::NoSession {
                    session: session.to_owned(),
                    last,
                }),
            }
        })
    }

    /// The answers of a session for which `fits` holds.
    pub(crate) fn page(
        &mut self,
        session_id: &str,
        most: Most,
        fits: &dyn Fn(&Row) -> bool,
    ) -> Result<Page, ReadError> {
        let mut page = read::<_, ReadError>(&mut *self.store, |tx| {
            let opened = tx.session(session_id)?;
            let count = count(tx, session_id, opened.as_ref())?;
            let rows = match most {
                Most::All => {
                    let mut rows = tx.rows(&Which::Session(session_id), usize::MAX)?;
                    rows.retain(|row| fits(row));
                    rows
                }
                Most::Newest(most) => newest(tx, session_id, count, most, fits)?,
            };
            let mut steps = Vec::with_capacity(rows.len());
            for row in rows {
                let from = from(tx, &row)?;
                steps.push(Step { row, from });
            }
            Ok(Page {
                session_id: session_id.to_owned(),
                opened,
                steps,
                count,
                open: open(tx, session_id)?,
            })
        })?;
        for open in &mut page.open {
            // Where nobody can say, it is believed to be at work.
            let alive = self.store.held(lock_of(&open.operation_id)).unwrap_or(true);
            if alive && open.how == How::Died {
                open.how = How::AtWork;
            }
        }
        Ok(page)
    }

    /// One answer: by the number of its step, by the beginning of its operation's or its own id.
    pub(crate) fn find(&mut self, id: &str, session: Option<&str>) -> Result<Row, ReadError> {
        let number = id.strip_prefix('#').unwrap_or(id).parse::<u64>();
        let Ok(step) = number else {
            return self.by_id(id);
        };
        let session = self.session(session)?;
        let which = Which::Step {
            session_id: &session,
            step_index: step,
        };
        let row = read::<_, ReadError>(&mut *self.store, |tx| {
            Ok(tx.rows(&which, 1)?.into_iter().next())
        })?;
        match (row, self.by_id(id)) {
            (Some(row), _) | (None, Ok(row)) => Ok(row),
            (None, Err(_)) => {
                let count = read::<_, ReadError>(&mut *self.store, |tx| {
                    let opened = tx.session(&session)?;
                    count(tx, &session, opened.as_ref())
                })?;
                Err(ReadError::NoStep {
                    session,
                    step,
                    count,
                })
            }
        }
    }

    fn by_id(&mut self, id: &str) -> Result<Row, ReadError> {
        let mut found = read::<_, ReadError>(&mut *self.store, |tx| {
            let mut found = tx.rows(&Which::Operation(id), 6)?;
            found.extend(tx.rows(&Which::Id(id), 6)?);
            Ok(found)
        })?;
        if id.is_empty() {
            found.clear();
        }
        if found
            .iter()
            .any(|row| row.operation_id == id || row.id == id)
        {
            found.retain(|row| row.operation_id == id || row.id == id);
        }
        let mut names: Vec<&str> = found
            .iter()
            .map(|row| match row.operation_id.as_str() {
                operation if operation.starts_with(id) => operation,
                _ => row.id.as_str(),
            })
            .collect();
        names.sort_unstable();
        names.dedup();
        match names.as_slice() {
            [] => Err(ReadError::NoId { id: id.to_owned() }),
            // Of several answers of one operation the newest stands first.
            [_] => found
                .into_iter()
                .next()
                .ok_or_else(|| ReadError::NoId { id: id.to_owned() }),
            _ => Err(ReadError::Ambiguous {
                id: id.to_owned(),
                several: names.join(", "),
            }),
        }
    }

    /// The newest answer for a task of that name, else what [`find`](Self::find) finds.
    pub(crate) fn task(&mut self, name: &str, session: Option<&str>) -> Result<Row, ReadError> {
        let session_id = self.session(session)?;
        let which = Which::Task {
            session_id: &session_id,
            task_id: name,
        };
        let rows = read::<_, ReadError>(&mut *self.store, |tx| Ok(tx.rows(&which, 1)?))?;
        match rows.into_iter().next() {
            Some(row) => Ok(row),
            None => self
                .find(name, Some(&session_id))
                .map_err(|error| match error {
                    ReadError::NoId { id } => ReadError::NoTask {
                        session: session_id.clone(),
                        task: id,
                    },
                    other => other,
                }),
        }
    }

    /// Everything about those answers of one session, in their order.
    pub(crate) fn whole(
        &mut self,
        session_id: &str,
        steps: Vec<Step>,
    ) -> Result<Vec<Whole>, ReadError> {
        let mut steps = Some(steps);
        read(&mut *self.store, |tx| {
            let links = tx.links_of(session_id)?;
            let mut all = Vec::new();
            for step in steps.take().unwrap_or_default() {
                let decision = Decision::of(tx, &step.row)?;
                let mut again: Vec<u64> = tx
                    .rows(&Which::ReusesOf(&step.row.id), usize::MAX)?
                    .into_iter()
                    .map(|row| row.step_index)
                    .collect();
                again.sort_unstable();
                let links = links.iter().filter(|link| is_of(link, &step.row));
                all.push(Whole {
                    links: links.cloned().collect(),
                    decision,
                    again,
                    step,
                });
            }
            Ok(all)
        })
    }

    /// Who opened a session, and for what; none of those of before oneact.
    pub(crate) fn opened(&mut self, session_id: &str) -> Result<Option<Session>, ReadError> {
        read(&mut *self.store, |tx| Ok(tx.session(session_id)?))
    }

    /// Everything about one answer.
    pub(crate) fn whole_of(&mut self, row: Row) -> Result<Whole, ReadError> {
        let session = row.session_id.clone();
        let id = row.id.clone();
        let from = read::<_, ReadError>(&mut *self.store, |tx| from(tx, &row))?;
        let whole = self.whole(&session, vec![Step { row, from }])?;
        whole.into_iter().next().ok_or(ReadError::NoId { id })
    }
}

/// The session of the newest answer that was not given to try something; else the one that was opened last.
fn last_session(tx: &mut dyn Tx) -> Result<Option<String>, ReadError> {
    let mut newest = None;
    for most in [1, 100] {
        for row in tx.rows(&Which::Newest, most)? {
            if !row.session_id.starts_with(SCRATCH) {
                return Ok(Some(row.session_id));
            }
            newest.get_or_insert(row.session_id);
        }
    }
    if newest.is_some() {
        return Ok(newest);
    }
    let opened = tx.sessions(1)?.into_iter().next();
    Ok(opened.map(|session| session.session_id))
}

/// How many answers a session has.
fn count(tx: &mut dyn Tx, id: &str, opened: Option<&Session>) -> Result<u64, ReadError> {
    Ok(match opened {
        Some(session) => session.steps,
        None => tx.rows(&Which::Session(id), usize::MAX)?.len() as u64,
    })
}

/// The newest `most` answers that fit, ascending.
fn newest(
    tx: &mut dyn Tx,
    session_id: &str,
    count: u64,
    most: usize,
    fits: &dyn Fn(&Row) -> bool,
) -> Result<Vec<Row>, ReadError> {
    let mut rows = Vec::new();
    for step_index in (0..count).rev() {
        if rows.len() == most {
            break;
        }
        let which = Which::Step {
            session_id,
            step_index,
        };
        rows.extend(tx.rows(&which, 1)?.into_iter().filter(|row| fits(row)));
    }
    rows.reverse();
    Ok(rows)
}

fn from(tx: &mut dyn Tx, row: &Row) -> Result<Option<u64>, ReadError> {
    let Some(id) = &row.reused_from else {
        return Ok(None);
    };
    let original = tx.rows(&Which::Id(id), 1)?.into_iter().next();
    Ok(original.map(|row| row.step_index))
}

fn open(tx: &mut dyn Tx, session_id: &str) -> Result<Vec<Open>, ReadError> {
    let claims = tx.claims()?.into_iter();
    let mut open = Vec::new();
    for claim in claims.filter(|claim| claim.key.session_id == session_id) {
        let link = tx.links(claim.seq, 1)?.into_iter().next();
        open.push(Open {
            operation_id: claim.operation_id,
            since: link.map(|link| link.at).unwrap_or_default(),
            how: match claim.state {
                // Whoever holds its lock is alive: that is looked at later.
                ClaimState::Reserved | ClaimState::Dispatched => How::Died,
                ClaimState::Unknown => How::Unknown,
            },
        });
    }
    Ok(open)
}

/// Whether a link tells of that answer: of its operation, or of what became of it later.
fn is_of(link: &Link, row: &Row) -> bool {
    let given_again = [Event::Replayed, Event::Reused, Event::Suppressed];
    let later = || {
        link.body()
            .and_then(|body| body.about)
            .is_some_and(|about| about == row.id || about == row.operation_id)
            && !given_again.iter().any(|event| event.name() == link.event)
    };
    row.state.is_some()
        && (link.operation_id == row.operation_id || row.revoked_by == Some(link.seq) || later())
}

impl Page {
    /// Tasks whose last answer is that they wait.
    pub(crate) fn waiting(&self) -> usize {
        let waits = |(at, step): &(usize, &Step)| {
            let mut later = self.steps.iter().skip(at + 1);
            step.row.state == Some(RowState::Pending)
                && !later.any(|other| other.row.task_id == step.row.task_id)
        };
        self.steps.iter().enumerate().filter(waits).count()
    }
}
