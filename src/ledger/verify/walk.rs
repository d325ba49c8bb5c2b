//! The walk along the chain: what was seen, and what must come next.

use std::{
    collections::{HashMap, HashSet},
    ops::ControlFlow,
};

use super::{Broken, Damage, Part, Verdict, Whose};
use crate::ledger::{
    anchor::Note,
    canonical::sha256,
    chain::Body,
    claims::{Opened, follow},
    record::{ClaimState, Event, Head, Link, NOTHING, Row, Seq, Session},
    store::{StoreError, Tx, Which},
};

/// The numbers of links and rows that one transaction reads. Rows may be large.
const LINKS: usize = 512;
const ROWS: usize = 32;

#[derive(Debug)]
pub(super) enum Stop {
    Broken(Broken),
    Store(StoreError),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Ends the walk, because something is wrong.
fn stop(link: Option<Seq>, good: Option<Seq>, what: Damage) -> Result<(), Stop> {
    Err(Stop::Broken(Broken { link, good, what }))
}

#[derive(Debug)]
pub(super) struct Walk {
    next: Seq,
    prev_hash: String,
    /// The copies of links, in ascending order. `met` counts those that were compared.
    remembered: Vec<(Note, Whose)>,
    met: usize,
    /// The last link that a copy confirms.
    confirmed: Option<Seq>,
    /// The rows that links record as pruned.
    pruned: HashSet<String>,
    /// Rows without request or response, and so far without a link that prunes them.
    bare: HashMap<String, (Seq, Part)>,
    opened: Opened,
    /// SHA-256 of the key for secrets, as its link states it. The key is made once.
    key: Option<String>,
    verdict: Verdict,
}

impl Walk {
    /// `remembered` is in the order of the chain.
    pub(super) fn new(remembered: Vec<(Note, Whose)>) -> Self {
        Self {
            next: 0,
            prev_hash: NOTHING.to_owned(),
            remembered,
            met: 0,
            confirmed: None,
            pruned: HashSet::new(),
            bare: HashMap::new(),
            opened: Opened::default(),
            key: None,
            verdict: Verdict::default(),
        }
    }

    pub(super) fn next(&self) -> Seq {
        self.next
    }

    pub(super) fn verdict(self) -> Verdict {
        self.verdict
    }

    /// Examines the next links, with their rows and sessions. Breaks at the end of the chain.
    pub(super) fn page(&mut self, tx: &mut Tx<'_>) -> Result<ControlFlow<()>, Stop> {
        let mut links = tx.links(self.next, LINKS)?;
        let rows = tx.rows(&Which::since(self.next), ROWS)?;
        // These links cannot have opened more sessions.
        let sessions = tx.sessions(self.next, LINKS)?;
        let ended = links.is_empty();
        if rows.len() == ROWS {
            // A row that was not read must not seem to be missing.
            let last = rows.last().and_then(|row| row.seq);
            let known = links.iter().take_while(|link| Some(link.seq) <= last);
            links.truncate(known.count().max(1));
        }
        let mut rows = rows.into_iter().peekable();
        let mut sessions = sessions.into_iter().peekable();
        for link in &links {
            let row = rows.next_if(|row| row.seq == Some(link.seq));
            let session = sessions.next_if(|session| session.seq == link.seq);
            self.step(tx, link, row.as_ref(), session.as_ref())?;
        }
        if !ended {
            return Ok(ControlFlow::Continue(()));
        }
        self.end(tx, rows.next(), sessions.next())?;
        Ok(ControlFlow::Break(()))
    }

    fn step(
        &mut self,
        tx: &mut Tx<'_>,
        link: &Link,
        row: Option<&Row>,
        session: Option<&Session>,
    ) -> Result<(), Stop> {
        self.link(link)?;
        self.recall(link)?;
        let Some(body) = link.body() else {
            return self.here(Damage::Unreadable);
        };
        self.row(&body, row)?;
        self.session(link.opens(&body), session)?;
        if let Some(row) = row {
            self.taken_back(tx, row)?;
        }
        if link.is(Event::Revoked) {
            let row = body.about.clone().unwrap_or_default();
            let found = tx.row(&Which::id(&row))?;
            let found = found.filter(|found| found.id == row);
            if found.and_then(|row| row.revoked_by) != Some(link.seq) {
                return self.here(Damage::RevocationUndone { row });
            }
        }
        follow(&mut self.opened, link, &body);
        if let Some(key) = body.key
            && self.key.replace(key).is_some()
        {
            return self.here(Damage::KeyChanged);
        }
        if link.is(Event::Pruned) {
            for id in &body.rows {
                self.bare.remove(id);
            }
            self.pruned.extend(body.rows);
        }
        self.next = link.seq + 1;
        self.prev_hash.clone_from(&link.entry_hash);
        self.verdict.links = self.next;
        self.verdict.last = Some(Head {
            seq: link.seq,
            entry_hash: link.entry_hash.clone(),
        });
        Ok(())
    }

    /// Ends the walk, because something is wrong with the next link.
    fn here(&self, what: Damage) -> Result<(), Stop> {
        stop(Some(self.next), self.next.checked_sub(1), what)
    }

    /// Checks the link itself, and that it follows the one before.
    fn link(&self, link: &Link) -> Result<(), Stop> {
        if link.seq != self.next {
            return self.here(Damage::Missing { found: link.seq });
        }
        if link.hash() != link.entry_hash {
            return self.here(Damage::Contents);
        }
        if link.prev_hash != self.prev_hash {
            // The link before may be the changed one, unless it is confirmed.
            let before = self.next.checked_sub(2).max(self.confirmed);
            return stop(Some(self.next), before, Damage::Unlinked);
        }
        Ok(())
    }

