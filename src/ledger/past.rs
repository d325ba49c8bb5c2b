//! What the links say of a request: who is at work on it, how it ended, what was taken back.
//!
//! Rows and claims are copies that are found quickly. Where they differ from the links, the links decide:
//! nothing is answered, and nothing that must not happen twice is done, on the word of a row alone.

use crate::task::OnDuplicate;
use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use super::{
    canonical::{canonical, sha256},
    chain::Body,
    record::{Claim, ClaimKey, ClaimState, Effects, Event, Link, NOTHING, Row, Seq},
    store::{Reach, StoreError, Tx},
    validity::sealed,
    words::Ask,
};

/// What the links say of one request in its session.
#[derive(Debug, Default)]
pub(super) struct Past {
    opened: Opened,
    successes: Vec<Success>,
    /// The rows that were taken back, and the links that did it.
    revoked: HashMap<String, Seq>,
    links: usize,
}

/// It was done: an answer that a link seals.
#[derive(Debug, Clone)]
pub(super) struct Success {
    pub(super) link: Link,
    pub(super) row_id: String,
    /// What its claim had claimed.
    claimed: Option<String>,
}

impl Past {
    /// Reads what a run has to know of a request. For what must not happen twice that is all of it, and
    /// among it is what [`examined`] has found.
    pub(super) fn of(
        tx: &mut Tx<'_>,
        session_id: &str,
        request_hash: &str,
        (effects, examined): (Effects, &[Seq]),
    ) -> Result<Self, StoreError> {
        let reach = match effects {
            Effects::Once => Reach::All,
            Effects::None | Effects::Idempotent => Reach::Newest(RECENT),
        };
        let links = tx.links_about(session_id, request_hash, reach)?;
        let indexed = |seq: &Seq| links.binary_search_by_key(seq, |link| link.seq).is_ok();
        if let Some(seq) = examined.iter().find(|seq| !indexed(seq)) {
            return Err(tx.damaged(format!("no index leads to link {seq}")));
        }
        Self::from(tx, links)
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
        let claim = body.claim.and_then(|seq| self.opened.get(seq));
        let claimed = claim.map(|claim| claim.key.request_hash.clone());
        self.opened.follow(&link, &body);
        match (body.row, body.about) {
            (Some(seal), _) if link.is(Event::Succeeded) || link.is(Event::Resolved) => {
                self.successes.push(Success {
                    row_id: seal.id,
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

    /// Whether no link tells of it.
    pub(super) fn is_empty(&self) -> bool {
        self.links == 0
    }

    /// Its successes that nobody took back, the newest first.
    pub(super) fn successes(&self) -> impl Iterator<Item = &Success> {
        self.successes.iter().rev()
    }

    /// The link that took a row back.
    pub(super) fn revoked_by(&self, row_id: &str) -> Option<Seq> {
        self.revoked.get(row_id).copied()
    }

    /// Whether that delivery succeeded, and nobody took its answer back.
    pub(super) fn delivered(&self, key: &ClaimKey) -> Option<&Success> {
        let of = |success: &&Success| success.claimed.as_ref() == Some(&key.request_hash);
        self.successes()
            .find(of)
            .filter(|success| self.revoked_by(&success.row_id).is_none())
    }

    /// Who has what `key` claims.
    pub(super) fn holder(
        &self,
        tx: &mut Tx<'_>,
        key: &ClaimKey,
    ) -> Result<Option<Claim>, StoreError> {
        if let Some(claim) = self.opened.of(key) {
            return Ok(Some(claim.clone()));
        }
        // A delivery may be claimed with another content.
        let Some(said) = tx.claim(key)? else {
            return Ok(None);
        };
        Ok(linked(tx, &said)?.filter(|claim| claim.key == *key))
    }

    /// The row, where it is what its link says. Whether it was taken back is the links' word, too.
    pub(super) fn believed(&self, tx: &mut Tx<'_>, row: Row) -> Result<Option<Row>, StoreError> {
        let link = match row.seq {
            Some(seq) => tx.link(seq)?,
            None => None,
        };
        if !link.is_some_and(|link| sealed(&row, &link)) {
            return Ok(None);
        }
        let by = match row.revoked_by {
            Some(by) => tx.link(by)?.filter(|link| link.takes_back(&row.id)),
            None => None,
        };
        let revoked_by = by.map(|link| link.seq);
        Ok(Some(Row {
            revoked_by: revoked_by.or_else(|| self.revoked_by(&row.id)),
            ..row
        }))
    }
}

/// The numbers of those of the newest links that tell of a request. Before what must not happen twice each of
/// the newest links is examined, whatever it tells of: that it is whole, follows the one before, and that none
/// is missing. One that was changed or removed may have told of it.
pub(super) fn examined(
    tx: &mut Tx<'_>,
    session_id: &str,
    request_hash: &str,
) -> Result<Vec<Seq>, StoreError> {
    let Some(head) = tx.head()? else {
        return Ok(Vec::new());
    };
    let first = (head.seq + 1).saturating_sub(NEWEST);
    let links = tx.links(first, usize::MAX)?;
    let mut before = (first == 0).then_some(NOTHING);
    for (seq, link) in (first..).zip(&links) {
        if link.seq != seq {
            return Err(tx.damaged(format!("link {seq} is missing")));
        }
        if link.hash() != link.entry_hash {
            return Err(tx.damaged(format!("link {seq} was changed")));
        }
        if before.is_some_and(|before| before != link.prev_hash) {
            return Err(tx.damaged(format!("link {seq} does not follow the one before")));
        }
        before = Some(&link.entry_hash);
    }
    let of_it = |link: &&Link| link.session_id == session_id && link.tells_of(request_hash);
    Ok(links.iter().filter(of_it).map(|link| link.seq).collect())
}

/// A claim as the links have it; none where they say that it is not open.
pub(super) fn linked(tx: &mut Tx<'_>, said: &Claim) -> Result<Option<Claim>, StoreError> {
    let link = tx.link(said.seq)?;
    let Some(link) = link else {
        return Ok(None);
    };
    let Some(request_hash) = link.body().and_then(|body| body.request_hash) else {
        return Ok(None);
    };
    open(tx, &link.session_id, &request_hash, said.seq)
}

/// The claim that a link made, as the links from there on have it; none where they say that it is not open.
pub(super) fn open(
    tx: &mut Tx<'_>,
    session_id: &str,
    request_hash: &str,
    seq: Seq,
) -> Result<Option<Claim>, StoreError> {
    let links = tx.links_about(session_id, request_hash, Reach::From(seq))?;
    Ok(Past::from(tx, links)?.opened.get(seq).cloned())
}

/// Ends a claim that is ours, and gives it; none where it was taken over.
pub(super) fn settle(
    tx: &mut Tx<'_>,
    key: &ClaimKey,
    request_hash: &str,
    seq: Seq,
) -> Result<Option<Claim>, StoreError> {
    let ours = open(tx, &key.session_id, request_hash, seq)?.filter(|claim| claim.key == *key);
    tx.drop_claim(key, seq)?;
    Ok(ours)
}

/// The first of these rows that its link seals.
pub(super) fn first_believed(tx: &mut Tx<'_>, rows: Vec<Row>) -> Result<Option<Row>, StoreError> {
    for row in rows {
        if let Some(row) = Past::default().believed(tx, row)? {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

/// What is being done, and what nobody knows the end of: the claims that there must be, by their number.
#[derive(Debug, Default)]
pub(super) struct Opened(BTreeMap<Seq, Claim>);

impl Opened {
    /// What becomes of them with that link.
    pub(super) fn follow(&mut self, link: &Link, body: &Body) {
        let moved = |state| move |claim: &mut Claim| claim.state = state;
        if let Some(seq) = body.claim {
            if link.is(Event::Dispatched) {
                self.0.get_mut(&seq).map(moved(ClaimState::Dispatched));
            } else if link.is(Event::Unknown) {
                self.0.get_mut(&seq).map(moved(ClaimState::Unknown));
            } else {
                self.0.remove(&seq);
            }
        }
        if link.is(Event::Reserved) || link.is(Event::TakenOver) {
            let claimed = body.claimed.as_ref().or(body.request_hash.as_ref());
            let claim = Claim {
                key: ClaimKey {
                    session_id: link.session_id.clone(),
                    request_hash: claimed.cloned().unwrap_or_default(),
                },
                operation_id: link.operation_id.clone(),
                seq: link.seq,
                state: ClaimState::Reserved,
                effects: effects(body),
            };
            self.0.insert(link.seq, claim);
        }
    }

    /// The claim with that number.
    pub(super) fn get(&self, seq: Seq) -> Option<&Claim> {
        self.0.get(&seq)
    }

    /// The newest claim of that key.
    pub(super) fn of(&self, key: &ClaimKey) -> Option<&Claim> {
        self.0.values().rev().find(|claim| claim.key == *key)
    }

    /// What the chain says of the claim with that number; it is asked once.
    pub(super) fn take(&mut self, seq: Seq) -> Option<Claim> {
        self.0.remove(&seq)
    }

    /// The first that nobody asked for.
    pub(super) fn left(&self) -> Option<&Claim> {
        self.0.values().next()
    }
}

/// What doing it twice would mean; the worst where nobody knows.
fn effects(body: &Body) -> Effects {
    let name = body.effects.as_deref();
    name.and_then(Effects::read).unwrap_or(Effects::Once)
}

/// What is claimed: the request; where duplicates are repeated, the delivery, which is none, and the
/// operation alone where the caller names neither.
pub(super) fn claim_key(ask: &Ask<'_>, request_hash: &str) -> ClaimKey {
    let who = &ask.who;
    let claimed = match ask.on_duplicate {
        OnDuplicate::Reuse { .. } | OnDuplicate::Suppress(_) => request_hash.to_owned(),
        OnDuplicate::Repeat => match (who.idempotency_key, who.task_id) {
            (None, None) => who.operation_id.to_owned(),
            (Some(key), _) => delivery(&json!({"idempotency_key": key})),
            (None, Some(task_id)) => delivery(&json!({
                "request_id": who.request_id,
                "task_id": task_id,
                "attempt": who.attempt.said(),
            })),
        },
    };
    ClaimKey {
        session_id: who.session_id.to_owned(),
        request_hash: claimed,
    }
}

fn delivery(named: &Value) -> String {
    format!("delivery:{}", sha256(canonical(named)))
}

/// So many of the newest links are examined for what must not happen twice.
const NEWEST: Seq = 512;

/// So many of the newest links are read of what may be repeated: were more of them failures, it would be done
/// once more.
const RECENT: usize = 64;

/// So many rows are looked at where one is wanted: others may have put theirs before it.
pub(super) const FEW: usize = 8;
