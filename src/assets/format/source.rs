//! A buffered reader of a file of known length.

use std::{
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom},
};

use crate::assets::print::GoOn;

#[derive(Debug)]
pub(super) enum Flaw {
    /// The file has another format.
    Other,
    /// The file is damaged. The text says how and where.
    Broken(String),
    Read(io::Error),
}

/// A position in a file of known length. Reading fails as soon as `go_on` says no.
pub(super) struct Source<'a> {
    reader: BufReader<File>,
    at: u64,
    len: u64,
    go_on: GoOn<'a>,
}

impl<'a> Source<'a> {
    /// Begins at the start of the file. `block` is the size of the buffer in bytes.
    pub(super) fn new(file: File, block: usize, go_on: GoOn<'a>) -> io::Result<Self> {
        Ok(Self {
            len: file.metadata()?.len(),
            reader: BufReader::with_capacity(block, file),
            at: 0,
            go_on,
        })
    }

    /// The position in bytes.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn left(&self) -> u64 {
        self.len - self.at
    }

    /// Reads the next `N` bytes. If the file ends before, the error names `what` was read.
    pub(super) fn exact<const N: usize>(&mut self, what: &str) -> Result<[u8; N], Flaw> {
        let mut bytes = [0; N];
        if self.left() < N as u64 {
            return Err(self.ends_within(what));
        }
        self.read_exact(&mut bytes).map_err(Flaw::Read)?;
        Ok(bytes)
    }

    /// The next `N` bytes, without consuming them; `None` if there are fewer.
    pub(super) fn peek<const N: usize>(&mut self) -> Result<Option<[u8; N]>, Flaw> {
        if self.left() < N as u64 {
            return Ok(None);
        }
        let at = self.at;
        let bytes = self.exact("the next bytes")?;
        self.move_to(at, "the next bytes")?;
        Ok(Some(bytes))
    }

    /// Skips `count` bytes. If the file ends before, that is an error.
    pub(super) fn skip(&mut self, count: u64, what: &str) -> Result<(), Flaw> {
        self.move_to(self.at.saturating_add(count), what)
    }

    /// Moves to a position, which must lie within the file or at its end.
    pub(super) fn move_to(&mut self, to: u64, what: &str) -> Result<(), Flaw> {
        if to > self.len {
            return Err(self.ends_within(what));
        }
        // Both are lengths of files, which the system keeps as signed numbers.
        let by = to.cast_signed() - self.at.cast_signed();
        self.reader.seek_relative(by).map_err(Flaw::Read)?;
        self.at = to;
        Ok(())
    }

    /// The last bytes of the file, at most `most`. The position is then the end.
    pub(super) fn tail(&mut self, most: u64) -> Result<Vec<u8>, Flaw> {
        let mut tail = Vec::new();
        self.move_to(self.len.saturating_sub(most), "the end")?;
        self.read_to_end(&mut tail).map_err(Flaw::Read)?;
        Ok(tail)
    }

    /// The file itself, for a reader that follows no position of this one. It begins at the start.
    pub(super) fn file(&mut self) -> io::Result<File> {
        self.seek(SeekFrom::Start(0))?;
        self.reader.get_ref().try_clone()
    }

    /// Fails if the run has ended.
    pub(super) fn check_go_on(&self) -> io::Result<()> {
        if (self.go_on)() {
            return Ok(());
        }
        Err(io::Error::other("the run has ended"))
    }

    pub(super) fn ends_within(&self, what: &str) -> Flaw {
        Flaw::Broken(format!("the file ends at byte {} within {what}", self.len))
    }
}

impl Read for Source<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.check_go_on()?;
        let read = self.reader.read(into)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for Source<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = self.reader.seek(to)?;
        Ok(self.at)
    }
}

/// The file is broken, for the given reason.
pub(super) fn broken<T>(problem: impl Into<String>) -> Result<T, Flaw> {
    Err(Flaw::Broken(problem.into()))
}
