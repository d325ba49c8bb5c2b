//! The version of the protocol that each server speaks, remembered between runs.
//!
//! There is a small file, a note, with the version for each configuration of a server. It is only a hint: a note that cannot be read
//! is ignored, a note that cannot be written is left out, and a wrong note is deleted.

use std::{
    fs::{self, DirBuilder},
    io::{self, Write as _},
    os::unix::fs::DirBuilderExt,
};

use camino::{Utf8Path, Utf8PathBuf};
use tempfile::NamedTempFile;
use uuid::Uuid;

use super::{
    message::VERSIONS,
    spec::{ServerPlace, ServerSpec},
};
use crate::host::read_plain;

/// A longer file is no note.
const LONGEST: u64 = 64;

#[derive(Debug)]
pub(super) struct Memory {
    /// None if nothing is remembered.
    note: Option<Utf8PathBuf>,
}

impl Memory {
    /// The note of the server that is started in this way.
    pub(super) fn of(spec: &ServerSpec) -> Self {
        let dir = spec.memory.as_ref();
        Self {
            note: dir.map(|dir| dir.join(configuration(spec))),
        }
    }

    /// The version that the server spoke last, if oneact supports it.
    pub(super) fn recall(&self) -> Option<&'static str> {
        let text = read_plain(self.note.as_ref()?, LONGEST).ok()?;
        let mut known = VERSIONS.into_iter();
        known.find(|known| text.trim_ascii() == known.as_bytes())
    }

    /// Writes the version, unless the note already contains it.
    pub(super) fn keep(&self, version: &str) {
        if self.recall() == Some(version) {
            return;
        }
        if let Some(path) = &self.note
            && let Err(error) = write(path, version)
        {
            tracing::debug!(%path, %error, "what was learnt about the server is not kept");
        }
    }

    /// Deletes the note, which is wrong.
    pub(super) fn forget(&self) {
        // If this fails, the next run finds again that the note is wrong.
        let _ = self.note.as_ref().map(fs::remove_file);
    }
}

/// Writes the note under another name and renames it, so that it is always complete.
fn write(path: &Utf8Path, version: &str) -> io::Result<()> {
    let dir = path.parent().unwrap_or(path);
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    if dir.is_symlink() {
        return Err(io::Error::other("its directory is a symbolic link"));
    }
    let mut file = NamedTempFile::new_in(dir)?;
    writeln!(file, "{version}")?;
    file.persist(path)?;
    Ok(())
}

/// A name that identifies how a server is reached: its argv, its directory, and the names in its environment; or its
/// address, and the names of its headers. The values are left out, because they are secrets and change.
fn configuration(spec: &ServerSpec) -> String {
    let named = |pairs: &'_ [(String, String)]| {
        let mut names: Vec<String> = pairs.iter().map(|(name, _)| name.clone()).collect();
        names.sort_unstable();
        names
    };
    // No word contains a NUL, so different lists never give the same text.
    let words = match &spec.place {
        ServerPlace::Process(program) => {
            let cwd = [String::new(), program.cwd.to_string(), String::new()];
            [program.argv.clone(), cwd.to_vec(), named(&program.env)].concat()
        }
        ServerPlace::Http(endpoint) => {
            [vec![endpoint.url.to_string()], named(&endpoint.headers)].concat()
        }
    };
    let text: Vec<&str> = words
        .iter()
        .flat_map(|word| [word.as_str(), "\0"])
        .collect();
    Uuid::new_v5(&Uuid::NAMESPACE_OID, text.concat().as_bytes())
        .simple()
        .to_string()
}
