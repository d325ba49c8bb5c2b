//! The files of a ledger; and the errors of the file system and of SQLite as errors of the ledger.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::OpenOptionsExt as _,
};

use camino::{Utf8Path, Utf8PathBuf};
use rusqlite::{Error, ErrorCode, ffi};
use rustix::{
    fs::{Access, access, statfs},
    io::Errno,
};

use crate::{
    host::{self, RangeLock},
    ledger::store::error::{StoreError, Trouble},
};

/// The paths of a ledger's files.
#[derive(Debug, Clone)]
pub(super) struct Files {
    pub(super) database: Utf8PathBuf,
    pub(super) write_ahead: Utf8PathBuf,
}

impl Files {
    pub(super) fn of(database: &Utf8Path) -> Self {
        let database = real(database);
        Self {
            write_ahead: format!("{database}-wal").into(),
            database,
        }
    }

    /// The file whose locked bytes show which owners of claims are alive.
    pub(super) fn lock(&self) -> Utf8PathBuf {
        self.database.with_extension("lock")
    }

    /// Every file that may belong to the ledger.
    pub(super) fn all(&self) -> Vec<Utf8PathBuf> {
        let beside = ["", "-wal", "-shm", "-journal"];
        let beside = beside.map(|suffix| format!("{}{suffix}", self.database).into());
        beside.into_iter().chain([self.lock()]).collect()
    }

    /// Checks that all files are regular files. SQLite opens them by name, follows symbolic links and waits for
    /// FIFOs. `named` is the path that the operator gave.
    pub(super) fn are_plain(&self, named: &Utf8Path) -> Result<(), StoreError> {
        let files = self.all();
        for path in files.iter().map(Utf8PathBuf::as_path).chain([named]) {
            host::is_plain_or_free(path).map_err(|error| {
                let trouble = match error.kind() {
                    io::ErrorKind::PermissionDenied => Trouble::Unreadable,
                    _ => Trouble::Unreachable,
                };
                trouble.with(self.place(), format!("{path}: {error}"))
            })?;
        }
        Ok(())
    }

    pub(super) fn place(&self) -> &str {
        self.database.as_str()
    }

    /// The length of the write-ahead file in bytes; 0 if there is none.
    pub(super) fn write_ahead_length(&self) -> u64 {
        fs::metadata(&self.write_ahead).map_or(0, |found| found.len())
    }

    /// Whether a run was killed in a transaction without a write-ahead file. Then the database holds a part of it.
    pub(super) fn has_rollback_journal(&self) -> bool {
        Utf8PathBuf::from(format!("{}-journal", self.database)).exists()
    }

    /// Creates an empty private file, and its directory.
    pub(super) fn make(&self) -> Result<(), StoreError> {
        let made = || {
            let dir = dir_of(&self.database);
            if !dir.exists() {
                host::make_state_dir(dir)?;
                // The directory must survive a power failure, as its content does.
                File::open(dir_of(dir))?.sync_all()?;
            }
            File::options()
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(&self.database)
                .map(drop)
        };
        made().map_err(|error| self.refused(&error))
    }

    pub(super) fn open_lock(&self) -> Result<RangeLock, StoreError> {
        let file = self.lock_file();
        file.map(RangeLock::new)
            .map_err(|error| self.refused(&error))
    }

    pub(super) fn lock_file(&self) -> io::Result<File> {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        host::open_plain(self.lock(), options.mode(0o600))
    }

