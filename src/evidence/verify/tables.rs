//! Compares claims, requests for approvals, decisions, grants and reviews with the links that made and changed them.

use std::collections::BTreeMap;

use super::{super::Body, Damage, Kept};
use crate::ledger::{
    Claim, ClaimState, Event, Grant, Judgement, Link, Request, Seq, StoreError, Tx, Vote,
    record::word,
};

/// What the links so far say that the tables hold.
#[derive(Debug, Default)]
pub(super) struct Tables {
    open: BTreeMap<Seq, Claim>,
    /// The requests, by their links.
    requests: BTreeMap<Seq, Request>,
    /// The numbers of the records that were compared.
    votes: u64,
    grants: u64,
    reviews: u64,
}

type Compared = Result<(), Damage>;

impl Tables {
    /// Follows a link, and compares what it made. `claim` is the claim of the table that names it.
    pub(super) fn follow(
        &mut self,
        tx: &mut Tx<'_>,
        link: &Link,
        body: &Body,
        claim: Option<Claim>,
    ) -> Result<Compared, StoreError> {
        let claims = self.claims(tx, link, body, claim)?;
        if claims.is_err() {
            return Ok(claims);
        }
        let made = match word(&link.event) {
            Some(Event::ApprovalRequested) => self.request(tx, link, body)?,
            Some(Event::Approved | Event::Denied) => self.vote(tx, link, body)?,
            Some(Event::Reviewed) => self.review(tx, link, body)?,
            _ => Ok(()),
        };
        if made.is_err() {
            return Ok(made);
        }
        if self.became(link, body).is_err() {
            return Ok(changed(Kept::Request));
        }
        match &body.grant {
            Some(_) => self.grant(tx, link, body),
            None => Ok(Ok(())),
        }
    }

    pub(super) fn open_claims(&self) -> impl Iterator<Item = &Claim> {
        self.open.values()
    }

    fn claims(
        &mut self,
        tx: &mut Tx<'_>,
        link: &Link,
        body: &Body,
        stored: Option<Claim>,
    ) -> Result<Compared, StoreError> {
        let event = word(&link.event);
        let changes = || body.changes.as_ref().map(|_| link.seq);
        if let Some(seq) = body.claim
            && let Some(mut said) = self.open.remove(&seq)
        {
            let is_own = said.operation_id == link.operation_id;
            let is_sent = event == Some(Event::Dispatched);
            if said.key.session_id != link.session_id || is_sent && !is_own {
                let operation = said.operation_id;
                return Ok(Err(Damage::ClaimChanged { operation }));
            }
            said.changed = changes().or(said.changed);
            (said.state, said.ended) = match event {
                Some(Event::Dispatched) => (ClaimState::Dispatched, None),
                Some(Event::Unknown) => (ClaimState::Unknown, None),
                Some(Event::TakenOver) => (ClaimState::TakenOver, Some(link.seq)),
                Some(Event::Resolved) if body.row.is_none() => {
                    (ClaimState::NotMade, Some(link.seq))
                }
                Some(Event::Succeeded | Event::Resolved) => (ClaimState::Succeeded, Some(link.seq)),
                _ => (ClaimState::Ended, Some(link.seq)),
            };
            if event == Some(Event::Dispatched) {
                said.sent = Some(link.seq);
                said.under.clone_from(&body.under);
            }
            if said.is_open() {
                self.open.insert(seq, said);
            } else if tx.claim(seq)?.as_ref() != Some(&said) {
                let operation = said.operation_id;
                return Ok(Err(Damage::ClaimChanged { operation }));
            }
        }
        let claims = matches!(event, Some(Event::Reserved | Event::TakenOver));
        Ok(match (claims, stored) {
            (false, None) => Ok(()),
            (false, Some(stored)) => Err(Damage::ClaimAstray {
                operation: stored.operation_id,
            }),
            (true, None) => Err(Damage::ClaimGone {
                operation: link.operation_id.clone(),
            }),
            (true, Some(stored)) => {
                let said = body.claims(link);
                let operation = stored.operation_id.clone();
                let same = Claim {
                    state: said.state,
                    under: None,
                    sent: None,
                    changed: None,
                    ended: None,
                    ..stored
                };
                let is_same = same == said;
                self.open.insert(link.seq, said);
                if is_same {
                    Ok(())
                } else {
                    Err(Damage::ClaimChanged { operation })
                }
            }
        })
    }

