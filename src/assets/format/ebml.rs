//! Matroska and WebM: EBML elements (RFC 8794, RFC 9559).

mod tracks;

use super::source::{Flaw, Source, broken};
use tracks::Tracks;

/// Every document type of this format.
pub(crate) const DOC_TYPES: &[&str] = &["matroska", "webm"];

/// The first bytes of a file.
pub(crate) const MAGIC: [u8; 4] = EBML.to_be_bytes();

const EBML: u32 = 0x1A45_DFA3;
const DOC_TYPE: u32 = 0x4282;
const VOID: u32 = 0xEC;
const CRC_32: u32 = 0xBF;

pub(crate) const SEGMENT: u32 = 0x1853_8067;
const TRACKS: u32 = 0x1654_AE6B;
pub(crate) const CLUSTER: u32 = 0x1F43_B675;

/// The other parts of a segment: `SeekHead`, Info, Cues, Attachments, Chapters, Tags.
const PARTS: &[u32] = &[
    0x114D_9B74,
    0x1549_A966,
    0x1C53_BB6B,
    0x1941_A469,
    0x1043_A770,
    0x1254_C367,
];

const TIMESTAMP: u32 = 0xE7;
const POSITION: u32 = 0xA7;
const PREV_SIZE: u32 = 0xAB;
const SILENT_TRACKS: u32 = 0x5854;
pub(crate) const SIMPLE_BLOCK: u32 = 0xA3;
pub(crate) const BLOCK_GROUP: u32 = 0xA0;
pub(crate) const BLOCK: u32 = 0xA1;

/// What else is in a block group: `BlockVirtual`, `BlockAdditions`, `BlockDuration`, `ReferencePriority`,
/// `ReferenceBlock`, `ReferenceVirtual`, `CodecState`, `DiscardPadding`, Slices, `ReferenceFrame`.
const ABOUT_A_BLOCK: &[u32] = &[
    0xA2,
    0x75A1,
    0x9B,
    0xFA,
    0xFB,
    0xFD,
    0xA4,
    DISCARD_PADDING,
    0x8E,
    0xC8,
];
pub(crate) const DISCARD_PADDING: u32 = 0x75A2;

pub(crate) struct Element {
    /// The id with its length marker.
    pub(crate) id: u32,
    /// The start of its header.
    start: u64,
    /// The start of its content.
    pub(crate) body: u64,
    /// The start of the next element, which may be beyond the end of the file. `None` if the size is unknown, as
    /// in a live recording.
    pub(crate) end: Option<u64>,
}

impl Element {
    fn misplaced<T>(&self) -> Result<T, Flaw> {
        let Self { id, start, .. } = self;
        broken(format!(
            "the element {id:X} at byte {start} is out of place"
        ))
    }

    /// The end of an element that must state its size.
    fn known_end(&self) -> Result<u64, Flaw> {
        let Self { id, start, end, .. } = self;
        end.map_or_else(
            || broken(format!("the element {id:X} at byte {start} has no size")),
            Ok,
        )
    }
}

/// Checks the document type and walks through all elements of the segment, down to the header and the lacing of
/// each block. Elements must follow each other without a gap, must lie within their parents, and must be those of
/// the format: readers silently leave out other ones. The content of a block is skipped.
///
/// Readers leave out a second recording that follows the first one, so it is refused.
pub(crate) fn check(source: &mut Source, doc_types: &[&str]) -> Result<(), Flaw> {
    if source.peek()? != Some(MAGIC) {
        return Err(Flaw::Other);
    }
    let mut segments = 0;
    while source.left() > 0 {
        let start = source.at();
        let element = next_within(source, source.len())?;
        match element.id {
            EBML | SEGMENT if segments > 0 => {
                return broken(format!(
                    "a second recording begins at byte {start}; readers use only the first"
                ));
            }
            EBML => {
                source.seek(start, "the EBML header")?;
                header(source, doc_types)?;
            }
            SEGMENT => {
                segments += 1;
                segment(source, &element)?;
            }
            VOID | CRC_32 => source.seek(element.known_end()?, "an element")?,
            _ if segments == 0 => return broken("no Segment follows its EBML header"),
            _ => return element.misplaced(),
        }
    }
    match segments {
        0 => broken("no Segment follows its EBML header"),
        _ => Ok(()),
    }
}

/// Walks through a segment. A segment of unknown size extends to the next EBML header or to the end of the file.
fn segment(source: &mut Source, segment: &Element) -> Result<(), Flaw> {
    let end = segment.end.unwrap_or(source.len());
    let (mut tracks, mut has_blocks) = (Tracks::default(), false);
    while source.at() < end {
        let part = next_within(source, end)?;
        match part.id {
            CLUSTER => has_blocks |= cluster(source, &part, end, &mut tracks)?,
            TRACKS => tracks.read(source, &part)?,
            VOID | CRC_32 => source.seek(part.known_end()?, "an element")?,
            EBML if segment.end.is_none() => {
                source.seek(part.start, "an element")?;
                break;
            }
            id if PARTS.contains(&id) => each_child(source, &part, |_, _| Ok(()))?,
            _ => return part.misplaced(),
        }
    }
    match (tracks.known, has_blocks) {
        (None, _) => broken("its Segment has no Tracks"),
        (_, false) => broken("its Segment has no Cluster with a block: it holds no media"),
        _ => Ok(()),
    }
}

