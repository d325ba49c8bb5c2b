//! Compares claims, requests for approvals, decisions, grants and reviews with the links that made and changed them.

use std::collections::BTreeMap;

use super::{Stop, Walk, stop};
use crate::{
    evidence::{
        Body,
        verify::{Damage, Kept},
    },
    ledger::{Claim, Event, Grant, Judgement, Link, Request, Seq, Tx, Vote, record::word},
};

/// What the links so far say that the tables hold.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) open: BTreeMap<Seq, Claim>,
    /// The requests, by their links.
    requests: BTreeMap<Seq, Request>,
    /// The numbers of the records that were compared.
    votes: u64,
    grants: u64,
    reviews: u64,
}

impl Walk {
    /// Follows a link, and compares what it made. `claim` is the claim of the table that names it.
    pub(super) fn tables(
        &mut self,
        tx: &mut Tx<'_>,
        link: &Link,
        body: &Body,
        claim: Option<Claim>,
    ) -> Result<(), Stop> {
        self.claims(tx, link, body, claim)?;
        match word(&link.event) {
            Some(Event::ApprovalRequested) => self.request(tx, link, body)?,
            Some(Event::Approved | Event::Denied) => self.vote(tx, link, body)?,
            Some(Event::Reviewed) => self.review(tx, link, body)?,
            _ => {}
        }
        self.became(link, body)?;
        if body.grant.is_some() {
            self.grant(tx, link, body)?;
        }
        Ok(())
    }

    fn claims(
        &mut self,
        tx: &mut Tx<'_>,
        link: &Link,
        body: &Body,
        stored: Option<Claim>,
    ) -> Result<(), Stop> {
        if let Some(seq) = body.claim
            && let Some(said) = self.tables.open.remove(&seq)
        {
            let is_own = said.operation_id == link.operation_id;
            let is_sent = link.is(Event::Dispatched);
            if said.key.session_id != link.session_id || is_sent && !is_own {
                let operation = said.operation_id;
                return self.here(Damage::ClaimChanged { operation });
            }
            let said = said.after(link, body);
            if said.is_open() {
                self.tables.open.insert(seq, said);
            } else if tx.claim(seq)?.as_ref() != Some(&said) {
                let operation = said.operation_id;
                return self.here(Damage::ClaimChanged { operation });
            }
        }
        let claims = link.is(Event::Reserved) || link.is(Event::TakenOver);
        match (claims, stored) {
            (false, None) => Ok(()),
            (false, Some(Claim { operation_id, .. })) => {
                let operation = operation_id;
                self.here(Damage::ClaimAstray { operation })
            }
            (true, None) => {
                let operation = link.operation_id.clone();
                self.here(Damage::ClaimGone { operation })
            }
            (true, Some(stored)) => {
                let said = body.claims(link);
                let made = Claim {
                    state: said.state,
                    under: None,
                    sent: None,
                    changed: None,
                    ended: None,
                    ..stored
                };
                if made != said {
                    let operation = made.operation_id;
                    return self.here(Damage::ClaimChanged { operation });
                }
                self.tables.open.insert(link.seq, said);
                Ok(())
            }
        }
    }

    fn request(&mut self, tx: &mut Tx<'_>, link: &Link, body: &Body) -> Result<(), Stop> {
        let said = Request::made_by(link, body);
        let stored = tx.of(link.seq)?.map(|stored: Request| stored.as_made());
        self.same(stored.as_ref() == Some(&said), Kept::Request)?;
        let requests = self.tables.requests.values_mut();
        for other in requests.filter(|other| other.ended.is_none()) {
            if other.task() == said.task() {
                other.ended = Some(link.seq);
            }
        }
        self.tables.requests.insert(link.seq, said);
        Ok(())
    }

    /// Follows what becomes of a request. It is used once.
    fn became(&mut self, link: &Link, body: &Body) -> Result<(), Stop> {
        let mut named = self.tables.requests.values_mut().rev();
        let request = named.find(|of| is_named(of, link, body));
        let Some(request) = request else {
            return Ok(());
        };
        match word(&link.event) {
            Some(Event::ApprovalRequested | Event::Approved | Event::Denied) => {}
            Some(Event::Dispatched) if request.used.is_some() => {
                return self.same(false, Kept::Request);
            }
            Some(Event::Dispatched) => request.used = Some(link.seq),
            Some(Event::Pending) => request.used = None,
            _ => {
                request.ended.get_or_insert(link.seq);
            }
        }
        Ok(())
    }

    fn vote(&mut self, tx: &mut Tx<'_>, link: &Link, body: &Body) -> Result<(), Stop> {
        let mut named = self.tables.requests.values().rev();
        let request = named.find(|of| is_named(of, link, body));
        let said = request.map(|request| Vote::made_by(link, body, request.seq));
        self.tables.votes += 1;
        self.same(tx.of(link.seq)? == said, Kept::Vote)
    }

    fn grant(&mut self, tx: &mut Tx<'_>, link: &Link, body: &Body) -> Result<(), Stop> {
        let said = Grant::made_by(link, body);
        let stored = tx.grant(&said.row_id)?;
        self.tables.grants += 1;
        self.same(stored == Some(said), Kept::Grant)
    }

    fn review(&mut self, tx: &mut Tx<'_>, link: &Link, body: &Body) -> Result<(), Stop> {
        let said = Judgement {
            seq: link.seq,
            session_id: link.session_id.clone(),
            row_id: body.about.clone().unwrap_or_default(),
            state: body.reason.as_deref().and_then(word).unwrap_or_default(),
            actor: link.actor.clone(),
            at: link.at.clone(),
        };
        self.tables.reviews += 1;
        self.same(tx.of(link.seq)? == Some(said), Kept::Review)
    }

    /// Checks that nothing is left in the tables that no link says.
    pub(super) fn tables_at_the_end(&self, tx: &mut Tx<'_>) -> Result<(), Stop> {
        let last = self.last();
        for (seq, said) in &self.tables.open {
            if tx.claim(*seq)?.as_ref() != Some(said) {
                let operation = said.operation_id.clone();
                return stop(Some(*seq), last, Damage::ClaimChanged { operation });
            }
        }
        for (seq, said) in &self.tables.requests {
            if tx.of(*seq)?.as_ref() != Some(said) {
                let what = Kept::Request;
                return stop(Some(*seq), last, Damage::RecordChanged { what });
            }
        }
        let requests = u64::try_from(self.tables.requests.len()).unwrap_or(u64::MAX);
        for (what, stored, compared) in [
            (Kept::Request, tx.count::<Request>()?, requests),
            (Kept::Vote, tx.count::<Vote>()?, self.tables.votes),
            (Kept::Grant, tx.count::<Grant>()?, self.tables.grants),
            (Kept::Review, tx.count::<Judgement>()?, self.tables.reviews),
        ] {
            if stored != compared {
                return stop(Some(0), last, Damage::RecordAstray { what });
            }
        }
        Ok(())
    }

    /// Fails unless the record of this link is the same as what the link says.
    fn same(&self, is_same: bool, what: Kept) -> Result<(), Stop> {
        if is_same {
            return Ok(());
        }
        self.here(Damage::RecordChanged { what })
    }
}

/// Whether the body of a link names that request.
fn is_named(request: &Request, link: &Link, body: &Body) -> bool {
    Some(&request.id) == body.approval.as_ref() && request.session_id == link.session_id
}
