//! A connection: how it is opened and used, how values are sent and received, and what its errors mean. No error
//! message contains a part of a password.

use std::{
    borrow::Cow,
    error::Error as StdError,
    future::{Future, pending},
    io,
    time::Duration,
};

use tokio::{runtime, select, time};
use tokio_postgres::{
    Client, Error, Row,
    config::{Config, SslMode},
    error::{DbError, SqlState},
    types::{FromSql, ToSql, Type, accepts},
};

use super::{
    super::{StoreError, Trouble, Wish, sql::Value},
    uri::{self, Target},
};
use crate::host;

/// The longest wait for an answer. `statement_timeout` is shorter, so then the server is lost.
const LONGEST: Duration = Duration::from_secs(45);

const BRIEFLY: Duration = Duration::from_secs(1);

/// How often a first connection looks for a signal.
const OFTEN: Duration = Duration::from_millis(20);

/// The settings of every connection. Either side notices within a minute that the other machine has vanished, and
/// a process that stops within a transaction delays the others for at most 30 s.
const SETTINGS: &str = "SET standard_conforming_strings = on; SET lock_timeout = '5s'; SET statement_timeout = '30s'; \
    SET idle_in_transaction_session_timeout = '30s'; SET tcp_keepalives_idle = 15; \
    SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 4; SET tcp_user_timeout = 35000";

#[derive(Debug, Clone, Copy)]
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
        let tls = uri::connector(&target.trust).map_err(|why| target.unreachable(why))?;
        let connected = runtime.block_on(async {
            let connect = async {
                match connect(&target.config, tls.clone()).await {
                    Err(error) if worth_trying_plain(target, &error) => {
                        connect(target.config.clone().ssl_mode(SslMode::Disable), tls).await
                    }
                    other => other,
                }
            };
            select! {
                biased;
                connected = connect => connected.map_err(Failure::Told),
                () = time::sleep(target.patience()) => Err(Failure::Silent(target.patience())),
                () = attempt.stopped() => Err(Failure::Stopped),
            }
        });
        let client = match connected {
            Ok(client) => client,
            Err(failure) => {
                // A look-up of a host name cannot be cancelled, so this does not wait for it.
                runtime.shutdown_background();
                return Err(trouble(&failure));
            }
        };
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
    pub(super) fn rows(&self, statement: &str, values: &[Value]) -> Result<Vec<Row>, Failure> {
        let parameters: Vec<_> = values.iter().map(parameter).collect();
        let values: Vec<_> = parameters
            .iter()
            .map(|(value, kind)| (&**value, kind.clone()))
            .collect();
        self.wait(self.client.query_typed(statement, &values))
    }

    fn wait<T>(&self, answer: impl Future<Output = Result<T, Error>>) -> Result<T, Failure> {
        match self
            .runtime
            .block_on(async { time::timeout(LONGEST, answer).await })
        {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(Failure::Told(error)),
            Err(_) => Err(Failure::Silent(LONGEST)),
        }
    }
}

impl Attempt {
    async fn stopped(self) {
        match self {
            Self::First => {
                while !host::is_interrupted() {
                    time::sleep(OFTEN).await;
                }
            }
            Self::Again => pending().await,
        }
    }
}

async fn connect(
    config: &Config,
    tls: tokio_postgres_rustls::MakeRustlsConnect,
) -> Result<Client, Error> {
    let (client, connection) = config.connect(tls).await?;
    // The connection ends with the client.
    tokio::spawn(connection);
    Ok(client)
}

/// Whether to try again without TLS: `prefer` uses TLS only if the server supports it.
fn worth_trying_plain(target: &Target, error: &Error) -> bool {
    target.config.get_ssl_mode() == SslMode::Prefer
        && match error.as_db_error() {
            Some(told) => *told.code() == SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
            None => error.to_string().contains("TLS"),
        }
}

pub(super) fn values_of(row: &Row) -> Result<Vec<Value>, Error> {
    let columns = 0..row.len();
    columns
        .map(|at| Ok(row.try_get::<_, Option<Value>>(at)?.unwrap_or(Value::Null)))
        .collect()
}

impl FromSql<'_> for Value {
    fn from_sql(kind: &Type, raw: &[u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(match *kind {
            Type::INT4 => Self::Int(i32::from_sql(kind, raw)?.into()),
            Type::INT8 => Self::Int(i64::from_sql(kind, raw)?),
            Type::BYTEA => Self::Bytes(raw.to_owned()),
            _ => Self::Text(given(String::from_sql(kind, raw)?)),
        })
    }

    accepts!(INT4, INT8, BYTEA, TEXT);
}

/// A value as it is sent. PostgreSQL infers the type of a null.
fn parameter(value: &Value) -> (Box<dyn ToSql + Sync + '_>, Type) {
    match value {
        Value::Null => (Box::new(None::<&str>), Type::UNKNOWN),
        Value::Int(number) => (Box::new(number), Type::INT8),
        Value::Real(number) => (Box::new(number.to_string()), Type::TEXT),
        Value::Text(text) => (Box::new(kept(text)), Type::TEXT),
        Value::Bytes(bytes) => (Box::new(bytes), Type::BYTEA),
    }
}

/// Followed by `0`, it stands for U+0000, which PostgreSQL cannot store; followed by `1`, for itself.
const MARK: &str = "\u{10FFFD}";

pub(super) fn kept(text: &str) -> Cow<'_, str> {
    if !text.contains('\0') && !text.contains(MARK) {
        return Cow::Borrowed(text);
    }
    let kept = text
        .replace(MARK, &format!("{MARK}1"))
        .replace('\0', &format!("{MARK}0"));
    Cow::Owned(kept)
}

/// A stored text without these escapes.
pub(super) fn given(kept: String) -> String {
    if !kept.contains(MARK) {
        return kept;
    }
    let mut parts = kept.split(MARK);
    let mut given = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_at_checked(1) {
            Some(("0", rest)) => given.extend(["\0", rest]),
            Some(("1", rest)) => given.extend([MARK, rest]),
            // Another program wrote it.
            _ => given.extend([MARK, part]),
        }
    }
    given
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
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !words.contains(&said) {
            words = format!("{words}: {said}");
        }
        cause = error.source();
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

/// The reason why no server was reached, with a remedy.
fn remedy(failure: &Failure, why: String) -> String {
    let Failure::Told(error) = failure else {
        return format!("{why}. Check the host and the port, and whether the server is running");
    };
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return match error.kind() {
                io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => {
                    format!("{why}. Check the host and the port, and whether the server is running")
                }
                _ if why.contains("lookup address") => {
                    format!("{why}. Check the host name")
                }
                _ => why,
            };
        }
        cause = error.source();
    }
    if why.contains("password") {
        return format!("{why}. Write it into the URI, as in postgres://user:password@host/name");
    }
    why
}
