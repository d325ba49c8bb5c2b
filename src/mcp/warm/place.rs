//! The sockets of the holders: `STATE_DIR/warm/NAME-SLOT`, and beside each a lock that the run holds which starts one.

use std::{
    fs::{self, DirBuilder, File, TryLockError},
    io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    },
};

use camino::{Utf8Path, Utf8PathBuf};
use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, unlinkat},
    io::Errno,
    net::{
        AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
        sockopt::{Timeout, set_socket_timeout},
    },
};

use crate::host::{make_state_dir, user_id};

use super::packet::{AT_ONCE, Line};

const DIRECTORY: &str = "warm";
const LOCK: &str = ".lock";
/// How many runs may wait for an answer at the same time.
const WAITING: i32 = 64;

/// The directory of the sockets, which only its user may enter.
#[derive(Debug)]
pub(super) struct SocketDirectory {
    directory: OwnedFd,
}

impl SocketDirectory {
    /// Opens the directory. It is made if it is missing.
    pub(super) fn make(state_dir: &Utf8Path) -> io::Result<Self> {
        make_state_dir(state_dir)?;
        let path = state_dir.join(DIRECTORY);
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Self::open(state_dir),
        }
    }

    /// Opens the directory. An error if others may enter it.
    pub(super) fn open(state_dir: &Utf8Path) -> io::Result<Self> {
        let path = state_dir.join(DIRECTORY);
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = rustix::fs::open(path.as_std_path(), flags, Mode::empty())?;
        let found = rustix::fs::fstat(&directory)?;
        if found.st_uid != user_id() || found.st_mode & 0o077 != 0 {
            let problem = format!("{path} is open to other users; remove it");
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
        }
        Ok(Self { directory })
    }

    /// The names of all sockets.
    pub(super) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.path(""))? {
            let name = entry?.file_name().into_string();
            names.extend(name.ok().filter(|name| !name.ends_with(LOCK)));
        }
        names.sort_unstable();
        Ok(names)
    }

    /// A path to a name in the opened directory. It is short: the path of a socket can have at most 107 bytes.
    fn path(&self, name: &str) -> Utf8PathBuf {
        Utf8PathBuf::from(format!(
            "/proc/self/fd/{}/{name}",
            self.directory.as_raw_fd()
        ))
    }

    /// None if nobody listens there.
    pub(super) fn connect(&self, name: &str) -> io::Result<Option<Line>> {
        let found = match rustix::fs::statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => found,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if FileType::from_raw_mode(found.st_mode) != FileType::Socket {
            return Err(io::Error::other(format!("{name} is no socket")));
        }
        let address = SocketAddrUnix::new(self.path(name).as_std_path())?;
        let socket = socket()?;
        match connect(&socket, &address) {
            Ok(()) => Line::new(socket).map(Some),
            Err(Errno::CONNREFUSED | Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// A socket that listens. There must be none with this name.
    pub(super) fn listen(&self, name: &str) -> io::Result<OwnedFd> {
        let listener = socket()?;
        bind(
            &listener,
            &SocketAddrUnix::new(self.path(name).as_std_path())?,
        )?;
        listen(&listener, WAITING)?;
        Ok(listener)
    }

    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        match unlinkat(&self.directory, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The lock of this name, which one process holds while it starts a holder or removes its socket. None if another one
    /// holds it.
    pub(super) fn lock(&self, name: &str) -> io::Result<Option<File>> {
        let mut options = File::options();
        let options = options.write(true).create(true).mode(0o600);
        let options = options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
        let file = options.open(self.path(&format!("{name}{LOCK}")))?;
        if file.metadata()?.uid() != user_id() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

fn socket() -> io::Result<OwnedFd> {
    let socket = socket_with(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?;
    // Otherwise `connect` waits without end for a process that was stopped.
    set_socket_timeout(&socket, Timeout::Send, Some(AT_ONCE))?;
    Ok(socket)
}
