//! Reads the ledger: sessions, their steps, and why each was performed or not. Nothing is created or changed.

mod open;
mod sessions;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;

use super::{
    Alone, CommandError, Decision, Name,
    naming::{find, known, last_session},
};
use crate::{
    approval::{GrantState, under},
    ledger::{
        Link, Place, Row, RowState, Session, Store, StoreError, Tx, Which, Wish, read, review,
        sealing,
    },
    task::{Blocks, Review, ReviewDecision, ReviewState, ReviewTerms},
};

pub(crate) use open::{How, Open};
pub(crate) use sessions::{Across, Filter, Summary, Wanted};

pub(crate) struct Reading {
    pub(super) store: Box<dyn Store>,
    /// Decides which reviews are overdue.
    now: Timestamp,
}

/// Part of a session, or all of it.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) session_id: String,
    /// None for a session from before oneact.
    pub(crate) opened: Option<Session>,
    /// Ascending.
    pub(crate) steps: Vec<Step>,
    /// The number of answers of the whole session.
    pub(crate) count: u64,
    /// The operations that are at work, or whose owner died.
    pub(crate) open: Vec<Open>,
}

#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) row: Row,
    /// The step whose answer was repeated.
    pub(crate) from: Option<u64>,
    /// The step that opened the grant under which the call was made.
    pub(crate) under: Option<u64>,
    /// The review of the answer, if it demands one or there was one.
    pub(crate) review: Option<Review>,
}

