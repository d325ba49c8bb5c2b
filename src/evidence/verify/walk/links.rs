//! Checks that each link follows the one before, and agrees with its copies.

use super::{
    super::damage::{Damage, Whose},
    state::{End, Stop, Walk, stop},
};
use crate::ledger::{Body, Link, NOTHING, Tx, chain::Tied};

impl Walk {
    /// Checks the link itself, and that it follows the one before.
    pub(super) fn link(&self, tx: &mut Tx<'_>, link: &Link) -> Result<(), Stop> {
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
    pub(super) fn passed(&mut self, link: &Link, body: &Body) -> Result<(), Stop> {
        let is_knot = link.is_knot();
        if is_knot && body.tied.as_ref() != Some(&self.tied.hash()) {
            // Which of the links since the last knot was changed cannot be told.
            let tied = self.knot.as_ref().map(|knot| knot.seq);
            return stop(Some(self.here), tied.max(self.confirmed), Damage::Untied);
        }
        self.verdict.links += 1;
        self.verdict.last = Some(link.head());
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
    pub(super) fn recall(&mut self, link: &Link) -> Result<(), Stop> {
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
}
