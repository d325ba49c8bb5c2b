//! Which rows are asked for.

use super::super::{Begin, Delivery, Earlier, Which};
use crate::ledger::record::{
    Row, RowOutcome,
    RowState::{Cancelled, Done, Failed, Partial, Reused, RolledBack, Suppressed},
};

pub(super) fn fits(which: &Which<'_>, row: &Row) -> bool {
    let is = |column: &Option<String>, value: &str| column.as_deref() == Some(value);
    // Rows that only repeat another, and those of which nothing came, say nothing new of a delivery.
    let is_one = |states: &[_]| row.state.is_some_and(|state| states.contains(&state));
    let told = is_one(&[Done, Partial, Failed, RolledBack, Reused, Suppressed]);
    let ran = is_one(&[Done, Partial, Failed, RolledBack, Cancelled]);
    match *which {
        Which::Delivery(Delivery::Key {
            session_id,
            idempotency_key,
        }) => told && row.session_id == session_id && is(&row.idempotency_key, idempotency_key),
        Which::Delivery(Delivery::Task {
            session_id,
            request_id,
            task_id,
            attempt,
        }) => {
            told && row.session_id == session_id
                && row.request_id.as_deref() == request_id
                && is(&row.task_id, task_id)
                && attempt.is_none_or(|attempt| row.attempt == attempt)
        }
        Which::Task {
            session_id,
            task_id,
        } => row.session_id == session_id && is(&row.task_id, task_id),
        Which::Runs {
            session_id,
            task_id,
        } => ran && row.session_id == session_id && is(&row.task_id, task_id),
        Which::Operation(begin) => begins(&row.operation_id, begin, row),
        Which::Id(begin) => begins(&row.id, begin, row),
        Which::Session(session_id) | Which::Latest(session_id) => row.session_id == session_id,
        Which::Step {
            session_id,
            step_index,
        } => row.session_id == session_id && row.step_index == step_index,
        Which::Seq(seq) => row.seq == Some(seq),
        Which::From(seq) => row.seq >= Some(seq),
        Which::Earlier {
            than,
            session_id,
            what,
        } => {
            let of = match what {
                Earlier::Success {
                    action_type,
                    request_hash,
                } => {
                    is(&row.action_type, action_type)
                        && row.request_hash == request_hash
                        && row.outcome == RowOutcome::Success
                        && matches!(row.state, Some(Done | Partial))
                }
                Earlier::Failure { task_id } => {
                    is(&row.task_id, task_id) && row.outcome != RowOutcome::Success
                }
            };
            of && row.session_id == session_id && row.seq < Some(than)
        }
        Which::ReusesOf(id) => is(&row.reused_from, id),
        Which::Newest => true,
    }
}

fn begins(id: &str, begin: Begin<'_>, row: &Row) -> bool {
    let of = begin
        .session_id
        .is_none_or(|session| row.session_id == session);
    of && id.starts_with(begin.text)
}
