//! ZIP: the central directory and the headers that it points at (PKWARE APPNOTE, with ZIP64).

use super::source::{Flaw, Source, broken};

const END: [u8; 4] = *b"PK\x05\x06";
const LOCATOR: [u8; 4] = *b"PK\x06\x07";
const END_64: [u8; 4] = *b"PK\x06\x06";
const ENTRY: [u8; 4] = *b"PK\x01\x02";
const FILE: [u8; 4] = *b"PK\x03\x04";
const END_BYTES: u64 = 22;
/// The longest comment in bytes.
const COMMENT: u64 = 65_535;

/// The place of the central directory, from the end record.
struct Directory {
    entries: u64,
    bytes: u64,
    offset: u64,
}

/// Checks that there is an end record, that the central directory lies before it, and that each entry points at a
/// file header.
pub(super) fn check(source: &mut Source) -> Result<(), Flaw> {
    match source.peek()? {
        Some(start) if start == FILE || start == END => {}
        _ => return Err(Flaw::Other),
    }
    let Some(end) = find_end(source)? else {
        return broken("it has no end-of-central-directory record (cut short?)");
    };
    let (directory, end) = directory(source, end)?;
    if directory
        .offset
        .checked_add(directory.bytes)
        .is_none_or(|after| after > end)
    {
        return broken("its central directory does not lie before its end record");
    }
    source.seek(directory.offset, "the central directory")?;
    for number in 0..directory.entries {
        entry(source, number)?;
    }
    if source.at() > end {
        broken("its central directory runs into its end record")
    } else {
        Ok(())
    }
}

/// Finds the last end record whose comment fits into the file.
fn find_end(source: &mut Source) -> Result<Option<u64>, Flaw> {
    let first = source.len().saturating_sub(END_BYTES + COMMENT);
    source.seek(first, "the end")?;
    let tail = source.bytes(source.left(), "the end")?;
    let is_end = |at: &usize| match tail.get(*at..).and_then(<[u8]>::split_first_chunk::<22>) {
        Some(([b'P', b'K', 5, 6, .., c0, c1], comment)) => {
            usize::from(u16::from_le_bytes([*c0, *c1])) <= comment.len()
        }
        _ => false,
    };
    Ok((0..tail.len())
        .rev()
        .find(is_end)
        .map(|at| first + at as u64))
}

/// Reads the end record at `end`, or the ZIP64 record before it. Returns also the start of that record.
fn directory(source: &mut Source, end: u64) -> Result<(Directory, u64), Flaw> {
    source.seek(end + 10, "the end record")?;
    let entries = u16::from_le_bytes(source.exact("the end record")?);
    let bytes = u32::from_le_bytes(source.exact("the end record")?);
    let offset = u32::from_le_bytes(source.exact("the end record")?);
    let small = Directory {
        entries: entries.into(),
        bytes: bytes.into(),
        offset: offset.into(),
    };
    if entries != u16::MAX && bytes != u32::MAX && offset != u32::MAX {
        return Ok((small, end));
    }
    let Some(locator) = end.checked_sub(20) else {
        return Ok((small, end));
    };
    source.seek(locator, "the ZIP64 locator")?;
    if source.exact("the ZIP64 locator")? != LOCATOR {
        return Ok((small, end));
    }
    source.skip(4, "the ZIP64 locator")?;
    let at = u64::from_le_bytes(source.exact("the ZIP64 locator")?);
    source.seek(at, "the ZIP64 end record")?;
    if source.exact("the ZIP64 end record")? != END_64 {
        return broken("its ZIP64 locator does not point at a ZIP64 end record");
    }
    source.skip(28, "the ZIP64 end record")?;
    let large = Directory {
        entries: u64::from_le_bytes(source.exact("the ZIP64 end record")?),
        bytes: u64::from_le_bytes(source.exact("the ZIP64 end record")?),
        offset: u64::from_le_bytes(source.exact("the ZIP64 end record")?),
    };
    Ok((large, at))
}

fn entry(source: &mut Source, number: u64) -> Result<(), Flaw> {
    if source.exact("the central directory")? != ENTRY {
        return broken(format!(
            "entry {number} of its central directory is malformed"
        ));
    }
    source.skip(24, "the central directory")?;
    let mut variable = 0;
    for _ in 0..3 {
        variable += u64::from(u16::from_le_bytes(source.exact("the central directory")?));
    }
    source.skip(8, "the central directory")?;
    let offset = u32::from_le_bytes(source.exact("the central directory")?);
    source.skip(variable, "the central directory")?;
    let next = source.at();
    // With ZIP64, the offset is in an extra field.
    if offset != u32::MAX {
        source.seek(offset.into(), "a file it lists")?;
        if source.exact("a file it lists")? != FILE {
            return broken(format!(
                "entry {number} points at byte {offset}, where no file begins"
            ));
        }
    }
    source.seek(next, "the central directory")
}