#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) step: Step,
    pub(crate) decision: Decision,
    /// Whether its link seals it, with its request and its answer.
    pub(crate) sealed: bool,
    /// Its own links and those about it, in their order.
    pub(crate) links: Vec<Link>,
    /// The steps that repeated its answer.
    pub(crate) again: Vec<u64>,
    /// The answers of its steps, if it is a task of several.
    pub(crate) parts: Vec<Row>,
    /// The grant that it opened.
    pub(crate) grant: Option<GrantState>,
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

    /// At most that many of the newest answers of a session for which the filter and `fits` hold.
    pub(crate) fn page(
        &mut self,
        session_id: &str,
        most: usize,
        filter: &Filter,
        fits: &dyn Fn(&Row) -> bool,
    ) -> Result<Page, CommandError> {
        let now = self.now;
        let (opened, count, steps, claims) = read::<_, StoreError>(&mut *self.store, |tx| {
            let opened = tx.session(session_id)?;
            let count = tx.answers(session_id)?;
            let rows = newest(tx, &filter.of(Which::latest(session_id)), most, fits)?;
            let reviews = Reviews::of(tx, session_id, &rows, now)?;
            let rows = rows.into_iter();
            let steps: Result<_, StoreError> =
                rows.map(|row| Step::of(tx, &reviews, row)).collect();
            Ok((opened, count, steps?, tx.open_claims(Some(session_id))?))
        })?;
        Ok(Page {
            session_id: session_id.to_owned(),
            opened,
            steps,
            count,
            open: self.judged(claims),
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

    /// Everything about these answers of one session, in their order.
    pub(crate) fn whole(
        &mut self,
        session_id: &str,
        steps: Vec<Step>,
    ) -> Result<Vec<Whole>, CommandError> {
        let whole = read::<_, StoreError>(&mut *self.store, |tx| {
            let links = Links::of(tx.links_of(session_id)?);
            let steps = steps.into_iter();
            steps.map(|step| Whole::of(tx, &links, step)).collect()
        });
        Ok(whole?)
    }

    /// Who opened a session, and for what; none for a session from before oneact.
    pub(crate) fn opened(&mut self, session_id: &str) -> Result<Option<Session>, CommandError> {
        Ok(read(&mut *self.store, |tx| tx.session(session_id))?)
    }

    pub(crate) fn whole_of(&mut self, row: Row) -> Result<Whole, CommandError> {
        let now = self.now;
        read(&mut *self.store, |tx| {
            let links = Links::of(tx.links_of(&row.session_id)?);
            let reviews = Reviews::of(tx, &row.session_id, std::slice::from_ref(&row), now)?;
            let step = Step::of(tx, &reviews, row)?;
            Ok(Whole::of(tx, &links, step)?)
        })
    }
}

impl Step {
    fn of(tx: &mut Tx<'_>, reviews: &Reviews, row: Row) -> Result<Self, StoreError> {
        let from = row.reused_from.as_deref().map(Which::id);
        let under = under(&row);
        let under = under.map(|id| Which::operation(&id).within(Some(&row.session_id)));
        let mut number = |which: Option<Which>| match which {
            Some(which) => Ok::<_, StoreError>(tx.steps(&which, 1)?.pop()),
            None => Ok(None),
        };
        Ok(Self {
            from: number(from)?,
            under: number(under)?,
            review: reviews.about(&row),
            row,
        })
    }

    /// The state of the open review of an answer that was made in this step. A revoked answer needs no review.
    pub(crate) fn open_review(&self) -> Option<ReviewState> {
        let made_here = self.row.reused_from.is_none() && self.row.revoked_by.is_none();
        let state = self.review.as_ref().filter(|_| made_here)?.state;
        Some(state).filter(|state| state.is_open())
    }
}

impl Whole {
    fn of(tx: &mut Tx<'_>, links: &Links, step: Step) -> Result<Self, StoreError> {
        let mut again = tx.steps(&Which::reuses_of(&step.row.id), usize::MAX)?;
        again.sort_unstable();
        let row = &step.row;
        Ok(Self {
            sealed: sealing(tx, row)?.is_some(),
            decision: Decision::of(tx, row)?,
            links: links.about(row),
            again,
            parts: tx.rows(&Which::steps_of(&row.operation_id), usize::MAX)?,
            grant: GrantState::of(tx, row)?,
            step,
        })
    }
}

/// The last decisions about the answers of a session.
struct Reviews {
    decisions: HashMap<String, ReviewDecision>,
    now: Timestamp,
}

impl Reviews {
    /// Reads the decisions about these rows. A row is reviewed after its link, but a repeated answer may have been
    /// reviewed before.
    fn of(
        tx: &mut Tx<'_>,
        session_id: &str,
        rows: &[Row],
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let since = |row: &Row| match row.reused_from {
            Some(_) => Some(0),
            None => row.seq,
        };
        let judgements = match rows.iter().filter_map(since).min() {
            Some(from) => tx.reviews(session_id, from)?,
            None => Vec::new(),
        };
        let decisions = judgements.into_iter();
        let decisions = decisions.map(|judgement| (judgement.row_id.clone(), judgement.into()));
        Ok(Self {
            decisions: decisions.collect(),
            now,
        })
    }

    fn about(&self, row: &Row) -> Option<Review> {
        let decision = self.decisions.get(review::origin(row)).cloned();
        let terms = review::terms(row, None).or_else(|| {
            decision.as_ref().map(|_| ReviewTerms {
                operation_id: row.operation_id.clone(),
                blocks: Blocks::No,
                since: row.timestamp.clone(),
                until: None,
            })
        });
        Some(Review::new(terms?, decision, self.now))
    }
}

/// The newest `most` answers that fit, of which `which` finds the newest first; in ascending order.
fn newest(
    tx: &mut Tx<'_>,
    which: &Which,
    most: usize,
    fits: &dyn Fn(&Row) -> bool,
) -> Result<Vec<Row>, StoreError> {
    let mut looked_at = most;
    loop {
        let mut rows = tx.rows(which, looked_at)?;
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

struct Links {
    all: Vec<Link>,
    /// The positions of the links about an operation or a row, by its id.
    of: HashMap<String, Vec<usize>>,
}

impl Links {
    fn of(all: Vec<Link>) -> Self {
        let mut of: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, link) in all.iter().enumerate() {
            of.entry(link.operation_id.clone()).or_default().push(at);
            // A link that records a repeated answer belongs to the new answer.
            if !link.repeats()
                && let Some(about) = link.body().and_then(|body| body.about)
            {
                of.entry(about).or_default().push(at);
            }
        }
        Self { all, of }
    }

    /// The links of a row's operation, and the later ones about the row.
    fn about(&self, row: &Row) -> Vec<Link> {
        if row.state.is_none() {
            return Vec::new();
        }
        let named = [&row.operation_id, &row.id].map(|id| self.of.get(id));
        let mut places: BTreeSet<usize> = named.into_iter().flatten().flatten().copied().collect();
        let by = row
            .revoked_by
            .map(|by| self.all.binary_search_by_key(&by, |link| link.seq));
        places.extend(by.and_then(Result::ok));
        let links = places.into_iter().filter_map(|at| self.all.get(at));
        links.cloned().collect()
    }
}

impl Page {
    /// The number of tasks whose last answer is `pending`.
    pub(crate) fn waiting(&self) -> usize {
        let waits = |(at, step): &(usize, &Step)| {
            let mut later = self.steps.iter().skip(at + 1);
            step.row.state == Some(RowState::Pending)
                && !later.any(|other| other.row.task_id == step.row.task_id)
        };
        self.steps.iter().enumerate().filter(waits).count()
    }

    /// The open reviews of answers that were made here, by their states.
    pub(crate) fn open_reviews(&self) -> impl Iterator<Item = ReviewState> {
        self.steps.iter().filter_map(Step::open_review)
    }
}
