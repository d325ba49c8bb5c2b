//! Ogg: pages with checksums (RFC 3533).

use std::collections::BTreeMap;

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

const BEGINS_STREAM: u8 = 2;
const ENDS_STREAM: u8 = 4;

/// The largest number of streams at a time.
const MOST_STREAMS: usize = 4096;

/// Checks that the file consists of complete pages with right checksums, and that each stream has all its pages, from
/// the one that begins it to the one that ends it.
pub(crate) fn check(source: &mut Source) -> Result<(), Flaw> {
    if source.peek()? != Some(*b"OggS") {
        return Err(Flaw::Other);
    }
    let mut count = 0_u64;
    let mut streams = Streams::default();
    while source.left() > 0 {
        let start = source.at();
        let page = page(source)?;
        if count == 0 && page.flags & BEGINS_STREAM == 0 {
            return broken("its first page does not begin a stream");
        }
        streams.enter(&page, start)?;
        count += 1;
    }
    if count < 2 {
        return broken("it has only one page, and so no media");
    }
    match streams.0.keys().next() {
        Some(stream) => broken(format!("it has no page that ends its stream {stream}")),
        None => Ok(()),
    }
}

struct Page {
    flags: u8,
    /// The serial number of its stream.
    stream: u32,
    /// Its number in its stream.
    number: u32,
}

/// The number of the next page of each stream that has begun and has not ended.
#[derive(Default)]
struct Streams(BTreeMap<u32, u32>);

impl Streams {
    /// Notes the page at byte `start`.
    fn enter(&mut self, page: &Page, start: u64) -> Result<(), Flaw> {
        let expected = match page.flags & BEGINS_STREAM {
            0 => self.0.get(&page.stream),
            _ => Some(&page.number),
        };
        if expected != Some(&page.number) {
            return broken(format!("a page is missing before byte {start}"));
        }
        if page.flags & ENDS_STREAM != 0 {
            self.0.remove(&page.stream);
            return Ok(());
        }
        self.0.insert(page.stream, page.number.wrapping_add(1));
        if self.0.len() > MOST_STREAMS {
            return broken(format!("it has more than {MOST_STREAMS} streams"));
        }
        Ok(())
    }
}

/// Reads a page and verifies its checksum.
fn page(source: &mut Source) -> Result<Page, Flaw> {
    let start = source.at();
    let header: [u8; 27] = source.exact("a page header")?;
    let fields = header.strip_prefix(b"OggS\0");
    let Some(
        &[
            flags,
            ..,
            s0,
            s1,
            s2,
            s3,
            n0,
            n1,
            n2,
            n3,
            c0,
            c1,
            c2,
            c3,
            segments,
        ],
    ) = fields
    else {
        return broken(format!("at byte {start} there is no page"));
    };
    let mut digest = CHECKSUM.digest();
    // The checksum is computed with zeros in its own field.
    digest.update(header.split_at(22).0);
    digest.update(&[0; 4]);
    digest.update(&[segments]);
    let mut body = 0;
    source.blocks(segments.into(), "a page header", |laces| {
        digest.update(laces);
        body += laces.iter().map(|lace| u64::from(*lace)).sum::<u64>();
    })?;
    source.blocks(body, "a page", |block| digest.update(block))?;
    if digest.finalize() != u32::from_le_bytes([c0, c1, c2, c3]) {
        return broken(format!("the page at byte {start} has a wrong checksum"));
    }
    Ok(Page {
        flags,
        stream: u32::from_le_bytes([s0, s1, s2, s3]),
        number: u32::from_le_bytes([n0, n1, n2, n3]),
    })
}
