//! Edit lists of MP4 and MOV (ISO/IEC 14496-12, 8.6.6), which state the part of a track that is played. Encoders
//! use them to exclude the priming samples of a codec, 1024 for AAC.

use std::ops::Range;

use super::{Marks, Played};
use crate::assets::format::{
    Flaw, Source,
    bmff::{BoxHeader, next_box},
    broken,
};

/// The largest number of sibling boxes. A fragmented file of a day has 50 000.
const MOST_PARTS: usize = 1_000_000;

/// The largest number of edits.
const MOST_EDITS: u32 = 100_000;

/// The start of an empty edit.
const EMPTY: i64 = -1;

/// An entry of an edit list. The duration is in the movie's time scale, the start in the track's.
struct Edit {
    duration: u64,
    start: i64,
}

/// The edit of track `id` in a file that was checked.
pub(super) fn marks(source: &mut Source, id: u32) -> Result<Marks, Flaw> {
    let (movie_scale, traks) = tracks(source)?;
    for trak in traks {
        let trak = inside(source, &trak)?;
        let track = find(&trak, *b"tkhd").map(|tkhd| field(source, tkhd));
        if track.transpose()? == Some(id) {
            let (played, _) = played(source, &trak, movie_scale)?;
            return Ok(Marks {
                played,
                ..Marks::default()
            });
        }
    }
    Ok(Marks::default())
}

