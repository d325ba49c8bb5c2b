//! The ledger: a record of every answer (specification 004).
//!
//! Three questions come before a request is performed ([`begin`]): is it the same delivery, is it the same
//! request, and is the old answer still good ([`validity`])? Then the request is claimed, so that no other run
//! performs it at the same time. Its end is recorded ([`finish`]) as a row of `agent_actions` and a link of the
//! [`chain`]. Only the [`store`] accesses the database.
//!
//! Only `record` calls it. Executors have no handle to it (R-004-49, R-004-50).

mod anchor;
mod answer;
mod approval;
mod begin;
mod canonical;
mod chain;
mod claims;
mod decide;
mod decision;
mod finish;
mod grant;
mod naming;
mod past;
mod place;
mod prune;
mod questions;
mod reading;
mod record;
mod request;
mod review;
mod settle;
mod signature;
mod store;
mod validity;
mod verify;
mod words;

use camino::Utf8PathBuf;

use crate::host::Host;

pub(crate) use anchor::{AnchorError, read_anchors};
pub(crate) use approval::{Case as Approval, Gesture, Intended, Passage, VoteError, Voted};
pub(crate) use canonical::same_json;
pub(crate) use chain::{Bound, Change, Told};
pub(crate) use decide::{Dependants, Review};
pub(crate) use decision::{Decision, Difference, Fact, Reason};
pub(crate) use grant::Improvisation;
pub(crate) use naming::{Alone, CommandError, Name, SCRATCH};
pub(crate) use place::{Place, home};
pub(crate) use prune::Wish as PruneWish;
pub(crate) use reading::{
    Across, Filter, How, Most, Open, Page, Reading, Step, Summary, Wanted, Whole,
};
pub(crate) use record::{Effects, Made, Row, RowOutcome, RowState, SeenInput};
pub(crate) use request::{Asked, AskedStep, Signatures};
pub(crate) use settle::{Case, Happened};
pub(crate) use signature::{
    KeyError, Purpose, Signer, can_sign, public_file, public_half, read_signers, signers_for,
};
pub(crate) use store::Wish;
pub(crate) use validity::{World, holds_cut_link};
pub(crate) use verify::{Broken, HeadSays, Signers, Verdict};
pub(crate) use words::{
    Again, Answered, Ask, Begun, Ended, LedgerError, Note, Part, Recorded, Running, Target,
    TaskRun, Under, Who, Why,
};

use anchor::HeadFile;
use store::Store;

pub(crate) struct Ledger<'a> {
    store: Box<dyn Store>,
    /// The directory of answers that could not be recorded yet.
    outbox: Utf8PathBuf,
    head: HeadFile,
    /// The writer: `uid:1000`.
    actor: String,
    host: &'a Host,
}

#[cfg(test)]
mod tests;
