//! What the links say about a request: which run performs it, how it ended, what was revoked.
//!
//! Rows and claims are copies for fast searches. If they differ from the links, the links decide: a row alone is
//! never enough to give an answer or to perform a once-only call.

use std::collections::HashMap;

use crate::task::{ReviewDecision, ReviewState};

use super::{
    chain::Body,
    claims::{self, Opened, follow, must_have},
    record::{Claim, ClaimKey, Effects, Event, Link, Row, Seq},
    review,
    store::{StoreError, Tx, Which},
    validity::{is_complete, sealed},
};

/// What the links say about one request in its session.
#[derive(Debug, Default)]
pub(super) struct Past {
    opened: Opened,
    successes: Vec<Success>,
    /// The rows that were revoked, and the links that did it.
    revoked: HashMap<String, Seq>,
    /// The last decision about each row that was reviewed.
    reviewed: HashMap<String, ReviewDecision>,
    links: usize,
    read: Option<Read>,
}

/// Which links were read: the newest ones about that request, from that number on.
#[derive(Debug)]
struct Read {
    request_hash: String,
    from: Seq,
}

/// A successful answer, as a link seals it.
#[derive(Debug, Clone)]
pub(super) struct Success {
    pub(super) link: Link,
    pub(super) row_id: String,
    /// The link that claimed the request.
    pub(super) claim: Option<Seq>,
    claimed: Option<String>,
}

impl Past {
    /// Reads the links about a request: all of them for a once-only call, else the newest. The links that
    /// [`examined`] found must be among them.
    pub(super) fn of(
        tx: &mut Tx<'_>,
        session_id: &str,
        request_hash: &str,
        (effects, examined): (Effects, &[Link]),
    ) -> Result<Self, StoreError> {
        let most = match effects {
            Effects::Once => usize::MAX,
            Effects::None | Effects::Idempotent => RECENT,
        };
        let links = tx.links_about(session_id, request_hash, 0, most)?;
        let first = links.first().filter(|_| links.len() == most);
        let from = first.map_or(0, |link| link.seq);
        must_have(tx, &links, examined, |link| {
            link.seq >= from && link.tells_of(request_hash)
        })?;
        let read = Some(Read {
            request_hash: request_hash.to_owned(),
            from,
        });
        let past = Self::from(tx, links)?;
        Ok(Self { read, ..past })
    }

    /// Reads all links of a session from the number `from` on. The newest ones must be among them.
    pub(super) fn since(tx: &mut Tx<'_>, session: &str, from: Seq) -> Result<Self, StoreError> {
        let mut links = tx.links_of(session)?;
        links.retain(|link| link.seq >= from);
        let newest = examined(tx, session)?;
        must_have(tx, &links, &newest, |link| link.seq >= from)?;
        let links: Result<_, _> = links.into_iter().map(|link| tx.whole(link)).collect();
        Self::from(tx, links?)
    }

    fn from(tx: &mut Tx<'_>, links: Vec<Link>) -> Result<Self, StoreError> {
        let mut past = Self::default();
        for link in links {
            match link.body() {
                Some(body) => past.follow(link, body),
                None => return Err(tx.damaged(format!("link {} cannot be read", link.seq))),
            }
        }
        Ok(past)
    }

