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

/// The number of pages at the start whose checksums are verified. That of the last page is verified, too.
const VERIFIED: u32 = 8;
const BEGINS_STREAM: u8 = 2;

/// Checks that the file consists of complete pages and that the first page begins a stream.
pub(super) fn check(source: &mut Source) -> Result<(), Flaw> {
    if source.peek()? != Some(*b"OggS") {
        return Err(Flaw::Other);
    }
    let mut pages = 0;
    while source.left() > 0 {
        page(source, pages)?;
        pages += 1;
    }
    if pages < 2 {
        broken("it has only one page, and so no media")
    } else {
        Ok(())
    }
}

fn page(source: &mut Source, number: u32) -> Result<(), Flaw> {
    let start = source.at();
    let header: [u8; 27] = source.exact("a page header")?;
    let fields = header.strip_prefix(b"OggS\0");
    let Some(&[flags, .., c0, c1, c2, c3, segments]) = fields else {
        return broken(format!("at byte {start} there is no page"));
    };
    if number == 0 && flags & BEGINS_STREAM == 0 {
        return broken("its first page does not begin a stream");
    }
    let mut laces = Vec::with_capacity(segments.into());
    let mut body = 0;
    source.blocks(segments.into(), "a page header", |block| {
        laces.extend_from_slice(block);
        body += block.iter().map(|lace| u64::from(*lace)).sum::<u64>();
    })?;
    let last = source.left() == body;
    if number >= VERIFIED && !last {
        return source.skip(body, "a page");
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
    Ok(())
}
