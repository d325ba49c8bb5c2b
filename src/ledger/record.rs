//! The records of the ledger, a file for each kind: its columns, its rules, and the statements that write and find it.

mod approval;
mod body;
mod claim;
mod grant;
mod link;
mod made;
mod review;
mod row;
mod rows;
mod secret_key;
mod session;
mod spelling;
mod which;

/// A link by its number and its hash.
pub(crate) use crate::task::LedgerRef as Head;
pub(crate) use approval::{Request, RequestEnd, Vote};
#[cfg(test)]
pub(crate) use body::RowSeal;
pub(crate) use body::{AskedApproval, Body, Bound, SessionSeal, StateChange, Told, changes};
pub(crate) use claim::{Claim, ClaimState, Effects};
pub(crate) use grant::Grant;
pub(crate) use link::{Event, KNOTS, Link, Testified};
pub(crate) use made::{Made, SeenInput};
pub(crate) use review::Judgement;
pub(in crate::ledger) use row::UNRECORDED;
pub(crate) use row::{Row, RowOutcome, RowState};
pub(crate) use rows::Counts;
pub(crate) use session::Session;
pub(crate) use spelling::{name, word};
pub(crate) use which::Which;
