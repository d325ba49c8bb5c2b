//! A ledger in PostgreSQL, for many machines.
//!
//! Every writing transaction first takes an advisory lock for itself alone, or shares it and takes the lock of one session.
//! So there is one writer at a time for each session. It gives its locks back before its commit is on the disk, so that
//! one write of the server's log serves all who wait for theirs. The owner of a claim
//! holds another advisory lock as long as its connection lives. That lock belongs to the session, so a pooler that
//! gives every transaction another connection cannot be used.

mod line;
mod migrate;
mod statement;
mod uri;

#[cfg(test)]
pub(super) mod tests;

use std::mem;

use tokio_postgres::Row;

use super::{
    access::{Access, Store, Wish},
    error::{StoreError, Trouble},
    sql::{Durability, Engine, Question, Sql, Value},
    tx::Tx,
};
use line::{Attempt, Failure, Line, Stage, WRITER};
use statement::{Statement, values_of};
use uri::Target;

/// The first number of the advisory lock of a session; the second one is a hash of the session's id. The trigger names it
/// as well.
const SESSION: i32 = 0x2F62;
/// The advisory lock of claim 0. The lock of the writers does not have this bit.
const CLAIM: i64 = 1 << 62;

pub(crate) struct PostgresStore {
    target: Target,
    stage: Stage<'static>,
    open: Open,
}

struct Open {
    line: Line,
    /// The claims whose lock this process holds.
    holds: Vec<u64>,
    /// The one of them whose lock is released with the next commit.
    leaving: Option<u64>,
}

impl PostgresStore {
    /// Opens the ledger in a database, `postgres://user@host/name`. For [`Wish::Write`], missing tables are made first, and
    /// the table of specification 004 is taken over. Tables of another program are refused.
    pub(crate) fn open(uri: &str, wish: Wish) -> Result<Self, StoreError> {
        let target = Target::parse(uri)?;
        let (line, versions) = Line::open(&target, migrate::VERSIONS, Attempt::First)?;
        migrate::ensure(&line, &target.place, versions, wish)?;
        Ok(Self {
            target,
            stage: Stage::of(wish),
            open: Open {
                line,
                holds: Vec::new(),
                leaving: None,
            },
        })
    }

    fn start<T>(&mut self, ask: impl Fn(&Line) -> Result<T, Failure>) -> Result<T, StoreError> {
        self.open.start(&self.target, self.stage, ask)
    }
}

impl Open {
    /// Runs first statements, which change nothing that lasts. If the connection is lost, they are run once more
    /// over a new one.
    fn start<T>(
        &mut self,
        target: &Target,
        stage: Stage<'_>,
        ask: impl Fn(&Line) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        let failure = match ask(&self.line) {
            Ok(value) => return Ok(value),
            Err(failure) => failure,
        };
        if !failure.is_loss() {
            return Err(stage.trouble(&target.place, &failure));
        }
        (self.line, _) = Line::open(target, "SELECT", Attempt::Again)?;
        for claim in &self.holds {
            // If another process took the claim over, the claim records it.
            let _ = self.line.rows(TAKE, &[Value::Int(lock(*claim))]);
        }
        ask(&self.line).map_err(|failure| stage.trouble(&target.place, &failure))
    }
}

