//! MP3: frames of MPEG audio layer III (ISO/IEC 11172-3, 13818-3), tags around them.

use super::source::{Flaw, Source, broken};

/// The properties that all frames share, and the length of one frame.
#[derive(Debug, Clone, Copy)]
struct Frame {
    version: u8,
    rate: u32,
    bytes: u64,
}

/// Bit rates in kbit/s by index: MPEG-1, then MPEG-2 and 2.5. Index 0 ("free") and index 15 are not supported.
const RATES: [[u16; 16]; 2] = [
    [
        0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0,
    ],
    [
        0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0,
    ],
];

/// Checks that at least two matching frames follow each other, that the last of them is complete, and that there
/// are as many as the encoder states.
pub(super) fn check(source: &mut Source) -> Result<(), Flaw> {
    let tagged = skip_tags(source)?;
    let Some(first) = peek_frame(source)? else {
        return if tagged {
            broken("no audio frame follows its ID3 tag")
        } else {
            Err(Flaw::Other)
        };
    };
    let declared = declared_frames(source)?;
    let mut frames = 0_u32;
    // Anything after the last frame (ID3v1, APE, padding) is not checked.
    while let Some(frame) = peek_frame(source)? {
        if (frame.version, frame.rate) != (first.version, first.rate) {
            break;
        }
        if frame.bytes > source.left() {
            // A single matching frame may be a coincidence.
            if frames > 0 {
                return Err(source.ends_within("an audio frame"));
            }
            break;
        }
        frames += 1;
        source.skip(frame.bytes, "an audio frame")?;
    }
    match (frames, declared) {
        (0 | 1, _) if tagged => broken("it does not have two consecutive audio frames"),
        (0 | 1, _) => Err(Flaw::Other),
        // The frame with this header is not counted.
        (frames, Some(declared)) if frames - 1 < declared => broken(format!(
            "it should have {declared} audio frames, but has {}",
            frames - 1
        )),
        _ => Ok(()),
    }
}

/// The number of frames in a Xing or Info header. This header replaces the audio of the first frame, after 4 bytes
/// of frame header and 9, 17 or 32 bytes of side information.
fn declared_frames(source: &mut Source) -> Result<Option<u32>, Flaw> {
    let Some(start) = source.peek::<48>()? else {
        return Ok(None);
    };
    Ok([13, 21, 36].iter().find_map(|at| match start.get(*at..)? {
        [b'X', b'i', b'n', b'g', 0, 0, 0, flags, f3, f2, f1, f0, ..]
        | [b'I', b'n', b'f', b'o', 0, 0, 0, flags, f3, f2, f1, f0, ..]
            if flags & 1 == 1 =>
        {
            Some(u32::from_be_bytes([*f3, *f2, *f1, *f0]))
        }
        _ => None,
    }))
}

/// Skips `ID3v2` tags and the zeros after them. Returns whether there was a tag.
fn skip_tags(source: &mut Source) -> Result<bool, Flaw> {
    let mut tagged = false;
    while let Some([b'I', b'D', b'3', _, _, flags, s3, s2, s1, s0]) = source.peek::<10>()? {
        let size = [s3, s2, s1, s0]
            .iter()
            .fold(0, |size, part| (size << 7) | u64::from(part & 0x7F));
        let footer = if flags & 0x10 == 0 { 0 } else { 10 };
        source.skip(10 + size + footer, "its ID3 tag")?;
        tagged = true;
    }
    while tagged && source.peek()? == Some([0]) {
        source.skip(1, "padding")?;
    }
    Ok(tagged)
}

fn peek_frame(source: &mut Source) -> Result<Option<Frame>, Flaw> {
    Ok(source
        .peek()?
        .and_then(|header| frame(u32::from_be_bytes(header))))
}

/// Reads a frame header: 11 bits of sync, version, layer, then bit rate, sample rate, padding.
fn frame(header: u32) -> Option<Frame> {
    let bits = |from: u32, count: u32| (header >> from) & ((1 << count) - 1);
    let version = u8::try_from(bits(19, 2)).ok()?;
    if bits(21, 11) != 0x7FF || version == 1 || bits(17, 2) != 1 {
        return None;
    }
    let base = *[44_100, 48_000, 32_000].get(usize::try_from(bits(10, 2)).ok()?)?;
    let (table, divisor, samples) = match version {
        3 => (0, 1, 144_000),
        2 => (1, 2, 72_000),
        _ => (1, 4, 72_000),
    };
    let kilobits = *RATES.get(table)?.get(usize::try_from(bits(12, 4)).ok()?)?;
    if kilobits == 0 {
        return None;
    }
    let rate = base / divisor;
    Some(Frame {
        version,
        rate,
        bytes: u64::from(samples * u32::from(kilobits) / rate + bits(9, 1)),
    })
}