/// Walks through a cluster. Returns whether it has blocks. A cluster of unknown size extends to the next part of
/// the segment. Such parts have ids of four bytes, and elements inside a cluster have shorter ids.
fn cluster(
    source: &mut Source,
    cluster: &Element,
    segment_end: u64,
    tracks: &mut Tracks,
) -> Result<bool, Flaw> {
    let end = cluster.end.unwrap_or(segment_end);
    let (mut has_time, mut has_blocks) = (false, false);
    while source.at() < end {
        let child = next_within(source, end)?;
        if cluster.end.is_none() && child.id >= 1 << 24 {
            source.seek(child.start, "an element")?;
            break;
        }
        let next = child.known_end()?;
        match child.id {
            // One wrong bit turns a block into such a number. Numbers have at most 8 bytes, and most blocks more.
            TIMESTAMP | POSITION | PREV_SIZE if next - child.body > 8 => return child.misplaced(),
            TIMESTAMP => has_time = true,
            SIMPLE_BLOCK => block(source, &child, tracks)?,
            BLOCK_GROUP => block_group(source, &child, tracks)?,
            POSITION | PREV_SIZE | SILENT_TRACKS | VOID | CRC_32 => {}
            _ => return child.misplaced(),
        }
        has_blocks |= matches!(child.id, SIMPLE_BLOCK | BLOCK_GROUP);
        source.seek(next, "an element")?;
    }
    if has_blocks && !has_time {
        let start = cluster.start;
        return broken(format!("the Cluster at byte {start} has no timestamp"));
    }
    Ok(has_blocks)
}

fn block_group(source: &mut Source, group: &Element, tracks: &mut Tracks) -> Result<(), Flaw> {
    let mut blocks = 0;
    each_child(source, group, |source, child| match child.id {
        BLOCK => {
            blocks += 1;
            block(source, child, tracks)
        }
        VOID | CRC_32 => Ok(()),
        id if ABOUT_A_BLOCK.contains(&id) => Ok(()),
        _ => child.misplaced(),
    })?;
    if blocks != 1 {
        let start = group.start;
        return broken(format!(
            "the block group at byte {start} has {blocks} blocks instead of 1"
        ));
    }
    Ok(())
}

/// Checks the header of a block: its track, its time, its flags, and the sizes of its frames.
fn block(source: &mut Source, block: &Element, tracks: &mut Tracks) -> Result<(), Flaw> {
    let (start, end) = (block.start, block.known_end()?);
    let (track, _) = number(source)?;
    let [_, _, flags] = source.exact("a block")?;
    if source.at() > end {
        return broken(format!("the block at byte {start} is too short"));
    }
    tracks.enter(track, start)?;
    if is_laced_well(source, flags, end)? {
        return Ok(());
    }
    broken(format!(
        "the sizes of the frames in the block at byte {start} do not fit"
    ))
}

/// Whether the frames of a block fit into it (RFC 9559, 10.3). All sizes but the last are stated.
fn is_laced_well(source: &mut Source, flags: u8, end: u64) -> Result<bool, Flaw> {
    const XIPH: u8 = 2;
    const FIXED: u8 = 4;
    let lacing = flags & 6;
    if lacing == 0 {
        return Ok(true);
    }
    let [sizes] = source.exact("a block")?;
    let (mut size, mut total) = (0_u64, 0_u64);
    for n in 0..sizes {
        match lacing {
            FIXED => break,
            XIPH => size = xiph_size(source, end)?,
            _ if n == 0 => (size, _) = number(source)?,
            _ => {
                let (change, width) = number(source)?;
                let Some(next) = (size + change).checked_sub((1 << (7 * width - 1)) - 1) else {
                    return Ok(false);
                };
                size = next;
            }
        }
        total += size;
        if total > end {
            return Ok(false);
        }
    }
    let content = end.checked_sub(source.at());
    Ok(content.is_some_and(|content| match lacing {
        FIXED => content % (u64::from(sizes) + 1) == 0,
        _ => total <= content,
    }))
}

fn xiph_size(source: &mut Source, end: u64) -> Result<u64, Flaw> {
    let mut size = 0;
    while source.at() < end {
        let [part] = source.exact("a block")?;
        size += u64::from(part);
        if part < 0xFF {
            break;
        }
    }
    Ok(size)
}

/// Calls `see` for each child of an element, and moves to the end of the element.
fn each_child(
    source: &mut Source,
    parent: &Element,
    mut see: impl FnMut(&mut Source, &Element) -> Result<(), Flaw>,
) -> Result<(), Flaw> {
    let end = parent.known_end()?;
    while source.at() < end {
        let child = next_within(source, end)?;
        see(source, &child)?;
        source.seek(child.known_end()?, "an element")?;
    }
    Ok(())
}

fn header(source: &mut Source, doc_types: &[&str]) -> Result<(), Flaw> {
    let Some(end) = next_within(source, source.len())?.end else {
        return broken("its EBML header has no size");
    };
    while source.at() < end {
        let element = next_within(source, source.len())?;
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

/// Reads the header of the next element, which must end at `limit` or before.
fn next_within(source: &mut Source, limit: u64) -> Result<Element, Flaw> {
    let element = next_element(source)?;
    let Element {
        id, start, body, ..
    } = element;
    match element.end {
        _ if body > limit => element.misplaced(),
        Some(end) if end > limit => broken(format!(
            "the element {id:X} at byte {start} needs {} bytes, but only {} are left",
            end - body,
            limit - body
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
    Ok(Element {
        id,
        start,
        body,
        end,
    })
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
