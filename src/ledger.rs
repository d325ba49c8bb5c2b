//! The ledger: a record of every answer (specification 004).
//!
//! Three questions come before a request is performed ([`begin`]): is it the same delivery, is it the same
//! request, and is the old answer still good ([`validity`])? Then the request is claimed, so that no other run
//! performs it at the same time. Its end is recorded ([`finish`]) as a row of `agent_actions` and a link of the
//! [`chain`]. Only the [`store`] accesses the database.
//!
//! `record` calls it during a run, and `people` for the commands of people. Executors have no handle to it (R-004-49,
//! R-004-50).

pub(crate) mod answer;
pub(crate) mod begin;
mod canonical;
pub(crate) mod chain;
mod decide;
mod finish;
mod head_file;
pub(crate) mod names;
mod place;
mod publish;
mod questions;
pub(crate) mod record;
mod request;
pub(crate) mod review;
pub(crate) mod settle;
pub(crate) mod store;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod validity;
mod words;

pub(crate) use answer::action_type;
pub(crate) use begin::stamp;
pub(crate) use canonical::{same_json, sha256};
pub(crate) use chain::instant;
pub(crate) use decide::By;
pub(crate) use head_file::{Anchor, Sign, Written};
pub(crate) use place::{Ledger, Place, home};
pub(crate) use record::{
    AskedApproval, Body, Bound, Claim, ClaimState, Counts, Effects, Event, Grant, Head, Judgement,
    Link, Made, Request, Row, RowOutcome, RowState, SeenInput, Session, StateChange, Testified,
    Told, Vote, Which,
};
pub(crate) use request::{Asked, AskedStep, Fence, Signatures};
pub(crate) use settle::Case;
pub(crate) use store::{
    Durability, NOTHING, Record, Seq, Store, StoreError, Trouble, Tx, Wish, read, write, write_in,
};
pub(crate) use validity::{World, holds_cut_link, sealing};
pub(crate) use words::{
    Again, Answered, ApprovalNote, Ask, Ended, LedgerError, Miss, Part, Recorded, Reply, Running,
    Target, TaskRun, Under, Who, Why,
};
