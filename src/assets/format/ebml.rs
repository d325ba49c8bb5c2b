//! Matroska and WebM: EBML elements (RFC 8794, RFC 9559).

use super::source::{Flaw, Source, broken};

const EBML: u32 = 0x1A45_DFA3;
const DOC_TYPE: u32 = 0x4282;
const SEGMENT: u32 = 0x1853_8067;
const TRACKS: u32 = 0x1654_AE6B;
const CLUSTER: u32 = 0x1F43_B675;

/// One of the document types; a Segment with Tracks and a Cluster; every known size fits. Sizes
/// left open by a live writer are followed element by element.
pub(super) fn check(source: &mut Source, doc_types: &[&str]) -> Result<(), Flaw> {
    if source.peek::<4>()?.map(u32::from_be_bytes) != Some(EBML) {
        return Err(Flaw::Other);
    }
    header(source, doc_types)?;
    let mut tracks = false;
    let mut clusters = false;
    let (id, size) = element(source)?;
    if id != SEGMENT {
        return broken("no Segment follows its EBML header");
    }
    let end = end_of(source, SEGMENT, size)?.unwrap_or(source.len());
    while source.at() < end {
        let (id, size) = element(source)?;
        tracks |= id == TRACKS;
        let next = end_of(source, id, size)?;
        match next {
            Some(next) => {
                clusters |= id == CLUSTER && next > source.at();
                source.seek(next, "an element")?;
            }
            // Its children are read as if they stood beside it.
            None if id == CLUSTER => clusters |= source.left() > 0,
            None => {
                return broken(format!(
                    "the element {id:X} at byte {} has no size",
                    source.at()
                ));
            }
        }
    }
    match (tracks, clusters) {
        (false, _) => broken("its Segment has no Tracks"),
        (_, false) => broken("its Segment has no Cluster: it holds no media"),
        _ => Ok(()),
    }
}

fn header(source: &mut Source, doc_types: &[&str]) -> Result<(), Flaw> {
    let (_, size) = element(source)?;
    let Some(end) = end_of(source, EBML, size)? else {
        return broken("its EBML header has no size");
    };
    while source.at() < end {
        let (id, size) = element(source)?;
        let Some(next) = end_of(source, id, size)? else {
            return broken("its EBML header is no header");
        };
        if id == DOC_TYPE {
            // Longer than any document type is none of ours.
            let length = (next - source.at()).min(64);
            let name = source.bytes(length, "the document type")?;
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            return if doc_types.iter().any(|known| known.as_bytes() == name) {
                source.seek(end, "the EBML header")
            } else {
                Err(Flaw::Other)
            };
        }
        source.seek(next, "the EBML header")?;
    }
    broken("its EBML header has no document type")
}

/// An element's id, with its marker bits, and its size; no size where it is left open.
fn element(source: &mut Source) -> Result<(u32, Option<u64>), Flaw> {
    let start = source.at();
    let (id, width) = number(source)?;
    // An id keeps its marker bit.
    let id = id | (1 << (7 * width));
    let Ok(id) = u32::try_from(id) else {
        return broken(format!("at byte {start} there is no element"));
    };
    let (size, width) = number(source)?;
    let open = (1 << (7 * width)) - 1;
    Ok((id, (size != open).then_some(size)))
}

/// A number of 1 to 8 bytes without its marker, and how many bytes it took.
fn number(source: &mut Source) -> Result<(u64, u32), Flaw> {
    let start = source.at();
    let [first] = source.exact("an element header")?;
    let width = first.leading_zeros() + 1;
    if width > 8 {
        return broken(format!("at byte {start} there is no element"));
    }
    let mut value = u64::from(first) & ((1 << (8 - width)) - 1);
    for _ in 1..width {
        let [next] = source.exact("an element header")?;
        value = (value << 8) | u64::from(next);
    }
    Ok((value, width))
}

fn end_of(source: &Source, id: u32, size: Option<u64>) -> Result<Option<u64>, Flaw> {
    let Some(size) = size else { return Ok(None) };
    if size > source.left() {
        return broken(format!(
            "the element {id:X} at byte {} needs {size} bytes, but only {} are left",
            source.at(),
            source.left()
        ));
    }
    Ok(Some(source.at() + size))
}
