//! What SQLite says, in the ledger's words.

use rusqlite::{Error, ErrorCode, ffi};

use crate::ledger::store::StoreError;

/// An error of SQLite about the ledger at that place.
pub(super) fn told(place: &str, error: &Error) -> StoreError {
    let place = place.to_owned();
    let why = said(error);
    let Some(failure) = error.sqlite_error() else {
        return match error {
            // A value that a column of ours cannot hold.
            Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::InvalidColumnType(..)
            | Error::Utf8Error(..) => StoreError::Corrupt { place, why },
            Error::ToSqlConversionFailure(_) => StoreError::Refused { place, why },
            _ => StoreError::Unreachable { place, why },
        };
    };
    match failure.code {
        ErrorCode::DatabaseBusy
        | ErrorCode::DatabaseLocked
        | ErrorCode::FileLockingProtocolFailed => StoreError::Busy { place, why },
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => StoreError::ReadOnly { place, why },
        ErrorCode::DiskFull => StoreError::Full { place },
        // The file that processes share could not be made longer.
        ErrorCode::SystemIoFailure if failure.extended_code == ffi::SQLITE_IOERR_SHMSIZE => {
            StoreError::Full { place }
        }
        ErrorCode::DatabaseCorrupt => StoreError::Corrupt { place, why },
        ErrorCode::NotADatabase => StoreError::Foreign { place, why },
        ErrorCode::ConstraintViolation | ErrorCode::TooBig | ErrorCode::TypeMismatch => {
            StoreError::Refused { place, why }
        }
        // No such table, no such column.
        ErrorCode::Unknown => StoreError::HalfMigrated { place, why },
        _ => StoreError::Unreachable { place, why },
    }
}

/// Its words alone: not the statement, which nobody asked for.
fn said(error: &Error) -> String {
    match error {
        Error::SqliteFailure(_, Some(message)) => message.clone(),
        Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    }
}

/// Whether it is of that kind.
pub(super) fn is(error: &Error, code: ErrorCode) -> bool {
    error.sqlite_error_code() == Some(code)
}