/// Whether an edit list hides a part of a track of audio or video.
pub(super) fn hides(source: &mut Source) -> Result<bool, Flaw> {
    let (movie_scale, traks) = tracks(source)?;
    for trak in traks {
        let trak = inside(source, &trak)?;
        if is_played(source, &trak)? && played(source, &trak, movie_scale)?.1 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The time scale of the movie, and the boxes of its tracks.
fn tracks(source: &mut Source) -> Result<(u32, Vec<BoxHeader>), Flaw> {
    let all = 0..source.len();
    let top = boxes(source, all)?;
    let mut moov = match find(&top, *b"moov") {
        Some(moov) => inside(source, moov)?,
        None => Vec::new(),
    };
    let Some(mvhd) = find(&moov, *b"mvhd") else {
        return broken("it has no movie header");
    };
    let movie_scale = field(source, mvhd)?;
    moov.retain(|each| each.kind == *b"trak");
    Ok((movie_scale, moov))
}

/// Whether a track is of audio or video, by its handler.
fn is_played(source: &mut Source, trak: &[BoxHeader]) -> Result<bool, Flaw> {
    let Some(mdia) = find(trak, *b"mdia") else {
        return Ok(false);
    };
    let mdia = inside(source, mdia)?;
    let Some(hdlr) = find(&mdia, *b"hdlr") else {
        return Ok(false);
    };
    source.seek(hdlr.body, "a handler")?;
    let [_, _, _, _, _, _, _, _, kind @ ..]: [u8; 12] = source.exact("a handler")?;
    Ok(matches!(&kind, b"vide" | b"soun"))
}

/// The part that is played, in the track's time scale, and whether a part is hidden: more than 0.1 s of the duration that
/// the track states behind it, or more before it than a codec needs to begin.
fn played(
    source: &mut Source,
    trak: &[BoxHeader],
    movie_scale: u32,
) -> Result<(Played, bool), Flaw> {
    let (Some(edts), Some(mdia)) = (find(trak, *b"edts"), find(trak, *b"mdia")) else {
        return Ok((Played::Whole, false));
    };
    let (edts, mdia) = (inside(source, edts)?, inside(source, mdia)?);
    let (Some(elst), Some(mdhd)) = (find(&edts, *b"elst"), find(&mdia, *b"mdhd")) else {
        return Ok((Played::Whole, false));
    };
    let is_long = version(source, mdhd)? == 1;
    let track_scale = field(source, mdhd)?;
    // In a fragmented file, the duration is 0 or that of the first part.
    let whole = if is_long {
        u64::from_be_bytes(source.exact("a header")?)
    } else {
        u32::from_be_bytes(source.exact("a header")?).into()
    };
    // All ones stand for an unknown duration.
    let whole = i64::try_from(whole)
        .ok()
        .filter(|whole| *whole != i64::from(u32::MAX));
    let whole = whole.unwrap_or(0);
    let entries = entries(source, elst)?;
    if entries.is_empty() {
        return Ok((Played::Whole, false));
    }
    // Empty edits before the others are silence before the track, which ffmpeg does not write either.
    let mut edits = entries.iter().skip_while(|edit| edit.start == EMPTY);
    Ok(match (edits.next(), edits.next()) {
        (Some(&Edit { duration, start }), None) if start >= 0 => {
            // In a fragmented file, the duration 0 means that the edit extends to the end.
            let length = match duration {
                0 => i64::MAX,
                _ => rescaled(duration, movie_scale, track_scale),
            };
            let end = start.saturating_add(length);
            let behind = whole.saturating_sub(end);
            (
                Played::Part(start..end),
                behind > i64::from(track_scale / 10),
            )
        }
        _ => (Played::Parts, true),
    })
}

fn entries(source: &mut Source, elst: &BoxHeader) -> Result<Vec<Edit>, Flaw> {
    const PART: &str = "an edit list";
    let version = version(source, elst)?;
    let count = u32::from_be_bytes(source.exact(PART)?);
    let size = if version == 1 { 20 } else { 12 };
    if count > MOST_EDITS || u64::from(count) * size + 8 > elst.end - elst.body {
        return broken("its edit list is malformed");
    }
    let mut edits = Vec::new();
    for _ in 0..count {
        edits.push(if version == 1 {
            Edit {
                duration: u64::from_be_bytes(source.exact(PART)?),
                start: i64::from_be_bytes(source.exact(PART)?),
            }
        } else {
            Edit {
                duration: u32::from_be_bytes(source.exact(PART)?).into(),
                start: i32::from_be_bytes(source.exact(PART)?).into(),
            }
        });
        // Skips the rate.
        source.skip(4, PART)?;
    }
    Ok(edits)
}

/// Rounds to the nearest integer, halves up.
fn rescaled(time: u64, from: u32, to: u32) -> i64 {
    let (from, to) = (u128::from(from.max(1)), u128::from(to));
    i64::try_from((u128::from(time) * to + from / 2) / from).unwrap_or(i64::MAX)
}

/// The field after the two times of a header: the time scale of an `mvhd` or `mdhd` in units per second, or the
/// track id of a `tkhd`.
fn field(source: &mut Source, header: &BoxHeader) -> Result<u32, Flaw> {
    let times = if version(source, header)? == 1 { 16 } else { 8 };
    source.skip(times, "a header")?;
    Ok(u32::from_be_bytes(source.exact("a header")?))
}

/// The version of a box. It precedes the content, followed by 24 bits of flags.
fn version(source: &mut Source, header: &BoxHeader) -> Result<u8, Flaw> {
    source.seek(header.body, "a box")?;
    let [version, _, _, _] = source.exact("a box")?;
    Ok(version)
}

fn find(boxes: &[BoxHeader], kind: [u8; 4]) -> Option<&BoxHeader> {
    boxes.iter().find(|each| each.kind == kind)
}

fn inside(source: &mut Source, outer: &BoxHeader) -> Result<Vec<BoxHeader>, Flaw> {
    boxes(source, outer.body..outer.end)
}

/// The boxes in `range`, without the boxes inside them.
fn boxes(source: &mut Source, range: Range<u64>) -> Result<Vec<BoxHeader>, Flaw> {
    let mut boxes = Vec::new();
    let mut at = range.start;
    while at.saturating_add(8) <= range.end {
        if boxes.len() >= MOST_PARTS {
            return broken("its box structure is malformed");
        }
        source.seek(at, "a box")?;
        let next = next_box(source, range.end)?;
        at = next.end;
        boxes.push(next);
    }
    Ok(boxes)
}
