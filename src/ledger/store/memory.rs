//! A ledger in memory: the rules of the others without a database, for tests.

mod fits;

use std::{
    any::Any,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{
    Durability, Reach, Store, StoreError, Tx, Which,
    rules::{self, Rule},
};
use crate::ledger::{
    canonical::canonical,
    chain::CHANGES_STATE,
    record::{Claim, ClaimKey, Event, Head, Link, Row, Seq, Session},
};
use fits::fits;

/// A ledger that several stores can have open.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory {
    kept: Arc<Mutex<Kept>>,
    stores: Arc<AtomicU64>,
}

/// One opening of it.
#[derive(Debug)]
pub(crate) struct MemoryStore {
    memory: Memory,
    me: u64,
}

#[derive(Debug, Clone, Default)]
struct Kept {
    links: Vec<Link>,
    sessions: Vec<Session>,
    rows: Vec<Row>,
    claims: Vec<Claim>,
    key: Option<[u8; 32]>,
    /// It cannot be written for now.
    broken: bool,
    /// Who holds which.
    holds: Vec<(Seq, u64)>,
}

impl Memory {
    pub(crate) fn open(&self) -> MemoryStore {
        MemoryStore {
            memory: self.clone(),
            me: self.stores.fetch_add(1, Ordering::Relaxed),
        }
    }

    fn with(&self, work: impl FnOnce(&mut Kept)) {
        work(&mut self.kept.lock().unwrap());
    }

    /// Changes the rows behind the ledger's back.
    pub(crate) fn change(&self, change: impl FnMut(&mut Row)) {
        self.with(|kept| kept.rows.iter_mut().for_each(change));
    }

    /// Changes the newest row, and its link as if it had always been so.
    pub(crate) fn reseal(&self, change: impl FnOnce(&mut Row)) {
        self.with(|kept| {
            let (row, link) = (
                kept.rows.last_mut().unwrap(),
                kept.links.last_mut().unwrap(),
            );
            change(row);
            let mut body = link.body().unwrap();
            body.row = Some(row.seal());
            link.body = canonical(&serde_json::to_value(body).unwrap());
            link.entry_hash = link.hash();
        });
    }

    /// From now on nothing can be written.
    pub(crate) fn break_down(&self) {
        self.with(|kept| kept.broken = true);
    }

    pub(crate) fn mend(&self) {
        self.with(|kept| kept.broken = false);
    }
}

impl MemoryStore {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        // A test that failed inside a transaction changed nothing.
        self.memory
            .kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for MemoryStore {
    fn drop(&mut self) {
        let me = self.me;
        self.kept().holds.retain(|(_, owner)| *owner != me);
    }
}

impl Store for MemoryStore {
    fn place(&self) -> &'static str {
        "memory"
    }

    fn write(
        &mut self,
        _: Durability,
        work: &mut dyn FnMut(&mut dyn Tx) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut kept = self.kept();
        if kept.broken {
            return Err(StoreError::Unreachable {
                place: "memory".to_owned(),
                why: "it is broken".to_owned(),
            });
        }
        let mut next = kept.clone();
        work(&mut next)?;
        next.check()?;
        *kept = next;
        Ok(())
    }

    fn read(
        &mut self,
        work: &mut dyn FnMut(&mut dyn Tx) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut view = self.kept().clone();
        work(&mut view)
    }

    fn hold(&mut self, claim: Seq) -> Result<(), StoreError> {
        let me = self.me;
        let mut kept = self.kept();
        if kept
            .holds
            .iter()
            .any(|(held, owner)| *held == claim && *owner != me)
        {
            return Err(StoreError::Busy {
                place: "memory".to_owned(),
                why: format!("the claim {claim} is another's"),
            });
        }
        kept.holds.push((claim, me));
        Ok(())
    }

    fn release(&mut self, claim: Seq) {
        let mine = (claim, self.me);
        self.kept().holds.retain(|held| *held != mine);
    }

    fn held(&mut self, claim: Seq) -> Result<bool, StoreError> {
        Ok(self.kept().holds.iter().any(|(held, _)| *held == claim))
    }

