//! The walk along the chain: what has been seen, and what must come next.

use std::collections::{HashMap, HashSet};

use crate::ledger::{
    anchor::Note,
    canonical::sha256,
    chain::Body,
    past::Opened,
    record::{ClaimState, Event, Head, Link, NOTHING, Row, Seq, Session},
    store::{StoreError, Tx, Which},
    verdict::{Broken, Damage, Part, Verdict, Whose},
};

/// Links that are looked at in one transaction, and rows, which may be large.
const LINKS: usize = 512;
const ROWS: usize = 32;

/// Whether there are more links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    More,
    Ended,
}

/// Why the walk ends early.
#[derive(Debug)]
pub(super) enum Stop {
    Broken(Broken),
    Store(StoreError),
}

impl From<Broken> for Stop {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// How far it has come.
#[derive(Debug)]
pub(super) struct Walk {
    next: Seq,
    prev_hash: String,
    /// What others remember, ascending, and how many of these were met.
    remembered: Vec<(Note, Whose)>,
    met: usize,
    /// The last link that somebody remembers.
    confirmed: Option<Seq>,
    /// Rows that a link says were pruned.
    pruned: HashSet<String>,
    /// Rows without request and response of which no link has said so yet.
    bare: HashMap<String, (Seq, Part)>,
    opened: Opened,
    /// SHA-256 of the key for secrets, as its link has it: it is made once.
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

    /// The link that comes next.
    pub(super) fn next(&self) -> Seq {
        self.next
    }

    pub(super) fn verdict(self) -> Verdict {
        self.verdict
    }

