//! Finds the answer that a person names: by the id of an operation, the id of a row, or the step of a session.
//! Also the errors of questions and decisions.

use std::collections::{BTreeMap, BTreeSet};

use crate::ledger::{Row, Seq, StoreError, Tx, Which, validity};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Name<'a> {
    /// An id or its beginning; or the number of a step, with or without `#`.
    pub(crate) text: &'a str,
    /// The session of the answer, if the person names it.
    pub(crate) session: Option<&'a str>,
    pub(crate) alone: Alone,
}

impl<'a> Name<'a> {
    /// An operation, by its id or the beginning of it.
    pub(super) fn operation(text: &'a str) -> Self {
        Self {
            text,
            session: None,
            alone: Alone::Refused,
        }
    }
}

/// What the number of a step means without a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alone {
    /// An error, so that no answer is revoked by mistake.
    Refused,
    LastSession,
}

/// Why the ledger shows nothing, or refuses a decision.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("there is no ledger at {place}: nothing has been recorded here yet")]
    Missing { place: String },
    #[error("nothing is recorded here: the ledger is switched off (`none`)")]
    Off,
    #[error("the ledger {place} is empty: nothing has been recorded yet")]
    Empty { place: String },
    #[error("the ledger has no session `{session}`; the last one that was used is `{last}`")]
    NoSession { session: String, last: String },
    #[error(
        "the session `{session}` has no task `{task}`, and no recorded id begins with this text"
    )]
    NoTask { session: String, task: String },
    #[error(
        "no recorded id{} begins with `{text}`; `oneact history` lists the recorded steps",
        .session.as_ref().map(|id| format!(" in the session `{id}`")).unwrap_or_default()
    )]
    Nothing {
        text: String,
        session: Option<String>,
    },
    #[error("the session `{session}` has no step {step}; {}", steps(*.last))]
    NoStep {
        session: String,
        step: String,
        last: Option<u64>,
    },
    #[error(
        "{0} is the number of a step in each session; name its session, or give the id of the operation"
    )]
    StepAlone(String),
    #[error("`{text}` is the beginning of several ids: {}; give more characters", .candidates.join(", "))]
    Several {
        text: String,
        candidates: Vec<String>,
    },
    #[error("{0} was recorded before oneact: it is never reused, and no link can refer to it")]
    History(String),
    #[error(
        "the row {row} was changed: its link does not seal it. No decision was recorded; see `oneact verify`"
    )]
    Unsealed { row: String },
    #[error("there is no receipt of operation {operation}: {why}")]
    NoReceipt {
        operation: String,
        why: &'static str,
    },
    #[error("{row} was already revoked by link {by}")]
    RevokedBefore { row: String, by: Seq },
    #[error("operation {operation} opened no grant; `oneact history` lists what it did")]
    NoGrant { operation: String },
    #[error(
        "operation {operation} is no improvised action that succeeded; `oneact show {operation}` tells how it ended"
    )]
    NotImprovised { operation: String },
    #[error("the grant {operation} was already closed by link {by}")]
    ClosedBefore { operation: String, by: Seq },
    #[error(
        "several calls of unknown outcome have the id {operation}, because they were made with the same --seed and --clock; \
         none of them can be settled. To perform one of the requests again, send it with another `salt`"
    )]
    SameId { operation: String },
    #[error("operation {operation} is running: no decision is possible before it ends")]
    AtWork { operation: String },
    #[error(
        "operation {operation} ended before anything happened: the next run of the same request performs it"
    )]
    NothingHappened { operation: String },
    #[error(
        "the request of operation {operation} may be performed twice: the next run of the same request performs it again"
    )]
    MayRepeat { operation: String },
    #[error("operation {operation} is not open: it ended as `{state}`")]
    Ended { operation: String, state: String },
    #[error("no decision about operation {operation} is possible yet: {why}")]
    Interrupted { operation: String, why: String },
    #[error(
        "the journal of the file plan shows that operation {operation} {what}. No decision was recorded, and none is needed: send the request again"
    )]
    Contradicted {
        operation: String,
        what: &'static str,
    },
    #[error("operation {operation} was settled by someone else in the meantime")]
    Settled { operation: String },
    #[error("operation {operation} is settled by link {link}: {how}")]
    SettledBefore {
        operation: String,
        link: Seq,
        how: String,
    },
}

fn steps(last: Option<u64>) -> String {
    match last {
        None => "it has no steps yet".to_owned(),
        Some(0) => "its only step is 0".to_owned(),
        Some(last) => format!("its steps are 0 to {last}"),
    }
}

/// The number of candidates that are listed of each kind of id.
pub(super) const CANDIDATES: usize = 10;

/// The prefix of the sessions in which `oneact replay` repeats a step.
pub(crate) const SCRATCH: &str = "replay-";

