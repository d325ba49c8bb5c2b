//! The ledger: a record of every answer (specification 004).
//!
//! Three questions come before a request is performed ([`begin`]): is it the same delivery, is it the same
//! request, and is the old answer still good ([`validity`])? Then the request is claimed, so that no other run
//! performs it at the same time. Its end is recorded ([`finish`]) as a row of `agent_actions` and a link of the
//! [`chain`](crate::evidence::chain). Only the [`store`] accesses the database.
//!
//! `record` calls it during a run, and `people` for the commands of people. Executors have no handle to it (R-004-49,
//! R-004-50).

pub(crate) mod answer;
pub(crate) mod begin;
mod decide;
mod finish;
pub(crate) mod names;
mod place;
mod questions;
pub(crate) mod record;
mod request;
pub(crate) mod review;
pub(crate) mod settle;
pub(crate) mod store;
pub(crate) mod validity;
mod words;

use camino::Utf8PathBuf;

use crate::{evidence::HeadFile, host::Host};

pub(crate) use crate::evidence::{Bound, Change, Told};
pub(crate) use answer::action_type;
pub(crate) use begin::stamp;
pub(crate) use decide::By;
pub(crate) use place::{Place, home};
pub(crate) use record::{
    Claim, ClaimKey, ClaimState, Effects, Event, Grant, Head, Judgement, Link, Made, NOTHING,
    Request, Row, RowOutcome, RowState, SeenInput, Seq, Session, Vote,
};
pub(crate) use request::{Asked, AskedStep, Fence, Signatures};
pub(crate) use settle::Case;
pub(crate) use store::{
    Counts, Durability, Store, StoreError, Trouble, Tx, Which, Wish, read, write, write_in,
};
pub(crate) use validity::{World, holds_cut_link, sealing};
pub(crate) use words::{
    Again, Answered, Ask, Begun, Ended, LedgerError, Miss, Note, Part, Recorded, Running, Target,
    TaskRun, Under, Who, Why,
};

pub(crate) struct Ledger<'a> {
    pub(crate) store: Box<dyn Store>,
    /// The directory of answers that could not be recorded yet.
    outbox: Utf8PathBuf,
    pub(crate) head: HeadFile,
    /// The writer: `uid:1000`.
    pub(crate) actor: String,
    pub(crate) host: &'a Host,
    /// When the oldest link was made that no knot ties, as the last questions of a run saw it.
    untied_since: Option<String>,
}

#[cfg(test)]
pub(crate) mod tests;
