//! A ledger in PostgreSQL, for many machines.
//!
//! Every writing transaction first takes an advisory lock, so there is one writer at a time. The owner of a claim
//! holds another advisory lock as long as its connection lives. That lock belongs to the session, so a pooler that
//! gives every transaction another connection cannot be used.

mod line;
mod migrate;
mod uri;

#[cfg(test)]
pub(super) mod tests;

use std::any::Any;

use super::{
    Access, Durability, Store, StoreError, Trouble, Tx, Wish,
    sql::{Engine, Sql, Value},
};
use line::{Attempt, Failure, Line, Stage, values_of};
use uri::Target;

/// The advisory lock of every writing transaction. The chain's trigger names it as well.
const WRITER: i64 = 0x2F62 << 48;
/// The advisory lock of claim 0. The lock of the writers does not have this bit.
const CLAIM: i64 = 1 << 62;

pub(crate) struct PostgresStore {
    target: Target,
    line: Line,
    stage: Stage<'static>,
    /// The claims whose lock this process holds.
    holds: Vec<u64>,
}

impl PostgresStore {
    /// Opens the ledger in a database, `postgres://user@host/name`. For [`Wish::Write`], its tables are made or
    /// brought up to date first. Tables of another program are refused.
    pub(crate) fn open(uri: &str, wish: Wish) -> Result<Self, StoreError> {
        let target = Target::parse(uri)?;
        let (line, versions) = Line::open(&target, migrate::VERSIONS, Attempt::First)?;
        migrate::ensure(&line, &target.place, versions, wish)?;
        Ok(Self {
            target,
            line,
            stage: Stage::of(wish),
            holds: Vec::new(),
        })
    }

    /// Runs a first statement, which changes nothing. If the connection is lost, the statement is run once more
    /// over a new one.
    fn start<T>(&mut self, ask: impl Fn(&Line) -> Result<T, Failure>) -> Result<T, StoreError> {
        let failure = match ask(&self.line) {
            Ok(value) => return Ok(value),
            Err(failure) => failure,
        };
        if !failure.is_loss() {
            return Err(self.stage.trouble(&self.target.place, &failure));
        }
        (self.line, _) = Line::open(&self.target, "SELECT", Attempt::Again)?;
        for claim in &self.holds {
            // If another process took the claim over, the claim records it.
            let _ = self.line.rows(TAKE, &[Value::Int(lock(*claim))]);
        }
        ask(&self.line).map_err(|failure| self.stage.trouble(&self.target.place, &failure))
    }
}

/// Releases the locks at once. The server would notice the end of the connection a moment later.
impl Drop for PostgresStore {
    fn drop(&mut self) {
        if !self.holds.is_empty() {
            self.line.part("SELECT pg_catalog.pg_advisory_unlock_all()");
        }
    }
}

impl Store for PostgresStore {
    fn place(&self) -> &str {
        &self.target.place
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn begin(&mut self, access: Access) -> Result<Tx<'_>, StoreError> {
        let statements = begin(access);
        let begun = self.start(|line| line.batch(&statements));
        let inside = Inside {
            line: &self.line,
            place: &self.target.place,
            stage: self.stage,
            failed: None,
            is_open: true,
        };
        begun?;
        Ok(Tx::new(Engine::Postgres, &self.target.place, inside))
    }

    fn hold(&mut self, claim: u64) -> Result<(), StoreError> {
        let taken = self.start(|line| line.rows(TAKE, &[Value::Int(lock(claim))]))?;
        let ours = taken
            .first()
            .is_some_and(|row| row.try_get::<_, bool>(0).unwrap_or_default());
        if !ours {
            let why = format!("another process holds the lock of claim {claim}");
            return Err(Trouble::Busy.with(&self.target.place, why));
        }
        self.holds.push(claim);
        Ok(())
    }

    fn release(&mut self, claim: u64) {
        self.holds.retain(|held| *held != claim);
        let give = "SELECT pg_catalog.pg_advisory_unlock($1)";
        // If the connection is lost, the lock is released as well.
        let _ = self.line.rows(give, &[Value::Int(lock(claim))]);
    }

    fn held(&mut self, claim: u64) -> Result<bool, StoreError> {
        let lock = lock(claim);
        let halves = [Value::Int(lock >> 32), Value::Int(lock & 0xFFFF_FFFF)];
        Ok(!self.start(|line| line.rows(LOOK, &halves))?.is_empty())
    }

    fn closing(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// The statements that begin a transaction. A writing one is READ COMMITTED, whatever the default of the database:
/// a snapshot from before the lock was granted would not show what other writers have written.
fn begin(access: Access) -> String {
    let wait = match access {
        Access::Read => return "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY".to_owned(),
        Access::Write(Durability::Disk) => "on",
        Access::Write(Durability::Process) => "off",
    };
    format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = {wait}; SELECT pg_catalog.pg_advisory_xact_lock({WRITER})"
    )
}

const TAKE: &str = "SELECT pg_catalog.pg_try_advisory_lock($1)";

/// This query does not take the lock, so two processes that ask at once do not disturb each other.
const LOOK: &str = "SELECT 1 FROM pg_catalog.pg_locks \
    WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND classid = $1::oid AND objid = $2::oid \
    AND database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()) LIMIT 1";

/// The number of a claim's advisory lock.
fn lock(claim: u64) -> i64 {
    CLAIM | i64::try_from(claim & ((1 << 62) - 1)).unwrap_or_default()
}

struct Inside<'a> {
    line: &'a Line,
    place: &'a str,
    stage: Stage<'static>,
    /// The error of a step. After it, the transaction cannot be committed.
    failed: Option<String>,
    is_open: bool,
}

impl Sql for Inside<'_> {
    fn run(&mut self, statement: &str, values: &[Value]) -> Result<Vec<Vec<Value>>, StoreError> {
        let statement = statement.replace('?', "$");
        let found = self.line.rows(&statement, values).map_err(|failure| {
            let error = self.stage.trouble(self.place, &failure);
            self.failed = Some(error.to_string());
            error
        })?;
        let rows: Result<_, _> = found.iter().map(values_of).collect();
        rows.map_err(|error| Trouble::Corrupt.with(self.place, error.to_string()))
    }

    /// After a failed step, PostgreSQL would answer `COMMIT` with a silent rollback.
    fn commit(mut self: Box<Self>) -> Result<(), StoreError> {
        if let Some(why) = &self.failed {
            let why = format!("a statement of the transaction failed: {why}");
            return Err(Trouble::Refused.with(self.place, why));
        }
        self.is_open = false;
        let done = self.line.batch("COMMIT");
        done.map_err(|failure| Stage::Keeping.trouble(self.place, &failure))
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        if self.is_open {
            // If this fails, the connection is lost and the transaction with it.
            let _ = self.line.batch("ROLLBACK");
        }
    }
}
