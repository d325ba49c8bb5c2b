//! Removes old payloads (`oneact prune`). Their hashes stay.

use std::{collections::HashSet, time::Duration};

use jiff::Timestamp;

use crate::{
    ledger::{
        Body, Durability, Event, Ledger, Row, Seq, StoreError, Tx, Which,
        chain::{self, Stamp},
        read,
        record::KNOTS,
        review, sealing, write,
    },
    task::OperationId,
};

/// Younger answers are kept, because they may be reused: no `ttl` is longer.
const YOUNGEST: Duration = Duration::from_hours(24);

/// The number of rows, which may be large, that one transaction reads.
const ROWS: usize = 32;

/// The number of ids that fit into the body of a link: 4,096 bytes.
const IDS: usize = 90;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PruneWish {
    Prune,
    /// `--dry-run`
    DryRun,
}

#[derive(Debug, Default)]
pub(crate) struct Pruned {
    pub(crate) rows: u64,
    /// The bytes of requests and responses.
    pub(crate) bytes: u64,
    /// Rows that are old enough but belong to an open operation, an open review or to the last day.
    pub(crate) kept: u64,
    /// Rows that differ from their links. They stay, as evidence.
    pub(crate) changed: u64,
    pub(crate) links: Vec<Seq>,
}

impl Ledger<'_> {
    /// Removes requests and responses of rows that are older than `older`.
    pub(crate) fn prune(&mut self, older: Duration, wish: PruneWish) -> Result<Pruned, StoreError> {
        let now = self.host.timestamp();
        let claims = read(&mut *self.store, |tx| tx.open_claims(None))?;
        let open = claims.into_iter().map(|claim| claim.operation_id);
        let open: HashSet<String> = open.collect();
        let mut pruned = Pruned::default();
        let mut batch = Vec::new();
        let mut from = 0;
        loop {
            let rows = read(&mut *self.store, |tx| aged(tx, from, now))?;
            let last = rows.last().and_then(|old| old.row.seq);
            for old in rows.into_iter().filter(|old| bytes(&old.row) > 0) {
                let is_open = old.awaits_review || open.contains(&old.row.operation_id);
                match old.age {
                    None => pruned.changed += 1,
                    Some(age) if age < older => {}
                    Some(age) if is_open || age < YOUNGEST => pruned.kept += 1,
                    Some(_) => {
                        pruned.rows += 1;
                        pruned.bytes += bytes(&old.row);
                        batch.push(old.row.id);
                    }
                }
            }
            if batch.len() >= IDS || last.is_none() {
                for ids in batch.chunks(IDS).filter(|_| wish == PruneWish::Prune) {
                    pruned.links.push(self.remove(ids)?);
                }
                batch.clear();
            }
            let Some(last) = last else {
                return Ok(pruned);
            };
            from = last + 1;
        }
    }

    /// Removes the payloads of these rows. Returns the link that records it.
    pub(crate) fn remove(&mut self, ids: &[String]) -> Result<Seq, StoreError> {
        let at = self.host.timestamp();
        let operation = OperationId::new(at, self.host.random_bytes());
        let stamp = Stamp {
            operation_id: operation.as_str(),
            session_id: KNOTS,
            at,
            actor: &self.actor,
        };
        let body = Body {
            rows: ids.to_vec(),
            ..Body::default()
        };
        let head = write::<_, StoreError>(&mut *self.store, Durability::Disk, |tx| {
            let head = chain::append(tx, Event::Pruned, stamp, &body)?;
            for id in ids {
                tx.prune(id, head.seq)?;
            }
            Ok(head)
        })?;
        self.publish(&head);
        Ok(head.seq)
    }
}

fn bytes(row: &Row) -> u64 {
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    u64::try_from(length(&row.request) + length(&row.response)).unwrap_or(u64::MAX)
}

/// A row that may be old enough.
struct OldRow {
    row: Row,
    /// None for a row that differs from its link.
    age: Option<Duration>,
    /// Its answer says what a person has to review.
    awaits_review: bool,
}

/// The rows of that link and of later ones. The time in a row is not used, because only the time in its link is covered
/// by a hash.
fn aged(tx: &mut Tx<'_>, from: Seq, now: Timestamp) -> Result<Vec<OldRow>, StoreError> {
    let rows = tx.rows(&Which::since(from), ROWS)?.into_iter();
    let old = rows.map(|row| {
        let link = sealing(tx, &row)?;
        let at = link.map(|link| link.at.parse::<Timestamp>().unwrap_or(now));
        let undecided = row.reused_from.is_none() && row.revoked_by.is_none();
        Ok(OldRow {
            age: at.map(|at| Duration::try_from(now.duration_since(at)).unwrap_or_default()),
            awaits_review: undecided
                && review::terms(&row, None).is_some()
                && review::last(tx, &row)?.is_none(),
            row,
        })
    });
    old.collect()
}
