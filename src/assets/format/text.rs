//! Text (UTF-8 without NUL), JSON (RFC 8259) and JSON Lines. Documents are parsed to the end and not kept.

use std::io::{self, BufRead, BufReader, Read};

use serde::de::IgnoredAny;

use super::source::{Flaw, Source, broken};

/// Checks for UTF-8 that is not empty. A file with a NUL is not text: a crash leaves such files behind.
pub(super) fn check(source: &mut Source) -> Result<(), Flaw> {
    if source.len() == 0 {
        return broken("it is empty");
    }
    let mut text = Utf8::new(source);
    io::copy(&mut text, &mut io::sink()).map(drop).map_err(flaw)
}

/// A reader that passes on UTF-8 without NUL and fails with `InvalidData` on anything else.
#[derive(Debug)]
struct Utf8<R> {
    inner: R,
    /// The bytes before those that are pending.
    at: u64,
    /// The first bytes of a character that ends in the next block, and that block while it is checked.
    pending: Vec<u8>,
}

impl<R> Utf8<R> {
    fn new(inner: R) -> Self {
        Self {
            inner,
            at: 0,
            pending: Vec::new(),
        }
    }

    fn take(&mut self, block: &[u8]) -> io::Result<()> {
        self.pending.extend_from_slice(block);
        let at = self.at;
        if self.pending.contains(&0) {
            return Err(invalid(format!("it contains a NUL byte near byte {at}")));
        }
        let valid = match std::str::from_utf8(&self.pending) {
            Ok(whole) => whole.len(),
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(error) => {
                let at = at + error.valid_up_to() as u64;
                return Err(invalid(format!("it is not UTF-8 near byte {at}")));
            }
        };
        self.pending.drain(..valid);
        self.at += valid as u64;
        Ok(())
    }
}

impl<R: Read> Read for Utf8<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(into)?;
        if length == 0 && !self.pending.is_empty() {
            return Err(invalid("it ends within a character".to_owned()));
        }
        self.take(into.get(..length).unwrap_or_default())?;
        Ok(length)
    }
}

fn invalid(problem: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

/// The errors that the readers of this file make are flaws of the file. All others are failures to read it.
fn flaw(error: io::Error) -> Flaw {
    match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            Flaw::Broken(error.to_string())
        }
        _ => Flaw::Read(error),
    }
}

/// Checks for one document with only white space around it.
pub(super) fn check_json(source: &mut Source) -> Result<(), Flaw> {
    if source.len() == 0 {
        return broken("it is empty");
    }
    parse(BufReader::new(Utf8::new(source)))
}

/// Checks for one document in each line. Empty lines do not count, and there must be at least one document.
pub(super) fn check_lines(source: &mut Source) -> Result<(), Flaw> {
    let mut reader = BufReader::new(Utf8::new(source));
    let mut documents = 0_u64;
    for number in 1_u64.. {
        match skip_spaces(&mut reader).map_err(flaw)? {
            None => break,
            Some(b'\n') => reader.consume(1),
            Some(_) => {
                let line = Line {
                    inner: &mut reader,
                    has_ended: false,
                };
                parse(line).map_err(|error| match error {
                    Flaw::Broken(problem) => Flaw::Broken(format!("line {number}: {problem}")),
                    other => other,
                })?;
                documents += 1;
            }
        }
    }
    if documents == 0 {
        broken("it has no documents")
    } else {
        Ok(())
    }
}

fn parse(document: impl Read) -> Result<(), Flaw> {
    match serde_json::from_reader(document) {
        Ok(IgnoredAny) => Ok(()),
        Err(error) if error.is_io() => Err(flaw(error.into())),
        Err(error) => broken(error.to_string()),
    }
}

/// Skips spaces and returns the byte after them, which is not consumed; `None` at the end.
fn skip_spaces(reader: &mut impl BufRead) -> io::Result<Option<u8>> {
    loop {
        match reader.fill_buf()?.first() {
            Some(b' ' | b'\t' | b'\r') => reader.consume(1),
            other => return Ok(other.copied()),
        }
    }
}

/// A reader of one line. Its end is consumed, but not passed on.
struct Line<'a, R> {
    inner: &'a mut R,
    has_ended: bool,
}

impl<R: BufRead> Read for Line<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.has_ended {
            return Ok(0);
        }
        let block = self.inner.fill_buf()?;
        let block = block.get(..into.len()).unwrap_or(block);
        let end = block.iter().position(|byte| *byte == b'\n');
        let length = end.unwrap_or(block.len());
        self.has_ended = end.is_some() || length == 0;
        for (to, byte) in into.iter_mut().zip(block.iter().take(length)) {
            *to = *byte;
        }
        self.inner.consume(length + usize::from(end.is_some()));
        Ok(length)
    }
}
