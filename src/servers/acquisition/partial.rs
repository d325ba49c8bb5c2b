//! The unfinished file beside a target: `TARGET.part` holds the bytes so far, `TARGET.part.json`
//! says what they are the beginning of. The target itself appears by one rename. Both may come with a checkout: a note
//! counts only for the file whose inode and birth time it names, which a copy cannot have.

use std::{
    fs::{self, File, OpenOptions, Permissions, TryLockError},
    io::{self, Seek, SeekFrom, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    thread,
    time::{Duration, SystemTime},
};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::content::HEAD;
use crate::{
    host::{read_plain, user_id},
    servers::{
        files::{BLOCK, parent, read_block, rename_new},
        tool::{Run, ToolError},
    },
    task::hexadecimal,
};

/// Bytes of a note that are read, at most: it holds one URL.
const LONGEST_NOTE: u64 = 1 << 20;

/// The longest wait for the lock of a part is 500 ms.
const LOCK_ROUNDS: u32 = 50;
const LOCK_ROUND: Duration = Duration::from_millis(10);

/// An unfinished file, locked against other downloads of the same target.
#[derive(Debug)]
pub(super) struct Part {
    target: PathBuf,
    path: PathBuf,
    note: PathBuf,
    file: File,
    bytes: u64,
    url: Option<String>,
    origin: Option<Origin>,
    seen: Seen,
}

/// The content of `TARGET.part.json`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Note {
    #[serde(deserialize_with = "Option::deserialize")] // null, but not missing
    part: Option<Birth>,
    /// Without presign parts: a URL signed anew continues the same file. None if no later download continues it.
    #[serde(deserialize_with = "Option::deserialize")]
    url: Option<String>,
    origin: Origin,
}

/// The inode and the birth time of a part.
type Birth = (u64, SystemTime);

/// What the bytes are the beginning of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Origin {
    /// The identity of the URL after all redirects. None if that contains a credential: then no later call continues.
    /// Notes of earlier versions lack it.
    #[serde(default)]
    pub(super) url: Option<String>,
    #[serde(deserialize_with = "Option::deserialize")]
    pub(super) etag: Option<String>,
    /// Only if it is a strong validator.
    #[serde(deserialize_with = "Option::deserialize")]
    pub(super) last_modified: Option<String>,
    #[serde(deserialize_with = "Option::deserialize")]
    pub(super) length: Option<u64>,
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

/// How much of the file has been hashed, and its first bytes.
#[derive(Debug, Default)]
struct Seen {
    bytes: u64,
    hash: Sha256,
    head: Vec<u8>,
}

impl Note {
    /// None if there is none.
    fn read(note: &Path) -> Result<Option<Self>, ToolError> {
        let text = match read_plain(note, LONGEST_NOTE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text,
        };
        let read = text.and_then(|text| Ok(serde_json::from_slice(&text)?));
        let problem = "is in the way: it is no note of an unfinished download; move it away";
        read.map(Some).map_err(|_| refused(note, problem))
    }
}

impl Origin {
    /// What `If-Range` needs (RFC 9110, 13.1.5): a strong `ETag`, else the date. None if the content cannot be told from
    /// a changed one, so nothing is continued.
    pub(super) fn validator(&self) -> Option<&str> {
        let strong = self.etag.as_deref().filter(|etag| etag.starts_with('"'));
        strong.or(self.last_modified.as_deref())
    }
}

impl Part {
    /// Opens or creates the part of `target`, and keeps what an earlier download of `url` left. Without a URL, nothing is
    /// kept.
    pub(super) fn open(target: &Path, url: Option<&str>) -> Result<Self, ToolError> {
        if target.symlink_metadata().is_ok() {
            return Err(taken(target));
        }
        let path = beside(target, ".part");
        let note = beside(target, ".part.json");
        // Before a part is made: a note of somebody else stays alone.
        Note::read(&note)?;
        let file = open(&path)?;
        lock(&file, &path)?;
        let bytes = file.metadata().map_err(ToolError::io("read", &path))?.len();
        let found = Note::read(&note)?;
        if found.is_none() && bytes > 0 {
            return Err(refused(
                &path,
                "is in the way: it has no .json note beside it, so it is no unfinished download; move it away",
            ));
        }
        let own = birth(&file);
        let found = found.filter(|found| own.is_some() && found.part == own);
        let found = found.filter(|found| url.is_some() && found.url.as_deref() == url);
        let origin = found.map(|found| found.origin);
        let origin = origin.filter(|origin| origin.url.is_some());
        Ok(Self {
            target: target.to_owned(),
            path,
            note,
            file,
            bytes,
            url: url.map(ToOwned::to_owned),
            origin,
            seen: Seen::default(),
        })
    }

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
    pub(super) fn begin(&mut self, origin: Origin) -> Result<(), ToolError> {
        self.file
            .set_len(0)
            .and_then(|()| self.file.rewind())
            .map_err(ToolError::io("empty", &self.path))?;
        self.bytes = 0;
        self.seen = Seen::default();
        let part = birth(&self.file);
        let url = self.url.clone();
        let note = Note { part, url, origin };
        serde_json::to_vec(&note)
            .map_err(io::Error::from)
            .and_then(|note| write_note(&self.note, &note))
            .map_err(ToolError::io("write", &self.note))?;
        self.origin = Some(note.origin);
        Ok(())
    }

