//! Matroska and WebM: EBML elements (RFC 8794, RFC 9559).

use super::source::{Flaw, Source, broken};

const EBML: u32 = 0x1A45_DFA3;
const DOC_TYPE: u32 = 0x4282;
pub(crate) const SEGMENT: u32 = 0x1853_8067;
const TRACKS: u32 = 0x1654_AE6B;
pub(crate) const CLUSTER: u32 = 0x1F43_B675;

pub(crate) struct Element {
    /// The id with its length marker.
    pub(crate) id: u32,
    /// The start of its content.
    pub(crate) body: u64,
    /// The start of the next element, which may be beyond the end of the file. `None` if the size is unknown, as
    /// in a live recording.
    pub(crate) end: Option<u64>,
}

/// Checks the document type, that there is a Segment with Tracks and a Cluster, and that every known size fits.
/// The content of a Cluster of unknown size is read element by element.
pub(super) fn check(source: &mut Source, doc_types: &[&str]) -> Result<(), Flaw> {
    if source.peek::<4>()?.map(u32::from_be_bytes) != Some(EBML) {
        return Err(Flaw::Other);
    }
    header(source, doc_types)?;
    let (mut tracks, mut clusters) = (false, false);
    let segment = next_whole(source)?;
    if segment.id != SEGMENT {
        return broken("no Segment follows its EBML header");
    }
    let end = segment.end.unwrap_or(source.len());
    while source.at() < end {
        let Element { id, body, end } = next_whole(source)?;
        tracks |= id == TRACKS;
        match end {
            Some(next) => {
                clusters |= id == CLUSTER && next > body;
                source.seek(next, "an element")?;
            }
            // Its children are read as its siblings.
            None if id == CLUSTER => clusters |= source.left() > 0,
            None => return broken(format!("the element {id:X} at byte {body} has no size")),
        }
    }
    match (tracks, clusters) {
        (false, _) => broken("its Segment has no Tracks"),
        (_, false) => broken("its Segment has no Cluster: it holds no media"),
        _ => Ok(()),
    }
}

fn header(source: &mut Source, doc_types: &[&str]) -> Result<(), Flaw> {
    let Some(end) = next_whole(source)?.end else {
        return broken("its EBML header has no size");
    };
    while source.at() < end {
        let element = next_whole(source)?;
        let Some(next) = element.end else {
            return broken("its EBML header is malformed");
        };
        if element.id == DOC_TYPE {
            // No known document type is longer.
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

/// Reads the header of the next element, which must fit into the file.
fn next_whole(source: &mut Source) -> Result<Element, Flaw> {
    let element = next_element(source)?;
    match element.end {
        Some(end) if end > source.len() => broken(format!(
            "the element {:X} at byte {} needs {} bytes, but only {} are left",
            element.id,
            element.body,
            end - element.body,
            source.left()
        )),
        _ => Ok(element),
    }
}

pub(crate) fn next_element(source: &mut Source) -> Result<Element, Flaw> {
    let start = source.at();
    let (id, width) = number(source)?;
    // An id keeps its marker bit.
    let Ok(id) = u32::try_from(id | (1 << (7 * width))) else {
        return broken(format!("at byte {start} there is no element"));
    };
    let (size, width) = number(source)?;
    let (body, open) = (source.at(), (1 << (7 * width)) - 1);
    let end = (size != open).then(|| body.saturating_add(size));
    Ok(Element { id, body, end })
}

/// Reads a number of 1 to 8 bytes. Returns it without its marker, and its length.
pub(crate) fn number(source: &mut Source) -> Result<(u64, u32), Flaw> {
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
