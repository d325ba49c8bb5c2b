//! Compares answers with the links that seal them.

use super::{
    super::damage::Damage,
    state::{Stop, Walk},
};
use crate::ledger::{Body, Event, Link, Record as _, Row, Seq, Tx, Which, record::word, sha256};

const TABLE: &str = {
    let [table, _] = Row::TABLE;
    table
};

const CHANGED: Damage = Damage::Changed { table: TABLE };

impl Walk {
    /// Checks that the row of a link matches the link.
    pub(super) fn row(
        &mut self,
        tx: &mut Tx<'_>,
        body: &Body,
        row: Option<&Row>,
    ) -> Result<(), Stop> {
        let (seal, row) = match (&body.row, row) {
            (None, None) => return Ok(()),
            (Some(_), None) => {
                return self.here(Damage::Gone { table: TABLE });
            }
            (None, Some(_)) => {
                return self.here(Damage::Astray { table: TABLE });
            }
            (Some(seal), Some(row)) => (seal, row),
        };
        let id = row.id.clone();
        if row.seal() != *seal {
            return self.here(CHANGED);
        }
        if let Some(by) = row.revoked_by
            && !tx.link(by)?.is_some_and(|link| link.revokes(&id))
        {
            return self.here(CHANGED);
        }
        let mut gone = None;
        for (part, text, hash) in [
            ("request", &row.request, &row.request_sha256),
            ("response", &row.response, &row.response_sha256),
        ] {
            match text {
                Some(text) if sha256(text) != *hash => {
                    return self.here(Damage::PayloadChanged { row: id, part });
                }
                Some(_) => {}
                None => gone = Some(part),
            }
        }
        self.verdict.rows += 1;
        let Some(part) = gone else {
            self.verdict.payloads += 1;
            return if row.pruned.is_none() {
                Ok(())
            } else {
                self.here(CHANGED)
            };
        };
        self.verdict.pruned += 1;
        let is_pruned = if let Some(by) = row.pruned {
            tx.link(by)?.is_some_and(|link| link.prunes(&id))
        } else {
            // If the repeated answer was pruned before, the repetition has only the request.
            let source = match &row.request {
                Some(_) => tx.source(row)?,
                None => None,
            };
            let by = source.and_then(|source| source.pruned);
            by.is_some_and(|by| by < self.here)
        };
        if is_pruned {
            Ok(())
        } else {
            self.here(Damage::PayloadGone { row: id, part })
        }
    }

    /// Checks the mark of each answer that a link revokes or prunes.
    pub(super) fn marks(&self, tx: &mut Tx<'_>, link: &Link, body: &Body) -> Result<(), Stop> {
        let (ids, mark): (_, fn(Row) -> Option<Seq>) = match word(&link.event) {
            Some(Event::Revoked) => (body.about.as_slice(), |row| row.revoked_by),
            Some(Event::Pruned) => (body.rows.as_slice(), |row| row.pruned),
            _ => return Ok(()),
        };
        for id in ids {
            let row = tx.row(&Which::id(id))?;
            if row.and_then(mark) != Some(link.seq) {
                return self.here(CHANGED);
            }
        }
        Ok(())
    }
}
