//! Facts about a container that symphonia and ffmpeg do not report: the part of a track that is played, and whether
//! the file is complete. Of Ogg, all pages are read; of FLAC, the last frame; of the others, only headers.

mod matroska;
mod mp4;

use std::{fs::File, ops::Range, path::Path};

use crate::{
    assets::format::{Flaw, Source, bmff, ebml, flac, ogg},
    servers::tool::{Run, ToolError},
};

/// The size of the buffer. It is small because headers are far apart.
const BLOCK: usize = 512;

/// What is played of a track.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Marks {
    pub(super) played: Played,
    /// The padding of packets, by their numbers in ascending order.
    pub(super) padding: Vec<Padding>,
    /// Whether the container does not state its length, as in a live recording.
    pub(super) is_open: bool,
}

/// The part of a track's timeline that is played.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Played {
    #[default]
    Whole,
    /// A range in the time base of the track.
    Part(Range<i64>),
    /// Several parts, in any order, or none.
    Parts,
}

/// Samples of a packet that are not played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Padding {
    /// The number of the packet in its track, from 0.
    pub(super) packet: u64,
    /// A negative padding is at the start of the packet, a positive one at its end.
    pub(super) nanoseconds: i64,
}

impl Padding {
    /// The samples at the start, if there are any, and at the end.
    pub(super) fn samples(self, rate: u32) -> (Option<usize>, usize) {
        let time = u128::from(self.nanoseconds.unsigned_abs());
        let samples = (time * u128::from(rate) + 500_000_000) / 1_000_000_000;
        let samples = usize::try_from(samples).unwrap_or(usize::MAX);
        match self.nanoseconds {
            ..0 => (Some(samples), 0),
            0.. => (None, samples),
        }
    }
}

/// The error of a flaw in the input.
pub(super) fn refused(flaw: Flaw, path: &Path) -> ToolError {
    let shown = path.display();
    match flaw {
        Flaw::Other => ToolError::Corrupt(format!("{shown}: its document type is unknown")),
        Flaw::Broken(problem) => ToolError::Corrupt(format!("{shown}: {problem}")),
        Flaw::Read(error) => ToolError::io("read", path)(error),
    }
}

/// Fails if the container shows that the file is damaged or incomplete: MP4 and MOV by the boxes, Matroska and WebM by
/// the elements and blocks, Ogg by the pages, FLAC by the last frame. Other containers are not checked. Readers leave
/// out what they cannot read of such a file, and succeed.
pub(super) fn check_whole(file: File, path: &Path, run: &Run<'_>) -> Result<(), ToolError> {
    let go_on = || run.check_cancelled().is_ok();
    let checked = Source::new(file, BLOCK)
        .map_err(Flaw::Read)
        .and_then(|source| check(&mut source.ending_with(&go_on)));
    run.check_cancelled()?;
    checked.map_err(|flaw| refused(flaw, path))
}

fn check(source: &mut Source) -> Result<(), Flaw> {
    match source.peek::<8>()? {
        Some(head) if head.starts_with(&ebml::MAGIC) => ebml::check(source, ebml::DOC_TYPES),
        Some([b'O', b'g', b'g', b'S', ..]) => ogg::check(source),
        Some([b'f', b'L', b'a', b'C', ..]) => flac::check(source),
        Some([_, _, _, _, kind @ ..]) if bmff::is_first(kind) => bmff::check_boxes(source),
        _ => Ok(()),
    }
}

/// Fails if something stands before the container that symphonia calls `name`. symphonia searches for its beginning, and
/// the file may be another one that holds it. An MP3 or AAC file has no beginning that could be compared.
pub(super) fn check_beginning(name: &str, file: File, path: &Path) -> Result<(), ToolError> {
    let head = Source::new(file, BLOCK).map_err(Flaw::Read);
    let head = head.and_then(|mut source| source.peek::<8>());
    let head = head
        .map_err(|flaw| refused(flaw, path))?
        .unwrap_or_default();
    let [_, _, _, _, kind @ ..] = head;
    let is_first = match name {
        "ogg" => head.starts_with(b"OggS"),
        "matroska" | "mkv" => head.starts_with(&ebml::MAGIC),
        "isomp4" => bmff::is_first(kind),
        "wave" => head.starts_with(b"RIF"),
        "flac" => head.starts_with(b"fLaC") || head.starts_with(b"ID3"),
        "aiff" => head.starts_with(b"FORM"),
        "caf" => head.starts_with(b"caff"),
        _ => true,
    };
    if is_first {
        return Ok(());
    }
    let shown = path.display();
    let problem = format!("{shown}: something stands before the beginning of its audio container");
    Err(ToolError::Corrupt(problem))
}

/// The length of the file without the tags behind FLAC. symphonia would leave out the last frame before a tag. Before
/// FLAC, too, there may be a tag. If MP3 follows it, the result is the same without the other tags.
pub(super) fn audio_end(file: File, path: &Path) -> Result<u64, ToolError> {
    let found = Source::new(file, BLOCK)
        .map_err(Flaw::Read)
        .and_then(|mut source| match source.peek()? {
            Some([b'f', b'L', b'a', b'C'] | [b'I', b'D', b'3', _]) => flac::frames_end(&mut source),
            _ => Ok(source.len()),
        });
    found.map_err(|flaw| refused(flaw, path))
}

/// Whether an edit list of MP4 or MOV hides a part of a track. Of the beginning, only what is longer than 0.4 s is found.
pub(super) fn hides_part(file: File, path: &Path) -> Result<bool, ToolError> {
    let head = Source::new(file, BLOCK).map_err(Flaw::Read);
    let hides = head.and_then(|mut source| match source.peek::<8>()? {
        Some([_, _, _, _, kind @ ..]) if bmff::is_first(kind) => mp4::hides(&mut source),
        _ => Ok(false),
    });
    hides.map_err(|flaw| refused(flaw, path))
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