    /// Goes to the end of the bytes there are, having hashed those of earlier calls.
    pub(super) fn resume(&mut self, run: &Run<'_>) -> Result<(), ToolError> {
        let failed = |error| ToolError::io("read", &self.path)(error);
        self.file
            .seek(SeekFrom::Start(self.seen.bytes))
            .map_err(failed)?;
        let mut block = vec![0; BLOCK];
        while self.seen.bytes < self.bytes {
            run.check_cancelled()?;
            match read_block(&mut self.file, &mut block).map_err(failed)? {
                0 => return Err(failed(io::ErrorKind::UnexpectedEof.into())),
                n => self.seen.take(block.get(..n).unwrap_or_default()),
            }
        }
        Ok(())
    }

    pub(super) fn append(&mut self, block: &[u8]) -> Result<(), ToolError> {
        if let Err(error) = self.file.write_all(block) {
            if matches!(
                error.kind(),
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
            ) {
                // Nothing is kept for later on a full disk.
                self.condemn();
            }
            return Err(ToolError::io("write", &self.path)(error));
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
    pub(super) fn publish(self) -> Result<Finished, ToolError> {
        self.file
            .sync_all()
            .map_err(ToolError::io("sync", &self.path))?;
        rename_new(&self.path, &self.target).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => taken(&self.target),
            _ => ToolError::io("create", &self.target)(error),
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

    /// Ends a failed download. The part stays if a later call can continue it.
    pub(super) fn abandon(self) {
        let is_known = self.url.is_some() && birth(&self.file).is_some();
        if is_known && self.resumable().is_some() && self.file.sync_all().is_ok() {
            return;
        }
        // The failure that led here is the one to tell.
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(&self.note);
    }
}

impl Seen {
    fn take(&mut self, block: &[u8]) {
        self.bytes += block.len() as u64;
        self.hash.update(block);
        let room = HEAD.saturating_sub(self.head.len());
        self.head.extend(block.iter().take(room));
    }
}

/// Why a target, or the part beside it, cannot be used.
fn refused(path: &Path, problem: &str) -> ToolError {
    ToolError::argument("output_path", format!("{} {problem}", path.display()))
}

fn taken(target: &Path) -> ToolError {
    refused(
        target,
        "exists already and is not overwritten: name another, or remove it",
    )
}

fn busy(part: &Path) -> ToolError {
    refused(
        part,
        "is being written by another download of the same target: wait for it, or name another",
    )
}

/// A new file takes the place of what has this name, so that nothing is written through a link.
fn write_note(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::with_prefix_in(".oneact-", parent(path))?;
    file.write_all(text)?;
    // An incomplete note would be in the way of the next download.
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

fn beside(target: &Path, ending: &str) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Creates the part, or opens that of an earlier download of this user. Another owner of the part would own the target.
fn open(path: &Path) -> Result<File, ToolError> {
    let mut how = OpenOptions::new();
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    how.read(true).write(true);
    how.custom_flags(flags.bits().cast_signed());
    let failed = |error| ToolError::io("open", path)(error);
    match how.clone().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made.map_err(failed),
    }
    let file = how.open(path).map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    if about.uid() == user_id() {
        // A part that came with a checkout must not make the download executable.
        if about.mode() & 0o7111 != 0 {
            file.set_permissions(Permissions::from_mode(about.mode() & 0o666))
                .map_err(failed)?;
        }
        return Ok(file);
    }
    Err(refused(
        path,
        "is in the way: it belongs to another user; move it away",
    ))
}

/// None where the file system keeps no birth times.
fn birth(file: &File) -> Option<Birth> {
    let about = file.metadata().ok()?;
    Some((about.ino(), about.created().ok()?))
}

/// Locks the part, and makes sure that it still is the part: another download may have finished
/// and renamed it in between.
///
/// A process that is being started inherits the open files of its parent until it calls `exec`, and with them the lock
/// of a download that has just ended. It is gone within milliseconds.
fn lock(file: &File, path: &Path) -> Result<(), ToolError> {
    for round in 0.. {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if round < LOCK_ROUNDS => thread::sleep(LOCK_ROUND),
            Err(TryLockError::WouldBlock) => return Err(busy(path)),
            Err(TryLockError::Error(error)) => return Err(ToolError::io("lock", path)(error)),
        }
    }
    match (file.metadata(), path.symlink_metadata()) {
        (Ok(opened), Ok(_)) if opened.nlink() > 1 => Err(refused(
            path,
            "is in the way: it has a second name, so it may be another file; move it away",
        )),
        (Ok(opened), Ok(named))
            if opened.is_file() && (opened.dev(), opened.ino()) == (named.dev(), named.ino()) =>
        {
            Ok(())
        }
        _ => Err(busy(path)),
    }
}