    /// Walks along the next links, with their rows and what these name elsewhere.
    pub(super) fn page(&mut self, tx: &mut Tx<'_>) -> Result<Progress, Stop> {
        let mut links = tx.links(self.next, LINKS)?;
        let rows = tx.rows(&Which::From(self.next), ROWS)?;
        // As many as these links can have opened.
        let sessions = tx.sessions(self.next, LINKS)?;
        let ended = links.is_empty();
        if rows.len() == ROWS {
            // What is not loaded must not seem to be missing.
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
            return Ok(Progress::More);
        }
        self.end(tx, rows.next(), sessions.next())?;
        Ok(Progress::Ended)
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
            return Err(self.here(Damage::Unreadable).into());
        };
        self.row(&body, row)?;
        self.session(link.opens(&body), session)?;
        if let Some(row) = row {
            self.taken_back(tx, row)?;
        }
        if link.is(Event::Revoked) {
            let row = body.about.clone().unwrap_or_default();
            let found = tx.rows(&Which::id(&row), 1)?.into_iter().next();
            let found = found.filter(|found| found.id == row);
            if found.and_then(|row| row.revoked_by) != Some(link.seq) {
                return Err(self.here(Damage::RevocationUndone { row }).into());
            }
        }
        self.opened.follow(link, &body);
        if let Some(key) = body.key
            && self.key.replace(key).is_some()
        {
            return Err(self.here(Damage::KeyChanged).into());
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

    /// Something is wrong with the link that comes next.
    fn here(&self, what: Damage) -> Broken {
        Broken {
            link: Some(self.next),
            good: self.next.checked_sub(1),
            what,
        }
    }

    /// The link itself, and that it follows the one before.
    fn link(&self, link: &Link) -> Result<(), Broken> {
        if link.seq != self.next {
            return Err(self.here(Damage::Missing { found: link.seq }));
        }
        if link.hash() != link.entry_hash {
            return Err(self.here(Damage::Contents));
        }
        if link.prev_hash != self.prev_hash {
            // It may be the one before that was changed, unless somebody remembers that one.
            let before = self.next.checked_sub(2).max(self.confirmed);
            return Err(Broken {
                good: before,
                ..self.here(Damage::Unlinked)
            });
        }
        Ok(())
    }

    /// That it is the one that others remember.
    fn recall(&mut self, link: &Link) -> Result<(), Broken> {
        while let Some((note, whose)) = self.remembered.get(self.met) {
            if note.seq != link.seq {
                break;
            }
            let whose = *whose;
            if !note.entry_hash.eq_ignore_ascii_case(&link.entry_hash) {
                return Err(Broken {
                    good: self.confirmed,
                    ..self.here(Damage::Other { whose })
                });
            }
            self.met += 1;
            self.confirmed = Some(link.seq);
            if whose == Whose::Anchor {
                self.verdict.anchored = Some(link.seq);
            }
        }
        Ok(())
    }

    /// The row of a link is what the link says.
    fn row(&mut self, body: &Body, row: Option<&Row>) -> Result<(), Broken> {
        let (seal, row) = match (&body.row, row) {
            (None, None) => return Ok(()),
            (Some(seal), None) => {
                let row = seal.id.clone();
                return Err(self.here(Damage::RowMissing { row }));
            }
            (None, Some(row)) => {
                let row = row.id.clone();
                return Err(self.here(Damage::RowUnsealed { row }));
            }
            (Some(seal), Some(row)) => (seal, row),
        };
        let id = || row.id.clone();
        if row.seal() != *seal {
            let part = Part::Columns;
            return Err(self.here(Damage::RowChanged { row: id(), part }));
        }
        let parts = [
            (Part::Request, &row.request, &row.request_sha256),
            (Part::Response, &row.response, &row.response_sha256),
        ];
        let mut gone = None;
        for (part, text, hash) in parts {
            match text {
                Some(text) if sha256(text) != *hash => {
                    return Err(self.here(Damage::RowChanged { row: id(), part }));
                }
                Some(_) => {}
                None => gone = Some(part),
            }
        }
        self.verdict.rows += 1;
        match gone {
            None => self.verdict.payloads += 1,
            Some(part) => {
                self.verdict.pruned += 1;
                // Of an answer that was pruned, only what was asked can be recorded again.
                let source = row.reused_from.as_ref();
                let was_gone = row.request.is_some()
                    && source.is_some_and(|source| self.pruned.contains(source));
                if !was_gone {
                    self.bare.insert(id(), (self.next, part));
                }
            }
        }
        Ok(())
    }

    /// The session that a link opened is what the link says.
    fn session(&self, said: Option<Session>, session: Option<&Session>) -> Result<(), Broken> {
        let damage = match (said, session) {
            (None, None) => return Ok(()),
            (Some(said), Some(session)) if said == *session => return Ok(()),
            (Some(said), Some(_)) => Damage::SessionChanged {
                session: said.session_id,
            },
            (Some(said), None) => Damage::SessionGone {
                session: said.session_id,
            },
            (None, Some(session)) => Damage::SessionUnsealed {
                session: session.session_id.clone(),
            },
        };
        Err(self.here(damage))
    }

    /// A row that says that it was taken back was, by a link.
    fn taken_back(&self, tx: &mut Tx<'_>, row: &Row) -> Result<(), Stop> {
        let Some(by) = row.revoked_by else {
            return Ok(());
        };
        if tx
            .stored_link(by)?
            .is_some_and(|link| link.takes_back(&row.id))
        {
            return Ok(());
        }
        let row = row.id.clone();
        Err(self.here(Damage::RevokedByNobody { row }).into())
    }

    /// Nothing is left over.
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
        let broken = |link: Option<Seq>, what: Damage| {
            let good = last;
            Err(Stop::Broken(Broken { link, good, what }))
        };
        if let Some((note, whose)) = self.remembered.get(self.met) {
            let (whose, seq) = (*whose, note.seq);
            return broken(last, Damage::Cut { whose, seq });
        }
        if let Some(Row { seq, id: row, .. }) = astray {
            return broken(seq, Damage::RowAstray { row });
        }
        if let Some(row) = tx.unlinked()? {
            return broken(None, Damage::RowUnlinked { row });
        }
        if let Some(Session {
            seq, session_id, ..
        }) = session
        {
            let session = session_id;
            return broken(Some(seq), Damage::SessionUnsealed { session });
        }
        if self.key != tx.secret_key_sha256()? {
            return broken(None, Damage::KeyChanged);
        }
        let gone = self.bare.drain().min_by_key(|(_, (seq, _))| *seq);
        if let Some((row, (seq, part))) = gone {
            return Err(Stop::Broken(Broken {
                link: Some(seq),
                good: seq.checked_sub(1),
                what: Damage::PayloadGone { row, part },
            }));
        }
        for claim in tx.claims()? {
            let said = self.opened.take(claim.seq);
            if said.as_ref() != Some(&claim) {
                let operation = claim.operation_id;
                let same = said.is_some_and(|said| said.operation_id == operation);
                let what = if same {
                    Damage::ClaimChanged { operation }
                } else {
                    Damage::ClaimAstray { operation }
                };
                return broken(Some(claim.seq), what);
            }
            match claim.state {
                ClaimState::Unknown => self.verdict.unknown += 1,
                ClaimState::Reserved | ClaimState::Dispatched => self.verdict.at_work += 1,
            }
        }
        if let Some(claim) = self.opened.left() {
            let operation = claim.operation_id.clone();
            return broken(Some(claim.seq), Damage::ClaimGone { operation });
        }
        self.verdict.outside = tx.outside()?;
        Ok(())
    }
}
