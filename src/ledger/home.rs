//! In which root a plan is carried out: should its run die, the journals of another root know nothing of
//! it, though the ledger is the same.

use std::{
    fs::DirBuilder,
    io::{self, Write as _},
    os::unix::fs::DirBuilderExt as _,
};

use camino::Utf8Path;
use tempfile::NamedTempFile;

use crate::host;

use super::{
    Ledger, LedgerError,
    canonical::sha256,
    record::ClaimState,
    store::{StoreError, read},
};

/// In the state directory: what tells it from all others.
pub(super) const MARK: &str = "home";

/// A mark is shorter, in bytes.
const LONGEST: u64 = 1024;

/// The name of a root: that of its state directory, and its path. None where it cannot have one.
pub(crate) fn home(state_dir: &Utf8Path, root: &Utf8Path) -> Option<String> {
    let path = root.canonicalize_utf8().ok()?;
    match mark(state_dir) {
        Ok(mark) => Some(sha256(format!("{}\n{path}", mark.trim_end()))),
        Err(error) => {
            tracing::warn!("{}: {error}", state_dir.join(MARK));
            None
        }
    }
}

/// What stands in the mark; made by whoever comes first.
fn mark(dir: &Utf8Path) -> io::Result<String> {
    let path = dir.join(MARK);
    match read_mark(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        mark => return mark,
    }
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let mut file = NamedTempFile::new_in(dir)?;
    // A name that nobody else has, a moment and a machine: no two are the same.
    let parts = format!(
        "{}\n{}\n{}",
        file.path().display(),
        host::file_time(),
        host::name()
    );
    file.write_all(sha256(parts).as_bytes())?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(&path) {
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
        Ok(_) | Err(_) => read_mark(&path),
    }
}

fn read_mark(path: &Utf8Path) -> io::Result<String> {
    let bytes = host::read_plain(path, LONGEST)?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

impl Ledger<'_> {
    /// Where an operation was at work of which nobody knows the end, if that is recorded.
    pub(crate) fn home_of(&mut self, operation_id: &str) -> Result<Option<String>, LedgerError> {
        let link = read::<_, StoreError>(&mut *self.store, |tx| {
            let claims = tx.claims()?;
            let claim = claims.into_iter().find(|claim| {
                claim.operation_id == operation_id && claim.state == ClaimState::Unknown
            });
            match claim {
                Some(claim) => tx.links(claim.seq, 1),
                None => Ok(Vec::new()),
            }
        })?;
        let body = link.into_iter().next().and_then(|link| link.body());
        Ok(body.and_then(|body| body.home))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_root_keeps_its_name_and_no_other_has_it() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = Utf8Path::from_path(one.path()).unwrap();
        let elsewhere = Utf8Path::from_path(other.path()).unwrap();
        let name = home(&root.join(".oneact"), root).unwrap();
        assert_eq!(home(&root.join(".oneact"), root).unwrap(), name);
        assert_ne!(home(&elsewhere.join(".oneact"), elsewhere).unwrap(), name);
        assert_ne!(home(&root.join(".oneact"), elsewhere).unwrap(), name);
        // The same path on another machine.
        assert_ne!(home(&elsewhere.join(".oneact"), root).unwrap(), name);
        fs::write(root.join("file"), "").unwrap();
        assert_eq!(home(&root.join("file"), root), None);
    }
}
