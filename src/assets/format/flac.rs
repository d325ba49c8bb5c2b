//! FLAC: metadata blocks, then frames (RFC 9639).

use crc::{CRC_8_SMBUS, CRC_16_UMTS, Crc};

use super::source::{Flaw, Source, broken};

/// The checksum of the header of a frame (RFC 9639 §9.1.8). Over a header including its checksum, the result is 0.
static HEADER: Crc<u8> = Crc::<u8>::new(&CRC_8_SMBUS);
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
pub(crate) fn check(source: &mut Source) -> Result<(), Flaw> {
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
    let start = source.at();
    let end = frames_end(source)?;
    let length = end.saturating_sub(start).min(info.longest_frame);
    source.seek(end - length, "the last frame")?;
    let tail = source.bytes(length, "the last frame")?;
    // The search starts at the end: the checksum over several complete frames is 0, too.
    let Some((blocks, number)) = without_flaw(&tail).find_map(header) else {
        return broken("it does not end with a whole audio frame");
    };
    match (info.samples.checked_sub(1), blocks) {
        // The last block may be shorter.
        (Some(last), Blocks::OfOneSize) if number < last / info.block_samples => broken(format!(
            "it should have {} audio frames, but the last one is number {}",
            last / info.block_samples + 1,
            number + 1
        )),
        _ => Ok(()),
    }
}

/// The ends of `bytes` with the right checksum of a frame (RFC 9639 §9.3), the shortest first. The checksum over a frame
/// including its checksum is 0. It is the sum of the shares of all bits, so one pass gives it for every end.
fn without_flaw(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (mut sum, mut share) = (0, CRC_16_UMTS.poly);
    let starts = bytes.iter().enumerate().rev().filter(move |(_, byte)| {
        for bit in 0..8 {
            sum ^= share * u16::from(*byte >> bit & 1);
            share = (share << 1) ^ (CRC_16_UMTS.poly * (share >> 15));
        }
        sum == 0
    });
    starts.filter_map(|(at, _)| bytes.get(at..))
}

/// The size of an `ID3v1` tag.
const ID3: u64 = 128;
/// The size of the footer of an `APEv2` tag, and of its header.
const APE: u64 = 32;

/// The end of the frames of a FLAC file: its length without the tags that some programs append, an `APEv2` tag and,
/// behind it, an `ID3v1` tag.
pub(crate) fn frames_end(source: &mut Source) -> Result<u64, Flaw> {
    let len = source.len();
    let end = begun(source, len, ID3, b"TAG")?.unwrap_or(len);
    if begun(source, end, APE, b"APETAGEX")?.is_none() {
        return Ok(end);
    }
    source.skip(12, "a tag")?;
    let size = u32::from_le_bytes(source.exact("a tag")?);
    source.skip(4, "a tag")?;
    let flags = u32::from_le_bytes(source.exact("a tag")?);
    // The size does not include the header, which the highest bit announces.
    let size = u64::from(size) + u64::from(flags >> 31) * APE;
    Ok(end.checked_sub(size).unwrap_or(end))
}

/// The beginning of the last `size` bytes before `end`, if `mark` stands there. The source is moved there.
fn begun<const N: usize>(
    source: &mut Source,
    end: u64,
    size: u64,
    mark: &[u8; N],
) -> Result<Option<u64>, Flaw> {
    let Some(start) = end.checked_sub(size) else {
        return Ok(None);
    };
    source.seek(start, "a tag")?;
    Ok((source.peek()? == Some(*mark)).then_some(start))
}

#[derive(Clone, Copy)]
enum Blocks {
    /// The frames are numbered.
    OfOneSize,
    /// The first samples of the frames are numbered.
    OfAnySize,
}

/// The number in the header of a frame, if the header is valid (RFC 9639 §9.1). It is counted from 0 and coded like
/// UTF-8.
fn header(frame: &[u8]) -> Option<(Blocks, u64)> {
    let (blocks, sizes, layout, first, rest) = match frame {
        [0xFF, 0xF8, sizes, layout, first, rest @ ..] => {
            (Blocks::OfOneSize, sizes, layout, first, rest)
        }
        [0xFF, 0xF9, sizes, layout, first, rest @ ..] => {
            (Blocks::OfAnySize, sizes, layout, first, rest)
        }
        _ => return None,
    };
    let of_block = match sizes >> 4 {
        0 => return None,
        6 => 1,
        7 => 2,
        _ => 0,
    };
    let of_rate = match sizes & 0xF {
        12 => 1,
        13 | 14 => 2,
        15 => return None,
        _ => 0,
    };
    let (channels, depth, reserved) = (layout >> 4, layout >> 1 & 7, layout & 1);
    if channels > 10 || depth == 3 || reserved != 0 {
        return None;
    }
    let more = match first.leading_ones() {
        0 => 0,
        1 | 8 => return None,
        ones => usize::try_from(ones - 1).ok()?,
    };
    let checked = frame.get(..5 + more + of_block + of_rate + 1)?;
    if HEADER.checksum(checked) != 0 {
        return None;
    }
    let start = u64::from(first & (0x7F_u8 >> more));
    let coded = rest.get(..more)?.iter();
    let number = coded.fold(start, |number, byte| (number << 6) | u64::from(byte & 0x3F));
    Some((blocks, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pass_finds_the_same_ends_as_a_checksum_of_each_end() {
        let checksum = Crc::<u16>::new(&CRC_16_UMTS);
        let mut bytes: Vec<u8> = (0..50_000_u32)
            .map(|at| (at.wrapping_mul(0x9E37_79B9) >> 24) as u8)
            .collect();
        for _ in 0..3 {
            bytes.extend(checksum.checksum(&bytes).to_be_bytes());
            bytes.extend([7; 90]);
            bytes.extend(checksum.checksum(&bytes).to_be_bytes());
        }
        let ends = bytes.len() - 2000..bytes.len();
        let each = ends.rev().map(|at| &bytes[at..]);
        let each: Vec<&[u8]> = each.filter(|end| checksum.checksum(end) == 0).collect();
        let found: Vec<&[u8]> = without_flaw(&bytes)
            .take_while(|end| end.len() <= 2000)
            .collect();
        assert_eq!(found, each);
        assert_eq!(
            without_flaw(&bytes).last().map(<[u8]>::len),
            Some(bytes.len())
        );
    }

    #[test]
    fn a_header_with_a_reserved_code_or_a_wrong_checksum_is_none() {
        let with_checksum = |bytes: &[u8]| {
            let checksum = HEADER.checksum(bytes);
            [bytes, &[checksum]].concat()
        };
        let number = |bytes: &[u8]| header(&with_checksum(bytes)).map(|(_, number)| number);
        // The example of RFC 9639 §D.1.
        assert!(header(b"\xFF\xF8\x69\x18\0\0\xBF").is_some());
        assert!(header(b"\xFF\xF8\x69\x18\0\0\xBE").is_none());
        assert_eq!(number(b"\xFF\xF9\xC9\x18\xC4\x80"), Some(0x100));
        for wrong in [
            b"\xFF\xF8\x09\x18\0",
            b"\xFF\xF8\x1F\x18\0",
            b"\xFF\xF8\x19\xB8\0",
            b"\xFF\xF8\x19\x16\0",
            b"\xFF\xF8\x19\x19\0",
            b"\xFF\xF8\x19\x18\x80",
            b"\xFF\xFA\x19\x18\0",
        ] {
            assert_eq!(number(wrong), None, "{wrong:x?}");
        }
        assert_eq!(number(b"\xFF\xF8\x19\x18\0"), Some(0));
    }
}