/// Releases the locks at once. The server would notice the end of the connection a moment later.
impl Drop for PostgresStore {
    fn drop(&mut self) {
        if !self.open.holds.is_empty() {
            self.open
                .line
                .part("SELECT pg_catalog.pg_advisory_unlock_all()");
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

    fn begin(&mut self, access: Access<'_>) -> Result<Tx<'_>, StoreError> {
        let inside = Inside {
            open: &mut self.open,
            target: &self.target,
            stage: self.stage,
            phase: Phase::Planned(begin(access)),
            waiting: Vec::new(),
            answers: Vec::new(),
            failed: None,
        };
        Ok(Tx::new(Engine::Postgres, &self.target.place, inside))
    }

    fn hold(&mut self, owner: u64) -> Result<(), StoreError> {
        let taken = self.start(|line| line.rows(TAKE, &[Value::Int(lock(owner))]))?;
        let ours = taken
            .first()
            .is_some_and(|row| row.try_get::<_, bool>(0).unwrap_or_default());
        if !ours {
            let why = format!("another process holds the lock of owner {owner}");
            return Err(Trouble::Busy.with(&self.target.place, why));
        }
        self.open.holds.push(owner);
        Ok(())
    }

    fn release(&mut self, owner: u64) {
        self.open.leaving = None;
        if self.open.holds.contains(&owner) {
            self.open.holds.retain(|held| *held != owner);
            // If the connection is lost, the lock is released as well.
            let _ = self.open.line.rows(GIVE, &[Value::Int(lock(owner))]);
        }
    }

    fn release_with_commit(&mut self, owner: u64) {
        self.open.leaving = Some(owner);
    }

    fn held(&mut self, owner: u64) -> Result<bool, StoreError> {
        let lock = lock(owner);
        let halves = [Value::Int(lock >> 32), Value::Int(lock & 0xFFFF_FFFF)];
        Ok(!self.start(|line| line.rows(LOOK, &halves))?.is_empty())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.start(|line| line.rows(FLUSH, &[])).map(drop)
    }
}

/// The statements that begin a transaction. A writing one is READ COMMITTED, whatever the default of the database:
/// a snapshot from before the lock was granted would not show what other writers have written.
fn begin(access: Access<'_>) -> Vec<Statement> {
    let plain = |text: &str| Statement::new(text, &[]);
    let alone = format!("SELECT pg_catalog.pg_advisory_xact_lock({WRITER})");
    let locks = match access {
        Access::Read => return vec![plain("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")],
        Access::Session(id) => {
            let text = format!(
                "SELECT pg_catalog.pg_advisory_xact_lock_shared({WRITER}), \
                 pg_catalog.pg_advisory_xact_lock({SESSION}, pg_catalog.hashtext(?1))"
            );
            vec![Statement::new(&text, &[id.into()])]
        }
        Access::Write => vec![plain(&alone)],
        Access::IfFree => vec![plain("SET LOCAL lock_timeout = '100ms'"), plain(&alone)],
    };
    let mut all = vec![
        plain("BEGIN ISOLATION LEVEL READ COMMITTED"),
        plain("SET LOCAL synchronous_commit = off"),
    ];
    all.extend(locks);
    all
}

/// A transaction of its own, which is on the disk when it ends, and with it all that were committed before. Without a
/// record in the server's log, its end would wait for nothing.
const FLUSH: &str = "SELECT pg_catalog.pg_logical_emit_message(true, 'oneact', '')";

const TAKE: &str = "SELECT pg_catalog.pg_try_advisory_lock($1)";

const GIVE: &str = "SELECT pg_catalog.pg_advisory_unlock($1)";

/// This query does not take the lock, so two processes that ask at once do not disturb each other.
const LOOK: &str = "SELECT 1 FROM pg_catalog.pg_locks \
    WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND classid = $1::oid AND objid = $2::oid \
    AND database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()) LIMIT 1";

/// The number of a claim's advisory lock.
fn lock(claim: u64) -> i64 {
    CLAIM | i64::try_from(claim & ((1 << 62) - 1)).unwrap_or_default()
}

struct Inside<'a> {
    open: &'a mut Open,
    target: &'a Target,
    stage: Stage<'static>,
    phase: Phase,
    /// Statements that find nothing. They are sent with the next one.
    waiting: Vec<Statement>,
    /// The answers to questions that were expected.
    answers: Vec<(Statement, Vec<Row>)>,
    /// The error of a step. After it, the transaction cannot be committed.
    failed: Option<String>,
}

enum Phase {
    /// It begins with its first statement, and with these before it.
    Planned(Vec<Statement>),
    Begun,
    /// It was committed, or its end is not known.
    Over,
}

impl Inside<'_> {
    /// Sends the statements that wait and these, and begins the transaction if need be, in one round trip. Returns the
    /// rows of the last ones, one for each of `statements`.
    fn send(&mut self, statements: Vec<Statement>) -> Result<Vec<Vec<Row>>, StoreError> {
        let count = statements.len();
        let (is_first, mut all) = match mem::replace(&mut self.phase, Phase::Begun) {
            Phase::Planned(first) => (true, first),
            Phase::Begun | Phase::Over => (false, Vec::new()),
        };
        all.append(&mut self.waiting);
        all.extend(statements);
        let ask = |line: &Line| line.all(&all).into_iter().collect::<Result<Vec<_>, _>>();
        let told = if is_first {
            self.open.start(self.target, self.stage, ask)
        } else {
            ask(&self.open.line).map_err(|failure| self.stage.trouble(&self.target.place, &failure))
        };
        match told {
            Ok(mut rows) => Ok(rows.split_off(rows.len().saturating_sub(count))),
            Err(error) => {
                self.failed = Some(error.to_string());
                Err(error)
            }
        }
    }
}

impl Sql for Inside<'_> {
    fn run(&mut self, statement: &str, values: &[Value]) -> Result<Vec<Vec<Value>>, StoreError> {
        let one = Statement::new(statement, values);
        if !statement.starts_with("SELECT") {
            self.answers.clear();
        }
        let known = self.answers.iter().find(|(asked, _)| *asked == one);
        let rows: Result<_, _> = if let Some((_, rows)) = known {
            rows.iter().map(values_of).collect()
        } else {
            let told = self.send(vec![one])?;
            told.iter().flatten().map(values_of).collect()
        };
        rows.map_err(|error| Trouble::Corrupt.with(&self.target.place, error.to_string()))
    }

