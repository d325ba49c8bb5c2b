//! What people ask the ledger, and what they decide about it: `oneact history`, `show`, `verify`, `approve`, `resolve`,
//! `revoke`, `prune`, `replay` and the commands beside them. A run uses none of it.

mod approval;
mod decide;
mod decision;
mod exhibit;
mod grant;
mod naming;
mod opening;
mod prune;
mod reading;
mod receipt;
mod replay;
mod requested;
mod resolve;
mod sessions;
mod step;
mod unanswered;
mod whole;

pub(crate) use crate::approval::{Gesture, Voted};
pub(crate) use crate::evidence::{Broken, HeadSays, Verdict, read_anchors};
pub(crate) use crate::ledger::{Effects, Head, Ledger, Made, Row, RowOutcome, RowState, Wish};
pub(crate) use approval::approved;
pub(crate) use decide::{Dependants, Review};
pub(crate) use decision::{AnswerDifference, Decision, Fact, Reason};
pub(crate) use exhibit::{Exhibit, ExhibitContent, ExhibitLimits, exhibit};
pub(crate) use grant::trace;
#[cfg(test)]
pub(crate) use naming::CommandError;
pub(crate) use naming::{Alone, Name};
pub(crate) use opening::{OpenError, verify};
pub(crate) use prune::PruneWish;
pub(crate) use reading::{Answers, Filter, Reading, WantedOutcome};
pub(crate) use replay::{Comparison, Ran, Repeated, repeat};
pub(crate) use requested::RequestedCall;
pub(crate) use resolve::{Claimed, Happened, unless_contradicted, vouched};
pub(crate) use sessions::SessionSummary;
pub(crate) use step::SessionStep;
pub(crate) use unanswered::{Unanswered, UnansweredState};
pub(crate) use whole::WholeAnswer;
