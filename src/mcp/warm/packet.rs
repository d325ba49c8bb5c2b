//! Packets between a run and the holder of a warm server: one JSON document each, and open files with it.

use std::{
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::Duration,
};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
    sockopt::{Timeout, set_socket_timeout, socket_peercred},
};
use serde::{Serialize, de::DeserializeOwned};

use crate::host::user_id;

/// The largest packet. The kernel takes no larger ones by default (`net.core.wmem_default`).
const MOST: usize = 200 << 10;
/// stdin, stdout and stderr of a server, and a handle of its process.
const FILES: usize = 4;

/// How long the other side may take for an answer that it gives at once.
pub(super) const AT_ONCE: Duration = Duration::from_secs(1);

/// How often a longer wait looks whether it has to stop.
const SLICE: Duration = Duration::from_millis(50);

/// One side of a connection to a process of the same user.
#[derive(Debug)]
pub(super) struct Line(OwnedFd);

impl AsFd for Line {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Line {
    /// Fails if the process on the other side has another user.
    pub(super) fn new(socket: OwnedFd) -> io::Result<Self> {
        let other = socket_peercred(&socket)?;
        if other.uid.as_raw() != user_id() {
            let problem = format!("the other side belongs to user {}", other.uid.as_raw());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
        }
        set_socket_timeout(&socket, Timeout::Send, Some(AT_ONCE))?;
        let line = Self(socket);
        line.waits(AT_ONCE)?;
        Ok(line)
    }

    /// Sets how long [`Line::receive`] waits.
    pub(super) fn waits(&self, longest: Duration) -> io::Result<()> {
        Ok(set_socket_timeout(&self.0, Timeout::Recv, Some(longest))?)
    }

    /// Like [`Line::receive`], but waits for at most `longest`, and not after `stop` is true.
    pub(super) fn receive_unless<T: DeserializeOwned>(
        &self,
        longest: Duration,
        stop: &dyn Fn() -> bool,
    ) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
        let mut left = longest;
        while !stop() && !left.is_zero() {
            let slice = left.min(SLICE);
            self.waits(slice)?;
            match self.receive() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => left -= slice,
                received => return received,
            }
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    pub(super) fn send(
        &self,
        message: &impl Serialize,
        files: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let text = serde_json::to_vec(message)?;
        if text.len() > MOST {
            let problem = format!("the argv and the environment have {} bytes", text.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(files));
        }
        sendmsg(
            &self.0,
            &[IoSlice::new(&text)],
            &mut control,
            SendFlags::NOSIGNAL,
        )?;
        Ok(())
    }

    /// The next packet. None if the other side is gone.
    pub(super) fn receive<T: DeserializeOwned>(&self) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
        let mut text = vec![0; MOST];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let got = recvmsg(
            &self.0,
            &mut [IoSliceMut::new(&mut text)],
            &mut control,
            RecvFlags::CMSG_CLOEXEC,
        );
        let bytes = match got {
            Ok(got) => got.bytes,
            Err(rustix::io::Errno::CONNRESET) => 0,
            Err(error) => return Err(error.into()),
        };
        let mut files = Vec::new();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                files.extend(rights);
            }
        }
        text.truncate(bytes);
        if text.is_empty() {
            return Ok(None);
        }
        Ok(Some((serde_json::from_slice(&text)?, files)))
    }
}
