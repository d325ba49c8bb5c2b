//! Edit lists of MP4 and MOV (ISO/IEC 14496-12, 8.6.6), which state the part of a track that is played. Encoders
//! use them to exclude the priming samples of a codec, 1024 for AAC. symphonia does not report them.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    iter,
    ops::Range,
    path::Path,
};

use crate::{
    servers::{files::open_regular, tool::ToolError},
    task::Format,
};

/// The largest movie header that is read, in bytes. The header of a film of a day has 20 MB.
const LARGEST_HEADER: u64 = 256 << 20;

/// The start of an empty edit.
const EMPTY: i64 = -1;

/// The edit list of a track of audio or video.
pub(super) struct Edits {
    pub(super) track: u32,
    /// The only part that is played, in the time base of the track. `None` if there are several parts, or none.
    pub(super) part: Option<Range<i64>>,
    /// Whether more than 0.1 s of the duration that the track states are behind that part, or its parts are unknown.
    pub(super) hides_end: bool,
}

/// The edit lists of a file. There are none if it is no MP4 or MOV.
pub(super) fn edits(path: &Path, format: Option<Format>) -> Result<Vec<Edits>, ToolError> {
    if !matches!(format, Some(Format::Mp4 | Format::Mov)) {
        return Ok(Vec::new());
    }
    let mut file = open_regular("input_uri", path)?;
    let movie = movie(&mut file).map_err(ToolError::io("read", path))?;
    let scale = boxes(&movie, *b"mvhd")
        .next()
        .and_then(|mvhd| field(mvhd, 0, 4));
    let scale = scale.unwrap_or(1);
    let tracks = boxes(&movie, *b"trak");
    Ok(tracks.filter_map(|track| edits_of(track, scale)).collect())
}

/// The content of the movie header (`moov`). It is empty if there is none.
fn movie(file: &mut File) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    let (mut at, mut movie) = (0, Vec::new());
    while at + 16 <= length {
        let mut header = [0; 16];
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(&mut header)?;
        let [s0, s1, s2, s3, kind @ .., l0, l1, l2, l3, l4, l5, l6, l7] = header;
        let size = match u32::from_be_bytes([s0, s1, s2, s3]) {
            0 => length - at,
            1 => u64::from_be_bytes([l0, l1, l2, l3, l4, l5, l6, l7]),
            size => size.into(),
        };
        if &kind == b"moov" {
            file.seek(SeekFrom::Start(at + 8))?;
            file.take(size.clamp(8, LARGEST_HEADER) - 8)
                .read_to_end(&mut movie)?;
            break;
        }
        at = at.saturating_add(size.max(8));
    }
    Ok(movie)
}

fn edits_of(track: &[u8], movie_scale: u64) -> Option<Edits> {
    let handler = inside(track, &[*b"mdia", *b"hdlr"])?;
    if !matches!(handler.get(8..12)?, b"vide" | b"soun") {
        return None;
    }
    let list = inside(track, &[*b"edts", *b"elst"])?;
    let header = inside(track, &[*b"mdia", *b"mdhd"])?;
    let scale = field(header, 0, 4)?;
    // In a fragmented file, the duration is 0 or that of the first part. All ones stand for an unknown one.
    let duration = field(header, 4, width(header)).filter(|&whole| whole < u32::MAX.into());
    // Empty edits before the others are silence before the track, which ffmpeg does not write either.
    let parts = entries(list).skip_while(|(_, start)| *start == EMPTY);
    let part = match parts.collect::<Vec<_>>()[..] {
        [(length, start)] if start >= 0 => {
            // In a fragmented file, the length 0 means that the edit extends to the end.
            let rounded = length.saturating_mul(scale).saturating_add(movie_scale / 2);
            let length = match length {
                0 => i64::MAX,
                _ => i64::try_from(rounded.checked_div(movie_scale)?).ok()?,
            };
            Some(start..start.saturating_add(length))
        }
        [] if entries(list).next().is_none() => return None,
        _ => None,
    };
    let end = part.as_ref().map_or(0, |part| part.end.unsigned_abs());
    Some(Edits {
        track: inside(track, &[*b"tkhd"])
            .and_then(|tkhd| field(tkhd, 0, 4))?
            .try_into()
            .ok()?,
        hides_end: part.is_none() || duration.unwrap_or(0).saturating_sub(end) > scale / 10,
        part,
    })
}