    fn follow(&mut self, link: Link, body: Body) {
        self.links += 1;
        let claim = body.claim.and_then(|seq| self.opened.get(&seq));
        let claimed = claim.map(|claim| claim.key.request_hash.clone());
        follow(&mut self.opened, &link, &body);
        self.reviewed.extend(review::decision(&link));
        match (body.row, body.about) {
            (Some(seal), _) if link.is(Event::Succeeded) || link.is(Event::Resolved) => {
                self.successes.push(Success {
                    row_id: seal.id,
                    claim: body.claim,
                    claimed,
                    link,
                });
            }
            (None, Some(row)) if link.is(Event::Revoked) => {
                self.revoked.insert(row, link.seq);
            }
            _ => {}
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.links == 0
    }

    /// The claims that the links leave open, the newest first.
    pub(super) fn opened(&self) -> impl Iterator<Item = &Claim> {
        self.opened.values().rev()
    }

    /// Its successes, the newest first.
    pub(super) fn successes(&self) -> impl Iterator<Item = &Success> {
        self.successes.iter().rev()
    }

    pub(super) fn revoked_by(&self, row_id: &str) -> Option<Seq> {
        self.revoked.get(row_id).copied()
    }

    pub(super) fn is_rejected(&self, row_id: &str) -> bool {
        let decision = self.reviewed.get(row_id);
        decision.is_some_and(|decision| decision.state == ReviewState::Rejected)
    }

    /// Whether the answer was revoked, or rejected in a review.
    pub(super) fn is_withdrawn(&self, success: &Success) -> bool {
        self.revoked_by(&success.row_id).is_some() || self.is_rejected(&success.row_id)
    }

    /// The last decision about the answer of a row.
    pub(super) fn reviewed(
        &self,
        tx: &mut Tx<'_>,
        row: &Row,
    ) -> Result<Option<ReviewDecision>, StoreError> {
        let origin = review::origin(row);
        // A decision is recorded after the answer. The link of a repetition may be later than both.
        let is_covered = self.read.as_ref().is_some_and(|read| {
            let since = row.seq.filter(|_| row.reused_from.is_none()).unwrap_or(0);
            let made_since = self
                .successes
                .iter()
                .any(|success| success.row_id == origin);
            read.request_hash == row.request_hash && (read.from <= since || made_since)
        });
        match self.reviewed.get(origin) {
            Some(known) => Ok(Some(known.clone())),
            None if is_covered => Ok(None),
            None => review::last(tx, row),
        }
    }

    /// The success of that delivery.
    pub(super) fn delivered(&self, key: &ClaimKey) -> Option<&Success> {
        let of = |success: &&Success| success.claimed.as_ref() == Some(&key.request_hash);
        self.successes().find(of)
    }

    pub(super) fn holder(
        &self,
        tx: &mut Tx<'_>,
        key: &ClaimKey,
    ) -> Result<Option<Claim>, StoreError> {
        let mut newest = self.opened.values().rev();
        if let Some(claim) = newest.find(|claim| claim.key == *key) {
            return Ok(Some(claim.clone()));
        }
        claims::of_delivery(tx, key)
    }

    /// The open claim of a once-only call that another delivery of the same task may have made.
    pub(super) fn maybe_made(
        &self,
        tx: &mut Tx<'_>,
        task: &str,
    ) -> Result<Option<Claim>, StoreError> {
        for claim in self.opened.values().rev() {
            let body = tx.link(claim.seq)?.and_then(|link| link.body());
            let of_task = body.is_some_and(|body| body.task.as_deref() == Some(task));
            if claim.may_have_happened() && of_task {
                return Ok(Some(claim.clone()));
            }
        }
        Ok(None)
    }

    /// The first of these rows that its link seals, and of which nothing was removed but by `prune`.
    pub(super) fn first_believed(
        &self,
        tx: &mut Tx<'_>,
        rows: Vec<Row>,
    ) -> Result<Option<Row>, StoreError> {
        for row in rows {
            if is_complete(tx, &row)?
                && let Some(row) = self.believed(tx, row)?
            {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// The row, if it matches its link. The links also decide whether it was revoked, or rejected in a review.
    pub(super) fn believed(&self, tx: &mut Tx<'_>, row: Row) -> Result<Option<Row>, StoreError> {
        if !tx.link_of(&row)?.is_some_and(|link| sealed(&row, &link)) {
            return Ok(None);
        }
        let by = match row.revoked_by {
            Some(by) => tx.link(by)?.filter(|link| link.revokes(&row.id)),
            None => None,
        };
        let by = by.map(|link| link.seq).or_else(|| self.revoked_by(&row.id));
        let revoked_by = if by.is_some() {
            by
        } else {
            let decision = self.reviewed(tx, &row)?;
            let decision = decision.filter(|decision| review::withdraws(&row, decision));
            decision.map(|decision| decision.link)
        };
        let revoked_by = match revoked_by {
            None if row.parent.is_none() => self.step_withdrawn(tx, &row)?,
            known => known,
        };
        Ok(Some(Row { revoked_by, ..row }))
    }

    /// The link that revoked or rejected an answer of a step of this row's task. The answer of the task was made of it.
    fn step_withdrawn(&self, tx: &mut Tx<'_>, row: &Row) -> Result<Option<Seq>, StoreError> {
        for step in tx.rows(&Which::steps_of(&row.operation_id), usize::MAX)? {
            let mut used = self.believed(tx, step)?;
            // A repeated answer is withdrawn where it was made.
            if let Some(origin) = used.as_ref().and_then(|used| used.reused_from.clone()) {
                let made = tx.row(&Which::id(&origin))?;
                let made = made.map(|made| self.believed(tx, made)).transpose()?;
                used = used
                    .filter(|used| used.revoked_by.is_some())
                    .or(made.flatten());
            }
            if let Some(by) = used.and_then(|used| used.revoked_by) {
                return Ok(Some(by));
            }
        }
        Ok(None)
    }
}

/// Examines the newest links before a once-only call, and returns those of the session. A session that has links must
/// have its row.
pub(super) fn examined(tx: &mut Tx<'_>, session_id: &str) -> Result<Vec<Link>, StoreError> {
    let newest = tx.newest_links()?;
    let of_session = newest.iter().filter(|link| link.session_id == session_id);
    let of_session: Vec<Link> = of_session.cloned().collect();
    let begins = |link: &Link| link.is(Event::Genesis) || link.is(Event::Keyed);
    if !of_session.iter().all(begins) && tx.session(session_id)?.is_none() {
        return Err(tx.damaged(format!("the session `{session_id}` is missing")));
    }
    Ok(of_session)
}

/// The number of newest links that are read about a request that may be repeated. If all of them are failures, it
/// is performed once more.
const RECENT: usize = 64;

/// The number of rows that are read where one is wanted: other programs may have added newer ones.
pub(super) const FEW: usize = 8;
