//! The unfinished file beside a target: `TARGET.part` holds the bytes so far, `TARGET.part.json`
//! says what they are the beginning of. The target itself appears by one rename.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use rustix::fs::{CWD, OFlags};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::format::HEAD;
use crate::servers::{
    files::{BLOCK, rename_new},
    tool::{Run, ToolError},
};
use crate::task::hexadecimal;

/// An unfinished file, locked against other downloads of the same target.
#[derive(Debug)]
pub(super) struct Part {
    target: PathBuf,
    path: PathBuf,
    note: PathBuf,
    file: File,
    bytes: u64,
    origin: Option<Origin>,
    seen: Seen,
}

/// What the bytes are the beginning of; the content of `TARGET.part.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Origin {
    /// Without presign parts: a URL signed anew continues the same file.
    pub(super) url: String,
    pub(super) etag: Option<String>,
    pub(super) last_modified: Option<String>,
    pub(super) length: Option<u64>,
}

/// What becomes of the part of a download that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leave {
    /// The part stays if a later call can continue it.
    Resumable,
    Nothing,
}

/// A file under its final name.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    /// 64 hexadecimal digits.
    pub(super) sha256: String,
    /// The first bytes, at most [`HEAD`].
    pub(super) head: Vec<u8>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum PartError {
    #[error("cannot {operation} {}: {source}", path.display())]
    Io {
        operation: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{} exists already and is not overwritten: name another, or remove it", .0.display())]
    Taken(PathBuf),
    #[error("{} is in the way: it has no .json note beside it, so it is no unfinished download; move it away", .0.display())]
    InTheWay(PathBuf),
    #[error("{} is being written by another download of the same target: wait for it, or name another", .0.display())]
    Busy(PathBuf),
}

/// How much of the file has been hashed, and its first bytes.
#[derive(Debug, Default)]
struct Seen {
    bytes: u64,
    hash: Sha256,
    head: Vec<u8>,
}

impl Origin {
    /// What `If-Range` needs (RFC 9110, 13.1.5): a strong `ETag`, else the date. `None`: the
    /// content cannot be told from a changed one, so nothing is continued.
    pub(super) fn validator(&self) -> Option<&str> {
        let strong = self.etag.as_deref().filter(|etag| etag.starts_with('"'));
        strong.or(self.last_modified.as_deref())
    }
}

impl Part {
    /// Opens or creates the part of `target`, and keeps what an earlier download of `url` left.
    pub(super) fn open(target: &Path, url: &str) -> Result<Self, PartError> {
        if target.symlink_metadata().is_ok() {
            return Err(PartError::Taken(target.to_owned()));
        }
        let path = beside(target, ".part");
        let note = beside(target, ".part.json");
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
            .open(&path)
            .map_err(|source| PartError::Io {
                operation: "open",
                path: path.clone(),
                source,
            })?;
        lock(&file, &path)?;
        let bytes = file
            .metadata()
            .map_err(|source| PartError::Io {
                operation: "read",
                path: path.clone(),
                source,
            })?
            .len();
        let origin = match fs::read(&note) {
            // A torn note is ours all the same; the part then begins anew.
            Ok(text) => serde_json::from_slice(&text)
                .ok()
                .filter(|origin: &Origin| origin.url == url),
            Err(_) if bytes > 0 => return Err(PartError::InTheWay(path)),
            Err(_) => None,
        };
        Ok(Self {
            target: target.to_owned(),
            path,
            note,
            file,
            bytes,
            origin,
            seen: Seen::default(),
        })
    }

    /// Bytes there are.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What the bytes there are belong to, if that is known.
    pub(super) fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    /// The first bytes, at most [`HEAD`].
    pub(super) fn head(&self) -> &[u8] {
        &self.seen.head
    }

    /// Where to continue and under which validator, if that can be done.
    pub(super) fn resumable(&self) -> Option<(u64, &str)> {
        let validator = self.origin.as_ref()?.validator()?;
        (self.bytes > 0).then_some((self.bytes, validator))
    }

    /// Begins anew with the content of `origin`.
    pub(super) fn begin(&mut self, origin: Origin) -> Result<(), PartError> {
        self.file
            .set_len(0)
            .and_then(|()| self.file.seek(SeekFrom::Start(0)).map(drop))
            .map_err(|source| self.io("empty", source))?;
        self.bytes = 0;
        self.seen = Seen::default();
        let note =
            serde_json::to_vec(&origin).map_err(|error| self.io("describe", error.into()))?;
        fs::write(&self.note, note).map_err(|source| PartError::Io {
            operation: "write",
            path: self.note.clone(),
            source,
        })?;
        self.origin = Some(origin);
        Ok(())
    }

    /// Goes to the end of the bytes there are, having hashed those of earlier calls.
    pub(super) fn resume(&mut self, run: &Run<'_>) -> Result<(), ToolError> {
        self.file
            .seek(SeekFrom::Start(self.seen.bytes))
            .map_err(|source| self.io("read", source))?;
        let mut block = vec![0; BLOCK];
        while self.seen.bytes < self.bytes {
            run.check_cancelled()?;
            let n = self
                .file
                .read(&mut block)
                .map_err(|source| self.io("read", source))?;
            if n == 0 {
                return Err(self.io("read", io::ErrorKind::UnexpectedEof.into()).into());
            }
            self.seen.take(block.get(..n).unwrap_or_default());
        }
        Ok(())
    }

    /// Adds a block.
    pub(super) fn append(&mut self, block: &[u8]) -> Result<(), PartError> {
        if let Err(source) = self.file.write_all(block) {
            if matches!(
                source.kind(),
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
            ) {
                // Nothing is kept for later on a full disk.
                self.condemn();
            }
            return Err(self.io("write", source));
        }
        self.seen.take(block);
        self.bytes = self.seen.bytes;
        Ok(())
    }

    /// Makes sure that the bytes are never continued: they are not what they should be.
    pub(super) fn condemn(&mut self) {
        self.origin = None;
    }

    /// Makes the bytes durable and gives them their final name, replacing nothing.
    pub(super) fn publish(self) -> Result<Finished, PartError> {
        self.file
            .sync_all()
            .map_err(|source| self.io("sync", source))?;
        rename_new(CWD, &self.path, &self.target).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => PartError::Taken(self.target.clone()),
            _ => PartError::Io {
                operation: "create",
                path: self.target.clone(),
                source,
            },
        })?;
        // From here on the file is there; a leftover note or an unsynced folder does not undo that.
        let _ = fs::remove_file(&self.note);
        let _ = self
            .target
            .parent()
            .map(|folder| File::open(folder).and_then(|folder| folder.sync_all()));
        Ok(Finished {
            path: self.target,
            bytes: self.bytes,
            sha256: hexadecimal(&self.seen.hash.finalize()),
            head: self.seen.head,
        })
    }

    /// Ends a failed download.
    pub(super) fn abandon(self, leave: Leave) {
        if leave == Leave::Resumable && self.resumable().is_some() && self.file.sync_all().is_ok() {
            return;
        }
        // The failure that led here is the one to tell.
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(&self.note);
    }

    fn io(&self, operation: &'static str, source: io::Error) -> PartError {
        PartError::Io {
            operation,
            path: self.path.clone(),
            source,
        }
    }
}

