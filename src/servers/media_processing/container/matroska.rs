//! `DiscardPadding` of Matroska and WebM (RFC 9559, 5.1.3.5.7): samples at the end of a track that are not played.

use std::{collections::VecDeque, ops::Range};

use super::Marks;
use crate::assets::format::{
    Flaw, Source,
    ebml::{BLOCK, BLOCK_GROUP, CLUSTER, DISCARD_PADDING, Element, SEGMENT, next_element, number},
};

/// The number of clusters at the end that are examined. Tracks may end in different clusters.
const CLUSTERS: usize = 2;

/// The padding at the end of track `id` in a file that was checked. In a live recording, the segment and clusters may
/// have no size. The segment then extends to the end of the file.
pub(super) fn marks(source: &mut Source, id: u32) -> Result<Marks, Flaw> {
    let mut marks = Marks::default();
    let all = 0..source.len();
    let mut segment = None;
    each(source, all, |source, element| {
        if element.id == SEGMENT {
            marks.is_open = element.end.is_none();
            segment.get_or_insert(element.body..element.end.unwrap_or(source.len()));
        }
        Ok(())
    })?;
    let Some(segment) = segment else {
        return Ok(marks);
    };
    for cluster in last_clusters(source, segment)? {
        each(source, cluster, |source, group| {
            if let (BLOCK_GROUP, Some(end)) = (group.id, group.end) {
                let padding = padding(source, group.body..end, id)?;
                marks.end_padding = marks.end_padding.max(padding);
            }
            Ok(())
        })?;
    }
    Ok(marks)
}

/// The content ranges of the last clusters. A cluster without a size extends to the next element of the segment.
/// Such elements have ids of four bytes, and elements inside a cluster have shorter ids.
fn last_clusters(source: &mut Source, segment: Range<u64>) -> Result<VecDeque<Range<u64>>, Flaw> {
    let mut last: VecDeque<Range<u64>> = VecDeque::new();
    let end = segment.end;
    let mut at = segment.start;
    while at < end {
        source.seek(at, "a segment")?;
        let element = next_element(source)?;
        if element.id >= 1 << 24
            && let Some(open) = last.back_mut()
        {
            open.end = open.end.min(at);
        }
        if element.id == CLUSTER {
            last.push_back(element.body..element.end.unwrap_or(end));
            if last.len() > CLUSTERS {
                last.pop_front();
            }
        }
        at = match element.end {
            Some(next) => next,
            None if element.id == CLUSTER => element.body,
            None => break,
        };
    }
    Ok(last)
}

/// The padding of a block group in nanoseconds, if the group belongs to track `id`.
fn padding(source: &mut Source, group: Range<u64>, id: u32) -> Result<u64, Flaw> {
    let mut ours = false;
    let mut padding = 0;
    each(source, group, |source, element| {
        match (element.id, element.end) {
            (BLOCK, _) => ours = number(source)?.0 == u64::from(id),
            // Negative padding is at the start of a block.
            (DISCARD_PADDING, Some(end)) => {
                let bytes = source.bytes((end - element.body).min(8), "a padding")?;
                padding = signed(&bytes).try_into().unwrap_or(0);
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(if ours { padding } else { 0 })
}

/// Calls `see` for each element in `range`, but not for its children. Stops after an element without a size.
fn each(
    source: &mut Source,
    range: Range<u64>,
    mut see: impl FnMut(&mut Source, &Element) -> Result<(), Flaw>,
) -> Result<(), Flaw> {
    let mut at = range.start;
    while at < range.end && at < source.len() {
        source.seek(at, "an element")?;
        let element = next_element(source)?;
        see(source, &element)?;
        match element.end {
            Some(end) => at = end,
            None => break,
        }
    }
    Ok(())
}

fn signed(bytes: &[u8]) -> i64 {
    let sign = bytes
        .first()
        .map_or(0, |first| i64::from(first.cast_signed() >> 7));
    bytes
        .iter()
        .fold(sign, |value, byte| value << 8 | i64::from(*byte))
}
