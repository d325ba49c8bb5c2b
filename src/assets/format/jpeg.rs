//! JPEG: markers and scans (ITU-T T.81, annex B).

use super::source::{Flaw, Source, broken};

const START: [u8; 3] = [0xFF, 0xD8, 0xFF];

/// Checks the markers from the start to the end of the image, and that there is a frame with pixels and a scan.
pub(super) fn check(source: &mut Source) -> Result<(), Flaw> {
    if source.peek()? != Some(START) {
        return Err(Flaw::Other);
    }
    source.skip(2, "the first marker")?;
    let mut frame = false;
    let mut scan = false;
    let mut marker = next_marker(source)?;
    loop {
        marker = match marker {
            0xD9 if frame && scan => return Ok(()),
            0xD9 => return broken("the image ends before its first scan"),
            // TEM and restart markers have no segment.
            0x01 | 0xD0..=0xD7 => next_marker(source)?,
            _ => {
                segment(source, marker, &mut frame)?;
                if marker == 0xDA {
                    scan = true;
                    after_scan(source)?
                } else {
                    next_marker(source)?
                }
            }
        };
    }
}

/// Checks one segment. In a frame header (SOF0 to SOF15 without DHT, JPG and DAC), only the width is checked: the
/// height may follow later.
fn segment(source: &mut Source, marker: u8, frame: &mut bool) -> Result<(), Flaw> {
    let start = source.at();
    let size = u16::from_be_bytes(source.exact("a segment")?);
    if size < 2 {
        return broken(format!(
            "the segment at byte {start} says it has {size} bytes"
        ));
    }
    if matches!(marker, 0xC0..=0xCF) && !matches!(marker, 0xC4 | 0xC8 | 0xCC) {
        let [_, _, _, w0, w1] = source.exact("a frame header")?;
        if u16::from_be_bytes([w0, w1]) == 0 {
            return broken("its frame header says that it has no pixels");
        }
        *frame = true;
    }
    source.move_to(start + u64::from(size), "a segment")
}

fn next_marker(source: &mut Source) -> Result<u8, Flaw> {
    let [byte] = source.exact("the image: its end marker is missing")?;
    if byte != 0xFF {
        return broken(format!("at byte {} there is no marker", source.at() - 1));
    }
    marker_code(source)
}

/// Reads the code after 0xFF. Further bytes 0xFF are padding.
fn marker_code(source: &mut Source) -> Result<u8, Flaw> {
    loop {
        match source.exact("the image: its end marker is missing")? {
            [0xFF] => {}
            [code] => return Ok(code),
        }
    }
}

/// Skips entropy-coded data, in which 0xFF is followed by 0 or by a restart code. Returns the next marker.
fn after_scan(source: &mut Source) -> Result<u8, Flaw> {
    loop {
        let [byte] = source.exact("the image: its end marker is missing")?;
        if byte == 0xFF {
            match marker_code(source)? {
                0 | 0xD0..=0xD7 => {}
                code => return Ok(code),
            }
        }
    }
}