/// The entries of an edit list: the duration in the movie's time scale, and the start in the track's.
fn entries(list: &[u8]) -> impl Iterator<Item = (u64, i64)> {
    let width = width(list);
    let entries = list
        .get(8..)
        .unwrap_or_default()
        .chunks_exact(2 * width + 4);
    entries.filter_map(move |entry| {
        let start = number(entry, width, width)?.cast_signed();
        let unused = 64 - 8 * u32::try_from(width).ok()?;
        Some((number(entry, 0, width)?, start << unused >> unused))
    })
}

/// The number `offset` bytes behind the two times with which a header begins: the time scale of an `mvhd` or `mdhd` in
/// units per second, or the track of a `tkhd`.
fn field(header: &[u8], offset: usize, bytes: usize) -> Option<u64> {
    number(header, 4 + 2 * width(header) + offset, bytes)
}

/// The bytes of a time in a box. The version of the box precedes its content.
fn width(content: &[u8]) -> usize {
    if content.first() == Some(&1) { 8 } else { 4 }
}

fn number(content: &[u8], at: usize, bytes: usize) -> Option<u64> {
    let bytes = content.get(at..at + bytes)?.iter();
    Some(bytes.fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// The first box at this path of types.
fn inside<'a>(content: &'a [u8], path: &[[u8; 4]]) -> Option<&'a [u8]> {
    let mut path = path.iter();
    path.try_fold(content, |content, kind| boxes(content, *kind).next())
}

/// The contents of the boxes of this type.
fn boxes(mut content: &[u8], wanted: [u8; 4]) -> impl Iterator<Item = &[u8]> {
    let all = iter::from_fn(move || {
        let [s0, s1, s2, s3, kind @ ..] = *content.first_chunk::<8>()?;
        let size = usize::try_from(u32::from_be_bytes([s0, s1, s2, s3])).ok()?;
        let (whole, rest) = content.split_at_checked(size)?;
        content = rest;
        Some((kind, whole.get(8..)?))
    });
    all.filter_map(move |(kind, content)| (kind == wanted).then_some(content))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The edits of the audio track of a film whose edit lists were changed.
    fn of_audio(change: impl Fn(&mut [u8])) -> Edits {
        let film = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/media/fox.mp4");
        let mut bytes = fs::read(film).expect("readable");
        let lists: Vec<usize> = (0..bytes.len())
            .filter(|at| bytes[*at..].starts_with(b"elst"))
            .collect();
        for list in lists {
            change(&mut bytes[list + 4..list + 24]);
        }
        let scratch = tempfile::TempDir::new().expect("a directory");
        let path = scratch.path().join("film.mp4");
        fs::write(&path, bytes).expect("written");
        let edits = edits(&path, Some(Format::Mp4)).expect("readable");
        let audio = edits.into_iter().find(|edits| edits.track == 2);
        audio.expect("an edit list of the audio")
    }

    #[test]
    fn the_part_that_is_played_and_a_hidden_end_are_found() {
        let whole = of_audio(|_| {});
        // 2,965 of 1,000 units, of a track that counts 48,000.
        assert_eq!(whole.part, Some(1024..1024 + 2965 * 48));
        assert!(!whole.hides_end);
        let short = of_audio(|list| list[8..12].copy_from_slice(&1000_u32.to_be_bytes()));
        assert_eq!(short.part, Some(1024..49_024));
        assert!(short.hides_end);
        let open = of_audio(|list| list[8..12].fill(0));
        assert_eq!(open.part, Some(1024..i64::MAX));
    }

    #[test]
    fn an_edit_list_that_plays_nothing_has_no_part() {
        let nothing = of_audio(|list| list[12..16].fill(0xFF));
        assert!(nothing.part.is_none() && nothing.hides_end);
    }
}
