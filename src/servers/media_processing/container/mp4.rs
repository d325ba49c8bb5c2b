//! Edit lists of MP4 and MOV (ISO/IEC 14496-12, 8.6.6): which part of a track is played. Encoders use
//! them to cut off the samples a codec needs to get going, 1024 for AAC.

use std::ops::Range;

use super::{Bytes, ContainerProblem, MOST_PARTS, Marks};

/// More edits than any film has.
const MOST_EDITS: u32 = 100_000;

/// A box: its type, and where its content lies.
struct Atom {
    kind: [u8; 4],
    body: Range<u64>,
}

/// One entry of an edit list. The duration counts in the movie's time scale, the start in the track's.
struct Edit {
    duration: u64,
    start: i64,
}

/// The edits of track `id`. Fails if a box runs over the end of the file.
pub(super) fn marks(bytes: &mut Bytes, id: u32) -> Result<Marks, ContainerProblem> {
    let top = atoms(bytes, 0..bytes.length)?;
    if let Some(cut) = top.iter().find(|atom| atom.body.end > bytes.length) {
        let part = if cut.kind == *b"mdat" {
            "media data"
        } else {
            "last box"
        };
        return Err(ContainerProblem::Truncated {
            part,
            missing: cut.body.end - bytes.length,
        });
    }
    let moov = find(&top, *b"moov").ok_or(ContainerProblem::Missing("movie header"))?;
    let moov = atoms(bytes, moov.body.clone())?;
    let movie_scale = match find(&moov, *b"mvhd") {
        Some(mvhd) => time_scale(bytes, mvhd)?,
        None => return Err(ContainerProblem::Missing("movie header")),
    };
    for trak in moov.iter().filter(|atom| atom.kind == *b"trak") {
        let trak = atoms(bytes, trak.body.clone())?;
        let is_ours = match find(&trak, *b"tkhd") {
            Some(tkhd) => track_id(bytes, tkhd)? == id,
            None => false,
        };
        if is_ours {
            return Ok(Marks {
                edits: edits(bytes, &trak, movie_scale)?,
                end_padding: 0,
            });
        }
    }
    Ok(Marks::default())
}

/// The played ranges, in the track's time scale.
fn edits(
    bytes: &mut Bytes,
    trak: &[Atom],
    movie_scale: u32,
) -> Result<Vec<Range<i64>>, ContainerProblem> {
    let (Some(edts), Some(mdia)) = (find(trak, *b"edts"), find(trak, *b"mdia")) else {
        return Ok(Vec::new());
    };
    let (edts, mdia) = (
        atoms(bytes, edts.body.clone())?,
        atoms(bytes, mdia.body.clone())?,
    );
    let (Some(elst), Some(mdhd)) = (find(&edts, *b"elst"), find(&mdia, *b"mdhd")) else {
        return Ok(Vec::new());
    };
    let track_scale = time_scale(bytes, mdhd)?;
    let played = |Edit { duration, start }: Edit| {
        // In a fragmented file the duration is 0: to the end.
        let length = match duration {
            0 => i64::MAX,
            _ => rescaled(duration, movie_scale, track_scale),
        };
        start..start.saturating_add(length)
    };
    // A start of −1 is an empty edit: silence before the track, which ffmpeg does not write either.
    Ok(entries(bytes, elst)?
        .into_iter()
        .filter(|edit| edit.start >= 0)
        .map(played)
        .collect())
}

fn entries(bytes: &mut Bytes, elst: &Atom) -> Result<Vec<Edit>, ContainerProblem> {
    bytes.seek(elst.body.start)?;
    let [version, ..] = bytes.read::<4>()?;
    let count = u32::from_be_bytes(bytes.read()?);
    let size = if version == 1 { 20 } else { 12 };
    if count > MOST_EDITS || u64::from(count) * size + 8 > elst.body.end - elst.body.start {
        return Err(ContainerProblem::Malformed("edit list"));
    }
    let mut edits = Vec::new();
    for _ in 0..count {
        edits.push(if version == 1 {
            Edit {
                duration: u64::from_be_bytes(bytes.read()?),
                start: i64::from_be_bytes(bytes.read()?),
            }
        } else {
            let duration = u32::from_be_bytes(bytes.read()?).into();
            Edit {
                duration,
                start: i32::from_be_bytes(bytes.read()?).into(),
            }
        });
        let _rate = bytes.read::<4>()?;
    }
    Ok(edits)
}

/// To the nearest, halves up.
fn rescaled(time: u64, from: u32, to: u32) -> i64 {
    let (from, to) = (u128::from(from.max(1)), u128::from(to));
    i64::try_from((u128::from(time) * to + from / 2) / from).unwrap_or(i64::MAX)
}

/// The time scale of an `mvhd` or `mdhd`, units per second.
fn time_scale(bytes: &mut Bytes, header: &Atom) -> Result<u32, ContainerProblem> {
    bytes.seek(header.body.start)?;
    let [version, ..] = bytes.read::<4>()?;
    bytes.seek(header.body.start + if version == 1 { 20 } else { 12 })?;
    Ok(u32::from_be_bytes(bytes.read()?))
}

fn track_id(bytes: &mut Bytes, tkhd: &Atom) -> Result<u32, ContainerProblem> {
    bytes.seek(tkhd.body.start)?;
    let [version, ..] = bytes.read::<4>()?;
    bytes.seek(tkhd.body.start + if version == 1 { 20 } else { 12 })?;
    Ok(u32::from_be_bytes(bytes.read()?))
}

fn find(atoms: &[Atom], kind: [u8; 4]) -> Option<&Atom> {
    atoms.iter().find(|atom| atom.kind == kind)
}

/// The boxes in `range`, without what is in them.
fn atoms(bytes: &mut Bytes, range: Range<u64>) -> Result<Vec<Atom>, ContainerProblem> {
    let mut atoms = Vec::new();
    let mut at = range.start;
    while at.saturating_add(8) <= range.end {
        if atoms.len() >= MOST_PARTS {
            return Err(ContainerProblem::Malformed("box structure"));
        }
        bytes.seek(at)?;
        let size = u32::from_be_bytes(bytes.read()?);
        let kind = bytes.read()?;
        let (header, size) = match size {
            0 => (8, range.end - at),
            1 => (16, u64::from_be_bytes(bytes.read()?)),
            size => (8, size.into()),
        };
        if size < header {
            return Err(ContainerProblem::Malformed("box structure"));
        }
        let end = at.saturating_add(size);
        atoms.push(Atom {
            kind,
            body: at + header..end,
        });
        at = end;
    }
    Ok(atoms)
}
