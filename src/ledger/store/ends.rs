//! Where the chains end.

use super::sql::Seq;

/// The `prev_hash` of a link before which there is none.
pub(crate) const NOTHING: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Where the chain of a session ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) seq: Seq,
    pub(crate) number: u64,
    pub(crate) entry_hash: String,
}

/// What the next link of a session follows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(in crate::ledger) session_id: String,
    /// The last link of the session.
    pub(in crate::ledger) own: Option<End>,
    pub(crate) knot: Option<End>,
    /// When the oldest link was made that no knot ties.
    pub(crate) untied_since: Option<String>,
    /// The number that the next link gets; none if it has to be asked for.
    pub(in crate::ledger) next: Option<Seq>,
}

impl Ends {
    /// The number of the next link in its session, and the hash that it holds.
    pub(crate) fn follow(&self) -> (u64, String) {
        let number = self.own.as_ref().map_or(0, |own| own.number + 1);
        let newest = self.own.iter().chain(&self.knot).max_by_key(|end| end.seq);
        let before = newest.map_or(NOTHING, |end| &end.entry_hash);
        (number, before.to_owned())
    }
}
