//! A page of the ledger: some links, their rows, and what these name elsewhere.

use crate::ledger::{
    record::{Claim, Event, Link, Row, Seq, Session},
    store::{StoreError, Tx, Which},
};

/// Links that are looked at in one transaction, and rows, which may be large.
const LINKS: usize = 512;
const ROWS: usize = 32;

/// What one transaction shows.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) links: Vec<Link>,
    /// Of these links, and maybe of some after them.
    pub(super) rows: Vec<Row>,
    /// Opened by these links, and maybe by some after them.
    pub(super) sessions: Vec<Session>,
    /// For each row of these that was taken back: its id, and the link that did it.
    pub(super) takers: Vec<(String, Option<Link>)>,
    /// For each of these links that takes a row back: its number, and what the row says.
    pub(super) taken: Vec<(Seq, Option<Seq>)>,
    /// There are no more links.
    pub(super) end: Option<End>,
}

/// What is beside the chain.
#[derive(Debug)]
pub(super) struct End {
    pub(super) claims: Vec<Claim>,
    /// SHA-256 of the key for secrets.
    pub(super) key: Option<String>,
    pub(super) outside: u64,
    /// A row that says it is ours and names no link.
    pub(super) unlinked: Option<String>,
}

impl Page {
    /// From that link on.
    pub(super) fn load(tx: &mut Tx<'_>, from: Seq) -> Result<Self, StoreError> {
        let mut links = tx.links(from, LINKS)?;
        let rows = tx.rows(&Which::From(from), ROWS)?;
        // As many as these links can have opened.
        let sessions = tx.sessions(from, LINKS)?;
        let end = if links.is_empty() {
            Some(End::load(tx)?)
        } else {
            None
        };
        if rows.len() == ROWS {
            // What is not loaded must not seem to be missing.
            let last = rows.last().and_then(|row| row.seq);
            let known = links.iter().take_while(|link| Some(link.seq) <= last);
            links.truncate(known.count().max(1));
        }
        let mut takers = Vec::new();
        for row in &rows {
            if let Some(by) = row.revoked_by {
                takers.push((row.id.clone(), tx.link(by)?));
            }
        }
        let mut taken = Vec::new();
        for link in links.iter().filter(|link| link.is(Event::Revoked)) {
            let about = link.body().and_then(|body| body.about).unwrap_or_default();
            let row = tx.rows(&Which::id(&about), 1)?.into_iter().next();
            let row = row.filter(|row| row.id == about);
            taken.push((link.seq, row.and_then(|row| row.revoked_by)));
        }
        Ok(Self {
            links,
            rows,
            sessions,
            takers,
            taken,
            end,
        })
    }
}

impl End {
    fn load(tx: &mut Tx<'_>) -> Result<Self, StoreError> {
        if let Some(why) = tx.flaw()? {
            return Err(tx.damaged(why));
        }
        Ok(Self {
            claims: tx.claims()?,
            key: tx.secret_key_sha256()?,
            outside: tx.outside()?,
            unlinked: tx.unlinked()?,
        })
    }
}
