//! Approvals and grants: whether a call needs one ([`run`]), whether it has one at the moment in which it is sent
//! ([`checks`]), and what people decide about a request ([`vote`]).
//!
//! A run that must wait records a request with its answer, and its next run goes on with it ([`join`]). The run that uses the
//! approval, or finds it unusable, writes that into the request ([`dispatch`]). An improvised action that waits for one of its
//! steps gives the approval back.

mod checks;
mod differs;
mod dispatch;
mod effective;
mod grant;
mod improvised;
mod join;
mod named;
pub(crate) mod request;
mod run;
mod stored;
mod vote;

pub(crate) use grant::{GrantState, answer, under};
pub(crate) use improvised::{
    ask as grant_ask, of_step, operation, root, root_of, under as under_grant,
};
pub(crate) use named::{args, named, object};
pub(crate) use request::{Approval, row_of};
pub use run::Through;
pub(crate) use run::{Approvals, Asks, Pass, SentTask, signers};
pub use stored::Approved;
pub(crate) use stored::{Joined, Kept, about};
pub(crate) use vote::{Gesture, Voted};
