//! What went wrong, in words that say what to do. No word of it comes from a password.

use std::{error::Error as _, io, time::Duration};

use tokio_postgres::{
    Error,
    error::{DbError, SqlState},
};

use super::{
    super::{StoreError, Trouble},
    uri::Target,
};

/// Why there was no answer, or not the one that was asked for.
#[derive(Debug)]
pub(super) enum Failure {
    Told(Error),
    /// No answer for that long.
    Silent(Duration),
}

impl Failure {
    /// Whether it is the connection, and another one may do better.
    pub(super) fn is_loss(&self) -> bool {
        match self {
            Self::Silent(_) => true,
            Self::Told(error) => match error.as_db_error() {
                Some(told) => is_loss(told.code()),
                None => true,
            },
        }
    }

    /// Whether the server gave that as the reason.
    pub(super) fn is(&self, code: &SqlState) -> bool {
        self.told().is_some_and(|told| told.code() == code)
    }

    fn told(&self) -> Option<&DbError> {
        match self {
            Self::Told(error) => error.as_db_error(),
            Self::Silent(_) => None,
        }
    }

    pub(super) fn words(&self) -> String {
        match self {
            Self::Silent(time) => format!("no answer within {} s", time.as_secs()),
            Self::Told(error) => match error.as_db_error() {
                Some(told) => told.message().to_owned(),
                None => chain(error),
            },
        }
    }
}

/// An error with its causes, each said once.
fn chain(error: &Error) -> String {
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

/// When it went wrong.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stage<'a> {
    Opening(&'a Target),
    /// Before the transaction was asked to be kept.
    Working,
    /// After that: it may have been.
    Keeping,
}

impl Stage<'_> {
    pub(super) fn trouble(self, place: &str, failure: &Failure) -> StoreError {
        let why = failure.words();
        let Some(told) = failure.told() else {
            return match self {
                Self::Opening(target) => target.unreachable(remedy(failure, why)),
                Self::Working => Trouble::Lost.with(place, why),
                Self::Keeping => Trouble::Unconfirmed.with(place, why),
            };
        };
        let code = told.code();
        let (trouble, why) = match code.code().get(..2).unwrap_or_default() {
            _ if is_loss(code) => match self {
                Self::Opening(_) => (Trouble::Busy, why),
                // Of what lies behind whoever said this, nothing is known.
                Self::Keeping if code.code().starts_with("08") => (Trouble::Unconfirmed, why),
                // The server has told that it ends the connection and not that it has kept anything.
                Self::Working | Self::Keeping => (Trouble::Lost, why),
            },
            _ if *code == SqlState::DISK_FULL => (Trouble::Full, why),
            // Others were there first: locks, deadlocks, statements and connections that took too long.
            "40" | "53" | "55" | "57" => (Trouble::Busy, why),
            _ if [SqlState::DATA_CORRUPTED, SqlState::INDEX_CORRUPTED].contains(code) => {
                (Trouble::Corrupt, why)
            }
            _ if *code == SqlState::READ_ONLY_SQL_TRANSACTION => {
                (Trouble::ReadOnly, format!("{why}. Name the primary server"))
            }
            _ if *code == SqlState::INSUFFICIENT_PRIVILEGE => (
                Trouble::ReadOnly,
                format!("{why}. Its owner grants it: GRANT oneact_writer TO the user"),
            ),
            _ => match self {
                Self::Opening(target) => return target.unreachable(denied(code, why)),
                Self::Working | Self::Keeping => (Trouble::Refused, why),
            },
        };
        trouble.with(place, why)
    }
}

/// `57P01` … `57P02`, `25P03`, `08…`: the server ends the connection.
fn is_loss(code: &SqlState) -> bool {
    [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
    ]
    .contains(code)
        || code.code().starts_with("08")
}

/// What to do when the server does not let us in.
fn denied(code: &SqlState, why: String) -> String {
    if [
        SqlState::INVALID_PASSWORD,
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
    ]
    .contains(code)
    {
        format!("{why}. Check the user and the password of its URI")
    } else if *code == SqlState::INVALID_CATALOG_NAME {
        format!("{why}. Make it with `createdb`, or name another one")
    } else {
        why
    }
}

/// What to do when no server is reached.
fn remedy(failure: &Failure, why: String) -> String {
    let Failure::Told(error) = failure else {
        return format!("{why}. Check host and port, and whether the server runs");
    };
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return match error.kind() {
                io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => {
                    format!("{why}. Check host and port, and whether the server runs")
                }
                _ if why.contains("lookup address") => {
                    format!("{why}. Check the name of the host")
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
