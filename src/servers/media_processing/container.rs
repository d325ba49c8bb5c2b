//! Facts about a container that symphonia does not report: the part of a track that is played, and whether the
//! file is complete. Only headers are read.

mod matroska;
mod mp4;

use std::{fs::File, ops::Range};

use crate::{
    assets::format::{Flaw, Source, broken},
    servers::tool::ToolError,
};

/// The size of the buffer. It is small because headers are far apart.
const BLOCK: usize = 512;

/// The largest page of Ogg: a header of 27 bytes, 255 lengths, and 255 segments of 255 bytes.
const LARGEST_PAGE: u64 = 27 + 255 + 255 * 255;
const END_OF_STREAM: u8 = 0x04;

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
        Some([0x1A, 0x45, 0xDF, 0xA3, ..]) => matroska::marks(&mut source, NONE).map(drop),
        Some([b'O', b'g', b'g', b'S', ..]) => check_last_page(&mut source),
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

/// Fails if a part of the file ends beyond the end of the file.
fn check_end(source: &Source, part: &str, end: u64) -> Result<(), Flaw> {
    match end.checked_sub(source.len()) {
        None | Some(0) => Ok(()),
        Some(missing) => broken(format!(
            "the file ends {missing} bytes before its {part} does"
        )),
    }
}

/// Fails unless an Ogg file ends with a complete page that is marked as the last one (RFC 3533, 6).
fn check_last_page(source: &mut Source) -> Result<(), Flaw> {
    source.seek(source.len().saturating_sub(LARGEST_PAGE), "the last page")?;
    let tail = source.bytes(source.left(), "the last page")?;
    let last = tail.windows(4).rposition(|at| at == b"OggS");
    let Some(page) = last.and_then(|at| tail.get(at..)) else {
        return broken("it has no last page");
    };
    let (Some(flags), Some(segments)) = (page.get(5), page.get(26)) else {
        return broken("its last page is malformed");
    };
    let header = 27 + usize::from(*segments);
    let Some(lengths) = page.get(27..header) else {
        return broken("its last page is malformed");
    };
    let body: usize = lengths.iter().map(|&length| usize::from(length)).sum();
    let begin = source.len() - page.len() as u64;
    check_end(source, "last page", begin + (header + body) as u64)?;
    if flags & END_OF_STREAM == 0 {
        return broken("it has no page that ends its stream");
    }
    Ok(())
}