    fn request(
        &mut self,
        tx: &mut Tx<'_>,
        link: &Link,
        body: &Body,
    ) -> Result<Compared, StoreError> {
        let said = Request::made_by(link, body);
        let stored = tx.request(link.seq)?;
        if stored.map(|stored| stored.as_made()).as_ref() != Some(&said) {
            return Ok(changed(Kept::Request));
        }
        for other in self
            .requests
            .values_mut()
            .filter(|other| other.ended.is_none())
        {
            let task = |of: &Request| {
                (
                    of.session_id.clone(),
                    of.request_hash.clone(),
                    of.task_id.clone(),
                    of.root.clone(),
                )
            };
            if task(other) == task(&said) {
                other.ended = Some(link.seq);
            }
        }
        self.requests.insert(link.seq, said);
        Ok(Ok(()))
    }

    /// Follows what becomes of a request. It is used once.
    fn became(&mut self, link: &Link, body: &Body) -> Compared {
        let Some(id) = &body.approval else {
            return Ok(());
        };
        let mut named = self.requests.values_mut().rev();
        let Some(request) = named.find(|of| of.id == *id && of.session_id == link.session_id)
        else {
            return Ok(());
        };
        match word(&link.event) {
            Some(Event::ApprovalRequested | Event::Approved | Event::Denied) => {}
            Some(Event::Dispatched) if request.used.is_some() => return changed(Kept::Request),
            Some(Event::Dispatched) => request.used = Some(link.seq),
            Some(Event::Pending) => request.used = None,
            _ => {
                request.ended.get_or_insert(link.seq);
            }
        }
        Ok(())
    }

    fn vote(&mut self, tx: &mut Tx<'_>, link: &Link, body: &Body) -> Result<Compared, StoreError> {
        let mut named = self.requests.values().rev();
        let request = named
            .find(|of| Some(&of.id) == body.approval.as_ref() && of.session_id == link.session_id);
        let said = request.map(|request| Vote::made_by(link, body, request.seq));
        self.votes += 1;
        Ok(same(tx.vote(link.seq)? == said, Kept::Vote))
    }

    fn grant(&mut self, tx: &mut Tx<'_>, link: &Link, body: &Body) -> Result<Compared, StoreError> {
        let said = Grant::made_by(link, body);
        let stored = tx.grant(&said.row_id)?;
        self.grants += 1;
        Ok(same(stored == Some(said), Kept::Grant))
    }

    fn review(
        &mut self,
        tx: &mut Tx<'_>,
        link: &Link,
        body: &Body,
    ) -> Result<Compared, StoreError> {
        let said = Judgement {
            seq: link.seq,
            session_id: link.session_id.clone(),
            row_id: body.about.clone().unwrap_or_default(),
            state: body.reason.as_deref().and_then(word).unwrap_or_default(),
            actor: link.actor.clone(),
            at: link.at.clone(),
        };
        self.reviews += 1;
        Ok(same(tx.review_at(link.seq)? == Some(said), Kept::Review))
    }

    /// What does not match after the last link, and its link.
    pub(super) fn end(&mut self, tx: &mut Tx<'_>) -> Result<Option<(Seq, Damage)>, StoreError> {
        for (seq, said) in &self.open {
            if tx.claim(*seq)?.as_ref() != Some(said) {
                let operation = said.operation_id.clone();
                return Ok(Some((*seq, Damage::ClaimChanged { operation })));
            }
        }
        for (seq, said) in &self.requests {
            if tx.request(*seq)?.as_ref() != Some(said) {
                let what = Kept::Request;
                return Ok(Some((*seq, Damage::RecordChanged { what })));
            }
        }
        let requests = u64::try_from(self.requests.len()).unwrap_or(u64::MAX);
        for (what, stored, compared) in [
            (Kept::Request, tx.count::<Request>()?, requests),
            (Kept::Vote, tx.count::<Vote>()?, self.votes),
            (Kept::Grant, tx.count::<Grant>()?, self.grants),
            (Kept::Review, tx.count::<Judgement>()?, self.reviews),
        ] {
            if stored != compared {
                return Ok(Some((0, Damage::RecordAstray { what })));
            }
        }
        Ok(None)
    }
}

fn same(is_same: bool, what: Kept) -> Compared {
    if is_same { Ok(()) } else { changed(what) }
}

fn changed(what: Kept) -> Compared {
    Err(Damage::RecordChanged { what })
}
