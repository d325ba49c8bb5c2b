//! A server's stdout, line by line.

use std::io::{self, BufRead, Read};

use rustix::io::ioctl_fionread;
use tokio::{io::AsyncReadExt, net::unix::pipe::Receiver};

/// How much is read from a pipe at once. A full block of few bytes shows that the larger one is needed.
const PIPE_BYTES: usize = 64 * 1024;
const FEW_BYTES: usize = 4 * 1024;

#[derive(Debug, Default)]
pub(super) struct Lines {
    /// None at its end.
    pub(super) pipe: Option<Receiver>,
    block: Vec<u8>,
    /// How many bytes of the block were already put into lines.
    taken: usize,
    /// How many bytes were read from the pipe.
    total: u64,
    /// The beginning of the next line. It is kept here because a wait for the rest may be cancelled.
    line: Vec<u8>,
}

impl Lines {
    pub(super) fn new(pipe: Receiver) -> Self {
        Self {
            pipe: Some(pipe),
            block: Vec::with_capacity(FEW_BYTES),
            ..Self::default()
        }
    }

    /// How many bytes the server has written until now.
    pub(super) fn written_so_far(&self) -> u64 {
        let waiting = self.pipe.as_ref().map(ioctl_fionread);
        self.total + waiting.and_then(Result::ok).unwrap_or_default()
    }

    /// Whether a line that ends within the first `written` bytes may still have to be read.
    pub(super) fn is_before(&self, written: u64) -> bool {
        let rest = self.block.get(self.taken..).unwrap_or_default();
        self.total < written || rest.contains(&b'\n')
    }

    /// The next line with its newline, or its first `most` bytes. The last line may have no newline. At the end of the
    /// pipe, the result is empty.
    pub(super) async fn next(&mut self, most: usize) -> io::Result<Vec<u8>> {
        loop {
            if self.taken == self.block.len() {
                if (FEW_BYTES..PIPE_BYTES).contains(&self.block.len()) {
                    self.block = Vec::with_capacity(PIPE_BYTES);
                }
                self.block.clear();
                self.taken = 0;
                let read = match &mut self.pipe {
                    Some(pipe) => pipe.read_buf(&mut self.block).await?,
                    None => 0,
                };
                self.total += read as u64;
                if read == 0 {
                    return Ok(std::mem::take(&mut self.line));
                }
            }
            let rest = self.block.get(self.taken..).unwrap_or_default();
            let room = most.saturating_sub(self.line.len());
            let room = u64::try_from(room).unwrap_or(u64::MAX);
            self.taken += Read::take(rest, room).read_until(b'\n', &mut self.line)?;
            if self.line.len() >= most || self.line.ends_with(b"\n") {
                return Ok(std::mem::take(&mut self.line));
            }
        }
    }
}