    /// Checks the link against its copies.
    fn recall(&mut self, link: &Link) -> Result<(), Stop> {
        while let Some((note, whose)) = self.remembered.get(self.met) {
            if note.seq != link.seq {
                break;
            }
            let whose = *whose;
            if note.entry_hash != link.entry_hash {
                return stop(Some(self.next), self.confirmed, Damage::Other { whose });
            }
            self.met += 1;
            self.confirmed = Some(link.seq);
            if whose == Whose::Anchor {
                self.verdict.anchored = Some(link.seq);
            }
        }
        Ok(())
    }

    /// Checks that the row of a link matches the link.
    fn row(&mut self, body: &Body, row: Option<&Row>) -> Result<(), Stop> {
        let (seal, row) = match (&body.row, row) {
            (None, None) => return Ok(()),
            (Some(seal), None) => {
                let row = seal.id.clone();
                return self.here(Damage::RowMissing { row });
            }
            (None, Some(row)) => {
                let row = row.id.clone();
                return self.here(Damage::RowUnsealed { row });
            }
            (Some(seal), Some(row)) => (seal, row),
        };
        let id = row.id.clone();
        if row.seal() != *seal {
            let part = Part::Columns;
            return self.here(Damage::RowChanged { row: id, part });
        }
        let mut gone = None;
        for (part, text, hash) in [
            (Part::Request, &row.request, &row.request_sha256),
            (Part::Response, &row.response, &row.response_sha256),
        ] {
            match text {
                Some(text) if sha256(text) != *hash => {
                    return self.here(Damage::RowChanged { row: id, part });
                }
                Some(_) => {}
                None => gone = Some(part),
            }
        }
        self.verdict.rows += 1;
        let Some(part) = gone else {
            self.verdict.payloads += 1;
            return Ok(());
        };
        self.verdict.pruned += 1;
        // If the repeated answer was pruned before, the repetition has only the request.
        let source = row.reused_from.as_ref();
        let was_gone =
            row.request.is_some() && source.is_some_and(|source| self.pruned.contains(source));
        if !was_gone {
            self.bare.insert(id, (self.next, part));
        }
        Ok(())
    }

    /// Checks that the session which a link opened matches the link.
    fn session(&self, said: Option<Session>, session: Option<&Session>) -> Result<(), Stop> {
        match (said, session) {
            (None, None) => Ok(()),
            (Some(said), Some(session)) if said == *session => Ok(()),
            (Some(Session { session_id, .. }), found) => {
                let session = session_id;
                self.here(match found {
                    Some(_) => Damage::SessionChanged { session },
                    None => Damage::SessionGone { session },
                })
            }
            (None, Some(Session { session_id, .. })) => {
                let session = session_id.clone();
                self.here(Damage::SessionUnsealed { session })
            }
        }
    }

    /// Checks that a row which is marked as revoked was revoked by a link.
    fn taken_back(&self, tx: &mut Tx<'_>, row: &Row) -> Result<(), Stop> {
        let Some(by) = row.revoked_by else {
            return Ok(());
        };
        if tx
            .stored_link(by)?
            .is_some_and(|link| link.revokes(&row.id))
        {
            return Ok(());
        }
        let row = row.id.clone();
        self.here(Damage::RevokedByNobody { row })
    }

    /// Checks what remains after the last link.
    fn end(
        &mut self,
        tx: &mut Tx<'_>,
        astray: Option<Row>,
        session: Option<Session>,
    ) -> Result<(), Stop> {
        if let Some(why) = tx.flaw()? {
            return Err(tx.damaged(why).into());
        }
        let last = self.next.checked_sub(1);
        if let Some((note, whose)) = self.remembered.get(self.met) {
            let (whose, seq) = (*whose, note.seq);
            return stop(last, last, Damage::Cut { whose, seq });
        }
        if let Some(Row { seq, id: row, .. }) = astray {
            return stop(seq, last, Damage::RowAstray { row });
        }
        if let Some(row) = tx.unlinked()? {
            return stop(None, last, Damage::RowUnlinked { row });
        }
        if let Some(session) = session {
            let (seq, session) = (session.seq, session.session_id);
            return stop(Some(seq), last, Damage::SessionUnsealed { session });
        }
        if self.key != tx.secret_key_sha256()? {
            return stop(None, last, Damage::KeyChanged);
        }
        let gone = self.bare.drain().min_by_key(|(_, (seq, _))| *seq);
        if let Some((row, (seq, part))) = gone {
            return stop(
                Some(seq),
                seq.checked_sub(1),
                Damage::PayloadGone { row, part },
            );
        }
        for claim in tx.claims()? {
            let said = self.opened.remove(&claim.seq);
            if said.as_ref() != Some(&claim) {
                let operation = claim.operation_id;
                let what = match said {
                    Some(said) if said.operation_id == operation => {
                        Damage::ClaimChanged { operation }
                    }
                    _ => Damage::ClaimAstray { operation },
                };
                return stop(Some(claim.seq), last, what);
            }
            match claim.state {
                ClaimState::Unknown => self.verdict.unknown += 1,
                ClaimState::Reserved | ClaimState::Dispatched => self.verdict.at_work += 1,
            }
        }
        if let Some(claim) = self.opened.values().next() {
            let operation = claim.operation_id.clone();
            return stop(Some(claim.seq), last, Damage::ClaimGone { operation });
        }
        self.verdict.outside = tx.outside()?;
        Ok(())
    }
}
