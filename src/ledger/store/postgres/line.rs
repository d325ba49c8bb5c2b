//! A connection: opened once, asked one thing after the other; and how values are sent and received.

use std::{borrow::Cow, error::Error as StdError, future::Future, time::Duration};

use tokio::{runtime, time};
use tokio_postgres::{
    Client, Error, Row,
    config::{Config, SslMode},
    error::SqlState,
    types::{FromSql, ToSql, Type, accepts},
};

use super::{
    super::{StoreError, sql::Value},
    tls,
    trouble::{Failure, Stage},
    uri::Target,
};

/// Longer than the server may take for a statement: after that it does not answer at all.
const LONGEST: Duration = Duration::from_secs(45);

const BRIEFLY: Duration = Duration::from_secs(1);

/// What holds for every statement. A machine that vanishes is noticed by either side within a minute,
/// and whoever stops in the middle of a transaction holds the others up for 30 s at most.
const SETTINGS: &str = "SET lock_timeout = '5s'; SET statement_timeout = '30s'; \
    SET idle_in_transaction_session_timeout = '30s'; SET tcp_keepalives_idle = 15; \
    SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 4; SET tcp_user_timeout = 35000";

/// An open connection. Dropping it closes it, and every lock that it holds is free.
pub(super) struct Line {
    client: Client,
    runtime: runtime::Runtime,
}

impl Line {
    /// Connects, within the target's time, and asks the first question along with the settings: in one
    /// round trip.
    pub(super) fn open(
        target: &Target,
        ask: &str,
    ) -> Result<(Self, Result<Vec<Row>, Failure>), StoreError> {
        let trouble = |failure: &Failure| Stage::Opening(target).trouble(&target.place, failure);
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| target.unreachable(format!("the event loop: {error}")))?;
        let tls = tls::connector(&target.trust).map_err(|why| target.unreachable(why))?;
        let connected = runtime.block_on(async {
            let connect = async {
                match connect(&target.config, tls.clone()).await {
                    Err(error) if worth_trying_plain(target, &error) => {
                        connect(target.config.clone().ssl_mode(SslMode::Disable), tls).await
                    }
                    other => other,
                }
            };
            time::timeout(target.patience(), connect).await
        });
        let opened = match connected {
            Ok(Ok(client)) => Ok(Self { client, runtime }),
            Ok(Err(error)) => {
                // A look-up of a name that nobody waits for any longer cannot be ended.
                runtime.shutdown_background();
                Err(Failure::Told(error))
            }
            Err(_) => {
                runtime.shutdown_background();
                Err(Failure::Silent(target.patience()))
            }
        };
        let line = opened.map_err(|failure| trouble(&failure))?;
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

    /// Runs statements that answer nothing, in one round trip.
    pub(super) fn batch(&self, statements: &str) -> Result<(), Failure> {
        self.wait(self.client.batch_execute(statements))
    }

    /// A last statement, whose answer is waited for only briefly.
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

async fn connect(
    config: &Config,
    tls: tokio_postgres_rustls::MakeRustlsConnect,
) -> Result<Client, Error> {
    let (client, connection) = config.connect(tls).await?;
    // It ends when the client does.
    tokio::spawn(connection);
    Ok(client)
}

/// `prefer` takes TLS where it can be had and what there is otherwise.
fn worth_trying_plain(target: &Target, error: &Error) -> bool {
    target.config.get_ssl_mode() == SslMode::Prefer
        && match error.as_db_error() {
            Some(told) => *told.code() == SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
            None => error.to_string().contains("TLS"),
        }
}

/// The values of a row.
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

/// A value as it is sent. What is null has the type of its place.
fn parameter(value: &Value) -> (Box<dyn ToSql + Sync + '_>, Type) {
    match value {
        Value::Null => (Box::new(None::<&str>), Type::UNKNOWN),
        Value::Int(number) => (Box::new(number), Type::INT8),
        Value::Real(number) => (Box::new(number.to_string()), Type::TEXT),
        Value::Text(text) => (Box::new(kept(text)), Type::TEXT),
        Value::Bytes(bytes) => (Box::new(bytes), Type::BYTEA),
    }
}

/// Stands before `0` for U+0000, which PostgreSQL keeps in no text, and before `1` for itself.
const MARK: &str = "\u{10FFFD}";

/// A text as it is kept.
pub(super) fn kept(text: &str) -> Cow<'_, str> {
    if !text.contains('\0') && !text.contains(MARK) {
        return Cow::Borrowed(text);
    }
    let kept = text
        .replace(MARK, &format!("{MARK}1"))
        .replace('\0', &format!("{MARK}0"));
    Cow::Owned(kept)
}

/// A text as it was given.
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
            // Not of our making.
            _ => given.extend([MARK, part]),
        }
    }
    given
}
