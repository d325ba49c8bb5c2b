//! Everything that the ledger says about one answer.

use std::collections::{BTreeSet, HashMap};

use super::{decision::Decision, naming::CommandError, reading::Reading, step::SessionStep};
use crate::{
    approval::GrantState,
    ledger::{Link, Row, Session, StoreError, Tx, Which, read, sealing},
};

#[derive(Debug)]
pub(crate) struct WholeAnswer {
    pub(crate) step: SessionStep,
    /// The session of the answer; none for a session from before oneact.
    pub(crate) opened: Option<Session>,
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
    /// Everything about these answers of one session, in their order.
    pub(crate) fn whole(&mut self, rows: Vec<Row>) -> Result<Vec<WholeAnswer>, CommandError> {
        let now = self.now;
        let whole = read::<_, StoreError>(&mut *self.store, |tx| {
            let Some(row) = rows.first() else {
                return Ok(Vec::new());
            };
            let opened = tx.session(&row.session_id)?;
            let links = SessionLinks::of(tx.links_of(&row.session_id)?);
            let steps = SessionStep::all(tx, rows, now)?.into_iter();
            steps
                .map(|step| WholeAnswer::of(tx, &links, opened.clone(), step))
                .collect()
        });
        Ok(whole?)
    }

    pub(crate) fn whole_of(&mut self, row: Row) -> Result<WholeAnswer, CommandError> {
        let id = row.id.clone();
        let whole = self.whole(vec![row])?.pop();
        whole.ok_or(CommandError::Unsealed { row: id })
    }
}

impl WholeAnswer {
    fn of(
        tx: &mut Tx<'_>,
        links: &SessionLinks,
        opened: Option<Session>,
        step: SessionStep,
    ) -> Result<Self, StoreError> {
        let mut again = tx.steps(&Which::reuses_of(&step.row.id), usize::MAX)?;
        again.sort_unstable();
        let row = &step.row;
        Ok(Self {
            opened,
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

/// The links of a session.
struct SessionLinks {
    all: Vec<Link>,
    /// The positions of the links about an operation or a row, by its id.
    of: HashMap<String, Vec<usize>>,
}

impl SessionLinks {
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
