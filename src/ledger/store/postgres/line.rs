//! A connection: how it is opened and used, and what its errors mean. No error message contains a part of a password.

use std::{error::Error as StdError, future::Future, io, iter, time::Duration};

use futures_util::future::join_all;
use tokio::{runtime, select, time};
use tokio_postgres::{Client, Error, Row, error::DbError, types::ToSql};

use super::{
    super::{
        access::Wish,
        error::{StoreError, Trouble},
        sql::Value,
    },
    statement::Statement,
    uri::{self, Target},
};
use crate::host;

/// The longest wait for an answer. `statement_timeout` is shorter, so then the server is lost.
const LONGEST: Duration = Duration::from_secs(45);

/// The advisory lock of every writing transaction. The trigger of the chains names it as well.
pub(super) const WRITER: i64 = 0x2F62 << 48;

const BRIEFLY: Duration = Duration::from_secs(1);

/// How often a first connection looks for a signal.
const OFTEN: Duration = Duration::from_millis(20);

/// The settings of every connection. Either side notices within a minute that the other machine has vanished, and
/// a process that stops within a transaction delays the others for at most 30 s.
const SETTINGS: &str = "SET standard_conforming_strings = on; SET synchronous_commit = on; SET lock_timeout = '5s'; SET statement_timeout = '30s'; \
    SET idle_in_transaction_session_timeout = '30s'; SET tcp_keepalives_idle = 15; \
    SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 4; SET tcp_user_timeout = 35000";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    /// A signal that stops the run ends the attempt: nothing was begun.
    First,
    /// Something was begun, and must be recorded also after a signal.
    Again,
}

/// An open connection. Dropping it closes it and releases its locks.
pub(super) struct Line {
    client: Client,
    runtime: runtime::Runtime,
}

impl Line {
    /// Connects within the target's time. Sends the settings and the first query in one round trip.
    pub(super) fn open(
        target: &Target,
        ask: &str,
        attempt: Attempt,
    ) -> Result<(Self, Result<Vec<Row>, Failure>), StoreError> {
        let trouble = |failure: &Failure| Stage::Opening(target).trouble(&target.place, failure);
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| target.unreachable(format!("the event loop: {error}")))?;
        let roots = target.roots.as_deref();
        let tls = uri::connector(roots).map_err(|error| {
            let roots = roots.unwrap_or_default();
            target.unreachable(format!("sslrootcert={roots}: {error}"))
        })?;
        let connected = runtime.block_on(async {
            select! {
                biased;
                connected = target.config.connect(tls) => connected.map_err(Failure::Told),
                () = time::sleep(target.patience()) => Err(Failure::Silent(target.patience())),
                () = stopped(), if attempt == Attempt::First => Err(Failure::Stopped),
            }
        });
        let (client, connection) = match connected {
            Ok(both) => both,
            Err(failure) => {
                // A look-up of a host name cannot be cancelled, so this does not wait for it.
                runtime.shutdown_background();
                return Err(trouble(&failure));
            }
        };
        // The connection ends with the client.
        runtime.spawn(connection);
        let line = Self { client, runtime };
        let (set, answer) = line
            .wait(async {
                Ok(tokio::join!(
                    line.client.batch_execute(SETTINGS),
                    line.client.query_typed(ask, &[])
                ))
            })
            .map_err(|failure| trouble(&failure))?;
        set.map_err(|error| trouble(&Failure::Told(error)))?;
        Ok((line, answer.map_err(Failure::Told)))
    }

    /// Runs statements that return no rows, in one round trip.
    pub(super) fn batch(&self, statements: &str) -> Result<(), Failure> {
        self.wait(self.client.batch_execute(statements))
    }

    /// Runs a last statement, and waits for its answer only briefly.
    pub(super) fn part(&self, statement: &str) {
        let answer = self.client.batch_execute(statement);
        let _ = self
            .runtime
            .block_on(async { time::timeout(BRIEFLY, answer).await });
    }

    /// Runs one statement, in one round trip.
    pub(super) fn rows(&self, text: &str, values: &[Value]) -> Result<Vec<Row>, Failure> {
        let one = Statement::new(text, values);
        self.all(&[one]).pop().unwrap_or_else(|| Ok(Vec::new()))
    }

    /// Runs statements one after the other, in one round trip. Returns the rows of each, up to the first that fails.
    pub(super) fn all(&self, statements: &[Statement]) -> Vec<Result<Vec<Row>, Failure>> {
        let answers =
            self.wait(async { Ok(join_all(statements.iter().map(|one| self.query(one))).await) });
        let answers = match answers {
            Ok(answers) => answers,
            Err(failure) => return vec![Err(failure)],
        };
        let mut told = Vec::new();
        for answer in answers {
            told.push(answer.map_err(Failure::Told));
            if told.last().is_some_and(Result::is_err) {
                break;
            }
        }
        told
    }

    async fn query(&self, one: &Statement) -> Result<Vec<Row>, Error> {
        let values = one.values.iter().map(|value| value as &(dyn ToSql + Sync));
        let values: Vec<_> = values.zip(one.kinds()).collect();
        self.client.query_typed(&one.text, &values).await
    }

    fn wait<T>(&self, answer: impl Future<Output = Result<T, Error>>) -> Result<T, Failure> {
        let answer = async { time::timeout(LONGEST, answer).await };
        match self.runtime.block_on(answer) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(Failure::Told(error)),
            Err(_) => Err(Failure::Silent(LONGEST)),
        }
    }
}

