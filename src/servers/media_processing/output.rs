//! The file the audio goes to: written beside its final place, and moved there whole.

mod flac;
mod wav;

use std::{
    fs::{File, Permissions},
    io::{self, BufWriter, Seek, SeekFrom, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use super::layout::Width;
use crate::servers::tool::ToolError;
use flac::Flac;
use wav::Wav;

const BUFFER: usize = 64 << 10;

/// Ends the name of a file that is still being written.
const UNFINISHED: &str = ".partial";

/// What the audio is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Wav,
    Flac,
}

impl Format {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Wav => "wav",
            Self::Flac => "flac",
        }
    }
}

/// Where the audio goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// This file, which must not exist yet.
    At(PathBuf),
    /// A new file in this directory, its name beginning with `stem`.
    In { directory: PathBuf, stem: String },
}

/// A finished file.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
}

/// Why the audio could not be written.
#[derive(Debug, thiserror::Error)]
pub(super) enum OutputProblem {
    #[error("{0} exists already, and is not overwritten; give another output_path")]
    Exists(PathBuf),
    #[error("cannot create a file in {directory}: {source}")]
    Create {
        directory: PathBuf,
        source: io::Error,
    },
    #[error("cannot write {path}: {source}")]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot encode FLAC: {0}")]
    Flac(String),
    #[error("a WAV file cannot hold {0} samples per second; ask for a lower sample_rate")]
    Rate(u32),
    #[error("the audio is longer than a WAV file can hold (4 GiB); ask for flac")]
    TooLong,
}

impl From<OutputProblem> for ToolError {
    fn from(problem: OutputProblem) -> Self {
        match problem {
            OutputProblem::Exists(_) => Self::Argument {
                argument: "output_path",
                problem: problem.to_string(),
            },
            problem => Self::Failed(problem.to_string()),
        }
    }
}

/// How a format is written: a header, the samples, and the header again once all is known.
trait Encoder: Send {
    /// The header of a file that holds what was written so far. Its length never changes.
    fn header(&self) -> Result<Vec<u8>, OutputProblem>;

    /// The bytes that interleaved samples complete.
    fn encode(&mut self, samples: &[i16]) -> Result<Vec<u8>, OutputProblem>;

    /// The bytes still owed at the end.
    fn finish(&mut self) -> Result<Vec<u8>, OutputProblem>;
}

/// A file being written. Dropped unfinished, it leaves nothing behind.
pub(super) struct Output {
    encoder: Box<dyn Encoder>,
    draft: BufWriter<NamedTempFile>,
    path: PathBuf,
}

impl Output {
    /// Begins a file for `rate` samples per second.
    pub(super) fn create(
        place: &Place,
        format: Format,
        rate: u32,
        width: Width,
    ) -> Result<Self, OutputProblem> {
        let encoder: Box<dyn Encoder> = match format {
            Format::Wav => Box::new(Wav::new(rate, width)),
            Format::Flac => Box::new(Flac::new(rate, width)?),
        };
        let (draft, path) = draft(place, format)?;
        let mut output = Self {
            encoder,
            draft: BufWriter::with_capacity(BUFFER, draft),
            path,
        };
        let header = output.encoder.header()?;
        output.append(&header)?;
        Ok(output)
    }

    /// Appends interleaved samples.
    pub(super) fn write(&mut self, samples: &[i16]) -> Result<(), OutputProblem> {
        let bytes = self.encoder.encode(samples)?;
        self.append(&bytes)
    }

    /// Writes what is owed, makes the file durable, and moves it to its place.
    pub(super) fn finish(mut self) -> Result<Written, OutputProblem> {
        let owed = self.encoder.finish()?;
        self.append(&owed)?;
        let header = self.encoder.header()?;
        let Self { draft, path, .. } = self;
        let failed = |source| OutputProblem::Write {
            path: path.clone(),
            source,
        };
        let mut draft = draft
            .into_inner()
            .map_err(|error| failed(error.into_error()))?;
        let file = draft.as_file_mut();
        file.seek(SeekFrom::Start(0))
            .and_then(|_| file.write_all(&header))
            .map_err(failed)?;
        file.sync_all().map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        draft
            .persist_noclobber(&path)
            .map_err(|refused| match refused.error.kind() {
                io::ErrorKind::AlreadyExists => OutputProblem::Exists(path.clone()),
                _ => failed(refused.error),
            })?;
        File::open(parent(&path))
            .and_then(|directory| directory.sync_all())
            .map_err(failed)?;
        Ok(Written { path, bytes })
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), OutputProblem> {
        self.draft
            .write_all(bytes)
            .map_err(|source| OutputProblem::Write {
                path: self.path.clone(),
                source,
            })
    }
}

/// The file to write to, beside the place it is for, and that place.
fn draft(place: &Place, format: Format) -> Result<(NamedTempFile, PathBuf), OutputProblem> {
    let (directory, stem) = match place {
        Place::At(path) if path.symlink_metadata().is_ok() => {
            return Err(OutputProblem::Exists(path.clone()));
        }
        Place::At(path) => (parent(path), "audio"),
        Place::In { directory, stem } => (directory.as_path(), stem.as_str()),
    };
    let suffix = format!(".{}{UNFINISHED}", format.name());
    let draft = tempfile::Builder::new()
        .prefix(&format!(".{stem}-"))
        .suffix(&suffix)
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(directory)
        .map_err(|source| OutputProblem::Create {
            directory: directory.to_owned(),
            source,
        })?;
    let path = match place {
        Place::At(path) => path.clone(),
        Place::In { .. } => finished(draft.path()),
    };
    Ok((draft, path))
}

/// The draft's name without what marks it as one: as unique as the draft's.
fn finished(draft: &Path) -> PathBuf {
    let name = draft
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let name = name.trim_start_matches('.').trim_end_matches(UNFINISHED);
    draft.with_file_name(name)
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests;
