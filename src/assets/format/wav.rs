//! WAV: RIFF/WAVE, and RF64/BW64 for more than 4 GiB (EBU Tech 3306).

use super::source::{Flaw, Source, broken};

/// The size in a file whose writer could not seek back to fill it in.
const STREAMED: u32 = u32::MAX;

/// Checks that `fmt ` comes before `data`, and that `data` is complete and has at least one sample of every
/// channel.
pub(super) fn check(source: &mut Source) -> Result<(), Flaw> {
    let Some([riff @ .., s0, s1, s2, s3, w0, w1, w2, w3]) = source.peek::<12>()? else {
        return Err(Flaw::Other);
    };
    let large = matches!(&riff, b"RF64" | b"BW64");
    if !(large || &riff == b"RIFF") || [w0, w1, w2, w3] != *b"WAVE" {
        return Err(Flaw::Other);
    }
    let riff_size = u32::from_le_bytes([s0, s1, s2, s3]);
    source.skip(12, "the RIFF header")?;

    let mut frame = None;
    let mut large_size = None;
    loop {
        if source.left() == 0 {
            return broken("it has no data chunk");
        }
        let name: [u8; 4] = source.exact("a chunk header")?;
        let size = u32::from_le_bytes(source.exact("a chunk header")?);
        let start = source.at();
        match &name {
            b"ds64" => {
                source.skip(8, "the ds64 chunk")?;
                large_size = Some(u64::from_le_bytes(source.exact("the ds64 chunk")?));
            }
            b"fmt " => frame = Some(frame_bytes(source)?),
            b"data" => {
                let Some(frame) = frame else {
                    return broken("its data chunk comes before its fmt chunk");
                };
                // A complete file without samples has size 0, too, but its RIFF size is correct.
                let finished = u64::from(riff_size).abs_diff(source.len().saturating_sub(8)) <= 1;
                let size = match size {
                    STREAMED => large_size.filter(|_| large).unwrap_or(source.left()),
                    0 if !finished => source.left(),
                    size => u64::from(size),
                };
                return if size > source.left() {
                    broken(format!(
                        "its data chunk declares {size} bytes, but only {} follow",
                        source.left()
                    ))
                } else if size < frame {
                    broken("it holds no audio samples")
                } else {
                    Ok(())
                };
            }
            _ => {}
        }
        let padded = u64::from(size) + u64::from(size % 2);
        source.move_to(start + padded, "a chunk before its data")?;
    }
}

/// The size of one sample of every channel in bytes, from the `fmt ` chunk.
fn frame_bytes(source: &mut Source) -> Result<u64, Flaw> {
    let [_, _, c0, c1, r0, r1, r2, r3, _, _, _, _, a0, a1, _, _] =
        source.exact::<16>("the fmt chunk")?;
    let channels = u16::from_le_bytes([c0, c1]);
    let rate = u32::from_le_bytes([r0, r1, r2, r3]);
    let frame = u16::from_le_bytes([a0, a1]);
    if channels == 0 || rate == 0 || frame == 0 {
        return broken(format!(
            "its fmt chunk says {channels} channels, {rate} Hz, {frame} bytes per sample frame"
        ));
    }
    Ok(frame.into())
}
