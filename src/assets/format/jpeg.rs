//! JPEG: markers and scans (ITU-T T.81, annex B).

use super::source::{Flaw, Source, broken};

const START: [u8; 3] = [0xFF, 0xD8, 0xFF];
const END: [u8; 2] = [0xFF, 0xD9];
const IMAGE: &str = "the image: its end marker is missing";

/// Checks the segments up to the first scan, and that there are a frame with pixels before it and the end of the image
/// behind it. In the data of a scan, the bytes of the end marker do not occur.
pub(super) fn check(source: &mut Source) -> Result<(), Flaw> {
    if source.peek()? != Some(START) {
        return Err(Flaw::Other);
    }
    source.skip(2, "the first marker")?;
    let mut has_pixels = false;
    loop {
        let start = source.at();
        match source.exact(IMAGE)? {
            // Further bytes 0xFF are padding.
            [0xFF, 0xFF] => source.move_to(start + 1, IMAGE)?,
            // TEM and restart markers have no segment.
            [0xFF, 0x01 | 0xD0..=0xD7] => {}
            END => return broken("the image ends before its first scan"),
            [0xFF, 0xDA] if has_pixels => return end(source),
            [0xFF, marker] => has_pixels |= segment(source, marker)?,
            _ => return broken(format!("at byte {start} there is no marker")),
        }
    }
}

/// Skips a segment. Returns whether it is a frame header (SOF0 to SOF15 without DHT, JPG and DAC), whose width must be
/// above 0. The height may follow later.
fn segment(source: &mut Source, marker: u8) -> Result<bool, Flaw> {
    let start = source.at();
    let size = u16::from_be_bytes(source.exact("a segment")?);
    if size < 2 {
        return broken(format!(
            "the segment at byte {start} says it has {size} bytes"
        ));
    }
    let is_frame = matches!(marker, 0xC0..=0xCF) && !matches!(marker, 0xC4 | 0xC8 | 0xCC);
    if is_frame {
        let [_, _, _, w0, w1] = source.exact("a frame header")?;
        if (w0, w1) == (0, 0) {
            return broken("its frame header says that it has no pixels");
        }
    }
    source.move_to(start + u64::from(size), "a segment")?;
    Ok(is_frame)
}

/// Searches for the end marker.
fn end(source: &mut Source) -> Result<(), Flaw> {
    let mut last = 0;
    loop {
        let [byte] = source.exact(IMAGE)?;
        if [last, byte] == END {
            return Ok(());
        }
        last = byte;
    }
}
