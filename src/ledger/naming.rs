//! Which answer a person means: an operation's id, a row's, or a step of a session.

use super::{
    record::{Row, RowState},
    store::{Begin, StoreError, Tx, Which},
};

/// What a person typed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Name<'a> {
    /// An id or its beginning; or the number of a step, with or without `#`.
    pub(crate) text: &'a str,
    /// The session it is of.
    pub(crate) session: Option<&'a str>,
    pub(crate) alone: Alone,
}

/// What the number of a step means without a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alone {
    /// Nothing: what nobody meant must not be taken back.
    Refused,
    /// The step of the session that was used last.
    LastSession,
}

/// Why it names no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NameError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "nothing recorded{} has an id that begins with `{text}`; `oneact history` lists what there is",
        .session.as_ref().map(|id| format!(" in the session `{id}`")).unwrap_or_default()
    )]
    Nothing {
        text: String,
        session: Option<String>,
    },
    #[error("the session `{session}` has no step {step}; {}", steps(*.last))]
    NoStep {
        session: String,
        step: u64,
        last: Option<u64>,
    },
    #[error("{0} is the number of a step: say of which session, with --session")]
    StepAlone(String),
    #[error("`{text}` is the beginning of several ids: {}; give more of it", .candidates.join(", "))]
    Several {
        text: String,
        candidates: Vec<String>,
    },
}

fn steps(last: Option<u64>) -> String {
    match last {
        None => "it has none yet".to_owned(),
        Some(0) => "its only one is 0".to_owned(),
        Some(last) => format!("they go from 0 to {last}"),
    }
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

/// So many of each kind of id are listed at most.
pub(super) const CANDIDATES: usize = 10;

/// How sessions are named that only try whether an answer comes out the same.
pub(crate) const SCRATCH: &str = "replay-";

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
pub(super) fn find(tx: &mut Tx<'_>, name: Name<'_>) -> Result<Row, NameError> {
    let text = name.text.strip_prefix('#').unwrap_or(name.text);
    if let Some(step) = number(text) {
        let last = match (name.session, name.alone) {
            (Some(_), _) => None,
            (None, Alone::LastSession) => last_session(tx)?,
            (None, Alone::Refused) => return Err(NameError::StepAlone(text.to_owned())),
        };
        let session = name.session.or(last.as_deref());
        return at(tx, session.unwrap_or_default(), step);
    }
    let begin = Begin {
        text,
        session_id: name.session,
    };
    let mut rows = tx.rows(&Which::Operation(begin), CANDIDATES)?;
    rows.extend(tx.rows(&Which::Id(begin), CANDIDATES)?);
    let called = |row: &Row| {
        // A whole row's id is meant, also where an operation's begins so.
        let name = match row.operation_id.as_str() {
            operation if operation.starts_with(text) && row.id != text => operation,
            _ => &row.id,
        };
        name.to_owned()
    };
    only(text, name.session, rows, called)
}

/// The number of a step as it is shown: with a zero before it, it is the beginning of an id.
fn number(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

/// The session of the newest answer that was not given to try something; else the one that was opened last.
pub(super) fn last_session(tx: &mut Tx<'_>) -> Result<Option<String>, StoreError> {
    let mut newest = None;
    for most in [1, 100] {
        for row in tx.rows(&Which::Newest, most)? {
            if !row.session_id.starts_with(SCRATCH) {
                return Ok(Some(row.session_id));
            }
            newest.get_or_insert(row.session_id);
        }
    }
    if newest.is_some() {
        return Ok(newest);
    }
    let opened = tx.newest_session()?;
    Ok(opened.map(|session| session.session_id))
}

fn at(tx: &mut Tx<'_>, session_id: &str, step_index: u64) -> Result<Row, NameError> {
    let which = Which::Step {
        session_id,
        step_index,
    };
    if let Some(row) = tx.rows(&which, 1)?.into_iter().next() {
        return Ok(row);
    }
    Err(NameError::NoStep {
        session: session_id.to_owned(),
        step: step_index,
        last: tx.steps(&Which::Latest(session_id), 1)?.into_iter().next(),
    })
}

/// What a text means among things of a session whose names begin so: the one that has just this name; else the first,
/// if all have the same.
pub(super) fn only<T>(
    text: &str,
    session: Option<&str>,
    found: Vec<T>,
    name: impl Fn(&T) -> String,
) -> Result<T, NameError> {
    let mut named: Vec<(String, T)> = Vec::new();
    for thing in found.into_iter().filter(|_| !text.is_empty()) {
        let name = name(&thing);
        if name == text {
            return Ok(thing);
        }
        if !named.iter().any(|(other, _)| *other == name) {
            named.push((name, thing));
        }
    }
    let text = text.to_owned();
    match named.pop() {
        Some((_, thing)) if named.is_empty() => Ok(thing),
        None => Err(NameError::Nothing {
            text,
            session: session.map(ToOwned::to_owned),
        }),
        Some(last) => {
            let names = named.into_iter().chain([last]).map(|(name, _)| name);
            let mut candidates: Vec<String> = names.collect();
            candidates.sort_unstable();
            Err(NameError::Several { text, candidates })
        }
    }
}
