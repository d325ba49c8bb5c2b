//! Reading that ends: with the bytes that were there when it began, with a signal, or when the run's
//! time is up.

use std::{
    fs::{File, Metadata},
    io::{self, Read, Take},
    os::unix::fs::MetadataExt,
    time::SystemTime,
};

use super::Context;

/// File systems whose files are made up while they are read (magic numbers of statfs(2)).
const MADE_UP: [i64; 4] = [
    0x9fa0,      // proc
    0x6265_6572, // sysfs
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
];

/// A file of somebody else's, as it is now.
pub(super) struct Watched<'a> {
    from: Take<File>,
    begin: Metadata,
    context: &'a Context<'a>,
}

impl<'a> Watched<'a> {
    /// Refuses files that lie on no disk: they have no size, and may have no end.
    pub(super) fn new(file: File, context: &'a Context<'a>) -> Result<Self, String> {
        let begin = file.metadata().map_err(|error| error.to_string())?;
        let system = rustix::fs::fstatfs(&file).map_err(|error| error.to_string())?;
        if MADE_UP.contains(&system.f_type) {
            return Err("it lies on no disk".to_owned());
        }
        Ok(Self {
            from: file.take(begin.len()),
            begin,
            context,
        })
    }

    fn state(found: &Metadata) -> (u64, Option<SystemTime>) {
        (found.size(), found.modified().ok())
    }
}

impl Read for Watched<'_> {
    fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
        if let Some(failure) = self.context.stopped() {
            return Err(io::Error::other(failure.message));
        }
        let read = self.from.read(block)?;
        if read == 0 {
            let end = self.from.get_ref().metadata()?;
            if Self::state(&end) != Self::state(&self.begin) {
                return Err(io::Error::other("it was changed while it was read"));
            }
        }
        Ok(read)
    }
}
