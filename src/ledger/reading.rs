//! Looking at the record: sessions, their steps, and why each was done or not. Nothing is made or changed.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};

use super::{
    Place,
    begin::lock_of,
    decision::Decision,
    naming::{Alone, Name, NameError, find, last_session},
    past::linked,
    record::{Claim, ClaimState, Effects, Event, Link, Row, RowState, Session},
    store::{Store, StoreError, Tx, Which, Wish, read},
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
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("the session `{session}` has no task `{task}`, and nothing has an id that begins so")]
    NoTask { session: String, task: String },
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

impl Reading {
    /// Opens what is there.
    pub(crate) fn open(place: &Place) -> Result<Self, ReadError> {
        match place {
            Place::File(path) if !path.exists() => Err(ReadError::Missing {
                place: path.to_string(),
            }),
            Place::Nowhere => Err(ReadError::Off),
            Place::File(_) | Place::Postgres(_) => Ok(Self {
                store: place.store(Wish::Read)?,
            }),
        }
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
        let (mut page, claims) = read::<_, ReadError>(&mut *self.store, |tx| {
            let opened = tx.session(session_id)?;
            let count = tx.answers(session_id)?;
            let rows = match most {
                Most::All => {
                    let mut rows = tx.rows(&Which::Session(session_id), usize::MAX)?;
                    rows.retain(|row| fits(row));
                    rows
                }
                Most::Newest(most) => newest(tx, session_id, most, fits)?,
            };
            let mut steps = Vec::with_capacity(rows.len());
            for row in rows {
                let from = from(tx, &row)?;
                steps.push(Step { row, from });
            }
            let page = Page {
                session_id: session_id.to_owned(),
                opened,
                steps,
                count,
                open: Vec::new(),
            };
            Ok((page, open(tx, session_id)?))
        })?;
        for (claim, since) in claims {
            // Where nobody can say, it is believed to be at work.
            let mut alive = || {
                let held = self.store.held(lock_of(&claim.operation_id));
                held.unwrap_or(true)
            };
            let how = match (claim.state, claim.effects) {
                (ClaimState::Unknown, _) => How::Unknown,
                _ if alive() => How::AtWork,
                // As the next run of the same will find it.
                (ClaimState::Dispatched, Effects::Once) => How::Unknown,
                (ClaimState::Dispatched | ClaimState::Reserved, _) => How::Died,
            };
            page.open.push(Open {
                operation_id: claim.operation_id,
                since,
                how,
            });
        }
        Ok(page)
    }

    /// One answer: by the number of its step, by the beginning of its operation's or its own id.
    pub(crate) fn find(&mut self, id: &str, session: Option<&str>) -> Result<Row, ReadError> {
        // Of a session that is not there it is said that it is not.
        self.session(session)?;
        let name = Name {
            text: id,
            session,
            alone: Alone::LastSession,
        };
        read(&mut *self.store, |tx| Ok(find(tx, name)?))
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
            None => self.find(name, session).map_err(|error| match error {
                ReadError::Name(NameError::Nothing { text, .. }) => ReadError::NoTask {
                    session: session_id.clone(),
                    task: text,
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
        read(&mut *self.store, |tx| {
            let links = Links::of(tx.links_of(session_id)?);
            let mut all = Vec::new();
            for step in steps {
                let decision = Decision::of(tx, &step.row)?;
                let mut again = tx.steps(&Which::ReusesOf(&step.row.id), usize::MAX)?;
                again.sort_unstable();
                all.push(Whole {
                    links: links.about(&step.row),
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
        let nothing = NameError::Nothing {
            text: id,
            session: Some(session),
        };
        whole.into_iter().next().ok_or(ReadError::Name(nothing))
    }
}

/// The newest `most` answers that fit, ascending.
fn newest(
    tx: &mut Tx<'_>,
    session_id: &str,
    most: usize,
    fits: &dyn Fn(&Row) -> bool,
) -> Result<Vec<Row>, ReadError> {
    let mut looked_at = most;
    loop {
        let mut rows = tx.rows(&Which::Latest(session_id), looked_at)?;
        let all = rows.len() < looked_at;
        rows.retain(|row| fits(row));
        rows.truncate(most);
        if all || rows.len() == most {
            rows.reverse();
            return Ok(rows);
        }
        looked_at = looked_at.saturating_mul(4);
    }
}

fn from(tx: &mut Tx<'_>, row: &Row) -> Result<Option<u64>, ReadError> {
    let Some(id) = &row.reused_from else {
        return Ok(None);
    };
    Ok(tx.steps(&Which::id(id), 1)?.into_iter().next())
}

/// The claims of a session as the links have them, and when each was made.
fn open(tx: &mut Tx<'_>, session_id: &str) -> Result<Vec<(Claim, String)>, ReadError> {
    let claims = tx.claims()?.into_iter();
    let mut open = Vec::new();
    for claim in claims.filter(|claim| claim.key.session_id == session_id) {
        if let Some(claim) = linked(tx, &claim)? {
            let link = tx.stored_link(claim.seq)?;
            open.push((claim, link.map(|link| link.at).unwrap_or_default()));
        }
    }
    Ok(open)
}

/// The links of a session, by what they tell of.
struct Links {
    all: Vec<Link>,
    /// Where the links stand of an operation or a row, by its id.
    of: HashMap<String, Vec<usize>>,
}

impl Links {
    fn of(all: Vec<Link>) -> Self {
        let mut of: HashMap<String, Vec<usize>> = HashMap::new();
        let given_again = [Event::Replayed, Event::Reused, Event::Suppressed].map(Event::name);
        for (at, link) in all.iter().enumerate() {
            of.entry(link.operation_id.clone()).or_default().push(at);
            // That an answer was given again is told of the new one.
            if !given_again.contains(&link.event.as_str())
                && let Some(about) = link.body().and_then(|body| body.about)
            {
                of.entry(about).or_default().push(at);
            }
        }
        Self { all, of }
    }

    /// Those of its operation, and those of what became of it later.
    fn about(&self, row: &Row) -> Vec<Link> {
        if row.state.is_none() {
            return Vec::new();
        }
        let named = [&row.operation_id, &row.id].map(|id| self.of.get(id));
        let by = row
            .revoked_by
            .and_then(|by| self.all.binary_search_by_key(&by, |link| link.seq).ok());
        let places: BTreeSet<usize> = named
            .into_iter()
            .flatten()
            .flatten()
            .copied()
            .chain(by)
            .collect();
        let links = places.into_iter().filter_map(|at| self.all.get(at));
        links.cloned().collect()
    }
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