    fn add(&mut self, statement: &str, values: &[Value]) -> Result<(), StoreError> {
        self.answers.clear();
        self.waiting.push(Statement::new(statement, values));
        Ok(())
    }

    fn expect(&mut self, questions: Vec<Question>) -> Result<(), StoreError> {
        let new = |(text, values): &Question| Statement::new(text, values);
        let asked: Vec<_> = questions.iter().map(new).collect();
        let told = self.send(asked.clone())?;
        self.answers = asked.into_iter().zip(told).collect();
        Ok(())
    }

    /// After a failed step, PostgreSQL would answer `COMMIT` with a silent rollback.
    fn commit(mut self: Box<Self>, durability: Durability) -> Result<(), StoreError> {
        let place = &self.target.place;
        if let Some(why) = &self.failed {
            let why = format!("a statement of the transaction failed: {why}");
            return Err(Trouble::Refused.with(place, why));
        }
        if let Phase::Planned(_) = self.phase {
            self.send(Vec::new())?;
        }
        self.phase = Phase::Over;
        let mut statements = mem::take(&mut self.waiting);
        statements.push(Statement::new("COMMIT", &[]));
        let committed = statements.len();
        if durability == Durability::Disk {
            statements.push(Statement::new(FLUSH, &[]));
        }
        let needed = statements.len();
        if let Some(owner) = self.open.leaving {
            statements.push(Statement::new(GIVE, &[Value::Int(lock(owner))]));
        }
        let mut told = self.open.line.all(&statements);
        if told.len() >= needed
            && let Some(owner) = self.open.leaving.take()
        {
            // If the connection is lost, the lock is released as well.
            self.open.holds.retain(|held| *held != owner);
            told.truncate(needed);
        }
        match told.pop() {
            Some(Err(failure)) if told.len() == committed => {
                Err(Trouble::Unconfirmed.with(place, failure.words()))
            }
            Some(Err(failure)) => Err(Stage::Keeping.trouble(place, &failure)),
            Some(Ok(_)) | None => Ok(()),
        }
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        if let Phase::Begun = self.phase {
            // If this fails, the connection is lost and the transaction with it.
            let _ = self.open.line.batch("ROLLBACK");
        }
    }
}
