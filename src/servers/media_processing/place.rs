//! Writes a file under a temporary name beside its final place, and renames it when it is complete. An existing
//! file is never replaced.

use std::{
    fs::{File, Permissions},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use tempfile::{NamedTempFile, TempDir};

use crate::{
    host,
    servers::{
        files::{absolute, check_unprotected, file_uri, local_path, parent, temporary_directory},
        tool::ToolError,
    },
};

/// The suffix of a file that is being written.
const UNFINISHED: &str = ".partial";

/// The largest number of characters of the input's name in the name of a new file.
const STEM: usize = 40;

/// The place of a new file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// This path, which must not exist yet.
    At(PathBuf),
    /// A new name in this directory, which begins with `stem`.
    In { directory: PathBuf, stem: String },
}

#[derive(Debug)]
pub(super) struct Written {
    pub(super) uri: String,
    pub(super) bytes: u64,
}

/// A file that is being written. Dropping it removes the file.
#[derive(Debug)]
pub(super) struct Draft {
    file: NamedTempFile,
    path: PathBuf,
}

impl Place {
    /// The place that an `output_path` names. Without one, a new file in the temporary directory, named after the
    /// input.
    pub(super) fn of(output_path: Option<&str>, input: &Path) -> Result<Self, ToolError> {
        Ok(match output_path {
            Some(path) => {
                let path = local_path("output_path", path)?;
                check_unprotected("output_path", &path)?;
                Self::At(path)
            }
            None => Self::In {
                directory: temporary_directory(),
                stem: stem(input),
            },
        })
    }
}

impl Draft {
    /// Creates a file. If the place does not fix the name, it ends with `.{ending}`.
    pub(super) fn create(place: &Place, ending: &str) -> Result<Self, ToolError> {
        let (directory, stem) = match place {
            Place::At(path) if path.symlink_metadata().is_ok() => {
                return Err(taken(path));
            }
            Place::At(path) => (parent(path), "media"),
            Place::In { directory, stem } => (directory.as_path(), stem.as_str()),
        };
        let file = tempfile::Builder::new()
            .prefix(&format!(".{stem}-"))
            .suffix(&format!(".{ending}{UNFINISHED}"))
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(directory)
            .map_err(ToolError::io("create a file in", directory))?;
        let path = match place {
            Place::At(path) => path.clone(),
            Place::In { .. } => finished(file.path()),
        };
        Ok(Self { file, path })
    }

    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    pub(super) fn file(&mut self) -> &mut File {
        self.file.as_file_mut()
    }

    /// Makes a temporary directory beside the draft.
    pub(super) fn workshop(&self) -> Result<TempDir, ToolError> {
        let directory = parent(self.file.path());
        TempDir::with_prefix_in(".media-", directory)
            .map_err(ToolError::io("create a file in", directory))
    }

    /// Makes the error of a failed write.
    pub(super) fn failed(&self) -> impl Fn(io::Error) -> ToolError + use<> {
        let path = self.path.clone();
        move |error| ToolError::io("write", &path)(error)
    }

    /// Syncs the file and moves it to its place.
    pub(super) fn publish(self) -> Result<Written, ToolError> {
        let failed = self.failed();
        let Self { file, path } = self;
        file.as_file().sync_all().map_err(&failed)?;
        let bytes = file.as_file().metadata().map_err(&failed)?.len();
        if !host::persist_new(file, &path).map_err(&failed)? {
            return Err(taken(&path));
        }
        File::open(parent(&path))
            .and_then(|directory| directory.sync_all())
            .map_err(failed)?;
        let uri = file_uri(&absolute("output_path", &path)?);
        Ok(Written { uri, bytes })
    }
}

fn taken(path: &Path) -> ToolError {
    let problem = format!(
        "{} exists already and is not overwritten; give another output_path",
        path.display()
    );
    ToolError::argument("output_path", problem)
}

/// The final name: the draft's name without its prefix and suffix, which is as unique.
fn finished(draft: &Path) -> PathBuf {
    let name = draft.file_name().unwrap_or_default().to_string_lossy();
    let name = name.trim_start_matches('.').trim_end_matches(UNFINISHED);
    draft.with_file_name(name)
}

/// The input's name without its ending, shortened.
fn stem(input: &Path) -> String {
    let stem = input.file_stem().unwrap_or_default().to_string_lossy();
    let stem: String = stem.trim_start_matches('.').chars().take(STEM).collect();
    if stem.is_empty() {
        "media".to_owned()
    } else {
        stem
    }
}