    fn closing(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// What must be, or the record is refused.
fn must(right: Option<()>, why: &'static str) -> Result<(), StoreError> {
    by(right.ok_or(why))
}

fn by(rule: Rule) -> Result<(), StoreError> {
    rule.map_err(|why| StoreError::Refused {
        place: "memory".to_owned(),
        why: why.to_owned(),
    })
}

impl Kept {
    /// What databases check when a transaction ends: that every number is a link's.
    fn check(&self) -> Result<(), StoreError> {
        let rows = self.rows.iter().flat_map(|row| [row.seq, row.revoked_by]);
        let claims = self.claims.iter().map(|claim| Some(claim.seq));
        let sessions = self.sessions.iter().map(|session| Some(session.seq));
        let last = self.links.last().map(|link| link.seq);
        for seq in rows.chain(claims).chain(sessions).flatten() {
            must((Some(seq) <= last).then_some(()), "no such link")?;
        }
        Ok(())
    }

    fn row(&mut self, id: &str) -> Result<&mut Row, StoreError> {
        let found = self.rows.iter_mut().find(|row| row.id == id);
        found.ok_or_else(|| StoreError::Refused {
            place: "memory".to_owned(),
            why: "there is no such row".to_owned(),
        })
    }
}

impl Tx for Kept {
    fn head(&mut self) -> Result<Option<Head>, StoreError> {
        Ok(self.links.last().map(|link| Head {
            seq: link.seq,
            entry_hash: link.entry_hash.clone(),
        }))
    }

    fn append(&mut self, link: &Link) -> Result<(), StoreError> {
        let last = self.head()?;
        by(rules::link(link, last.as_ref()))?;
        self.links.push(link.clone());
        Ok(())
    }

    fn links(&mut self, from: Seq, most: usize) -> Result<Vec<Link>, StoreError> {
        let from = self.links.iter().filter(|link| link.seq >= from);
        Ok(from.take(most).cloned().collect())
    }

    fn links_of(&mut self, session_id: &str) -> Result<Vec<Link>, StoreError> {
        let of = self.links.iter();
        let of = of.filter(|link| link.session_id == session_id);
        Ok(of.cloned().collect())
    }

    fn changed_since(
        &mut self,
        seq: Seq,
        session_id: &str,
        but: &str,
    ) -> Result<Option<Seq>, StoreError> {
        let after = self.links.iter().filter(|link| link.seq > seq);
        let mut of = after.filter(|link| link.session_id == session_id && link.operation_id != but);
        let changed = of.find(|link| link.body.contains(CHANGES_STATE));
        Ok(changed.map(|link| link.seq))
    }

    fn links_about(
        &mut self,
        session_id: &str,
        request_hash: &str,
        reach: Reach,
    ) -> Result<Vec<Link>, StoreError> {
        let (from, most) = reach.bounds();
        let mut links = self.links_of(session_id)?;
        links.retain(|link| link.tells_of(request_hash) && link.seq >= from);
        links.drain(..links.len().saturating_sub(most));
        Ok(links)
    }

    fn is_used(&mut self, session_id: &str) -> Result<bool, StoreError> {
        let mut links = self.links_of(session_id)?;
        links.retain(|link| !link.is(Event::Genesis) && !link.is(Event::Keyed));
        Ok(!links.is_empty())
    }

    fn session(&mut self, id: &str) -> Result<Option<Session>, StoreError> {
        let mut sessions = self.sessions.iter();
        Ok(sessions.find(|session| session.session_id == id).cloned())
    }

    fn open_session(&mut self, session: &Session) -> Result<(), StoreError> {
        let new = self.session(&session.session_id)?.is_none();
        must(new.then_some(()), "it is open already")?;
        by(rules::session(session))?;
        let of_another = self.sessions.iter().any(|other| other.seq == session.seq);
        must((!of_another).then_some(()), "that link opened another")?;
        self.sessions.push(session.clone());
        Ok(())
    }

    fn answers(&mut self, session_id: &str) -> Result<u64, StoreError> {
        let of = self.rows.iter().filter(|row| row.session_id == session_id);
        Ok(u64::try_from(of.count()).unwrap_or(u64::MAX))
    }

    fn next_step(&mut self, session_id: &str) -> Result<u64, StoreError> {
        let of = self.rows.iter().filter(|row| row.session_id == session_id);
        let next = of.map(|row| row.step_index + 1).max();
        Ok(next.unwrap_or_default())
    }

    fn sessions(&mut self, from: Seq, most: usize) -> Result<Vec<Session>, StoreError> {
        let mut sessions = self.sessions.clone();
        sessions.retain(|session| session.seq >= from);
        sessions.sort_by_key(|session| session.seq);
        sessions.truncate(most);
        Ok(sessions)
    }

    fn newest_session(&mut self) -> Result<Option<Session>, StoreError> {
        let newest = self.sessions.iter().max_by_key(|session| session.seq);
        Ok(newest.cloned())
    }

    fn insert(&mut self, row: &Row) -> Result<(), StoreError> {
        let clash = |other: &Row| {
            other.id == row.id
                || (other.seq.is_some() && other.seq == row.seq)
                || (other.session_id == row.session_id && other.step_index == row.step_index)
        };
        let new = !self.rows.iter().any(clash);
        must(new.then_some(()), "there is such a row")?;
        by(rules::row(row))?;
        let at_home = match row.state {
            Some(_) => self.session(&row.session_id)?.is_some(),
            None => self.links.is_empty(),
        };
        must(at_home.then_some(()), "neither of a session nor history")?;
        let source = row.reused_from.as_ref();
        let known = source.is_none_or(|id| self.rows.iter().any(|other| other.id == *id));
        must(known.then_some(()), "it reuses nothing")?;
        self.rows.push(row.clone());
        Ok(())
    }

    fn rows(&mut self, which: &Which<'_>, most: usize) -> Result<Vec<Row>, StoreError> {
        let mut found: Vec<Row> = self
            .rows
            .iter()
            .filter(|row| fits(which, row))
            .cloned()
            .collect();
        match which {
            Which::Session(_) | Which::Step { .. } => found.sort_by_key(|row| row.step_index),
            Which::Latest(_) => {
                found.sort_by_key(|row| std::cmp::Reverse(row.step_index));
            }
            Which::Id(_) => found.sort_by(|one, other| one.id.cmp(&other.id)),
            Which::Seq(_) | Which::From(_) => found.sort_by_key(|row| row.seq),
            _ => {
                found.reverse();
                found.sort_by_key(|row| std::cmp::Reverse(row.seq));
                if let Which::Operation(begin) = which {
                    found.sort_by_key(|row| row.operation_id != begin.text);
                }
            }
        }
        found.truncate(most);
        if let Which::ReusesOf(_) = which {
            for row in &mut found {
                row.request = None;
                row.response = None;
            }
        }
        Ok(found)
    }

    fn steps(&mut self, which: &Which<'_>, most: usize) -> Result<Vec<u64>, StoreError> {
        let rows = self.rows(which, most)?;
        Ok(rows.into_iter().map(|row| row.step_index).collect())
    }

    fn revoke(&mut self, row_id: &str, by: Seq) -> Result<(), StoreError> {
        let row = self.row(row_id)?;
        let first = row.revoked_by.is_none_or(|link| link == by);
        must(first.then_some(()), "it was taken back")?;
        row.revoked_by = Some(by);
        Ok(())
    }

    fn prune(&mut self, row_id: &str) -> Result<(), StoreError> {
        let row = self.row(row_id)?;
        row.request = None;
        row.response = None;
        Ok(())
    }

    fn outside(&mut self) -> Result<u64, StoreError> {
        let outside = |row: &&Row| row.seq.is_none() && row.state.is_none();
        let outside = self.rows.iter().filter(outside);
        Ok(u64::try_from(outside.count()).unwrap_or(u64::MAX))
    }

    fn unlinked(&mut self) -> Result<Option<String>, StoreError> {
        let unlinked = |row: &&Row| row.seq.is_none() && row.state.is_some();
        Ok(self.rows.iter().find(unlinked).map(|row| row.id.clone()))
    }

    fn damaged(&self, why: String) -> StoreError {
        StoreError::Corrupt {
            place: "memory".to_owned(),
            why,
        }
    }

    fn claim(&mut self, key: &ClaimKey) -> Result<Option<Claim>, StoreError> {
        Ok(self.claims.iter().find(|claim| claim.key == *key).cloned())
    }

    fn claims(&mut self) -> Result<Vec<Claim>, StoreError> {
        let mut claims = self.claims.clone();
        claims.sort_by_key(|claim| claim.seq);
        Ok(claims)
    }

    fn put_claim(&mut self, claim: &Claim) -> Result<(), StoreError> {
        self.claims.retain(|other| other.key != claim.key);
        let new = !self.claims.iter().any(|other| other.seq == claim.seq);
        must(new.then_some(()), "another claim has this number")?;
        self.claims.push(claim.clone());
        Ok(())
    }

    fn drop_claim(&mut self, key: &ClaimKey, seq: Seq) -> Result<Option<Claim>, StoreError> {
        let ours = |claim: &Claim| claim.key == *key && claim.seq == seq;
        let at = self.claims.iter().position(ours);
        Ok(at.map(|at| self.claims.remove(at)))
    }

    fn secret_key(&mut self) -> Result<Option<[u8; 32]>, StoreError> {
        Ok(self.key)
    }

    fn keyed(&mut self) -> Result<Option<Link>, StoreError> {
        Ok(self
            .links
            .iter()
            .find(|link| link.is(Event::Keyed))
            .cloned())
    }

    fn put_secret_key(&mut self, key: &[u8; 32]) -> Result<(), StoreError> {
        must(self.key.is_none().then_some(()), "there is a key")?;
        self.key = Some(*key);
        Ok(())
    }
}
