//! Which answer a person means: an operation's id, a row's, or a step of a session.

use super::{
    record::{Row, RowState},
    store::{StoreError, Tx, Which},
};

/// What a person typed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Name<'a> {
    /// An id or its beginning; or the number of a step.
    pub(crate) text: &'a str,
    /// The session of the step.
    pub(crate) session: Option<&'a str>,
}

/// Why it names no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NameError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("nothing recorded is called `{0}`; `oneact history` lists what is")]
    Nothing(String),
    #[error("session `{session}` has no step {step}")]
    NoStep { session: String, step: u64 },
    #[error("{0} is the number of a step: say of which session, with --session")]
    StepAlone(String),
    #[error("`{text}` may be {}; write more of it", .candidates.join(", or "))]
    Several {
        text: String,
        candidates: Vec<String>,
    },
}

/// An answer, as a person knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) id: String,
    pub(crate) operation_id: String,
    pub(crate) session_id: String,
    pub(crate) step_index: u64,
    pub(crate) action: String,
    pub(crate) state: &'static str,
}

/// So many are listed at most.
const CANDIDATES: usize = 10;

impl Told {
    pub(super) fn of(row: &Row) -> Self {
        Self {
            id: row.id.clone(),
            operation_id: row.operation_id.clone(),
            session_id: row.session_id.clone(),
            step_index: row.step_index,
            action: row.action_type.clone().unwrap_or_default(),
            state: row.state.map_or("history", RowState::name),
        }
    }
}

/// The one answer that is meant. An operation that was resolved has several: the newest.
pub(super) fn find(tx: &mut dyn Tx, name: Name<'_>) -> Result<Row, NameError> {
    let text = name.text;
    let step: Option<u64> = text.parse().ok();
    if let (Some(step_index), Some(session_id)) = (step, name.session) {
        let which = Which::Step {
            session_id,
            step_index,
        };
        let row = tx.rows(&which, 1)?.into_iter().next();
        return row.ok_or_else(|| NameError::NoStep {
            session: session_id.to_owned(),
            step: step_index,
        });
    }
    if step.is_some() {
        // It might as well begin a row's id: what a person did not mean must not be taken back.
        return Err(NameError::StepAlone(text.to_owned()));
    }
    if text.is_empty() {
        return Err(NameError::Nothing(String::new()));
    }
    let mut rows = tx.rows(&Which::Operation(text), CANDIDATES)?;
    rows.extend(tx.rows(&Which::Id(text), CANDIDATES)?);
    rows.retain(|row| name.session.is_none_or(|session| row.session_id == session));
    let mut whole = rows.iter();
    if let Some(at) = whole.position(|row| row.operation_id == text || row.id == text) {
        return Ok(rows.swap_remove(at));
    }
    let mut candidates: Vec<String> = Vec::new();
    for row in &rows {
        let called = if row.operation_id.starts_with(text) {
            &row.operation_id
        } else {
            &row.id
        };
        if !candidates.contains(called) {
            candidates.push(called.clone());
        }
    }
    match candidates.len() {
        0 => Err(NameError::Nothing(text.to_owned())),
        1 => Ok(rows.swap_remove(0)),
        _ => Err(NameError::Several {
            text: text.to_owned(),
            candidates,
        }),
    }
}