    /// Whether a write-ahead file is safe on this file system. Its readers share memory through a file, which network file
    /// systems do not support. SQLite allocates one block for each page of that file. On a full disk, a page of it finds no
    /// block if blocks are smaller than pages, or if the file system writes a block anew at each change. Then SIGBUS ends
    /// the process.
    pub(super) fn supports_write_ahead(&self) -> bool {
        /// SQLite's page of shared memory, in bytes.
        const PAGE: u64 = 4096;
        /// NFS, SMB, CIFS, SMB 2, 9P, FUSE, Btrfs, bcachefs: `linux/magic.h`.
        const APART: [u32; 8] = [
            0x6969,
            0x517b,
            0xff53_4d42,
            0xfe53_4d42,
            0x0102_1997,
            0x6573_5546,
            0x9123_683e,
            0xca45_1a4e,
        ];
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the kernel's numbers are of 32 bits, however wide the field is"
        )]
        statfs(self.database.as_std_path()).is_ok_and(|found| {
            !APART.contains(&(found.f_type as u32)) && found.f_bsize as u64 >= PAGE
        })
    }

    /// The ledger's error for an error of the file system.
    pub(super) fn refused(&self, error: &io::Error) -> StoreError {
        let trouble = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Trouble::Full,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Trouble::ReadOnly
            }
            _ => Trouble::Unreachable,
        };
        trouble.with(self.place(), error.to_string())
    }

    /// The ledger's error for an error of SQLite. SQLite does not say why it could not open a file, so this checks
    /// the file.
    pub(super) fn told(&self, error: &Error) -> StoreError {
        if is(error, ErrorCode::CannotOpen) {
            if let Err(Errno::ACCESS) = access(self.database.as_std_path(), Access::READ_OK) {
                let why = io::Error::from(Errno::ACCESS).to_string();
                return Trouble::Unreadable.with(self.place(), why);
            }
            let writable = |path: &Utf8Path| access(path.as_std_path(), Access::WRITE_OK);
            if let Err(refused) =
                writable(dir_of(&self.database)).and_then(|()| writable(&self.database))
            {
                return self.refused(&refused.into());
            }
            // There may be too many open files. SQLite needs more than one.
            let opened = [(); 3].map(|()| File::open(&self.database));
            if let Err(refused) = opened.into_iter().collect::<io::Result<Vec<_>>>() {
                return self.refused(&refused);
            }
        }
        told(self.place(), error)
    }
}

/// The path of a ledger without symbolic links. Its other files are beside the real path.
pub(in crate::ledger) fn real(path: &Utf8Path) -> Utf8PathBuf {
    // A symbolic link may lead to a file that does not exist yet.
    let led = |_| {
        path.read_link_utf8()
            .map(|target| dir_of(path).join(target))
    };
    let real = path.canonicalize_utf8().or_else(led);
    real.unwrap_or_else(|_| path.to_owned())
}

fn dir_of(path: &Utf8Path) -> &Utf8Path {
    match path.parent() {
        Some(dir) if !dir.as_str().is_empty() => dir,
        _ => Utf8Path::new("."),
    }
}

/// The ledger's error for an error of SQLite. It has SQLite's message without the statement.
pub(super) fn told(place: &str, error: &Error) -> StoreError {
    let message = match error {
        Error::SqliteFailure(failure, _) if failure.extended_code == ffi::SQLITE_READONLY_ROLLBACK => {
            "a killed run has left a journal, which only a user who can write the ledger can apply; that user's next command \
             does it"
                .to_owned()
        }
        Error::SqliteFailure(_, Some(message)) => message.clone(),
        Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    };
    trouble(error).with(place, message)
}

/// The error of a commit. SQLite syncs the files and extends the shared memory after it wrote the transaction.
pub(super) fn unconfirmed(place: &str, error: &Error) -> StoreError {
    let told = told(place, error);
    if is(error, ErrorCode::SystemIoFailure) || is(error, ErrorCode::OutOfMemory) {
        return Trouble::Unconfirmed.with(place, told.why);
    }
    told
}

fn trouble(error: &Error) -> Trouble {
    let Some(failure) = error.sqlite_error() else {
        return match error {
            // A value of the wrong type for its column.
            Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::InvalidColumnType(..)
            | Error::Utf8Error(..) => Trouble::Corrupt,
            Error::ToSqlConversionFailure(_) => Trouble::Refused,
            _ => Trouble::Unreachable,
        };
    };
    match failure.code {
        ErrorCode::DatabaseBusy
        | ErrorCode::DatabaseLocked
        | ErrorCode::FileLockingProtocolFailed => Trouble::Busy,
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => Trouble::ReadOnly,
        ErrorCode::DiskFull => Trouble::Full,
        // The shared-memory file could not be made longer.
        ErrorCode::SystemIoFailure if failure.extended_code == ffi::SQLITE_IOERR_SHMSIZE => {
            Trouble::Full
        }
        ErrorCode::DatabaseCorrupt => Trouble::Corrupt,
        ErrorCode::NotADatabase => Trouble::Foreign,
        ErrorCode::ConstraintViolation | ErrorCode::TooBig | ErrorCode::TypeMismatch => {
            Trouble::Refused
        }
        // No such table, no such column.
        ErrorCode::Unknown => Trouble::HalfMigrated,
        _ => Trouble::Unreachable,
    }
}

pub(super) fn is(error: &Error, code: ErrorCode) -> bool {
    error.sqlite_error_code() == Some(code)
}
