//! The links that cannot be changed without making a copy wrong that a writer of the ledger cannot forge.

use std::collections::HashMap;

use crate::ledger::Link;

/// A copy of a link vouches for its session, and for everything that the last knot before it tied.
#[derive(Debug, Default)]
pub(super) struct Vouched {
    /// The number of links up to a knot, which are all vouched for.
    until_knot: u64,
    /// For each session, how many links after that knot are.
    since: HashMap<String, u64>,
}

impl Vouched {
    /// Takes note of a link that has such a copy. `since` counts the links of its session after the last knot, with this one.
    /// `until_knot` counts all links up to that knot.
    pub(super) fn by(&mut self, link: &Link, since: u64, until_knot: u64) {
        if self.until_knot != until_knot {
            self.until_knot = until_knot;
            self.since.clear();
        }
        if !link.is_knot() {
            self.since.insert(link.session_id.clone(), since);
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.until_knot + self.since.values().sum::<u64>()
    }
}
