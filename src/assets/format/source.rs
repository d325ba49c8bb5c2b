//! The file under check: a buffered reader that knows its length and never reads past it.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
};

/// Why a check ended.
#[derive(Debug)]
pub(super) enum Flaw {
    /// Not this format at all.
    Other,
    /// This format, but damaged: what is wrong and where.
    Broken(String),
    /// The file cannot be read.
    Read(io::Error),
}

/// A position in a file of known length.
#[derive(Debug)]
pub(super) struct Source {
    reader: BufReader<File>,
    at: u64,
    len: u64,
}

const BLOCK: usize = 64 * 1024;

impl Source {
    pub(super) fn new(file: File, len: u64) -> Self {
        Self {
            reader: BufReader::with_capacity(BLOCK, file),
            at: 0,
            len,
        }
    }

    /// Bytes from the start.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Bytes to the end.
    pub(super) fn left(&self) -> u64 {
        self.len - self.at
    }

    /// The next `N` bytes; the file is broken if it ends before. `what` they are goes into the
    /// error.
    pub(super) fn exact<const N: usize>(&mut self, what: &str) -> Result<[u8; N], Flaw> {
        let mut bytes = [0; N];
        if self.left() < N as u64 {
            return Err(self.ends_within(what));
        }
        self.reader
            .read_exact(&mut bytes)
            .map_err(|error| self.failed(error, what))?;
        self.at += N as u64;
        Ok(bytes)
    }

    /// The next `N` bytes without moving on; nothing if there are fewer.
    pub(super) fn peek<const N: usize>(&mut self) -> Result<Option<[u8; N]>, Flaw> {
        if self.left() < N as u64 {
            return Ok(None);
        }
        let at = self.at;
        let bytes = self.exact("the next bytes")?;
        self.seek(at, "the next bytes")?;
        Ok(Some(bytes))
    }

    /// Passes over `count` bytes; the file is broken if it ends before.
    pub(super) fn skip(&mut self, count: u64, what: &str) -> Result<(), Flaw> {
        let to = self
            .at
            .checked_add(count)
            .ok_or_else(|| self.ends_within(what))?;
        self.seek(to, what)
    }

    /// Goes to a position that must lie within the file or at its end.
    pub(super) fn seek(&mut self, to: u64, what: &str) -> Result<(), Flaw> {
        if to > self.len {
            return Err(self.ends_within(what));
        }
        let moved = match i64::try_from(to).ok().zip(i64::try_from(self.at).ok()) {
            Some((to, at)) => self.reader.seek_relative(to - at),
            None => self.reader.seek(SeekFrom::Start(to)).map(|_| ()),
        };
        moved.map_err(Flaw::Read)?;
        self.at = to;
        Ok(())
    }

    /// Hands the next `count` bytes on in blocks.
    pub(super) fn blocks(
        &mut self,
        mut count: u64,
        what: &str,
        mut take: impl FnMut(&[u8]),
    ) -> Result<(), Flaw> {
        if count > self.left() {
            return Err(self.ends_within(what));
        }
        while count > 0 {
            let block = self.reader.fill_buf().map_err(Flaw::Read)?;
            let wanted = usize::try_from(count)
                .unwrap_or(usize::MAX)
                .min(block.len());
            if wanted == 0 {
                return Err(self.ends_within(what));
            }
            take(block.get(..wanted).unwrap_or_default());
            self.reader.consume(wanted);
            self.at += wanted as u64;
            count -= wanted as u64;
        }
        Ok(())
    }

    /// The next `count` bytes, for the caller to keep `count` small.
    pub(super) fn bytes(&mut self, count: u64, what: &str) -> Result<Vec<u8>, Flaw> {
        let mut bytes = Vec::new();
        self.blocks(count, what, |block| bytes.extend_from_slice(block))?;
        Ok(bytes)
    }

    /// The rest, for a reader that needs no positions.
    pub(super) fn rest(&mut self) -> &mut BufReader<File> {
        &mut self.reader
    }

    /// The file ends too early.
    pub(super) fn ends_within(&self, what: &str) -> Flaw {
        Flaw::Broken(format!("the file ends at byte {} within {what}", self.len))
    }

    fn failed(&self, error: io::Error, what: &str) -> Flaw {
        match error.kind() {
            // Shorter than it was when it was opened.
            io::ErrorKind::UnexpectedEof => self.ends_within(what),
            _ => Flaw::Read(error),
        }
    }
}

/// A flaw of its own words.
pub(super) fn broken<T>(problem: impl Into<String>) -> Result<T, Flaw> {
    Err(Flaw::Broken(problem.into()))
}
