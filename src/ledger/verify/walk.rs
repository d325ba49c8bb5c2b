//! The walk along the chain: what has been seen, and what must come next.

use std::collections::{HashMap, HashSet};

use super::page::{End, Page};
use crate::ledger::{
    anchor::Note,
    canonical::sha256,
    chain::{Body, NOTHING},
    opened::Opened,
    record::{ClaimState, Event, Head, Link, Row, Seq, Session},
    verdict::{Broken, Damage, Part, Verdict, Whose},
};

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

    pub(super) fn take(&mut self, page: Page) -> Result<(), Broken> {
        let Page {
            links,
            rows,
            sessions,
            takers,
            taken,
            end,
        } = page;
        let mut rows = rows.into_iter().peekable();
        let mut sessions = sessions.into_iter().peekable();
        for link in &links {
            self.link(link)?;
            self.recall(link)?;
            let Some(body) = link.body() else {
                return Err(self.here(Damage::Unreadable));
            };
            let row = rows.next_if(|row| row.seq == Some(link.seq));
            self.row(&body, row.as_ref())?;
            let session = sessions.next_if(|session| session.seq == link.seq);
            self.session(link.opens(&body), session.as_ref())?;
            if let Some(row) = &row {
                self.taken_back(row, &takers)?;
            }
            let undone = taken
                .iter()
                .any(|(seq, by)| *seq == link.seq && *by != Some(link.seq));
            if undone {
                let row = body.about.unwrap_or_default();
                return Err(self.here(Damage::RevocationUndone { row }));
            }
            self.opened.follow(link, &body);
            if let Some(key) = body.key
                && self.key.replace(key).is_some()
            {
                return Err(self.here(Damage::KeyChanged));
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
        }
        match end {
            None => Ok(()),
            Some(end) => self.end(rows.next(), sessions.next(), end),
        }
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

    fn taken_back(&self, row: &Row, takers: &[(String, Option<Link>)]) -> Result<(), Broken> {
        if row.revoked_by.is_none() {
            return Ok(());
        }
        let taker = takers.iter().find(|(id, _)| *id == row.id);
        let said = taker
            .and_then(|(_, link)| link.as_ref())
            .is_some_and(|link| link.takes_back(&row.id));
        if said {
            return Ok(());
        }
        let row = row.id.clone();
        Err(self.here(Damage::RevokedByNobody { row }))
    }

    /// Nothing is left over.
    fn end(
        &mut self,
        astray: Option<Row>,
        session: Option<Session>,
        end: End,
    ) -> Result<(), Broken> {
        let last = self.next.checked_sub(1);
        let here = |what| Broken {
            link: last,
            good: last,
            what,
        };
        if let Some((note, whose)) = self.remembered.get(self.met) {
            let (whose, seq) = (*whose, note.seq);
            return Err(here(Damage::Cut { whose, seq }));
        }
        if let Some(row) = astray {
            return Err(Broken {
                link: row.seq,
                ..here(Damage::RowAstray { row: row.id })
            });
        }
        if let Some(row) = end.unlinked {
            return Err(Broken {
                link: None,
                ..here(Damage::RowUnlinked { row })
            });
        }
        if let Some(session) = session {
            return Err(Broken {
                link: Some(session.seq),
                ..here(Damage::SessionUnsealed {
                    session: session.session_id,
                })
            });
        }
        if self.key != end.key {
            return Err(Broken {
                link: None,
                ..here(Damage::KeyChanged)
            });
        }
        let gone = self.bare.drain().min_by_key(|(_, (seq, _))| *seq);
        if let Some((row, (seq, part))) = gone {
            return Err(Broken {
                link: Some(seq),
                good: seq.checked_sub(1),
                what: Damage::PayloadGone { row, part },
            });
        }
        for claim in end.claims {
            let wrong = match self.opened.take(claim.seq) {
                Some(said) if said == claim => None,
                Some(said) if said.operation_id == claim.operation_id => {
                    let operation = said.operation_id;
                    Some(Damage::ClaimChanged { operation })
                }
                Some(_) | None => {
                    let operation = claim.operation_id.clone();
                    Some(Damage::ClaimAstray { operation })
                }
            };
            if let Some(what) = wrong {
                return Err(Broken {
                    link: Some(claim.seq),
                    ..here(what)
                });
            }
            match claim.state {
                ClaimState::Unknown => self.verdict.unknown += 1,
                ClaimState::Reserved | ClaimState::Dispatched => self.verdict.at_work += 1,
            }
        }
        if let Some(claim) = self.opened.left() {
            let operation = claim.operation_id.clone();
            return Err(Broken {
                link: Some(claim.seq),
                ..here(Damage::ClaimGone { operation })
            });
        }
        self.verdict.outside = end.outside;
        Ok(())
    }
}
