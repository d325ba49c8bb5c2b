//! Moments of a run, as they are seen from outside: what its ledger says by then, and what it is about to do.

use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use super::{Act, Call, Ended, Kind, first, traced};
use crate::program::Root;

/// The rows of the table of [docs/ledger.md] of crashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The claim is recorded, and nothing has begun.
    Reserved,
    /// The work may begin, and has not.
    Dispatched,
    /// The work is done, and nothing of it is recorded.
    Done,
    /// The answer is recorded, and not printed.
    Recorded,
}

/// A moment of a task that is one call, or of a step of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) moment: Moment,
    /// From 1.
    step: Option<u32>,
}

impl Moment {
    pub(crate) fn of_the_task(self) -> Point {
        Point {
            moment: self,
            step: None,
        }
    }

    pub(crate) fn of_step(self, step: u32) -> Point {
        Point {
            moment: self,
            step: Some(step),
        }
    }
}

/// What a ledger says of a run.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The state of its claim, while it is open.
    pub(crate) claim: Option<String>,
    pub(crate) is_recorded: bool,
}

/// Whether that point has come, by what the ledger says at each call.
pub(crate) fn reached(
    point: Point,
    mut look: impl FnMut() -> Seen + Send + 'static,
) -> impl FnMut(&Call) -> bool + Send + 'static {
    let mut has_begun = false;
    move |call| {
        let seen = look();
        // A server may have been started for an earlier step.
        let calls = call.kind == Kind::Say && call.path.as_str().starts_with("pipe:");
        let begins = call.kind == Kind::Start || calls || call.is_of_plan();
        has_begun |= begins && seen.claim.is_some();
        match point.moment {
            Moment::Reserved => seen.claim.is_some(),
            Moment::Dispatched => has_begun || seen.claim.as_deref() == Some("dispatched"),
            Moment::Done => has_begun && records(call),
            Moment::Recorded => seen.is_recorded,
        }
    }
}

/// Whether it is about to write to a ledger: SQLite's log, the outbox, or the server of PostgreSQL.
fn records(call: &Call) -> bool {
    let path = call.path.as_str();
    match call.kind {
        Kind::Write => path.ends_with("-wal"),
        Kind::MakeDir | Kind::Create => path.contains("/.oneact/outbox"),
        Kind::Say => path.starts_with("socket:"),
        _ => false,
    }
}

/// The questions about a run that began after the link of that number.
pub(crate) fn questions(point: Point, after: i64, task: Option<&str>) -> [String; 2] {
    let of_step = match point.step {
        None => "operation_id NOT LIKE '%.%'".to_owned(),
        Some(step) => format!("operation_id LIKE '%.{step}'"),
    };
    let of_task = task.map_or_else(String::new, |task| format!(" AND task_id = '{task}'"));
    let of_run = format!("seq > {after} AND {of_step}{of_task}");
    [
        format!(
            "SELECT state FROM claims WHERE ended IS NULL AND {of_run} ORDER BY seq DESC LIMIT 1"
        ),
        format!("SELECT count(*) FROM agent_actions WHERE {of_run}"),
    ]
}

/// A look into a ledger of SQLite, which may not be there yet.
fn in_sqlite(
    path: Utf8PathBuf,
    point: Point,
    task: Option<&str>,
) -> impl FnMut() -> Seen + Send + use<> {
    // The run waits while it is looked at: what it has locked stays locked.
    let open = |path: &Utf8Path| {
        let ledger = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
        ledger.busy_timeout(Duration::ZERO).ok()?;
        Some(ledger)
    };
    let newest = "SELECT coalesce(max(seq), 0) FROM ledger_events";
    let after: i64 = open(&path)
        .and_then(|ledger| ledger.query_row(newest, [], |row| row.get(0)).ok())
        .unwrap_or_default();
    let [claim, recorded] = questions(point, after, task);
    let mut ledger = None;
    move || {
        if ledger.is_none() {
            ledger = open(&path);
        }
        let Some(ledger) = &ledger else {
            return Seen::default();
        };
        let ask = |question: &str| ledger.prepare_cached(question);
        let claim = ask(&claim).and_then(|mut asked| asked.query_row([], |row| row.get(0)));
        let recorded = ask(&recorded).and_then(|mut asked| asked.query_row([], |row| row.get(0)));
        Seen {
            claim: claim.ok(),
            is_recorded: recorded.is_ok_and(|count: i64| count > 0),
        }
    }
}

/// Does this to the first run of a task that reaches the point, in the root's own ledger.
pub(crate) fn at(
    root: &Root,
    point: Point,
    task: Option<&str>,
    act: Act,
) -> impl FnMut(&Call) -> Act + Send + 'static {
    at_of(root.path.join(".oneact/ledger.db"), point, task, act)
}

/// The same with a ledger at another place.
pub(crate) fn at_of(
    ledger: Utf8PathBuf,
    point: Point,
    task: Option<&str>,
    act: Act,
) -> impl FnMut(&Call) -> Act + Send + 'static {
    first(reached(point, in_sqlite(ledger, point, task)), act)
}

/// Runs the task and kills the run at that point.
pub(crate) fn killed(root: &Root, task: &Value, point: Point) -> Ended {
    let ended = traced(
        &root.command(),
        &root.path,
        task,
        at(root, point, None, Act::Kill),
    );
    assert!(ended.was_killed(), "{point:?}: {ended:?}");
    assert!(ended.output.stdout.is_empty(), "{point:?}: {ended:?}");
    ended
}
