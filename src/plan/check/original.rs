//! A file as it is before the plan.

use std::{thread, time::Duration};

use crate::{
    host,
    plan::{
        engine::{Seen, hash},
        files::{Attributes, Dir, Facts, FileError},
    },
};

/// Everything of it, read through one handle.
#[derive(Debug)]
pub(crate) struct Original {
    pub(crate) bytes: Vec<u8>,
    pub(crate) seen: Seen,
    pub(crate) attributes: Attributes,
}

/// Longer than the clock of any file system stands still, in nanoseconds.
const TICK: i64 = 20_000_000;

impl Original {
    /// Reads a file of at most so many bytes.
    pub(crate) fn read(dir: &Dir<'_>, name: &str, most: u64) -> Result<Self, FileError> {
        if let Some(facts) = dir.look(name)? {
            settle(&facts);
        }
        let (bytes, facts, file) = dir.read_open(name, most)?;
        let attributes = Attributes::of(dir, name, &file, &facts)?;
        Ok(Self {
            seen: Seen {
                facts,
                mount: dir.mount_of(name, &file)?,
                sha256: hash(&bytes),
            },
            bytes,
            attributes,
        })
    }
}

/// A file that was written a moment ago could be written again without its time changing: it is waited
/// for until it could not.
fn settle(facts: &Facts) {
    let age = host::file_time().saturating_sub(facts.mtime);
    if (0..TICK).contains(&age) {
        let rest = u64::try_from(TICK - age).unwrap_or_default();
        thread::sleep(Duration::from_nanos(rest));
    }
}
