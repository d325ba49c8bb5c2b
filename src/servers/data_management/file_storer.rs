//! The tool `file_storer` (CAP-DAT-002): stores a file or bytes at a path below the working directory. The
//! directories are opened one by one, so that no `..`, symbolic link or file of oneact can be used.

use std::{
    fs::{File, Permissions},
    io::{self, Cursor, Read, Write},
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::fs::PermissionsExt,
    },
    path::{Component, Path, PathBuf},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Place;
use crate::{
    host,
    servers::{
        files::{Measured, check_unprotected, local_path, measure, open_regular},
        tool::{self, Effect, Run, Tool, ToolError, World, record, sha256, text},
    },
};

#[derive(Deserialize)]
struct Arguments {
    file_data: String,
    target_path: String,
}

pub(super) fn file_storer(place: Place) -> Tool {
    Tool {
        name: "file_storer",
        title: "Store a file",
        description: "Store a file, or bytes from a base64 data: URI, at a path below the working directory. \
            Missing directories are made. An existing file is never overwritten: if it has the same content, it is \
            a duplicate, otherwise the call fails. Paths that lead out of the directory, through symbolic links, \
            into .git or .oneact, or to the catalog are refused.",
        input: record(json!({
            "file_data": text("a path, a file:// URI, or data:[TYPE];base64,BYTES"),
            "target_path": text("relative, e.g. results/a.json"),
        })),
        output: record(json!({
            "stored": {"const": true},
            "path": {"type": "string", "description": "relative to the working directory"},
            "bytes": {"type": "integer", "minimum": 0},
            "sha256": sha256(),
            "duplicate": {"type": "boolean", "description": "whether the file already existed"}
        })),
        effect: Effect::Additive,
        world: World::Closed,
        call: tool::call(move |arguments, run: &Run<'_>| answer(&place, arguments, run)),
    }
}

fn answer(place: &Place, arguments: &Arguments, run: &Run<'_>) -> Result<Value, ToolError> {
    let target = Target::parse(&arguments.target_path)?;
    let data = open(&arguments.file_data)?;
    let folder = target.open(&place.directory)?;
    let (measured, placed) = store(data, &folder, run)?;
    if placed == Placed::Taken {
        refuse_other(&measured, &folder, run)?;
    }
    Ok(json!({
        "stored": true,
        "path": folder.path().to_string_lossy(),
        "bytes": measured.bytes,
        "sha256": measured.sha256,
        "duplicate": placed == Placed::Taken,
    }))
}

/// Opens the data. Returns also its name for errors.
fn open(given: &str) -> Result<(Box<dyn Read>, PathBuf), ToolError> {
    let scheme = given.get(..5).unwrap_or_default();
    if scheme.eq_ignore_ascii_case("data:") {
        return Ok((Box::new(Cursor::new(bytes(given)?)), "data: URI".into()));
    }
    let path = local_path("file_data", given)?;
    Ok((Box::new(open_regular("file_data", &path)?), path))
}

/// The bytes of a base64 `data:` URI (RFC 2397).
fn bytes(uri: &str) -> Result<Vec<u8>, ToolError> {
    // The URI can be megabytes long, so it is not shown.
    let refused =
        |problem: &str| ToolError::argument("file_data", format!("the data: URI {problem}"));
    let (kind, payload) = uri.split_once(',').ok_or_else(|| refused("has no comma"))?;
    if !kind.to_ascii_lowercase().ends_with(";base64") {
        return Err(refused("is not base64; write data:;base64,…"));
    }
    let payload: Vec<u8> = percent_encoding::percent_decode_str(payload).collect();
    STANDARD
        .decode(payload)
        .map_err(|error| refused(&format!("is not base64: {error}")))
}

/// Writes the data to a temporary file in the directory, syncs it, and renames it unless the name exists. A
/// failure leaves no file.
fn store(
    (mut reader, path): (Box<dyn Read>, PathBuf),
    folder: &Folder,
    run: &Run<'_>,
) -> Result<(Measured, Placed), ToolError> {
    if folder.existing()?.is_some() {
        let measured = measure(&mut reader, &path, run, |_| Ok(()))?;
        return Ok((measured, Placed::Taken));
    }
    let target = folder.path();
    let failed = |operation| ToolError::io(operation, &target);
    // The directory is used by its descriptor, because its name may belong to another directory by now.
    let beside = PathBuf::from(format!("/proc/self/fd/{}", folder.folder.as_raw_fd()));
    let mut draft = tempfile::Builder::new()
        .prefix(".oneact-")
        .suffix(".part")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(&beside)
        .map_err(failed("create"))?;
    let measured = measure(&mut reader, &path, run, |block| {
        draft.write_all(block).map_err(failed("write"))
    })?;
    draft.as_file().sync_all().map_err(failed("sync"))?;
    let is_new = host::persist_new(draft, beside.join(&folder.target.name));
    if !is_new.map_err(failed("create"))? {
        return Ok((measured, Placed::Taken));
    }
    // The file is stored even if the directory cannot be synced.
    let _ = rustix::fs::fsync(&folder.folder);
    Ok((measured, Placed::New))
}

/// Fails if the existing file has other content.
fn refuse_other(measured: &Measured, folder: &Folder, run: &Run<'_>) -> Result<(), ToolError> {
    let path = folder.path();
    let same = match folder.existing()? {
        Some(mut file) => measure(&mut file, &path, run, |_| Ok(()))? == *measured,
        None => false,
    };
    if same {
        return Ok(());
    }
    let problem = format!(
        "{} exists already with other content and is not overwritten; name another file, or remove it",
        path.display()
    );
    Err(ToolError::argument("target_path", problem))
}

/// A relative path that consists of plain names.
#[derive(Debug, PartialEq, Eq)]
struct Target {
    folders: Vec<String>,
    name: String,
}

/// The open directory of a target.
#[derive(Debug)]
struct Folder {
    folder: OwnedFd,
    target: Target,
}

impl Target {
    fn parse(text: &str) -> Result<Self, ToolError> {
        if text.contains('\0') || text.contains("://") {
            return Err(refused(text, "is not a relative path"));
        }
        if text.ends_with('/') || text.ends_with("/.") {
            return Err(refused(text, "names a directory, not a file"));
        }
        let mut folders = Vec::new();
        for component in Path::new(text).components() {
            let problem = match component {
                Component::CurDir => continue,
                Component::Normal(name) => {
                    folders.push(name.to_string_lossy().into_owned());
                    continue;
                }
                Component::ParentDir => "leads upwards",
                Component::RootDir | Component::Prefix(_) => {
                    "is absolute; write it relative to the working directory"
                }
            };
            return Err(refused(text, problem));
        }
        let Some(name) = folders.pop() else {
            return Err(refused(text, "does not name a file"));
        };
        Ok(Self { folders, name })
    }

    /// Opens the target's directory below `directory`. Missing directories are made.
    fn open(self, directory: &Path) -> Result<Folder, ToolError> {
        const FOLDER: OFlags = OFlags::DIRECTORY
            .union(OFlags::RDONLY)
            .union(OFlags::CLOEXEC);
        check_unprotected("target_path", &directory.join(self.path()))?;
        let mut at = rustix::fs::open(directory, FOLDER, Mode::empty())
            .map_err(|errno| failed("open", directory, errno))?;
        let mut so_far = PathBuf::new();
        for name in &self.folders {
            so_far.push(name);
            match rustix::fs::mkdirat(&at, name, 0o777.into()) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(failed("create the folder", &so_far, errno)),
            }
            at = rustix::fs::openat(&at, name, FOLDER | OFlags::NOFOLLOW, Mode::empty()).map_err(
                |errno| match errno {
                    Errno::NOTDIR | Errno::LOOP => refused(
                        &so_far.display().to_string(),
                        "is not a directory, or is a symbolic link, which is not followed",
                    ),
                    errno => failed("open", &so_far, errno),
                },
            )?;
        }
        Ok(Folder {
            folder: at,
            target: self,
        })
    }

    /// The path relative to the working directory.
    fn path(&self) -> PathBuf {
        self.folders.iter().chain([&self.name]).collect()
    }
}

/// The result of the attempt to store a file.
#[derive(Debug, PartialEq, Eq)]
enum Placed {
    New,
    /// The name exists. Nothing was changed.
    Taken,
}

impl Folder {
    fn path(&self) -> PathBuf {
        self.target.path()
    }

    /// Opens the existing file with the target's name, if there is one. It must be a regular file.
    fn existing(&self) -> Result<Option<File>, ToolError> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let path = self.path();
        let taken = || refused(&path.to_string_lossy(), "exists and is not a regular file");
        match rustix::fs::openat(&self.folder, &self.target.name, flags, Mode::empty()) {
            Ok(file) => match File::from(file) {
                file if file.metadata().is_ok_and(|about| about.is_file()) => Ok(Some(file)),
                _ => Err(taken()),
            },
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP | Errno::NXIO) => Err(taken()),
            Err(errno) => Err(failed("open", &path, errno)),
        }
    }
}

fn refused(path: &str, problem: &str) -> ToolError {
    ToolError::argument("target_path", format!("{path:?} {problem}"))
}

fn failed(operation: &str, path: &Path, error: impl Into<io::Error>) -> ToolError {
    ToolError::io(operation, path)(error.into())
}
