//! What is remembered of object stores in the state directory: the id of this root, uploads that are under way, and
//! whether a server honours conditions.
//!
//! A run holds the lock of the note of its upload. The upload of a note that nobody holds was left by a run that was
//! killed. A note about conditions is only a hint: `oneact doctor` makes it anew.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Write as _},
    os::unix::fs::DirBuilderExt as _,
};

use camino::{Utf8Path, Utf8PathBuf};
use object_store::path::Path;
use ring::{
    digest::{SHA256, digest},
    rand::{SystemRandom, generate},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tempfile::NamedTempFile;
use uuid::{Builder, Uuid};

use super::{
    bucket::{Bucket, Conditions},
    failure::Why,
};
use crate::{host::read_plain, task::hexadecimal};

/// A longer file is no note.
const LONGEST: u64 = 8192;

/// An upload that is not completed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Open {
    /// The bucket, as [`place`] names it.
    place: String,
    pub(super) key: String,
    pub(super) upload_id: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Honours {
    place: String,
    conditions: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Root {
    id: Uuid,
}

/// What the metadata of an object says if this root stored it under this name: a hash of the id of the root and the
/// name. A copy made in the store, which has the same metadata, has another name.
pub(super) fn mark(state_dir: &Utf8Path, bucket: &Bucket, path: &Path) -> Result<String, Why> {
    let root = root(state_dir).map_err(|error| {
        Why::Refused(format!(
            "the id of this root cannot be kept in `{state_dir}/root.json`: {error}"
        ))
    })?;
    let scheme = bucket.service.scheme();
    let text = format!("{root}\n{scheme}://{}/{path}", bucket.name);
    Ok(hexadecimal(digest(&SHA256, text.as_bytes()).as_ref()))
}

/// A name that nobody else has.
pub(super) fn random() -> io::Result<Uuid> {
    let random = generate(&SystemRandom::new()).map_err(io::Error::other)?;
    Ok(Builder::from_random_bytes(random.expose()).into_uuid())
}

/// The id of this root. It is made at random when it is first needed.
fn root(state_dir: &Utf8Path) -> io::Result<Uuid> {
    let path = state_dir.join("root.json");
    if !path.try_exists()? {
        let id = random()?;
        match made(state_dir, &Root { id })?.persist_noclobber(&path) {
            Ok(_) => {}
            // Another run has made it meanwhile.
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.error),
        }
    }
    let kept: Option<Root> = read(&path);
    Ok(kept.ok_or_else(|| io::Error::other("it is damaged"))?.id)
}

/// The note of an upload, with its lock.
#[derive(Debug)]
pub(super) struct Held {
    path: Utf8PathBuf,
    /// The lock is released when the file is closed.
    _file: File,
}

impl Held {
    /// Writes the note. It is complete and locked when it gets its name.
    pub(super) fn write(
        state_dir: &Utf8Path,
        bucket: &Bucket,
        key: &str,
        upload_id: &str,
    ) -> io::Result<Self> {
        let open = Open {
            place: place(bucket),
            key: key.to_owned(),
            upload_id: upload_id.to_owned(),
        };
        let name = Uuid::new_v5(&Uuid::NAMESPACE_OID, upload_id.as_bytes());
        let path = uploads(state_dir).join(format!("{}.json", name.simple()));
        let file = write(&path, &open)?;
        Ok(Self { path, _file: file })
    }

    /// Removes the note, whose upload has ended.
    pub(super) fn clear(self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path, %error, "the note of an upload stays; the next run removes it");
        }
    }
}

/// The uploads of this bucket that dead runs have left, with their notes.
pub(super) fn left(state_dir: &Utf8Path, bucket: &Bucket) -> Vec<(Open, Held)> {
    let Ok(names) = uploads(state_dir).read_dir_utf8() else {
        return Vec::new();
    };
    let paths = names.filter_map(|name| Some(name.ok()?.into_path()));
    let notes = paths.filter(|path| path.extension() == Some("json"));
    let dead = notes.filter_map(|path| {
        let file = File::open(&path).ok()?;
        file.try_lock().ok()?;
        let open: Open = read(&path)?;
        (open.place == place(bucket)).then_some((open, Held { path, _file: file }))
    });
    dead.collect()
}

/// Whether the server of the bucket honours conditions, if that is known.
pub(super) fn conditions(state_dir: &Utf8Path, bucket: &Bucket) -> Option<Conditions> {
    let note: Honours = read(&of_bucket(state_dir, bucket))?;
    (note.place == place(bucket)).then_some(if note.conditions {
        Conditions::Honoured
    } else {
        Conditions::Ignored
    })
}

pub(super) fn keep_conditions(state_dir: &Utf8Path, bucket: &Bucket, conditions: Conditions) {
    let note = Honours {
        place: place(bucket),
        conditions: conditions == Conditions::Honoured,
    };
    let path = of_bucket(state_dir, bucket);
    if let Err(error) = write(&path, &note) {
        tracing::debug!(%path, %error, "what was learnt about the store is not kept");
    }
}

fn uploads(state_dir: &Utf8Path) -> Utf8PathBuf {
    state_dir.join("uploads")
}

fn of_bucket(state_dir: &Utf8Path, bucket: &Bucket) -> Utf8PathBuf {
    let name = Uuid::new_v5(&Uuid::NAMESPACE_OID, place(bucket).as_bytes());
    state_dir
        .join("buckets")
        .join(format!("{}.json", name.simple()))
}

/// The bucket and its server.
fn place(bucket: &Bucket) -> String {
    let endpoint = bucket.access.endpoint.as_ref();
    let endpoint = endpoint.map_or("", |endpoint| endpoint.as_str());
    format!("{}://{} {endpoint}", bucket.service.scheme(), bucket.name)
}

fn read<T: DeserializeOwned>(path: &Utf8Path) -> Option<T> {
    serde_json::from_slice(&read_plain(path, LONGEST).ok()?).ok()
}

/// Writes the note under another name and renames it, so that it is always complete. Returns it locked.
fn write(path: &Utf8Path, note: &impl Serialize) -> io::Result<File> {
    Ok(made(path.parent().unwrap_or(path), note)?.persist(path)?)
}

/// A note that has no name yet.
fn made(dir: &Utf8Path, note: &impl Serialize) -> io::Result<NamedTempFile> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    if dir.is_symlink() {
        return Err(io::Error::other("its directory is a symbolic link"));
    }
    let mut file = NamedTempFile::new_in(dir)?;
    file.as_file().lock()?;
    serde_json::to_writer(&mut file, note)?;
    file.write_all(b"\n")?;
    Ok(file)
}