impl Seen {
    fn take(&mut self, block: &[u8]) {
        self.bytes += block.len() as u64;
        self.hash.update(block);
        let room = HEAD.saturating_sub(self.head.len()).min(block.len());
        self.head
            .extend_from_slice(block.get(..room).unwrap_or_default());
    }
}

impl From<PartError> for ToolError {
    fn from(error: PartError) -> Self {
        match error {
            PartError::Io { .. } => Self::Failed(error.to_string()),
            PartError::Taken(_) | PartError::InTheWay(_) | PartError::Busy(_) => Self::Argument {
                argument: "output_path",
                problem: error.to_string(),
            },
        }
    }
}

fn beside(target: &Path, ending: &str) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Locks the part, and makes sure that it still is the part: another download may have finished
/// and renamed it in between.
fn lock(file: &File, path: &Path) -> Result<(), PartError> {
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(PartError::Busy(path.to_owned())),
        Err(TryLockError::Error(source)) => {
            return Err(PartError::Io {
                operation: "lock",
                path: path.to_owned(),
                source,
            });
        }
    }
    let (opened, named) = (file.metadata(), path.symlink_metadata());
    match (opened, named) {
        (Ok(opened), Ok(named))
            if opened.is_file() && (opened.dev(), opened.ino()) == (named.dev(), named.ino()) =>
        {
            Ok(())
        }
        _ => Err(PartError::Busy(path.to_owned())),
    }
}
