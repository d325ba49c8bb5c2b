//! PNG: a signature and chunks with checksums (ISO/IEC 15948).

use crc::{CRC_32_ISO_HDLC, Crc};

use super::source::{Flaw, Source, broken};

static CHECKSUM: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);
const SIGNATURE: [u8; 8] = *b"\x89PNG\r\n\x1a\n";

/// Checks that IHDR comes first, that there are image data and IEND, and the checksum of every critical chunk.
/// Ancillary chunks (in lower case) may be damaged: viewers skip them, and a widely used test image has one.
pub(super) fn check(source: &mut Source) -> Result<(), Flaw> {
    if source.peek()? != Some(SIGNATURE) {
        return Err(Flaw::Other);
    }
    source.skip(8, "the signature")?;
    let mut image_data = false;
    let mut first = true;
    loop {
        let start = source.at();
        let size = u32::from_be_bytes(source.exact("a chunk header")?);
        let kind: [u8; 4] = source.exact("a chunk header")?;
        let name = kind.escape_ascii();
        if first && (&kind != b"IHDR" || size != 13) {
            return broken("its first chunk is not an image header (IHDR)");
        }
        if first {
            match source.peek::<8>()? {
                None => return Err(source.ends_within("the image header")),
                Some([0, 0, 0, 0, ..] | [.., 0, 0, 0, 0]) => {
                    return broken("its image header says that it has no pixels");
                }
                Some(_) => {}
            }
        }
        first = false;
        let mut digest = CHECKSUM.digest();
        digest.update(&kind);
        source.blocks(size.into(), "a chunk", |block| digest.update(block))?;
        let right = digest.finalize() == u32::from_be_bytes(source.exact("a chunk's checksum")?);
        if !right && kind[0].is_ascii_uppercase() {
            return broken(format!(
                "the chunk `{name}` at byte {start} has a wrong checksum"
            ));
        }
        match &kind {
            b"IDAT" => image_data |= size > 0,
            b"IEND" if image_data => return Ok(()),
            b"IEND" => return broken("it has no image data (IDAT)"),
            _ => {}
        }
    }
}
