//! FLAC and MP3 as symphonia's readers see them, and the last page of Ogg (RFC 3533).

use std::{
    fs::File,
    panic::{AssertUnwindSafe, catch_unwind},
};

use symphonia::{
    core::{
        errors::Error,
        formats::{FormatOptions, FormatReader, probe::Hint},
        io::{MediaSourceStream, MediaSourceStreamOptions},
        meta::MetadataOptions,
    },
    default::get_probe,
};

use super::source::{Flaw, Source, broken};

/// Opens a media file with symphonia. `extension` only decides which format is tried first.
pub(crate) fn open(file: File, extension: &str) -> Result<Box<dyn FormatReader>, Error> {
    let mut hint = Hint::new();
    hint.with_extension(extension);
    let stream = MediaSourceStream::new(Box::new(file), MediaSourceStreamOptions::default());
    let (format, metadata) = (FormatOptions::default(), MetadataOptions::default());
    get_probe().probe(&hint, stream, format, metadata)
}

/// symphonia panics on some invalid files.
pub(crate) fn unless_it_panics<T>(read: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(read)).ok()
}

/// Checks that a FLAC file has frames, and all samples that it states.
pub(super) fn check_flac(source: &mut Source) -> Result<(), Flaw> {
    match source.peek()? {
        Some([b'f', b'L', b'a', b'C']) => packets(source, "flac"),
        _ => Err(Flaw::Other),
    }
}

/// Checks that an MP3 file has frames, and all samples that its first frame states.
pub(super) fn check_mp3(source: &mut Source) -> Result<(), Flaw> {
    match source.peek()? {
        Some([b'I', b'D', b'3', _] | [0xFF, 0xE0..=0xFF, _, _]) => packets(source, "mp3"),
        _ => Err(Flaw::Other),
    }
}

fn packets(source: &mut Source, format: &str) -> Result<(), Flaw> {
    let file = source.file().map_err(Flaw::Read)?;
    let counted = unless_it_panics(|| count(&*source, file, format));
    counted.unwrap_or_else(|| broken("its headers are malformed"))
}

/// Reads all packets and compares the number of their samples with the stated one.
fn count(source: &Source, file: File, format: &str) -> Result<(), Flaw> {
    let mut reader = open(file, format).map_err(flaw)?;
    let track = match reader.tracks() {
        [track] if reader.format_info().short_name == format => track,
        _ => return Err(Flaw::Other),
    };
    // Without a tag of its encoder, the length of an MP3 is estimated from its bit rate.
    let is_stated = format == "flac" || track.delay.is_some();
    let hidden = track.delay.unwrap_or_default() + track.padding.unwrap_or_default();
    let stated = track.num_frames.filter(|_| is_stated);
    let (mut packets, mut samples) = (0_u64, 0);
    loop {
        source.check_go_on().map_err(Flaw::Read)?;
        match reader.next_packet().map_err(flaw)? {
            Some(packet) => (packets, samples) = (packets + 1, samples + packet.dur.get()),
            None => break,
        }
    }
    match stated.map(|stated| stated + u64::from(hidden)) {
        Some(stated) if samples < stated => {
            broken(format!("it ends after {samples} of {stated} samples"))
        }
        // A single frame may be a coincidence.
        _ if packets < 2 && format == "mp3" => Err(Flaw::Other),
        _ if packets == 0 => broken("it has no audio frames"),
        _ => Ok(()),
    }
}

fn flaw(error: Error) -> Flaw {
    match error {
        Error::IoError(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
            Flaw::Read(error)
        }
        Error::IoError(_) => Flaw::Broken("it ends in the middle of its audio".to_owned()),
        Error::Unsupported(_) => Flaw::Other,
        error => Flaw::Broken(error.to_string()),
    }
}

/// The size of the longest page of Ogg.
const LONGEST_PAGE: u64 = 27 + 255 + 255 * 255;
const ENDS_STREAM: u8 = 4;

/// Checks that an Ogg file has several pages, and that the last one is complete and ends a stream.
pub(super) fn check_ogg(source: &mut Source) -> Result<(), Flaw> {
    if source.peek()? != Some(*b"OggS") {
        return Err(Flaw::Other);
    }
    let tail = source.tail(LONGEST_PAGE)?;
    let starts = (0..tail.len()).rev().filter(|at| starts_at(&tail, *at));
    let mut whole = starts.filter_map(|at| page(tail.get(at..)?));
    match whole.next() {
        None => broken("it does not end with a complete page"),
        Some((length, _)) if length == source.len() => {
            broken("it has only one page, and so no media")
        }
        Some((_, flags)) if flags & ENDS_STREAM == 0 => broken("no page ends its last stream"),
        Some(_) => Ok(()),
    }
}

fn starts_at(bytes: &[u8], at: usize) -> bool {
    bytes
        .get(at..)
        .is_some_and(|rest| rest.starts_with(b"OggS"))
}

/// The length and the flags of the page that `bytes` are, if they are exactly one.
fn page(bytes: &[u8]) -> Option<(u64, u8)> {
    let (&flags, &segments) = (bytes.get(5)?, bytes.get(26)?);
    let sizes = bytes.get(27..27 + usize::from(segments))?;
    let body: usize = sizes.iter().map(|size| usize::from(*size)).sum();
    (27 + sizes.len() + body == bytes.len()).then_some((bytes.len() as u64, flags))
}
