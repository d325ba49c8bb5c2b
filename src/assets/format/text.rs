//! Text: UTF-8 without NUL. JSON (RFC 8259) and JSON Lines: parsed to the end, nothing kept.

use std::io::{self, BufRead, BufReader, Read};

use serde::de::IgnoredAny;

use super::source::{Flaw, Source, broken};

/// Arrays and objects within each other; more is an attack or a mistake.
const DEPTH: u32 = 128;

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
struct Utf8<R> {
    inner: R,
    /// Bytes passed on.
    at: u64,
    /// The start of a character that went past the end of a block.
    pending: Vec<u8>,
}

impl<R> Utf8<R> {
    fn new(inner: R) -> Self {
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
        let wrong = |at: u64| invalid(format!("it is not UTF-8 near byte {at}"));
        if block.contains(&0) {
            return Err(invalid(format!("it has a NUL near byte {start}")));
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
            return Err(invalid("it ends within a character".to_owned()));
        }
        self.take(into.get(..length).unwrap_or_default())?;
        Ok(length)
    }
}

/// The error of a reader here.
fn invalid(problem: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

/// Tells the errors that the readers here make, which are flaws of the file, from failures to read it.
fn flaw(error: io::Error) -> Flaw {
    match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            Flaw::Broken(error.to_string())
        }
        _ => Flaw::Read(error),
    }
}

/// One document, and nothing but white space around it.
pub(super) fn check_json(source: &mut Source) -> Result<(), Flaw> {
    if source.len() == 0 {
        return broken("it is empty");
    }
    parse(BufReader::new(Utf8::new(source.rest())))
}

/// One document per line; empty lines do not count, but there must be one that is not.
pub(super) fn check_lines(source: &mut Source) -> Result<(), Flaw> {
    let mut reader = BufReader::new(Utf8::new(source.rest()));
    let mut documents = 0_u64;
    for number in 1_u64.. {
        match skip_spaces(&mut reader).map_err(flaw)? {
            None => break,
            Some(b'\n') => reader.consume(1),
            Some(_) => {
                let mut line = Line {
                    inner: &mut reader,
                    ended: false,
                };
                parse(&mut line).map_err(|error| match error {
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

fn parse(reader: impl Read) -> Result<(), Flaw> {
    match serde_json::from_reader(Shallow::new(reader)) {
        Ok(IgnoredAny) => Ok(()),
        Err(error) if error.is_io() => Err(flaw(error.into())),
        Err(error) => broken(error.to_string()),
    }
}

/// The next byte that is no space, not taken; nothing at the end.
fn skip_spaces(reader: &mut impl BufRead) -> io::Result<Option<u8>> {
    loop {
        match reader.fill_buf()?.first() {
            Some(b' ' | b'\t' | b'\r') => reader.consume(1),
            other => return Ok(other.copied()),
        }
    }
}

/// A reader that ends with the line, after taking the line feed.
struct Line<'a, R> {
    inner: &'a mut R,
    ended: bool,
}

impl<R: BufRead> Read for Line<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.ended {
            return Ok(0);
        }
        let block = self.inner.fill_buf()?;
        let block = block.get(..into.len()).unwrap_or(block);
        let length = block.iter().position(|byte| *byte == b'\n');
        self.ended = length.is_some() || block.is_empty();
        let part = block
            .get(..length.unwrap_or(block.len()))
            .unwrap_or_default();
        let taken = part.len();
        for (to, from) in into.iter_mut().zip(part) {
            *to = *from;
        }
        self.inner.consume(taken + usize::from(length.is_some()));
        Ok(taken)
    }
}

/// A reader that fails once brackets nest too deep: skipping a value is no recursion in
/// `serde_json`, so its own bound does not hold.
struct Shallow<R> {
    inner: R,
    depth: u32,
    place: Place,
}

#[derive(Clone, Copy)]
enum Place {
    Between,
    InString,
    AfterBackslash,
}

impl<R> Shallow<R> {
    fn new(inner: R) -> Self {
        Self {
            inner,
            depth: 0,
            place: Place::Between,
        }
    }

    fn step(&mut self, byte: u8) {
        self.place = match (self.place, byte) {
            (Place::Between, b'"') | (Place::AfterBackslash, _) => Place::InString,
            (Place::InString, b'\\') => Place::AfterBackslash,
            (Place::InString, b'"') => Place::Between,
            (place, _) => place,
        };
        match (self.place, byte) {
            (Place::Between, b'[' | b'{') => self.depth += 1,
            (Place::Between, b']' | b'}') => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

impl<R: Read> Read for Shallow<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(into)?;
        for byte in into.iter().take(length) {
            self.step(*byte);
            if self.depth > DEPTH {
                let problem = format!("it nests deeper than {DEPTH} levels");
                return Err(invalid(problem));
            }
        }
        Ok(length)
    }
}
