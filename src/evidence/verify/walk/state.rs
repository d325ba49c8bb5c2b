//! What an examination has seen of the chains, and what must come next.

use std::collections::{BTreeMap, HashMap};

use super::super::{
    damage::{Broken, Damage, Whose},
    verdict::Verdict,
    vouched::Vouched,
};
use crate::ledger::{Anchor, Claim, Request, Seq, StoreError, chain::Tied};

#[derive(Debug)]
pub(in crate::evidence::verify) enum Stop {
    Broken(Broken),
    Store(StoreError),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Ends the walk, because something is wrong.
pub(super) fn stop<T>(link: Option<Seq>, good: Option<Seq>, what: Damage) -> Result<T, Stop> {
    Err(Stop::Broken(Broken { link, good, what }))
}

#[derive(Debug, Default)]
pub(in crate::evidence::verify) struct Walk {
    /// The link that is examined.
    pub(in crate::evidence::verify) here: Seq,
    pub(in crate::evidence::verify) knot: Option<End>,
    /// The last links of the sessions that have links since the knot.
    pub(in crate::evidence::verify) ends: HashMap<String, End>,
    /// The hashes of the knot and of all links since.
    pub(in crate::evidence::verify) tied: Tied,
    /// The number of links up to the knot.
    pub(in crate::evidence::verify) until_knot: u64,
    /// The copies of links, in ascending order. `met` counts those that were compared.
    pub(in crate::evidence::verify) remembered: Vec<(Anchor, Whose)>,
    pub(in crate::evidence::verify) met: usize,
    /// The link up to which copies confirm all.
    pub(in crate::evidence::verify) confirmed: Option<Seq>,
    /// The link that a signed head file names.
    pub(in crate::evidence::verify) signed: Option<Seq>,
    pub(in crate::evidence::verify) vouched: Vouched,
    /// The open claims.
    pub(in crate::evidence::verify) open: BTreeMap<Seq, Claim>,
    /// The requests for approvals, by their links.
    pub(in crate::evidence::verify) requests: BTreeMap<Seq, Request>,
    /// For each table of requests, votes, grants and reviews, the number of the records that were compared.
    pub(in crate::evidence::verify) compared: BTreeMap<&'static str, u64>,
    /// SHA-256 of the key for secrets, as its link states it. The key is made once.
    pub(in crate::evidence::verify) key: Option<String>,
    pub(in crate::evidence::verify) verdict: Verdict,
}

/// The last link of a session, or a knot.
#[derive(Debug, Clone)]
pub(in crate::evidence::verify) struct End {
    pub(in crate::evidence::verify) seq: Seq,
    pub(in crate::evidence::verify) number: u64,
    pub(in crate::evidence::verify) entry_hash: String,
    /// The number of links of the session since the knot.
    pub(in crate::evidence::verify) since: u64,
}

impl Walk {
    /// `remembered` is in the order of the links. A signed head file names the link `signed`.
    pub(in crate::evidence::verify) fn new(
        remembered: Vec<(Anchor, Whose)>,
        signed: Option<Seq>,
    ) -> Self {
        Self {
            remembered,
            signed,
            ..Self::default()
        }
    }

    /// The last link that was examined.
    pub(in crate::evidence::verify) fn last(&self) -> Option<Seq> {
        self.verdict.last.as_ref().map(|last| last.seq)
    }

    pub(in crate::evidence::verify) fn verdict(self) -> Verdict {
        Verdict {
            alone: self.verdict.links - self.vouched.count(),
            ..self.verdict
        }
    }

    /// Ends the walk, because something is wrong with this link.
    pub(super) fn here<T>(&self, what: Damage) -> Result<T, Stop> {
        stop(Some(self.here), self.last(), what)
    }
}
