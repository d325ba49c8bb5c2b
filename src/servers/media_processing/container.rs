//! What symphonia does not tell of a container: the part of a track that is meant to be heard, and
//! whether the file is all there.
//!
//! Only structure is read, by seeking from header to header; never the media itself.

mod matroska;
mod mp4;
mod ogg;

use std::{
    fs::File,
    io::{self, BufReader, Read},
    ops::Range,
};

use crate::servers::tool::ToolError;

/// Boxes or elements looked at side by side. A day of fragments has 50 000.
const MOST_PARTS: usize = 1_000_000;

/// The part of a track that is meant to be heard.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Marks {
    /// Parts of the track's own timeline, in its time base; empty stands for all of it.
    pub(super) edits: Vec<Range<i64>>,
    /// To drop at the end of the track, in nanoseconds.
    pub(super) end_padding: u64,
}

/// Why a container could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ContainerProblem {
    #[error("the file ends {missing} bytes before its {part} does")]
    Truncated { part: &'static str, missing: u64 },
    #[error("it has no {0}")]
    Missing(&'static str),
    #[error("its {0} is malformed")]
    Malformed(&'static str),
    #[error("it cannot be read: {0}")]
    Read(#[from] ReadError),
}

/// A read or seek that failed, and where in the file.
#[derive(Debug, thiserror::Error)]
#[error("at byte {at}: {source}")]
pub(super) struct ReadError {
    at: u64,
    source: io::Error,
}

impl From<ContainerProblem> for ToolError {
    fn from(problem: ContainerProblem) -> Self {
        match problem {
            ContainerProblem::Read(error)
                if error.source.kind() != io::ErrorKind::UnexpectedEof =>
            {
                Self::Failed(format!("the input cannot be read {error}"))
            }
            problem => Self::Corrupt(problem.to_string()),
        }
    }
}

/// Fails if the file is of a container that tells its own length, and not all there. symphonia would
/// say of some such files that it does not know them.
pub(super) fn check_whole(file: File) -> Result<(), ContainerProblem> {
    /// No track has this id.
    const NONE: u32 = 0;
    let mut bytes = Bytes::new(file)?;
    if bytes.length < 12 {
        return Ok(());
    }
    let head: [u8; 12] = bytes.read()?;
    bytes.seek(0)?;
    match head {
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => mp4::marks(&mut bytes, NONE).map(drop),
        [0x1A, 0x45, 0xDF, 0xA3, ..] => matroska::marks(&mut bytes, NONE).map(drop),
        [b'O', b'g', b'g', b'S', ..] => ogg::check_end(&mut bytes),
        _ => Ok(()),
    }
}

/// What of track `id` is to be heard, in the container called `name` by symphonia.
pub(super) fn marks(name: &str, file: File, id: u32) -> Result<Marks, ContainerProblem> {
    match name {
        "isomp4" => mp4::marks(&mut Bytes::new(file)?, id),
        "matroska" | "mkv" => matroska::marks(&mut Bytes::new(file)?, id),
        _ => Ok(Marks::default()),
    }
}

/// A file read here and there.
struct Bytes {
    file: BufReader<File>,
    at: u64,
    length: u64,
}

impl Bytes {
    fn new(file: File) -> Result<Self, ReadError> {
        let length = file
            .metadata()
            .map_err(|source| ReadError { at: 0, source })?
            .len();
        Ok(Self {
            file: BufReader::with_capacity(512, file),
            at: 0,
            length,
        })
    }

    fn seek(&mut self, to: u64) -> Result<(), ReadError> {
        let step = to.cast_signed().wrapping_sub(self.at.cast_signed());
        // Keeps what is buffered where it can.
        self.file
            .seek_relative(step)
            .map_err(|source| ReadError { at: to, source })?;
        self.at = to;
        Ok(())
    }

    fn read<const N: usize>(&mut self) -> Result<[u8; N], ReadError> {
        let mut bytes = [0; N];
        self.file
            .read_exact(&mut bytes)
            .map_err(|source| ReadError {
                at: self.at,
                source,
            })?;
        self.at += N as u64;
        Ok(bytes)
    }
}
