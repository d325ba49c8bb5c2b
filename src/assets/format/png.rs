//! PNG: a signature and chunks (ISO/IEC 15948).

use super::source::{Flaw, Source, broken};

const SIGNATURE: [u8; 8] = *b"\x89PNG\r\n\x1a\n";

/// Checks that IHDR comes first and states pixels, and that there are image data and IEND.
pub(super) fn check(source: &mut Source) -> Result<(), Flaw> {
    if source.peek()? != Some(SIGNATURE) {
        return Err(Flaw::Other);
    }
    source.skip(8, "the signature")?;
    let mut image_data = false;
    let start = source.exact("the image header")?;
    let [0, 0, 0, 13, b'I', b'H', b'D', b'R', sizes @ ..]: [u8; 16] = start else {
        return broken("its first chunk is not an image header (IHDR)");
    };
    if matches!(sizes, [0, 0, 0, 0, ..] | [.., 0, 0, 0, 0]) {
        return broken("its image header says that it has no pixels");
    }
    // The rest of the image header, and its checksum.
    source.skip(9, "the image header")?;
    loop {
        let size = u32::from_be_bytes(source.exact("a chunk header")?);
        let kind: [u8; 4] = source.exact("a chunk header")?;
        source.skip(u64::from(size) + 4, "a chunk")?;
        match &kind {
            b"IDAT" => image_data |= size > 0,
            b"IEND" if image_data => return Ok(()),
            b"IEND" => return broken("it has no image data (IDAT)"),
            _ => {}
        }
    }
}