/// The answer that a name means. An operation that was resolved has several answers: the newest one is meant.
pub(super) fn find(tx: &mut Tx<'_>, name: Name<'_>) -> Result<Row, CommandError> {
    let text = name.text.strip_prefix('#').unwrap_or(name.text);
    if let Some(session) = name.session {
        known(tx, session)?;
    }
    if let Some(step) = number(text) {
        let last = match (name.session, name.alone) {
            (Some(_), _) => None,
            (None, Alone::LastSession) => last_session(tx)?,
            (None, Alone::Refused) => return Err(CommandError::StepAlone(text.to_owned())),
        };
        let session = name.session.or(last.as_deref());
        return at(tx, session.unwrap_or_default(), step, text);
    }
    let operations = Which::operation(text).within(name.session);
    let mut rows = tx.rows(&operations, CANDIDATES)?;
    rows.extend(tx.rows(&Which::id_begins(text).within(name.session), CANDIDATES)?);
    let called = |row: &Row| {
        // The whole id of a row means that row, even if the id of an operation begins with it.
        let name = match row.operation_id.as_str() {
            operation if operation.starts_with(text) && row.id != text => operation,
            _ => &row.id,
        };
        name.to_owned()
    };
    let found = only(text, name.session, tasks_of(rows), called);
    match (found, name.alone) {
        // A person who only looks may name the task or the plan.
        (Err(CommandError::Nothing { text, session }), Alone::LastSession) => {
            let which = Which::called(&text).within(name.session);
            tx.row(&which)?
                .ok_or(CommandError::Nothing { text, session })
        }
        (found, _) => found,
    }
}

/// The rows without the steps of tasks that are among them, which have the id of the task at their beginning.
fn tasks_of(rows: Vec<Row>) -> Vec<Row> {
    let tasks: BTreeSet<String> = rows.iter().map(|row| row.operation_id.clone()).collect();
    let mut rows = rows;
    rows.retain(|row| row.parent.as_ref().is_none_or(|task| !tasks.contains(task)));
    rows
}

/// Fails if the ledger has no session of that id.
pub(super) fn known(tx: &mut Tx<'_>, session: &str) -> Result<(), CommandError> {
    if tx.session(session)?.is_some() || tx.row(&Which::session(session))?.is_some() {
        return Ok(());
    }
    Err(match last_session(tx)? {
        Some(last) => CommandError::NoSession {
            session: session.to_owned(),
            last,
        },
        None => CommandError::Empty {
            place: tx.place().to_owned(),
        },
    })
}

/// The answer of that name. Its columns led to it, so its link must seal it.
pub(super) fn sealed(tx: &mut Tx<'_>, name: Name<'_>) -> Result<Row, CommandError> {
    let row = find(tx, name)?;
    believed(tx, row)
}

fn believed(tx: &mut Tx<'_>, row: Row) -> Result<Row, CommandError> {
    let id = row.id.clone();
    if row.seq.is_none() {
        return Err(CommandError::History(id));
    }
    let link = tx.link_of(&row)?;
    if link.is_some_and(|link| validity::sealed(&row, &link)) {
        Ok(row)
    } else {
        Err(CommandError::Unsealed { row: id })
    }
}

/// The answer where it was made, if the row repeats it.
pub(super) fn origin(tx: &mut Tx<'_>, row: Row) -> Result<Row, CommandError> {
    let Some(made) = row.reused_from else {
        return Ok(row);
    };
    match tx.row(&Which::id(&made))? {
        Some(made) => believed(tx, made),
        None => Err(CommandError::Unsealed { row: made }),
    }
}

/// The number of a step. A text with a leading zero is the beginning of an id.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = digits && (text == "0" || !text.starts_with('0'));
    // No session has as many steps as the largest number.
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

/// The session of the newest answer, preferably not of a replay. Without answers, the session that was opened
/// last.
pub(super) fn last_session(tx: &mut Tx<'_>) -> Result<Option<String>, StoreError> {
    let mut newest = None;
    for most in [1, 100] {
        for row in tx.rows(&Which::newest(), most)? {
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

fn at(tx: &mut Tx<'_>, session_id: &str, step: u64, text: &str) -> Result<Row, CommandError> {
    if let Some(row) = tx.row(&Which::step(session_id, step))? {
        return Ok(row);
    }
    Err(CommandError::NoStep {
        session: session_id.to_owned(),
        step: text.to_owned(),
        last: tx.steps(&Which::latest(session_id), 1)?.pop(),
    })
}

/// The one thing that is meant among those whose names begin with `text`: the one with exactly this name, or the
/// first one if all have the same name.
pub(super) fn only<T>(
    text: &str,
    session: Option<&str>,
    found: Vec<T>,
    name: impl Fn(&T) -> String,
) -> Result<T, CommandError> {
    let mut named: BTreeMap<String, T> = BTreeMap::new();
    for thing in found.into_iter().filter(|_| !text.is_empty()) {
        let name = name(&thing);
        if name == text {
            return Ok(thing);
        }
        named.entry(name).or_insert(thing);
    }
    let text = text.to_owned();
    let candidates: Vec<String> = named.keys().cloned().collect();
    match named.into_values().next() {
        Some(thing) if candidates.len() == 1 => Ok(thing),
        Some(_) => Err(CommandError::Several { text, candidates }),
        None => Err(CommandError::Nothing {
            text,
            session: session.map(ToOwned::to_owned),
        }),
    }
}
