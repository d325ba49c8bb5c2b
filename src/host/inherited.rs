//! A file that the caller of this process opened for it, by the number of its descriptor.

use std::{
    fs::{self, File},
    io,
    os::{
        fd::{OwnedFd, RawFd},
        unix::fs::OpenOptionsExt as _,
    },
};

use nix::unistd::close;
use rustix::{
    fs::OFlags,
    process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open},
};

/// Takes over a descriptor that was opened for writing. From now on, no program that is started inherits it. The error says
/// why it cannot be used.
pub fn inherited(number: RawFd) -> Result<OwnedFd, String> {
    let flags = flags_of(number).filter(|flags| !flags.contains(OFlags::CLOEXEC));
    let flags = flags.ok_or_else(|| format!("the descriptor {number} is not open"))?;
    if !flags.intersects(OFlags::WRONLY | OFlags::RDWR) {
        return Err(format!("the descriptor {number} is not open for writing"));
    }
    let taken = copy(number).or_else(|_| opened_again(number));
    let taken =
        taken.map_err(|error| format!("the descriptor {number} cannot be used: {error}"))?;
    // The copy is used, so nothing depends on whether this succeeds.
    let _ = close(number);
    Ok(taken)
}

/// The flags of an open descriptor (proc(5), `fdinfo`). Descriptors of this process itself are closed in other programs, so
/// the caller cannot have opened them.
fn flags_of(number: RawFd) -> Option<OFlags> {
    let about = fs::read_to_string(format!("/proc/self/fdinfo/{number}")).ok()?;
    let flags = about.lines().find_map(|line| line.strip_prefix("flags:"))?;
    let flags = u32::from_str_radix(flags.trim(), 8).ok()?;
    Some(OFlags::from_bits_retain(flags))
}

fn copy(number: RawFd) -> io::Result<OwnedFd> {
    let own = pidfd_open(getpid(), PidfdFlags::empty())?;
    Ok(pidfd_getfd(own, number, PidfdGetfdFlags::empty())?)
}

/// Opens the same file once more, where containers forbid the copy. A socket cannot be opened.
fn opened_again(number: RawFd) -> io::Result<OwnedFd> {
    let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
    let mut options = File::options();
    let options = options.append(true).custom_flags(nonblocking);
    Ok(options.open(format!("/proc/self/fd/{number}"))?.into())
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read as _, Write as _},
        os::{fd::AsRawFd as _, fd::IntoRawFd as _, unix::net::UnixStream},
    };

    use rustix::io::{FdFlags, fcntl_setfd};

    use super::*;

    #[test]
    fn what_the_caller_opened_for_writing_is_taken_over() {
        let (mut reader, socket) = UnixStream::pair().unwrap();
        fcntl_setfd(&socket, FdFlags::empty()).unwrap();
        let mut taken = File::from(inherited(socket.into_raw_fd()).unwrap());
        taken.write_all(b"line\n").unwrap();
        drop(taken);
        let mut read = String::new();
        // It ends, because the descriptor itself was closed.
        reader.read_to_string(&mut read).unwrap();
        assert_eq!(read, "line\n");
    }

    #[test]
    fn a_pipe_can_be_opened_again() {
        let (mut reader, writer) = io::pipe().unwrap();
        let mut again = File::from(opened_again(writer.as_raw_fd()).unwrap());
        again.write_all(b"line\n").unwrap();
        drop((again, writer));
        let mut read = String::new();
        reader.read_to_string(&mut read).unwrap();
        assert_eq!(read, "line\n");
    }

    #[test]
    fn nothing_else_is_taken() {
        let own = File::create("/dev/null").unwrap();
        let why = inherited(own.as_raw_fd()).unwrap_err();
        assert!(why.ends_with("is not open"), "{why}");
        let read_only = File::open("/dev/null").unwrap();
        fcntl_setfd(&read_only, FdFlags::empty()).unwrap();
        let why = inherited(read_only.as_raw_fd()).unwrap_err();
        assert!(why.ends_with("is not open for writing"), "{why}");
        let why = inherited(1_000_000).unwrap_err();
        assert!(why.ends_with("is not open"), "{why}");
    }
}
