//! The tracks of a segment (RFC 9559, 5.1.4). Readers silently leave out a track without a type or a codec.

use std::collections::BTreeSet;

use crc::{CRC_32_ISO_HDLC, Crc};

use super::{CRC_32, Element, Flaw, Source, VOID, broken, each_child, next_within};

/// The checksum of RFC 8794, 11.3.1.
static CHECKSUM: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

const TRACK_ENTRY: u32 = 0xAE;
const TRACK_NUMBER: u32 = 0xD7;
const TRACK_TYPE: u32 = 0x83;
const CODEC_ID: u32 = 0x86;

/// Video, audio, complex, logo, subtitle, buttons, control, metadata.
const TYPES: &[u64] = &[1, 2, 3, 16, 17, 18, 32, 33];

/// The largest number of tracks of a segment.
const MOST_TRACKS: usize = 4096;

/// The numbers of the tracks of a segment.
#[derive(Default)]
pub(super) struct Tracks {
    /// The declared tracks. They may be declared after the blocks.
    pub(super) known: Option<BTreeSet<u64>>,
    /// The tracks of the blocks before the first declaration.
    used: BTreeSet<u64>,
}

impl Tracks {
    pub(super) fn read(&mut self, source: &mut Source, tracks: &Element) -> Result<(), Flaw> {
        check_sum(source, tracks)?;
        let known = self.known.get_or_insert_default();
        each_child(source, tracks, |source, entry| match entry.id {
            TRACK_ENTRY => add(known, track_number(source, entry)?),
            VOID | CRC_32 => Ok(()),
            _ => entry.misplaced(),
        })?;
        match self.used.iter().find(|track| !known.contains(track)) {
            Some(track) => broken(format!(
                "it has blocks of track {track}, which does not exist"
            )),
            None => Ok(()),
        }
    }

    /// Notes that the block at byte `start` belongs to a track.
    pub(super) fn enter(&mut self, track: u64, start: u64) -> Result<(), Flaw> {
        match &self.known {
            None => add(&mut self.used, track),
            Some(known) if known.contains(&track) => Ok(()),
            Some(_) => broken(format!(
                "the block at byte {start} belongs to track {track}, which does not exist"
            )),
        }
    }
}

fn add(tracks: &mut BTreeSet<u64>, track: u64) -> Result<(), Flaw> {
    tracks.insert(track);
    if tracks.len() > MOST_TRACKS {
        return broken(format!("it has more than {MOST_TRACKS} tracks"));
    }
    Ok(())
}

/// Verifies the checksum of the tracks, if they begin with one. Moves back to their start.
fn check_sum(source: &mut Source, tracks: &Element) -> Result<(), Flaw> {
    let end = tracks.known_end()?;
    if source.at() == end {
        return Ok(());
    }
    let first = next_within(source, end)?;
    if first.id == CRC_32 {
        if first.known_end()? != first.body + 4 {
            return first.misplaced();
        }
        let stated = u32::from_le_bytes(source.exact("a checksum")?);
        let mut digest = CHECKSUM.digest();
        source.blocks(end - source.at(), "the tracks", |block| {
            digest.update(block);
        })?;
        if digest.finalize() != stated {
            let start = tracks.start;
            return broken(format!("the Tracks at byte {start} have a wrong checksum"));
        }
    }
    source.seek(tracks.body, "the tracks")
}

/// The number of a track, which must also have a type and a codec.
fn track_number(source: &mut Source, entry: &Element) -> Result<u64, Flaw> {
    let (mut number, mut kind, mut codec) = (None, None, None);
    each_child(source, entry, |source, field| {
        match field.id {
            TRACK_NUMBER => number = Some(integer(source, field)?),
            TRACK_TYPE => kind = Some(integer(source, field)?),
            CODEC_ID => codec = Some(field.body),
            _ => {}
        }
        Ok(())
    })?;
    let missing = match (number, kind, codec) {
        (Some(number), Some(kind), Some(_)) if TYPES.contains(&kind) => return Ok(number),
        (None, _, _) => "number",
        (_, _, None) => "codec id",
        _ => "known type",
    };
    let start = entry.start;
    broken(format!("the track at byte {start} has no {missing}"))
}

fn integer(source: &mut Source, field: &Element) -> Result<u64, Flaw> {
    let bytes = source.bytes((field.known_end()? - field.body).min(8), "a track")?;
    Ok(bytes
        .iter()
        .fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}
