//! A place below the working directory where a file may be stored, reached one folder at a time:
//! never upwards, never through a symbolic link, never among oneact's own files.

use std::{
    fs::File,
    io::{self, Write},
    os::fd::OwnedFd,
    path::{Component, Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

use rustix::{
    fs::{AtFlags, Mode, OFlags},
    io::Errno,
};

use crate::servers::{files::rename_new, tool::ToolError};

/// Folders that belong to tools, at whatever depth.
const RESERVED: [&str; 2] = [".oneact", ".git"];

/// Folders of oneact's reports and logs, at whatever depth: no plan may touch them either.
const REPORTS: [[&str; 2]; 2] = [["agent_outputs", "reports"], ["agent_logs", "executor"]];

/// A catalog says what may be done at all, and is found from every folder below it.
const CATALOG: &str = "catalog.toml";

/// Files that SQLite keeps beside a database, and believes.
const BESIDE_A_DATABASE: [&str; 3] = ["-journal", "-wal", "-shm"];

/// A path that may be stored at: relative, and of plain names only.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    folders: Vec<String>,
    name: String,
}

/// The folder of a target, opened.
#[derive(Debug)]
pub(super) struct Folder {
    folder: OwnedFd,
    target: Target,
}

impl Target {
    pub(super) fn parse(text: &str) -> Result<Self, ToolError> {
        if text.contains('\0') || text.contains("://") {
            return Err(refused(text, "is not a relative path"));
        }
        if text.ends_with('/') || text.ends_with("/.") {
            return Err(refused(text, "names a folder, not a file"));
        }
        let mut folders = Vec::new();
        for component in Path::new(text).components() {
            match component {
                Component::Normal(name) => {
                    let name = name.to_string_lossy().into_owned();
                    if RESERVED.iter().any(|own| name.eq_ignore_ascii_case(own)) {
                        return Err(refused(
                            text,
                            "lies in a folder that is not for stored files",
                        ));
                    }
                    folders.push(name);
                }
                Component::CurDir => {}
                Component::ParentDir => return Err(refused(text, "leads upwards")),
                Component::RootDir | Component::Prefix(_) => {
                    return Err(refused(
                        text,
                        "is absolute; write it from the working directory",
                    ));
                }
            }
        }
        let Some(name) = folders.pop() else {
            return Err(refused(text, "names no file"));
        };
        if name.eq_ignore_ascii_case(CATALOG) {
            return Err(refused(text, "is a catalog, which no tool may write"));
        }
        let lower = name.to_ascii_lowercase();
        if BESIDE_A_DATABASE.iter().any(|end| lower.ends_with(end)) {
            return Err(refused(
                text,
                "is a file that SQLite keeps beside a database",
            ));
        }
        let is = |pair: &[String], own: &[&str; 2]| {
            pair.iter()
                .zip(own)
                .all(|(name, own)| name.eq_ignore_ascii_case(own))
        };
        let mut pairs = folders.windows(2);
        if pairs.any(|pair| REPORTS.iter().any(|own| is(pair, own))) {
            return Err(refused(text, "lies among oneact's reports or logs"));
        }
        Ok(Self { folders, name })
    }

    /// Opens the target's folder below `directory`, making the folders that are not there.
    pub(super) fn open(self, directory: &Path) -> Result<Folder, ToolError> {
        const FOLDER: OFlags = OFlags::DIRECTORY
            .union(OFlags::RDONLY)
            .union(OFlags::CLOEXEC);
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
                        "is no folder, or a symbolic link to one, which is not followed",
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

    /// From the working directory.
    pub(super) fn path(&self) -> PathBuf {
        self.folders.iter().chain([&self.name]).collect()
    }
}

/// What became of the attempt to give a file its name.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Placed {
    New,
    /// The name was taken; nothing was changed.
    Taken,
}

impl Folder {
    pub(super) fn path(&self) -> PathBuf {
        self.target.path()
    }

    /// What is there under the target's name already, if it is a regular file.
    pub(super) fn existing(&self) -> Result<Option<File>, ToolError> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let taken = || {
            refused(
                &self.path().display().to_string(),
                "exists and is no regular file",
            )
        };
        match rustix::fs::openat(&self.folder, &self.target.name, flags, Mode::empty()) {
            Ok(file) => {
                let file = File::from(file);
                let regular = file.metadata().is_ok_and(|about| about.is_file());
                if regular {
                    Ok(Some(file))
                } else {
                    Err(taken())
                }
            }
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP | Errno::NXIO) => Err(taken()),
            Err(errno) => Err(failed("open", &self.path(), errno)),
        }
    }

    /// Writes a file by `fill` beside the target, syncs it, and gives it the target's name unless
    /// that is taken. Nothing is left of a failure.
    pub(super) fn place<T>(
        &self,
        fill: impl FnOnce(&mut dyn Write) -> Result<T, ToolError>,
    ) -> Result<(T, Placed), ToolError> {
        static DRAFTS: AtomicU32 = AtomicU32::new(0);
        let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
        let draft = PathBuf::from(format!(".oneact-{}-{number}.part", process::id()));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        // What a killed process of the same number left behind is nobody's.
        let _ = rustix::fs::unlinkat(&self.folder, &draft, AtFlags::empty());
        let file = rustix::fs::openat(&self.folder, &draft, flags, 0o666.into())
            .map_err(|errno| failed("create", &self.path(), errno))?;
        let placed = self.fill_and_name(&mut File::from(file), &draft, fill);
        if !matches!(placed, Ok((_, Placed::New))) {
            // The failure that led here is the one to tell.
            let _ = rustix::fs::unlinkat(&self.folder, &draft, AtFlags::empty());
        }
        placed
    }

    fn fill_and_name<T>(
        &self,
        file: &mut File,
        draft: &Path,
        fill: impl FnOnce(&mut dyn Write) -> Result<T, ToolError>,
    ) -> Result<(T, Placed), ToolError> {
        let filled = fill(file)?;
        file.sync_all()
            .map_err(|error| failed("sync", &self.path(), error))?;
        match rename_new(&self.folder, draft, Path::new(&self.target.name)) {
            Ok(()) => {
                // From here on the file is there; an unsynced folder does not undo that.
                let _ = rustix::fs::fsync(&self.folder);
                Ok((filled, Placed::New))
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Ok((filled, Placed::Taken))
            }
            Err(error) => Err(failed("create", &self.path(), error)),
        }
    }
}

fn refused(path: &str, problem: &str) -> ToolError {
    ToolError::Argument {
        argument: "target_path",
        problem: format!("{path:?} {problem}"),
    }
}

fn failed(operation: &str, path: &Path, error: impl Into<io::Error>) -> ToolError {
    let error = error.into();
    ToolError::Failed(format!("cannot {operation} {}: {error}", path.display()))
}
