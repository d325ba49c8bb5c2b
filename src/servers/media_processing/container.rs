//! Facts about a container that symphonia does not report: the part of a track that is played, and whether the
//! file is complete. Of Ogg, all pages are read; of the others, only headers.

mod matroska;
mod mp4;

use std::{fs::File, ops::Range};

use crate::{
    assets::format::{Flaw, Source, ebml, ogg},
    servers::tool::ToolError,
};

/// The size of the buffer. It is small because headers are far apart.
const BLOCK: usize = 512;

/// The part of a track that is played.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Marks {
    /// Ranges of the track's timeline in its time base. If there are none, the whole track is played.
    pub(super) edits: Vec<Range<i64>>,
    /// The padding to remove at the end of the track, in nanoseconds.
    pub(super) end_padding: u64,
    /// Whether the container does not state its length, as in a live recording.
    pub(super) is_open: bool,
}

impl From<Flaw> for ToolError {
    fn from(flaw: Flaw) -> Self {
        match flaw {
            Flaw::Other => {
                Self::Corrupt("its format differs from that of its first bytes".to_owned())
            }
            Flaw::Broken(problem) => Self::Corrupt(problem),
            Flaw::Read(error) => Self::Failed(format!("the input cannot be read: {error}")),
        }
    }
}

/// Fails if the container states its length and the file is shorter. symphonia reports some such files as unknown.
pub(super) fn check_whole(file: File) -> Result<(), Flaw> {
    /// No track has this id.
    const NONE: u32 = 0;
    let mut source = Source::new(file, BLOCK).map_err(Flaw::Read)?;
    match source.peek::<12>()? {
        Some([_, _, _, _, b'f', b't', b'y', b'p', ..]) => mp4::marks(&mut source, NONE).map(drop),
        Some(head) if head.starts_with(&ebml::MAGIC) => ebml::check(&mut source, ebml::DOC_TYPES),
        Some([b'O', b'g', b'g', b'S', ..]) => ogg::check_all(&mut source),
        _ => Ok(()),
    }
}

/// Fails if the file is a damaged Matroska or WebM file. ffmpeg leaves out what it cannot read of such a file, and
/// succeeds.
pub(super) fn check_matroska(file: File) -> Result<(), Flaw> {
    let mut source = Source::new(file, BLOCK).map_err(Flaw::Read)?;
    match source.peek()? {
        Some(ebml::MAGIC) => ebml::check(&mut source, ebml::DOC_TYPES),
        _ => Ok(()),
    }
}

/// The marks of track `id`, in the container that symphonia calls `name`.
pub(super) fn marks(name: &str, file: File, id: u32) -> Result<Marks, Flaw> {
    let mut source = Source::new(file, BLOCK).map_err(Flaw::Read)?;
    match name {
        "isomp4" => mp4::marks(&mut source, id),
        "matroska" | "mkv" => matroska::marks(&mut source, id),
        _ => Ok(Marks::default()),
    }
}
