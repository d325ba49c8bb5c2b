//! Who lives: one locked byte of a file for every claim whose owner does.

use std::{collections::BTreeSet, fs::File, io, os::unix::fs::OpenOptionsExt as _};

use super::files::Files;
use crate::{
    host::{Locked, RangeLock, open_plain},
    ledger::{
        record::Seq,
        store::{StoreError, Trouble},
    },
};

/// The locks of one store; they end with it.
#[derive(Debug)]
pub(super) struct Holds {
    files: Files,
    /// Opened by the first who needs it.
    lock: Option<RangeLock>,
    /// Our own are not told from none by the kernel.
    ours: BTreeSet<Seq>,
}

impl Holds {
    pub(super) fn of(files: &Files) -> Self {
        Self {
            files: files.clone(),
            lock: None,
            ours: BTreeSet::new(),
        }
    }

    pub(super) fn hold(&mut self, claim: Seq) -> Result<(), StoreError> {
        let files = &self.files;
        let lock = match self.lock.take() {
            Some(lock) => lock,
            None => open_lock(files)?,
        };
        let taken = self.lock.insert(lock).take(claim);
        match taken.map_err(|error| files.refused(&error))? {
            Locked::Ours => {
                self.ours.insert(claim);
                Ok(())
            }
            Locked::Theirs => {
                Err(Trouble::Busy.with(files.place(), format!("the claim {claim} is another's")))
            }
        }
    }

    pub(super) fn release(&mut self, claim: Seq) {
        if self.ours.remove(&claim)
            && let Some(lock) = &self.lock
            && let Err(error) = lock.give_back(claim)
        {
            // It ends with the process.
            tracing::debug!(claim, %error, "a lock stays");
        }
    }

    pub(super) fn held(&mut self, claim: Seq) -> Result<bool, StoreError> {
        if self.ours.contains(&claim) {
            return Ok(true);
        }
        let files = &self.files;
        let theirs = match &self.lock {
            Some(lock) => lock.is_theirs(claim),
            // To look, nothing is made.
            None => match open_plain(files.lock(), File::options().read(true)) {
                Ok(file) => RangeLock::new(file).is_theirs(claim),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
                Err(error) => Err(error),
            },
        };
        theirs.map_err(|error| files.refused(&error))
    }
}

/// The file of the locks, made where it is not.
pub(super) fn open_lock(files: &Files) -> Result<RangeLock, StoreError> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    let file = open_plain(files.lock(), options.mode(0o600));
    file.map(RangeLock::new)
        .map_err(|error| files.refused(&error))
}
