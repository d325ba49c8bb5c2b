//! FLAC: metadata blocks, then frames (RFC 9639).

use crc::{CRC_16_UMTS, Crc};

use super::source::{Flaw, Source, broken};

/// The checksum of a frame (RFC 9639 §9.3). Over a frame including its checksum, the result is 0.
static CHECKSUM: Crc<u16> = Crc::<u16>::new(&CRC_16_UMTS);
const STREAM_INFO: u8 = 0;
const FORBIDDEN: u8 = 127;

/// The fields of STREAMINFO by which the last frame is found.
#[derive(Clone, Copy)]
struct StreamInfo {
    block_samples: u64,
    /// The length of a frame that stores every sample without compression.
    longest_frame: u64,
    /// 0 if the number is unknown.
    samples: u64,
}

/// Checks that STREAMINFO comes first, that audio frames follow the metadata, and that the last frame is complete:
/// by its checksum and, if the number of samples is known, by its number.
pub(super) fn check(source: &mut Source) -> Result<(), Flaw> {
    if source.peek()? != Some(*b"fLaC") {
        return Err(Flaw::Other);
    }
    source.skip(4, "the marker")?;
    let info = metadata(source)?;
    match source.peek()? {
        Some([0xFF, 0xF8 | 0xF9]) => last_frame(source, &info),
        Some(_) => broken(format!("at byte {} there is no audio frame", source.at())),
        None => broken("it has no audio frames"),
    }
}

fn metadata(source: &mut Source) -> Result<StreamInfo, Flaw> {
    let mut info = None;
    loop {
        let start = source.at();
        let [head, s2, s1, s0] = source.exact("a metadata block")?;
        let end = source.at() + u64::from(u32::from_be_bytes([0, s2, s1, s0]));
        match (info, head & 0x7F) {
            (None, STREAM_INFO) => info = Some(stream_info(source)?),
            (None, _) => return broken("its first metadata block is not STREAMINFO"),
            (Some(_), FORBIDDEN) => {
                return broken(format!("at byte {start} there is no metadata block"));
            }
            (Some(_), _) => {}
        }
        if source.at() > end {
            return broken("its STREAMINFO is too short");
        }
        source.seek(end, "a metadata block")?;
        if let (true, Some(info)) = (head & 0x80 != 0, info) {
            return Ok(info);
        }
    }
}

fn stream_info(source: &mut Source) -> Result<StreamInfo, Flaw> {
    let [_, _, b1, b0, _, _, _, _, _, _] = source.exact::<10>("STREAMINFO")?;
    let packed = u64::from_be_bytes(source.exact("STREAMINFO")?);
    source.skip(16, "STREAMINFO")?;
    let block_samples = u64::from(u16::from_be_bytes([b1, b0]));
    let rate = packed >> 44;
    let channels = ((packed >> 41) & 0x7) + 1;
    let bits = ((packed >> 36) & 0x1F) + 1;
    if rate == 0 || block_samples < 16 {
        return broken(format!(
            "its STREAMINFO says {rate} Hz in blocks of {block_samples} samples"
        ));
    }
    Ok(StreamInfo {
        block_samples,
        longest_frame: block_samples * channels * (bits / 8 + 1) + 64,
        samples: packed & 0xF_FFFF_FFFF,
    })
}

/// Checks the frame that ends with the file.
fn last_frame(source: &mut Source, info: &StreamInfo) -> Result<(), Flaw> {
    let length = source.left().min(info.longest_frame + ID3V1);
    source.seek(source.len() - length, "the last frame")?;
    let tail = source.bytes(length, "the last frame")?;
    let tail = without_tag(&tail);
    // The search starts at the end: the checksum over several complete frames is 0, too.
    let begins = |rest: &&[u8]| matches!(rest, [0xFF, 0xF8 | 0xF9, ..]);
    let frame = (0..tail.len())
        .rev()
        .filter_map(|at| tail.get(at..))
        .filter(begins)
        .find(|rest| CHECKSUM.checksum(rest) == 0);
    let Some(frame) = frame else {
        return broken("it does not end with a whole audio frame");
    };
    match (info.samples.checked_sub(1), number(frame)) {
        // Frames with blocks of one size are numbered. The last block may be shorter.
        (Some(last), Some(number)) if number < last / info.block_samples => broken(format!(
            "it should have {} audio frames, but the last one is number {}",
            last / info.block_samples + 1,
            number + 1
        )),
        _ => Ok(()),
    }
}

const ID3V1: u64 = 128;

/// Removes an `ID3v1` tag, which some programs append.
fn without_tag(tail: &[u8]) -> &[u8] {
    match tail.split_last_chunk::<128>() {
        Some((frames, [b'T', b'A', b'G', ..])) => frames,
        _ => tail,
    }
}

/// The number of a frame of a stream with one block size. It is counted from 0 and coded like UTF-8.
fn number(frame: &[u8]) -> Option<u64> {
    let [0xFF, 0xF8, _, _, first, rest @ ..] = frame else {
        return None;
    };
    let more = match first.leading_ones() {
        0 => 0,
        1 => return None,
        ones => ones - 1,
    };
    let start = u64::from(first & (0x7F_u8 >> more));
    let rest = rest.get(..usize::try_from(more).ok()?)?;
    Some(
        rest.iter()
            .fold(start, |number, byte| (number << 6) | u64::from(byte & 0x3F)),
    )
}
