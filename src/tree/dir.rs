//! One directory: reads and changes of the files in it.

use std::{
    cell::{Cell, OnceCell},
    fs::File,
    io::{self, Write},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::fs::FileExt,
    },
    thread,
    time::Duration,
};

use rustix::{
    buffer::spare_capacity,
    fs::{
        Access, AtFlags, FallocateFlags, Mode, OFlags, RenameFlags, ResolveFlags, accessat,
        fallocate, fdatasync, fsync, mkdirat, openat, readlinkat, statx, symlinkat, unlinkat,
    },
    io::Errno,
    process::geteuid,
};

use crate::{host, task::RelPath};

use super::{FUSE, Facts, FileError, FileKind, is_of_kind, root::Root, there};

#[derive(Debug)]
pub(crate) struct Dir<'a> {
    pub(crate) root: &'a Root,
    fd: OwnedFd,
    /// `None` for the root itself.
    path: Option<RelPath>,
    /// Whether [`Dir::may_change`] has said so.
    is_changeable: Cell<bool>,
    /// What is asked once, because it cannot change.
    mount: Cell<Option<u64>>,
    is_in_user_space: OnceCell<bool>,
}

impl Root {
    /// Opens a directory below the root; no link on the way is followed.
    pub(crate) fn dir(&self, path: Option<&RelPath>) -> Result<Dir<'_>, FileError> {
        let name = path.map_or(".", RelPath::as_str);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let fd = self.open_beneath(name, flags, ResolveFlags::NO_SYMLINKS)?;
        Ok(Dir::new(self, fd, path.cloned()))
    }

    pub(crate) fn parent(&self, path: &RelPath) -> Result<Dir<'_>, FileError> {
        self.dir(path.parent().as_ref())
    }

    /// What is at a path without links; `None` where nothing is.
    pub(crate) fn look(&self, path: &RelPath) -> Result<Option<Facts>, FileError> {
        there(self.parent(path))?.map_or(Ok(None), |dir| dir.look(path.name()))
    }

    /// Makes those of these directories that do not exist, the outermost first.
    pub(crate) fn ensure_dirs(
        &self,
        dirs: impl IntoIterator<Item = RelPath>,
        mode: u32,
    ) -> Result<(), FileError> {
        let mut dirs = dirs.into_iter();
        dirs.try_for_each(|dir| self.parent(&dir)?.ensure_dir(dir.name(), mode))
    }

    pub(crate) fn read(&self, path: &RelPath, most: u64) -> Result<Vec<u8>, FileError> {
        self.parent(path)?.read(path.name(), most)
    }
}

