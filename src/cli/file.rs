//! The task in a file that the command line names: a regular file, so that no pipe or device is waited for.

use std::{
    fs::File,
    io::{self, Read as _},
    os::unix::fs::OpenOptionsExt as _,
};

use camino::Utf8Path;
use rustix::fs::OFlags;

use crate::{
    envelope::MAX_BYTES,
    task::{Failure, Fault},
};

/// Reads the file, or one byte more than a task may have: the reader of JSON refuses it by its size.
pub(super) fn read(path: &Utf8Path) -> Result<Vec<u8>, Failure> {
    regular(path).map_err(|error| {
        let message = format!("cannot read the task from {path}: {error}");
        Failure::new(Fault::InvalidUsage, message)
    })
}

fn regular(path: &Utf8Path) -> io::Result<Vec<u8>> {
    let file = File::options()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)?;
    if !file.metadata()?.is_file() {
        let message = "it is no regular file; give the task on stdin";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
