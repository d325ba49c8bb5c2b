//! `DiscardPadding` of Matroska and WebM (RFC 9559, 5.1.3.5.7): samples of a track's last block that
//! are not meant to be heard.

use std::ops::Range;

use super::{Bytes, ContainerProblem, MOST_PARTS, Marks};

const SEGMENT: u32 = 0x1853_8067;
const CLUSTER: u32 = 0x1F43_B675;
const BLOCK_GROUP: u32 = 0xA0;
const BLOCK: u32 = 0xA1;
const DISCARD_PADDING: u32 = 0x75A2;

/// Clusters looked into, from the end. Tracks may end in different ones.
const CLUSTERS: usize = 2;

/// An element: its id, and where its content lies.
struct Element {
    id: u32,
    body: Range<u64>,
}

/// The padding at the end of track `number`. Fails if the segment runs over the end of the file. A
/// segment of unknown size, as a live stream has it, is not looked into.
pub(super) fn marks(bytes: &mut Bytes, number: u32) -> Result<Marks, ContainerProblem> {
    let Some(segment) = elements(bytes, 0..bytes.length)?
        .into_iter()
        .find(|element| element.id == SEGMENT)
    else {
        return Ok(Marks::default());
    };
    if segment.body.end > bytes.length {
        let missing = segment.body.end - bytes.length;
        return Err(ContainerProblem::Truncated {
            part: "segment",
            missing,
        });
    }
    let mut end_padding = 0;
    let top = elements(bytes, segment.body)?;
    for cluster in top
        .iter()
        .rev()
        .filter(|element| element.id == CLUSTER)
        .take(CLUSTERS)
    {
        for group in elements(bytes, cluster.body.clone())? {
            if group.id == BLOCK_GROUP {
                end_padding = end_padding.max(padding(bytes, group.body, number)?);
            }
        }
    }
    Ok(Marks {
        edits: Vec::new(),
        end_padding,
    })
}

/// The padding of one block group in nanoseconds, if it is of track `number`.
fn padding(bytes: &mut Bytes, group: Range<u64>, number: u32) -> Result<u64, ContainerProblem> {
    let mut ours = false;
    let mut padding = 0;
    for element in elements(bytes, group)? {
        bytes.seek(element.body.start)?;
        match element.id {
            BLOCK => ours = vint(bytes)? == Some(number.into()),
            // Negative padding would be at the block's start.
            DISCARD_PADDING => padding = signed(bytes, element.body)?.try_into().unwrap_or(0),
            _ => {}
        }
    }
    Ok(if ours { padding } else { 0 })
}

/// The elements in `range`, without what is in them, up to one of unknown size.
fn elements(bytes: &mut Bytes, range: Range<u64>) -> Result<Vec<Element>, ContainerProblem> {
    let mut elements = Vec::new();
    let mut at = range.start;
    while at < range.end {
        if elements.len() >= MOST_PARTS {
            return Err(ContainerProblem::Malformed("element structure"));
        }
        bytes.seek(at)?;
        let id = element_id(bytes)?;
        let Some(size) = vint(bytes)? else {
            break;
        };
        let body = bytes.at..bytes.at.saturating_add(size);
        at = body.end;
        elements.push(Element { id, body });
    }
    Ok(elements)
}

/// An id keeps the bits that give its length.
fn element_id(bytes: &mut Bytes) -> Result<u32, ContainerProblem> {
    let [first] = bytes.read()?;
    if first < 0x10 {
        return Err(ContainerProblem::Malformed("element structure"));
    }
    let mut id = u32::from(first);
    for _ in 0..first.leading_zeros() {
        let [next] = bytes.read()?;
        id = id << 8 | u32::from(next);
    }
    Ok(id)
}

/// A number of variable length; `None` if all its bits are set, which stands for "unknown".
fn vint(bytes: &mut Bytes) -> Result<Option<u64>, ContainerProblem> {
    let [first] = bytes.read()?;
    if first == 0 {
        return Err(ContainerProblem::Malformed("element structure"));
    }
    let more = first.leading_zeros();
    let mut value = u64::from(first) & (0x7F >> more);
    for _ in 0..more {
        let [next] = bytes.read()?;
        value = value << 8 | u64::from(next);
    }
    let unknown = (1 << (7 * (more + 1))) - 1;
    Ok((value != unknown).then_some(value))
}

fn signed(bytes: &mut Bytes, body: Range<u64>) -> Result<i64, ContainerProblem> {
    let mut value = 0_i64;
    for at in body.start..body.end.min(body.start + 8) {
        let [next] = bytes.read()?;
        value = if at == body.start {
            i64::from(next.cast_signed())
        } else {
            value << 8 | i64::from(next)
        };
    }
    Ok(value)
}
