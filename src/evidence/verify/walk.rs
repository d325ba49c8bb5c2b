//! The walk along the chains: what was seen, and what must come next.

mod rows;
mod tables;

use std::{collections::HashMap, ops::ControlFlow};

use super::{
    super::{Body, anchor::Note, chain::Tied},
    Broken, Damage, Part, Verdict, Whose,
    vouched::Vouched,
};
use tables::Tables;

use crate::ledger::{
    Claim, ClaimState, Event, Head, Link, NOTHING, Row, Seq, Session, StoreError, Tx, Which,
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

#[derive(Debug, Default)]
pub(super) struct Walk {
    /// The link that is examined.
    here: Seq,
    knot: Option<End>,
    /// The last links of the sessions that have links since the knot.
    ends: HashMap<String, End>,
    /// The hashes of the knot and of all links since.
    tied: Tied,
    /// The number of links up to the knot.
    until_knot: u64,
    /// The copies of links, in ascending order. `met` counts those that were compared.
    remembered: Vec<(Note, Whose)>,
    met: usize,
    /// The link up to which copies confirm all.
    pub(super) confirmed: Option<Seq>,
    /// The link that a signed head file names.
    signed: Option<Seq>,
    vouched: Vouched,
    tables: Tables,
    /// SHA-256 of the key for secrets, as its link states it. The key is made once.
    key: Option<String>,
    verdict: Verdict,
}

/// The last link of a session, or a knot.
#[derive(Debug, Clone)]
struct End {
    seq: Seq,
    number: u64,
    entry_hash: String,
    /// The number of links of the session since the knot.
    since: u64,
}

impl Walk {
    /// `remembered` is in the order of the links. A signed head file names the link `signed`.
    pub(super) fn new(remembered: Vec<(Note, Whose)>, signed: Option<Seq>) -> Self {
        Self {
            remembered,
            signed,
            ..Self::default()
        }
    }

    /// The last link that was examined.
    pub(super) fn last(&self) -> Option<Seq> {
        self.verdict.last.as_ref().map(|last| last.seq)
    }

    pub(super) fn verdict(self) -> Verdict {
        Verdict {
            alone: self.verdict.links - self.vouched.count(),
            ..self.verdict
        }
    }

    /// The number from which links are read. What is before the first link is read as well.
    fn from(&self) -> Seq {
        self.last().map_or(0, |last| last + 1)
    }

    /// Examines links, with their rows and sessions: the next ones up to a knot, or all that are left. Breaks at the end.
    ///
    /// Links up to a knot stay as they are. After it, transactions that began before others may end after them, so what is
    /// left is examined as it is at one moment.
    pub(super) fn page(&mut self, tx: &mut Tx<'_>) -> Result<ControlFlow<()>, Stop> {
        let knot = tx.newest_knot()?.map(|knot| knot.seq);
        if let Some(knot) = knot.filter(|knot| *knot >= self.from()) {
            return self.some(tx, Some(knot));
        }
        while let ControlFlow::Continue(()) = self.some(tx, None)? {}
        Ok(ControlFlow::Break(()))
    }

    /// Examines some of the next links, up to `until`. Breaks after the last link of all.
    fn some(&mut self, tx: &mut Tx<'_>, until: Option<Seq>) -> Result<ControlFlow<()>, Stop> {
        let next = self.from();
        let mut links = tx.links(next, LINKS)?;
        let rows = tx.rows(&Which::since(next), ROWS)?;
        // These links cannot have opened more sessions.
        let sessions = tx.sessions(next, LINKS)?;
        let claims = tx.claims(next, LINKS)?;
        links.retain(|link| until.is_none_or(|until| link.seq <= until));
        let ended = links.is_empty();
        if rows.len() == ROWS {
            // A row that was not read must not seem to be missing.
            let last = rows.last().and_then(|row| row.seq);
            let known = links.iter().take_while(|link| Some(link.seq) <= last);
            links.truncate(known.count().max(1));
        }
        let mut rows = rows.into_iter().peekable();
        let mut sessions = sessions.into_iter().peekable();
        let mut claims = claims.into_iter().peekable();
        for link in &links {
            let before = (
                rows.next_if(|row| row.seq < Some(link.seq)),
                sessions.next_if(|session| session.seq < link.seq),
                claims.next_if(|claim| claim.seq < link.seq),
            );
            self.here = link.seq;
            self.link(tx, link)?;
            self.none_astray(before)?;
            let row = rows.next_if(|row| row.seq == Some(link.seq));
            let session = sessions.next_if(|session| session.seq == link.seq);
            let claim = claims.next_if(|claim| claim.seq == link.seq);
            self.step(tx, link, (row.as_ref(), session.as_ref(), claim))?;
        }
        if !ended {
            return Ok(ControlFlow::Continue(()));
        }
        self.end(tx, (rows.next(), sessions.next(), claims.next()))?;
        Ok(ControlFlow::Break(()))
    }

    fn step(
        &mut self,
        tx: &mut Tx<'_>,
        link: &Link,
        (row, session, claim): (Option<&Row>, Option<&Session>, Option<Claim>),
    ) -> Result<(), Stop> {
        self.recall(link)?;
        let Some(body) = link.body() else {
            return self.here(Damage::Unreadable);
        };
        self.row(tx, &body, row)?;
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
        self.tables(tx, link, &body, claim)?;
        if let Some(key) = &body.key
            && self.key.replace(key.clone()).is_some()
        {
            return self.here(Damage::KeyChanged);
        }
        for id in body.rows.iter().filter(|_| link.is(Event::Pruned)) {
            let row = tx.row(&Which::id(id))?;
            if row.and_then(|row| row.pruned) != Some(link.seq) {
                let (row, part) = (id.clone(), Part::Columns);
                return self.here(Damage::RowChanged { row, part });
            }
        }
        self.passed(link, &body)
    }

    /// Ends the walk, because something is wrong with this link.
    fn here(&self, what: Damage) -> Result<(), Stop> {
        stop(Some(self.here), self.last(), what)
    }

    /// Checks the link itself, and that it follows the one before.
    fn link(&self, tx: &mut Tx<'_>, link: &Link) -> Result<(), Stop> {
        let next = self.last().map_or(1, |last| last + 1);
        let before = self.before(link);
        let number = match &before {
            Some(end) => Some(end.number + 1),
            None if link.number == 0 => Some(0),
            None => {
                let before = tx.numbered(&link.session_id, link.number - 1)?;
                before
                    .filter(|before| before.seq < link.seq)
                    .map(|_| link.number)
            }
        };
        let is_next = link.seq == next || link.seq > next && !tx.is_gapless();
        if !is_next || number != Some(link.number) {
            let found = link.seq;
            let link = if tx.is_gapless() {
                next.min(found)
            } else {
                found
            };
            return stop(Some(link), self.last(), Damage::Missing { found });
        }
        if link.hash() != link.entry_hash {
            return self.here(Damage::Contents);
        }
        let before = before.or_else(|| self.knot.clone());
        let prev_hash = before.as_ref().map_or(NOTHING, |end| &end.entry_hash);
        if link.prev_hash != prev_hash {
            // The link before may be the changed one, unless it is confirmed.
            let good = before.and_then(|end| end.seq.checked_sub(1));
            let good = good.filter(|good| *good > 0).max(self.confirmed);
            return stop(Some(self.here), good, Damage::Unlinked);
        }
        Ok(())
    }

    /// The last link of its session, if that is known without a question.
    fn before(&self, link: &Link) -> Option<End> {
        if link.is_knot() {
            return self.knot.clone();
        }
        self.ends.get(&link.session_id).cloned()
    }

    /// Takes note of a good link.
    fn passed(&mut self, link: &Link, body: &Body) -> Result<(), Stop> {
        let is_knot = link.is_knot();
        if is_knot && body.tied.as_ref() != Some(&self.tied.hash()) {
            // Which of the links since the last knot was changed cannot be told.
            let tied = self.knot.as_ref().map(|knot| knot.seq);
            return stop(Some(self.here), tied.max(self.confirmed), Damage::Untied);
        }
        self.verdict.links += 1;
        self.verdict.last = Some(Head {
            seq: link.seq,
            entry_hash: link.entry_hash.clone(),
        });
        let since = self.ends.get(&link.session_id).map_or(0, |end| end.since);
        let end = End {
            seq: link.seq,
            number: link.number,
            entry_hash: link.entry_hash.clone(),
            since: since + 1,
        };
        if is_knot {
            self.ends.clear();
            self.tied = Tied::default();
            self.until_knot = self.verdict.links;
            self.knot = Some(end);
        } else {
            self.ends.insert(link.session_id.clone(), end);
        }
        self.tied.add(&link.entry_hash);
        // A writer of the ledger cannot forge these copies.
        if [self.verdict.anchored, self.signed].contains(&Some(link.seq)) {
            self.vouched.by(link, since + 1, self.until_knot);
        }
        Ok(())
    }

    /// Checks the link against its copies.
    fn recall(&mut self, link: &Link) -> Result<(), Stop> {
        while let Some((note, whose)) = self.remembered.get(self.met) {
            let whose = *whose;
            if note.seq > link.seq {
                break;
            }
            if note.seq < link.seq {
                let seq = note.seq;
                return stop(self.last(), self.last(), Damage::Cut { whose, seq });
            }
            if note.entry_hash != link.entry_hash {
                return stop(Some(self.here), self.confirmed, Damage::Other { whose });
            }
            self.met += 1;
            let others = self.ends.keys().any(|id| *id != link.session_id);
            let tied = self.knot.as_ref().map(|knot| knot.seq);
            self.confirmed = if others {
                tied.max(self.confirmed)
            } else {
                Some(link.seq)
            };
            if whose == Whose::Anchor {
                self.verdict.anchored = Some(link.seq);
            }
        }
        Ok(())
    }

    /// Fails if one of these records names a link that does not exist.
    fn none_astray(
        &self,
        (row, session, claim): (Option<Row>, Option<Session>, Option<Claim>),
    ) -> Result<(), Stop> {
        if let Some(Row { seq, id: row, .. }) = row {
            return stop(seq, self.last(), Damage::RowAstray { row });
        }
        if let Some(session) = session {
            let (seq, session) = (session.seq, session.session_id);
            return stop(Some(seq), self.last(), Damage::SessionUnsealed { session });
        }
        if let Some(claim) = claim {
            let (seq, operation) = (claim.seq, claim.operation_id);
            return stop(Some(seq), self.last(), Damage::ClaimAstray { operation });
        }
        Ok(())
    }

    /// Checks what remains after the last link.
    fn end(
        &mut self,
        tx: &mut Tx<'_>,
        astray: (Option<Row>, Option<Session>, Option<Claim>),
    ) -> Result<(), Stop> {
        if let Some(why) = tx.flaw()? {
            return Err(tx.damaged(why).into());
        }
        let last = self.last();
        if let Some((note, whose)) = self.remembered.get(self.met) {
            let (whose, seq) = (*whose, note.seq);
            return stop(last, last, Damage::Cut { whose, seq });
        }
        self.none_astray(astray)?;
        if let Some(row) = tx.unlinked()? {
            return stop(None, last, Damage::RowUnlinked { row });
        }
        if self.key != tx.secret_key_sha256()? {
            return stop(None, last, Damage::KeyChanged);
        }
        for claim in self.tables.open.values() {
            match claim.state {
                ClaimState::Unknown => self.verdict.unknown += 1,
                _ => self.verdict.at_work += 1,
            }
        }
        self.tables_at_the_end(tx)?;
        self.verdict.outside = tx.outside()?;
        Ok(())
    }
}