impl<'a> Dir<'a> {
    /// A directory in it.
    pub(super) fn within(&self, name: &str) -> Result<Dir<'a>, FileError> {
        let path = self.name(name);
        let path =
            RelPath::parse(&path).map_err(|_| FileError::of("open", path)(Errno::NAMETOOLONG));
        self.root.dir(Some(&path?))
    }

    fn new(root: &'a Root, fd: OwnedFd, path: Option<RelPath>) -> Self {
        Self {
            root,
            fd,
            path,
            is_changeable: Cell::default(),
            mount: Cell::default(),
            is_in_user_space: OnceCell::new(),
        }
    }

    /// The path of something in it, for messages.
    pub(crate) fn name(&self, name: &str) -> String {
        match &self.path {
            Some(dir) => format!("{dir}/{name}"),
            None => name.to_owned(),
        }
    }

    /// Makes a call that changes something or waits for the disk.
    pub(super) fn change<T, E: Into<io::Error>>(
        &self,
        operation: &'static str,
        name: &str,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, FileError> {
        make().map_err(|error| self.failed(operation, name, error))
    }

    /// The error of a call. File systems in user space may answer some other error when their disk is full.
    pub(crate) fn failed(
        &self,
        operation: &'static str,
        name: &str,
        error: impl Into<io::Error>,
    ) -> FileError {
        let error = FileError::of(operation, self.name(name))(error);
        let is_vague = matches!(error.errno, Errno::IO | Errno::PERM);
        let is_full = is_vague && host::is_full(&self.fd);
        FileError {
            errno: if is_full { Errno::NOSPC } else { error.errno },
            ..error
        }
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    // --- looking ---

    pub(crate) fn look(&self, name: &str) -> Result<Option<Facts>, FileError> {
        self.looked(name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// The same, although the kernel may remember something else of a file in user space (FUSE).
    pub(crate) fn look_afresh(&self, name: &str) -> Result<Option<Facts>, FileError> {
        self.looked(name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::STATX_FORCE_SYNC)
    }

    fn looked(&self, name: &str, flags: AtFlags) -> Result<Option<Facts>, FileError> {
        match statx(&self.fd, name, flags, Facts::ASKED) {
            Ok(found) => Ok(Some(Facts::of(&found))),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(FileError::of("look at", self.name(name))(errno)),
        }
    }

    pub(crate) fn facts(&self) -> Result<Facts, FileError> {
        self.facts_of(".", &self.fd)
    }

    pub(crate) fn facts_of(&self, name: &str, file: &impl AsFd) -> Result<Facts, FileError> {
        statx(file, "", AtFlags::EMPTY_PATH, Facts::ASKED)
            .map(|found| Facts::of(&found))
            .map_err(FileError::of("look at", self.name(name)))
    }

    pub(crate) fn mount(&self) -> Result<u64, FileError> {
        let known = self.mount.get();
        let mount = known.map_or_else(|| self.facts().map(|facts| facts.mount), Ok)?;
        self.mount.set(Some(mount));
        Ok(mount)
    }

    /// Opens a regular file; a link, a pipe or a device is not opened, and nothing waits.
    pub(crate) fn open(&self, name: &str) -> Result<(File, Facts), FileError> {
        self.opened("open", name, OFlags::RDONLY, 0)
    }

    fn opened(
        &self,
        operation: &'static str,
        name: &str,
        flags: OFlags,
        mode: u32,
    ) -> Result<(File, Facts), FileError> {
        let failed = || FileError::of(operation, self.name(name));
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.fd, name, flags, Mode::from_raw_mode(mode)).map_err(failed())?;
        let facts = self.facts_of(name, &file)?;
        match facts.kind {
            FileKind::File => Ok((File::from(file), facts)),
            FileKind::Dir | FileKind::Link | FileKind::Other => Err(failed()(Errno::ISDIR)),
        }
    }

    /// A whole regular file.
    pub(crate) fn read(&self, name: &str, most: u64) -> Result<Vec<u8>, FileError> {
        Ok(self.read_open(name, most)?.0)
    }

    /// The same, with the facts during the read, and the handle.
    pub(crate) fn read_open(
        &self,
        name: &str,
        most: u64,
    ) -> Result<(Vec<u8>, Facts, File), FileError> {
        self.read_when(|_| {}, name, most)
    }

    /// The same, so that the facts show every later change: a file that was just written could be written again with the same
    /// time.
    pub(crate) fn read_settled(
        &self,
        name: &str,
        most: u64,
    ) -> Result<(Vec<u8>, Facts, File), FileError> {
        self.read_when(settle, name, most)
    }

    fn read_when(
        &self,
        settled: fn(&Facts),
        name: &str,
        most: u64,
    ) -> Result<(Vec<u8>, Facts, File), FileError> {
        match self.read_once(settled, name, most) {
            // The kernel may have remembered another time of a file in user space until it was opened.
            Err(error) if error.errno == Errno::AGAIN => self.read_once(settled, name, most),
            read => read,
        }
    }

    fn read_once(
        &self,
        settled: fn(&Facts),
        name: &str,
        most: u64,
    ) -> Result<(Vec<u8>, Facts, File), FileError> {
        let (file, before) = self.open(name)?;
        if before.bytes > most {
            return Err(FileError::of("read", self.name(name))(Errno::FBIG));
        }
        settled(&before);
        // A file that grows meanwhile shows by its facts afterwards.
        let room = usize::try_from(before.bytes).unwrap_or_default();
        let mut bytes = Vec::with_capacity(room);
        while bytes.len() < room {
            match rustix::io::read(&file, spare_capacity(&mut bytes)) {
                Ok(0) => break,
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(FileError::of("read", self.name(name))(errno)),
            }
        }
        let after = self.facts_of(name, &file)?;
        if !before.same(&after) || after.bytes != bytes.len() as u64 {
            return Err(FileError::of("read", self.name(name))(Errno::AGAIN));
        }
        Ok((bytes, after, file))
    }

    pub(crate) fn read_link(&self, name: &str) -> Result<String, FileError> {
        let failed = || FileError::of("read the link", self.name(name));
        readlinkat(&self.fd, name, Vec::new())
            .map_err(failed())?
            .into_string()
            .map_err(|_| failed()(Errno::ILSEQ))
    }

    /// Whether the effective user may change files in it (R-001-71).
    pub(crate) fn may_change(&self) -> Result<(), FileError> {
        if self.is_changeable.get() {
            return Ok(());
        }
        let what = Access::WRITE_OK | Access::EXEC_OK;
        let accessed = accessat(&self.fd, ".", what, AtFlags::EACCESS);
        accessed.map_err(FileError::of("change files in", self.name(".")))?;
        self.unlocked("change files in", ".", &self.facts()?)?;
        self.is_changeable.set(true);
        Ok(())
    }

    /// Fails if the file is immutable or append-only (chattr(1)), so that a change could be impossible to undo.
    pub(crate) fn unlocked(
        &self,
        operation: &'static str,
        name: &str,
        facts: &Facts,
    ) -> Result<(), FileError> {
        if facts.is_locked {
            return Err(FileError::of(operation, self.name(name))(Errno::PERM));
        }
        Ok(())
    }

    /// Whether a file of this owner that is moved here can be moved away again. From a sticky directory, only the owner of
    /// the file or of the directory can move it, or a privileged process.
    pub(crate) fn gives_back(&self, owner: u32) -> Result<bool, FileError> {
        let dir = self.facts()?;
        let is_sticky = dir.mode & Mode::SVTX.as_raw_mode() != 0;
        Ok(!is_sticky || [dir.uid, owner].contains(&geteuid().as_raw()))
    }

    pub(crate) fn list(&self) -> Result<Vec<String>, FileError> {
        let failed = || FileError::of("list", self.name("."));
        let entries = rustix::fs::Dir::read_from(&self.fd).map_err(failed())?;
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(failed())?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    // --- changing ---

    /// Makes a file that was not there, with these permission bits under the umask.
    pub(crate) fn create(&self, name: &str, mode: u32) -> Result<(File, Facts), FileError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        self.opened("create", name, flags, mode)
    }

    pub(crate) fn write_new(
        &self,
        name: &str,
        bytes: &[u8],
        mode: u32,
    ) -> Result<(File, Facts), FileError> {
        let (mut file, facts) = self.create(name, mode)?;
        self.change("write", name, || file.write_all(bytes))?;
        self.arrived(name, &file)?;
        Ok((file, facts))
    }

    /// Waits until a file system in user space has what was written: it may tell an error only to the handle that wrote.
    pub(super) fn arrived(&self, name: &str, file: &File) -> Result<(), FileError> {
        if *self
            .is_in_user_space
            .get_or_init(|| is_of_kind(&self.fd, FUSE))
        {
            self.sync_data(name, file)?;
        }
        Ok(())
    }

    /// Makes or replaces a file of the plan. Readers see the old or the new content of one that is replaced.
    pub(crate) fn put(&self, name: &str, bytes: &[u8], mode: u32) -> Result<(), FileError> {
        match self.write_new(name, bytes, mode) {
            Err(error) if error.errno == Errno::EXIST => {}
            made => return made.map(drop),
        }
        let temporary = format!(".{name}.new");
        self.remove(&temporary)?;
        self.write_new(&temporary, bytes, mode)?;
        self.rename(&temporary, self, name, RenameFlags::empty())
    }

    /// Reserves space, so that later appends do not fail because the disk is full.
    pub(crate) fn reserve(&self, name: &str, file: &File, bytes: u64) -> Result<(), FileError> {
        self.change("reserve space for", name, || {
            match fallocate(file, FallocateFlags::empty(), 0, bytes) {
                // Not every file system supports this.
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
                reserved => reserved,
            }
        })
    }

    pub(crate) fn open_to_write(&self, name: &str) -> Result<File, FileError> {
        Ok(self.opened("open", name, OFlags::RDWR, 0)?.0)
    }

    /// Appends to a log of oneact, in one write.
    pub(crate) fn append(&self, name: &str, bytes: &[u8]) -> Result<(), FileError> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
        let (mut log, _) = self.opened("open", name, flags, 0o600)?;
        log.write_all(bytes)
            .map_err(FileError::of("append to", self.name(name)))
    }

    pub(crate) fn write_at(
        &self,
        name: &str,
        file: &File,
        bytes: &[u8],
        offset: u64,
    ) -> Result<(), FileError> {
        self.change("write", name, || file.write_all_at(bytes, offset))
    }

    /// Makes a symbolic link.
    pub(crate) fn make_link(&self, to: &str, name: &str) -> Result<(), FileError> {
        self.change("make the link", name, || symlinkat(to, &self.fd, name))
    }

    pub(crate) fn make_dir(&self, name: &str, mode: u32) -> Result<(), FileError> {
        self.change("make the directory", name, || {
            mkdirat(&self.fd, name, Mode::from_raw_mode(mode))
        })
    }

    pub(crate) fn ensure_dir(&self, name: &str, mode: u32) -> Result<(), FileError> {
        match self.make_dir(name, mode) {
            Err(error) if error.errno == Errno::EXIST => Ok(()),
            made => made,
        }
    }

    /// Removes a file of the plan. A missing file is no error.
    pub(crate) fn remove(&self, name: &str) -> Result<(), FileError> {
        self.unlink(name, AtFlags::empty())
    }

    /// Removes an empty directory of the plan. A missing directory is no error.
    pub(crate) fn remove_dir(&self, name: &str) -> Result<(), FileError> {
        self.unlink(name, AtFlags::REMOVEDIR)
    }

    fn unlink(&self, name: &str, flags: AtFlags) -> Result<(), FileError> {
        self.change("remove", name, || match unlinkat(&self.fd, name, flags) {
            Err(Errno::NOENT) => Ok(()),
            removed => removed,
        })
    }

    // --- waiting for the disk ---

    /// Waits until the names in it are on the disk.
    pub(crate) fn sync(&self) -> Result<(), FileError> {
        self.wait(".", || fsync(&self.fd))
    }

    pub(crate) fn sync_data(&self, name: &str, file: &impl AsFd) -> Result<(), FileError> {
        self.wait(name, || fdatasync(file))
    }

    fn wait(&self, name: &str, sync: impl FnOnce() -> Result<(), Errno>) -> Result<(), FileError> {
        self.change("sync", name, sync)
    }
}

/// Longer than one clock tick of any file system, in nanoseconds.
const TICK: i64 = 20_000_000;

/// Waits until the clock has ticked since the file was written.
fn settle(facts: &Facts) {
    let age = host::file_time().saturating_sub(facts.mtime);
    if (0..TICK).contains(&age) {
        let rest = u64::try_from(TICK - age).unwrap_or_default();
        thread::sleep(Duration::from_nanos(rest));
    }
}
