//! What was learnt about servers, kept between runs: the version of the protocol that each speaks.
//!
//! One small file per configuration of a server. A note is a hint: one that cannot be read counts as absent, one that
//! cannot be written is left out, and one that turns out wrong is deleted.

use std::{
    fs::{self, DirBuilder},
    io::{self, Write as _},
    os::unix::fs::DirBuilderExt,
};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;
use uuid::Uuid;

use super::{message::VERSIONS, spec::ServerSpec};
use crate::host::read_plain;

/// The format of a note. Another one is not read.
const FORMAT: u32 = 1;
/// A longer file is no note.
const LONGEST: u64 = 1024;

#[derive(Debug)]
pub(super) struct Memory {
    /// None where nothing is to be kept.
    note: Option<Utf8PathBuf>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Note {
    note: u32,
    protocol: String,
}

impl Memory {
    /// Of the server that is started so.
    pub(super) fn of(spec: &ServerSpec) -> Self {
        let dir = spec.memory.as_ref();
        Self {
            note: dir.map(|dir| dir.join(format!("{}.json", configuration(spec)))),
        }
    }

    /// The version it spoke last, if it is one that is known here.
    pub(super) fn recall(&self) -> Option<&'static str> {
        // Whatever lies there: a link is not followed, a pipe not waited for.
        let text = read_plain(self.note.as_ref()?, LONGEST).ok()?;
        let note: Note = serde_json::from_slice(&text).ok()?;
        VERSIONS
            .into_iter()
            .find(|known| note.note == FORMAT && *known == note.protocol)
    }

    /// Notes the version, unless that is what is noted already.
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

    /// The server is not what it was.
    pub(super) fn forget(&self) {
        // If it stays, the next run finds out again that it is wrong.
        let _ = self.note.as_ref().map(fs::remove_file);
    }
}

/// Whole or not at all: beside the note first, then in its place.
fn write(path: &Utf8Path, version: &str) -> io::Result<()> {
    let dir = path.parent().unwrap_or(path);
    let note = Note {
        note: FORMAT,
        protocol: version.to_owned(),
    };
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    if dir.is_symlink() {
        return Err(io::Error::other("its directory is a symbolic link"));
    }
    let mut file = NamedTempFile::new_in(dir)?;
    serde_json::to_writer(&mut file, &note)?;
    file.write_all(b"\n")?;
    file.persist(path)?;
    Ok(())
}

/// A name for how a server is started: its argv, its directory, and the names in its environment.
/// Values are left out, for they are secrets and change.
fn configuration(spec: &ServerSpec) -> String {
    let mut names: Vec<&str> = spec.env.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    let argv = spec.argv.iter().map(String::as_str);
    // No word holds a NUL: they cannot run into one another, nor can the three lists.
    let words = argv.chain(["", spec.cwd.as_str(), ""]).chain(names);
    let text: Vec<&str> = words.flat_map(|word| [word, "\0"]).collect();
    Uuid::new_v5(&Uuid::NAMESPACE_OID, text.concat().as_bytes())
        .simple()
        .to_string()
}