/// Waits for a signal that stops the run.
async fn stopped() {
    while !host::is_interrupted() {
        time::sleep(OFTEN).await;
    }
}

/// Why a statement failed.
#[derive(Debug)]
pub(super) enum Failure {
    Told(Error),
    /// There was no answer within that time.
    Silent(Duration),
    /// A signal ended the attempt to connect.
    Stopped,
}

impl Failure {
    /// Whether the connection is lost, so that another one may work.
    pub(super) fn is_loss(&self) -> bool {
        self.code().is_none_or(is_loss)
    }

    /// Whether the server answered with that code (PostgreSQL manual, appendix A).
    pub(super) fn is(&self, code: &str) -> bool {
        self.code() == Some(code)
    }

    fn told(&self) -> Option<&DbError> {
        match self {
            Self::Told(error) => error.as_db_error(),
            Self::Silent(_) | Self::Stopped => None,
        }
    }

    fn code(&self) -> Option<&str> {
        Some(self.told()?.code().code())
    }

    pub(super) fn words(&self) -> String {
        match (self, self.told()) {
            (Self::Silent(time), _) => format!("no answer within {} s", time.as_secs()),
            (Self::Stopped, _) => "a signal ended the attempt to connect".to_owned(),
            (_, Some(told)) => told.message().to_owned(),
            (Self::Told(error), None) => with_causes(error),
        }
    }
}

/// The message of an error and those of its causes, each once.
fn with_causes(error: &Error) -> String {
    let mut words = error.to_string();
    for cause in causes(error) {
        let said = cause.to_string();
        if !words.contains(&said) {
            words = format!("{words}: {said}");
        }
    }
    words
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Stage<'a> {
    Opening(&'a Target),
    /// For somebody who only reads.
    Reading,
    /// Before the commit was sent.
    Working,
    /// After the commit was sent: the transaction may have been kept.
    Keeping,
}

impl Stage<'_> {
    /// The stage in which statements are run for `wish`.
    pub(super) fn of(wish: Wish) -> Self {
        match wish {
            Wish::Read => Self::Reading,
            Wish::Write | Wish::Decide => Self::Working,
        }
    }

    pub(super) fn trouble(self, place: &str, failure: &Failure) -> StoreError {
        let why = failure.words();
        let Some(code) = failure.code() else {
            return match self {
                Self::Opening(target) => target.unreachable(remedy(failure, why)),
                Self::Reading | Self::Working => Trouble::Lost.with(place, why),
                Self::Keeping => Trouble::Unconfirmed.with(place, why),
            };
        };
        let (trouble, advice) = match (code, code.get(..2).unwrap_or_default(), self) {
            (_, _, Self::Opening(_)) if is_loss(code) => (Trouble::Busy, ""),
            // A proxy may have said this, so the server may have kept the transaction.
            (_, "08", Self::Keeping) => (Trouble::Unconfirmed, ""),
            // The server itself says that it ends the connection, so it kept nothing.
            _ if is_loss(code) => (Trouble::Lost, ""),
            // disk_full
            ("53100", _, _) => (Trouble::Full, ""),
            // Locks, deadlocks, statements that take too long, too many connections.
            (_, "40" | "53" | "55" | "57", _) => (Trouble::Busy, ""),
            // data_corrupted, index_corrupted
            ("XX001" | "XX002", _, _) => (Trouble::Corrupt, ""),
            // read_only_sql_transaction
            ("25006", _, _) => (Trouble::ReadOnly, ". Name the primary server"),
            // insufficient_privilege
            ("42501", _, Self::Reading) => (
                Trouble::Unreadable,
                ". The owner of the database can grant this right: GRANT oneact_reader TO the user",
            ),
            ("42501", _, _) => (
                Trouble::ReadOnly,
                ". The owner of the database can grant this right: GRANT oneact_writer TO the user",
            ),
            // invalid_authorization_specification, invalid_password
            ("28000" | "28P01", _, Self::Opening(_)) => (
                Trouble::Unreachable,
                ". Check the user and the password of its URI",
            ),
            // invalid_catalog_name
            ("3D000", _, Self::Opening(_)) => (
                Trouble::Unreachable,
                ". Create it with `createdb`, or name another one",
            ),
            (_, _, Self::Opening(_)) => (Trouble::Unreachable, ""),
            (_, _, Self::Reading | Self::Working | Self::Keeping) => (Trouble::Refused, ""),
        };
        trouble.with(place, why + advice)
    }
}

/// Whether the server ends the connection: `admin_shutdown`, `crash_shutdown`,
/// `idle_in_transaction_session_timeout`, or a connection exception.
fn is_loss(code: &str) -> bool {
    matches!(code, "57P01" | "57P02" | "25P03") || code.starts_with("08")
}

fn causes(error: &Error) -> impl Iterator<Item = &(dyn StdError + 'static)> {
    iter::successors(error.source(), |&cause| cause.source())
}

/// The reason why no server was reached, with a remedy.
fn remedy(failure: &Failure, why: String) -> String {
    let unreached = "Check the host and the port, and whether the server is running";
    let Failure::Told(error) = failure else {
        return format!("{why}. {unreached}");
    };
    if let Some(error) = causes(error).find_map(|cause| cause.downcast_ref::<io::Error>()) {
        return match error.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => {
                format!("{why}. {unreached}")
            }
            _ if why.contains("lookup address") => format!("{why}. Check the host name"),
            _ => why,
        };
    }
    if why.contains("password") {
        return format!("{why}. Write it into the URI, as in postgres://user:password@host/name");
    }
    why
}
