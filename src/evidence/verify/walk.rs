//! The walk along the chains, with the records that the links made.

mod links;
mod records;
mod rows;
mod state;

use std::{iter::Peekable, ops::ControlFlow, vec};

use super::damage::Damage;
use crate::ledger::{Claim, ClaimState, Link, Record, Row, Seq, Session, Tx, Which};
use state::stop;

pub(super) use state::{Stop, Walk};

/// The numbers of links and rows that one transaction reads. Rows may be large.
const LINKS: usize = 512;
const ROWS: usize = 32;

/// Records in the order of their links.
type InOrder<R> = Peekable<vec::IntoIter<R>>;

impl Walk {
    /// The number from which links are read. What is before the first link is read as well.
    fn from(&self) -> Seq {
        self.last().map_or(0, |last| last + 1)
    }

    /// Examines links, with their records: the next ones up to a knot, or all that are left. Breaks at the end.
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
        let mut links: Vec<Link> = tx.page(next, LINKS)?;
        let rows = tx.rows(&Which::since(next), ROWS)?;
        // These links cannot have opened more sessions, or made more claims.
        let sessions: Vec<Session> = tx.page(next, LINKS)?;
        let claims: Vec<Claim> = tx.page(next, LINKS)?;
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
            self.here = link.seq;
            self.link(tx, link)?;
            let row = self.own(&mut rows, |row| row.seq)?;
            let session = self.own(&mut sessions, |session| Some(session.seq))?;
            let claim = self.own(&mut claims, |claim| Some(claim.seq))?;
            self.recall(link)?;
            let Some(body) = link.body() else {
                return self.here(Damage::Unreadable);
            };
            self.row(tx, &body, row.as_ref())?;
            self.same(link, &body, session)?;
            self.marks(tx, link, &body)?;
            self.claims(tx, link, &body, claim)?;
            self.approvals(tx, link, &body)?;
            if let Some(key) = &body.key
                && self.key.replace(key.clone()).is_some()
            {
                return self.here(Damage::KeyChanged);
            }
            self.passed(link, &body)?;
        }
        if !ended {
            return Ok(ControlFlow::Continue(()));
        }
        self.here = Seq::MAX;
        if let Some(why) = tx.flaw()? {
            return Err(tx.damaged(why).into());
        }
        let last = self.last();
        if let Some((copy, whose)) = self.remembered.get(self.met) {
            let (whose, seq) = (*whose, copy.seq);
            return stop(last, last, Damage::Cut { whose, seq });
        }
        self.own(&mut rows, |row| row.seq)?;
        self.own(&mut sessions, |session| Some(session.seq))?;
        self.own(&mut claims, |claim| Some(claim.seq))?;
        self.end(tx)?;
        Ok(ControlFlow::Break(()))
    }

    /// The record that names this link. One that names a link before it names none that exists.
    fn own<R: Record>(
        &self,
        records: &mut InOrder<R>,
        seq: fn(&R) -> Option<Seq>,
    ) -> Result<Option<R>, Stop> {
        let here = Some(self.here);
        let own = records.next_if(|record| seq(record) <= here);
        match own.as_ref().map(seq) {
            Some(link) if link < here => {
                let [table, _] = R::TABLE;
                stop(link, self.last(), Damage::Astray { table })
            }
            _ => Ok(own),
        }
    }

    /// Checks what remains after the last link.
    fn end(&mut self, tx: &mut Tx<'_>) -> Result<(), Stop> {
        let last = self.last();
        if tx.has_unlinked()? {
            let [table, _] = Row::TABLE;
            return stop(None, last, Damage::Astray { table });
        }
        if self.key != tx.secret_key_sha256()? {
            return stop(None, last, Damage::KeyChanged);
        }
        for claim in self.open.values() {
            match claim.state {
                ClaimState::Unknown => self.verdict.unknown += 1,
                _ => self.verdict.at_work += 1,
            }
        }
        self.all_compared(tx)?;
        self.verdict.outside = tx.outside()?;
        Ok(())
    }
}
