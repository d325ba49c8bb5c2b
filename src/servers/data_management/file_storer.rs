//! The tool `file_storer` (CAP-DAT-002): stores a file or bytes at a path below the working directory. The
//! directories are opened one by one, so that no `..`, symbolic link or file of oneact can be used.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Cursor, Read},
    os::fd::AsRawFd,
    path::{Component, Path, PathBuf},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::workspace::Workspace;
use crate::servers::{
    files::{Draft, Placed, blocks, check_unprotected, local_path, measure, open_regular, parent},
    tool::{self, Effect, Run, Tool, ToolError, World, record, sha256, text},
};

#[derive(Deserialize)]
struct Arguments {
    file_data: String,
    target_path: String,
}

pub(super) fn file_storer(place: Workspace) -> Tool {
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
        call: tool::call(move |arguments, run: &Run<'_>| store(&place, arguments, run)),
    }
}

fn store(place: &Workspace, arguments: &Arguments, run: &Run<'_>) -> Result<Value, ToolError> {
    let path = plain_path(&arguments.target_path)?;
    let (mut data, source) = open(&arguments.file_data)?;
    let (folder, name) = enter(&place.directory, &path)?;
    let existing = || existing(&folder, &name, &path);
    let failed = |operation| ToolError::io(operation, &path);
    let (measured, placed) = if existing()?.is_some() {
        let measured = measure(&mut data, &source, run, |_| Ok(()))?;
        (measured, Placed::Taken)
    } else {
        // The directory is used by its descriptor, because its name may belong to another directory by now.
        let beside = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        let mut draft = Draft::new_in(&beside).map_err(failed("create"))?;
        blocks(&mut data, &source, run, |block| {
            draft.append(block).map_err(failed("write"))
        })?;
        let placed = draft.place(&beside.join(&name));
        placed.map_err(failed("create"))?
    };
    if placed == Placed::Taken {
        let is_same = match existing()? {
            Some(mut file) => measure(&mut file, &path, run, |_| Ok(()))? == measured,
            None => false,
        };
        if !is_same {
            let problem = "exists already with other content and is not overwritten; name another file, or remove it";
            return Err(refused(&path, problem));
        }
    }
    Ok(json!({
        "stored": true,
        "path": path.to_string_lossy(),
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

/// The plain names of a relative path.
fn plain_path(text: &str) -> Result<PathBuf, ToolError> {
    let refused = |problem| Err(refused(Path::new(text), problem));
    if text.contains('\0') || text.contains("://") {
        return refused("is not a relative path");
    }
    if text.ends_with('/') || text.ends_with("/.") {
        return refused("names a directory, not a file");
    }
    let mut path = PathBuf::new();
    for component in Path::new(text).components() {
        match component {
            Component::CurDir => {}
            Component::Normal(name) => path.push(name),
            Component::ParentDir => return refused("leads upwards"),
            Component::RootDir | Component::Prefix(_) => {
                return refused("is absolute; write it relative to the working directory");
            }
        }
    }
    if path == Path::new("") {
        return refused("does not name a file");
    }
    Ok(path)
}

/// Opens the directory of the path below `directory`, and returns the name in it. Missing directories are made.
fn enter(directory: &Path, path: &Path) -> Result<(File, OsString), ToolError> {
    const FOLDER: OFlags = OFlags::DIRECTORY
        .union(OFlags::RDONLY)
        .union(OFlags::CLOEXEC);
    check_unprotected("target_path", &directory.join(path))?;
    let mut at = rustix::fs::open(directory, FOLDER, Mode::empty())
        .map_err(|errno| failed("open", directory, errno))?;
    let mut so_far = PathBuf::new();
    for name in parent(path).iter().filter(|name| *name != ".") {
        so_far.push(name);
        match rustix::fs::mkdirat(&at, name, 0o777.into()) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed("create the folder", &so_far, errno)),
        }
        let entered = rustix::fs::openat(&at, name, FOLDER | OFlags::NOFOLLOW, Mode::empty());
        at = entered.map_err(|errno| match errno {
            Errno::NOTDIR | Errno::LOOP => {
                let problem = "is not a directory, or is a symbolic link, which is not followed";
                refused(&so_far, problem)
            }
            errno => failed("open", &so_far, errno),
        })?;
    }
    Ok((at.into(), path.file_name().unwrap_or_default().to_owned()))
}

/// Opens the file with that name, if there is one. It must be a regular file.
fn existing(folder: &File, name: &OsStr, path: &Path) -> Result<Option<File>, ToolError> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let taken = || refused(path, "exists and is not a regular file");
    match rustix::fs::openat(folder, name, flags, Mode::empty()) {
        Ok(file) => match File::from(file) {
            file if file.metadata().is_ok_and(|about| about.is_file()) => Ok(Some(file)),
            _ => Err(taken()),
        },
        Err(Errno::NOENT) => Ok(None),
        Err(Errno::LOOP | Errno::NXIO) => Err(taken()),
        Err(errno) => Err(failed("open", path, errno)),
    }
}

fn refused(path: &Path, problem: &str) -> ToolError {
    ToolError::argument("target_path", format!("\"{}\" {problem}", path.display()))
}

fn failed(operation: &str, path: &Path, error: impl Into<io::Error>) -> ToolError {
    ToolError::io(operation, path)(error.into())
}
