//! Compares answers and sessions with the links that seal them.

use super::{Stop, Walk};
use crate::{
    evidence::{
        Body, sha256,
        verify::{Damage, Part},
    },
    ledger::{Row, Session, Tx},
};

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
            return if row.pruned.is_none() {
                Ok(())
            } else {
                let part = Part::Columns;
                self.here(Damage::RowChanged { row: id, part })
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

    /// Checks that the session which a link opened matches the link.
    pub(super) fn session(
        &self,
        said: Option<Session>,
        session: Option<&Session>,
    ) -> Result<(), Stop> {
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
    pub(super) fn taken_back(&self, tx: &mut Tx<'_>, row: &Row) -> Result<(), Stop> {
        let Some(by) = row.revoked_by else {
            return Ok(());
        };
        if tx.link(by)?.is_some_and(|link| link.revokes(&row.id)) {
            return Ok(());
        }
        let row = row.id.clone();
        self.here(Damage::RevokedByNobody { row })
    }
}
