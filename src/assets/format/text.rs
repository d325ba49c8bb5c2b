//! Text: UTF-8 without NUL.

use std::io::{self, BufRead, Read};

use super::source::{Flaw, Source, broken};

/// Some text, all of it UTF-8. A NUL is what a crash leaves behind, not text.
pub(super) fn check(source: &mut Source) -> Result<(), Flaw> {
    if source.len() == 0 {
        return broken("it is empty");
    }
    let mut text = Utf8::new(source.rest());
    match io::copy(&mut text, &mut io::sink()) {
        Ok(_) => Ok(()),
        Err(error) => Err(flaw(error)),
    }
}

/// A reader that passes on UTF-8 without NUL and fails with `InvalidData` on anything else.
#[derive(Debug)]
pub(super) struct Utf8<R> {
    inner: R,
    /// Bytes passed on.
    at: u64,
    /// The start of a character that went past the end of a block.
    pending: Vec<u8>,
}

impl<R> Utf8<R> {
    pub(super) fn new(inner: R) -> Self {
        Self {
            inner,
            at: 0,
            pending: Vec::with_capacity(4),
        }
    }

    /// Takes note of a block; a character may end in the next.
    fn take(&mut self, mut block: &[u8]) -> Result<(), io::Error> {
        let start = self.at;
        self.at += block.len() as u64;
        let wrong = |at: u64| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!("it is not UTF-8 near byte {at}"),
            )
        };
        if block.contains(&0) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("it has a NUL near byte {start}"),
            ));
        }
        while !self.pending.is_empty() {
            let Some((first, rest)) = block.split_first() else {
                return Ok(());
            };
            self.pending.push(*first);
            block = rest;
            match std::str::from_utf8(&self.pending) {
                Ok(_) => self.pending.clear(),
                Err(error) if error.error_len().is_some() => return Err(wrong(start)),
                Err(_) => {}
            }
        }
        if let Err(error) = std::str::from_utf8(block) {
            let valid = error.valid_up_to();
            if error.error_len().is_some() {
                return Err(wrong(self.at - (block.len() - valid) as u64));
            }
            self.pending
                .extend_from_slice(block.get(valid..).unwrap_or_default());
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Utf8<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(into)?;
        if length == 0 && !self.pending.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "it ends within a character",
            ));
        }
        self.take(into.get(..length).unwrap_or_default())?;
        Ok(length)
    }
}

/// What a reader of ours said is a flaw of the file; anything else is a failure to read it.
pub(super) fn flaw(error: io::Error) -> Flaw {
    match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            Flaw::Broken(error.to_string())
        }
        _ => Flaw::Read(error),
    }
}
