//! Ogg: pages with checksums (RFC 3533).

use crc::{Algorithm, Crc};

use super::source::{Flaw, Source, broken};

/// The checksum of RFC 3533 §6: the polynomial of Ethernet, without reflection and inversion.
static CHECKSUM: Crc<u32> = Crc::<u32>::new(&Algorithm {
    width: 32,
    poly: 0x04C1_1DB7,
    init: 0,
    refin: false,
    refout: false,
    xorout: 0,
    check: 0x89A1_897F,
    residue: 0,
});

/// The number of pages at the start whose checksums [`check`] verifies. It also verifies that of the last page.
const VERIFIED: u32 = 8;
const BEGINS_STREAM: u8 = 2;
const ENDS_STREAM: u8 = 4;

/// Checks that the file consists of complete pages and that the first page begins a stream.
pub(super) fn check(source: &mut Source) -> Result<(), Flaw> {
    pages(source, VERIFIED).map(drop)
}

/// The same with the checksums of all pages; and the last page must end its stream.
pub(crate) fn check_all(source: &mut Source) -> Result<(), Flaw> {
    if pages(source, u32::MAX)? & ENDS_STREAM == 0 {
        return broken("it has no page that ends its stream");
    }
    Ok(())
}

/// Reads all pages. Returns the flags of the last one.
fn pages(source: &mut Source, verified: u32) -> Result<u8, Flaw> {
    if source.peek()? != Some(*b"OggS") {
        return Err(Flaw::Other);
    }
    let (mut count, mut flags) = (0, 0);
    while source.left() > 0 {
        let checksum = if count < verified {
            Checksum::Verified
        } else {
            Checksum::Unread
        };
        flags = page(source, checksum)?;
        if count == 0 && flags & BEGINS_STREAM == 0 {
            return broken("its first page does not begin a stream");
        }
        count += 1;
    }
    if count < 2 {
        return broken("it has only one page, and so no media");
    }
    Ok(flags)
}

/// Of the last page, the checksum is verified in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Checksum {
    Verified,
    Unread,
}

/// Reads a page. Returns its flags.
fn page(source: &mut Source, checksum: Checksum) -> Result<u8, Flaw> {
    let start = source.at();
    let header: [u8; 27] = source.exact("a page header")?;
    let fields = header.strip_prefix(b"OggS\0");
    let Some(&[flags, .., c0, c1, c2, c3, segments]) = fields else {
        return broken(format!("at byte {start} there is no page"));
    };
    let mut laces = Vec::with_capacity(segments.into());
    let mut body = 0;
    source.blocks(segments.into(), "a page header", |block| {
        laces.extend_from_slice(block);
        body += block.iter().map(|lace| u64::from(*lace)).sum::<u64>();
    })?;
    let is_last = source.left() == body;
    if checksum == Checksum::Unread && !is_last {
        source.skip(body, "a page")?;
        return Ok(flags);
    }
    let mut digest = CHECKSUM.digest();
    // The checksum is computed with zeros in its own field.
    digest.update(header.split_at(22).0);
    digest.update(&[0; 4]);
    digest.update(&[segments]);
    digest.update(&laces);
    source.blocks(body, "a page", |block| digest.update(block))?;
    if digest.finalize() != u32::from_le_bytes([c0, c1, c2, c3]) {
        return broken(format!("the page at byte {start} has a wrong checksum"));
    }
    Ok(flags)
}
