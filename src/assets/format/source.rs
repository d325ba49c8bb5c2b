//! A buffered reader of a file of known length.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
};

use crate::assets::print::GoOn;

#[derive(Debug)]
pub(crate) enum Flaw {
    /// The file has another format.
    Other,
    /// The file is damaged. The text says how and where.
    Broken(String),
    Read(io::Error),
}

/// A position in a file of known length.
pub(crate) struct Source<'a> {
    reader: BufReader<File>,
    at: u64,
    len: u64,
    go_on: GoOn<'a>,
}

impl<'a> Source<'a> {
    /// Begins at the start of the file. `block` is the size of the buffer in bytes.
    pub(crate) fn new(file: File, block: usize) -> io::Result<Self> {
        Ok(Self {
            len: file.metadata()?.len(),
            reader: BufReader::with_capacity(block, file),
            at: 0,
            go_on: &|| true,
        })
    }

    /// Reading fails as soon as `go_on` says no.
    pub(crate) fn ending_with(self, go_on: GoOn<'a>) -> Self {
        Self { go_on, ..self }
    }

    /// The position in bytes.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn left(&self) -> u64 {
        self.len - self.at
    }

    /// Reads the next `N` bytes. If the file ends before, the error names `what` was read.
    pub(crate) fn exact<const N: usize>(&mut self, what: &str) -> Result<[u8; N], Flaw> {
        let mut bytes = [0; N];
        self.check_go_on().map_err(Flaw::Read)?;
        if self.left() < N as u64 {
            return Err(self.ends_within(what));
        }
        self.reader
            .read_exact(&mut bytes)
            .map_err(|error| self.failed(error, what))?;
        self.at += N as u64;
        Ok(bytes)
    }

    /// The next `N` bytes, without consuming them; `None` if there are fewer.
    pub(crate) fn peek<const N: usize>(&mut self) -> Result<Option<[u8; N]>, Flaw> {
        if self.left() < N as u64 {
            return Ok(None);
        }
        let at = self.at;
        let bytes = self.exact("the next bytes")?;
        self.seek(at, "the next bytes")?;
        Ok(Some(bytes))
    }

    /// Skips `count` bytes. If the file ends before, that is an error.
    pub(crate) fn skip(&mut self, count: u64, what: &str) -> Result<(), Flaw> {
        let to = self
            .at
            .checked_add(count)
            .ok_or_else(|| self.ends_within(what))?;
        self.seek(to, what)
    }

    /// Moves to a position, which must lie within the file or at its end.
    pub(crate) fn seek(&mut self, to: u64, what: &str) -> Result<(), Flaw> {
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

    /// Passes the next `count` bytes to `take`, in blocks.
    pub(crate) fn blocks(
        &mut self,
        mut count: u64,
        what: &str,
        mut take: impl FnMut(&[u8]),
    ) -> Result<(), Flaw> {
        if count > self.left() {
            return Err(self.ends_within(what));
        }
        while count > 0 {
            self.check_go_on().map_err(Flaw::Read)?;
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

    /// Reads the next `count` bytes. The caller keeps `count` small.
    pub(crate) fn bytes(&mut self, count: u64, what: &str) -> Result<Vec<u8>, Flaw> {
        let mut bytes = Vec::new();
        self.blocks(count, what, |block| bytes.extend_from_slice(block))?;
        Ok(bytes)
    }

    /// The whole file, for a reader that needs no positions and reads little.
    pub(super) fn rewound(&mut self) -> io::Result<&mut BufReader<File>> {
        self.reader.rewind()?;
        Ok(&mut self.reader)
    }

    fn check_go_on(&self) -> io::Result<()> {
        if (self.go_on)() {
            return Ok(());
        }
        Err(io::Error::other("the run has ended"))
    }

    pub(crate) fn ends_within(&self, what: &str) -> Flaw {
        Flaw::Broken(format!("the file ends at byte {} within {what}", self.len))
    }

    fn failed(&self, error: io::Error, what: &str) -> Flaw {
        match error.kind() {
            // The file has become shorter since it was opened.
            io::ErrorKind::UnexpectedEof => self.ends_within(what),
            _ => Flaw::Read(error),
        }
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

/// The file is broken, for the given reason.
pub(crate) fn broken<T>(problem: impl Into<String>) -> Result<T, Flaw> {
    Err(Flaw::Broken(problem.into()))
}
