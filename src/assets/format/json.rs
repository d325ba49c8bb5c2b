//! JSON (RFC 8259) and JSON Lines: parsed to the end, nothing kept.

use std::io::{self, BufRead, BufReader, Read};

use serde::de::IgnoredAny;

use super::{
    source::{Flaw, Source, broken},
    text::{Utf8, flaw},
};

/// Arrays and objects within each other; more is an attack or a mistake.
const DEPTH: u32 = 128;

/// One document, and nothing but white space around it.
pub(super) fn check(source: &mut Source) -> Result<(), Flaw> {
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
                return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
            }
        }
        Ok(length)
    }
}
