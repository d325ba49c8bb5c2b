//! `DiscardPadding` of Matroska and WebM (RFC 9559, 5.1.3.5.7): samples of a block that are not played.

use std::ops::Range;

use super::{Marks, Padding};
use crate::assets::format::{
    Flaw, Source, broken,
    ebml::{
        BLOCK, BLOCK_GROUP, CLUSTER, DISCARD_PADDING, Element, SEGMENT, SIMPLE_BLOCK, next_element,
        number,
    },
};

/// The largest number of packets with padding. Encoders pad the last packet of a track.
const MOST_PADDED: usize = 100_000;

/// The padding of track `id` in a file that was checked. In a live recording, the segment and clusters may have no
/// size. The segment then extends to the end of the file.
pub(super) fn marks(source: &mut Source, id: u32) -> Result<Marks, Flaw> {
    let mut marks = Marks::default();
    let mut packets = 0;
    let all = 0..source.len();
    // The elements of a cluster are read like those of the segment.
    each(source, all, &[SEGMENT, CLUSTER], |source, element| {
        let block = match (element.id, element.end) {
            (SEGMENT, end) => {
                marks.is_open = end.is_none();
                return Ok(());
            }
            (SIMPLE_BLOCK, _) => Block::read(source)?,
            (BLOCK_GROUP, Some(end)) => Block::of_group(source, element.body..end)?,
            _ => return Ok(()),
        };
        if block.track != u64::from(id) {
            return Ok(());
        }
        let packet = packets;
        packets += block.packets;
        if block.padding != 0 {
            // As in ffmpeg, each packet of the block has the padding.
            let padded = (packet..packets).map(|packet| Padding {
                packet,
                nanoseconds: block.padding,
            });
            marks.padding.extend(padded);
        }
        match marks.padding.len() {
            ..=MOST_PADDED => Ok(()),
            _ => broken(format!(
                "it has more than {MOST_PADDED} packets with padding"
            )),
        }
    })?;
    Ok(marks)
}

/// What is needed of a block.
#[derive(Default)]
struct Block {
    track: u64,
    packets: u64,
    /// In nanoseconds.
    padding: i64,
}

impl Block {
    /// Reads the header of a block (RFC 9559, 10.1).
    fn read(source: &mut Source) -> Result<Self, Flaw> {
        const PART: &str = "a block";
        const LACING: u8 = 6;
        let (track, _) = number(source)?;
        let [_, _, flags] = source.exact(PART)?;
        let laced = match flags & LACING {
            0 => [0],
            _ => source.exact(PART)?,
        };
        Ok(Self {
            track,
            packets: u64::from(laced[0]) + 1,
            padding: 0,
        })
    }

    fn of_group(source: &mut Source, group: Range<u64>) -> Result<Self, Flaw> {
        let (mut block, mut padding) = (Self::default(), 0);
        each(source, group, &[], |source, element| {
            match (element.id, element.end) {
                (BLOCK, _) => block = Self::read(source)?,
                (DISCARD_PADDING, Some(end)) => {
                    let bytes = source.bytes((end - element.body).min(8), "a padding")?;
                    padding = signed(&bytes);
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(Self { padding, ..block })
    }
}

/// Calls `see` for each element in `range`, and for the children of those that are `opened`. Stops after another
/// element without a size.
fn each(
    source: &mut Source,
    range: Range<u64>,
    opened: &[u32],
    mut see: impl FnMut(&mut Source, &Element) -> Result<(), Flaw>,
) -> Result<(), Flaw> {
    let mut at = range.start;
    while at < range.end && at < source.len() {
        source.seek(at, "an element")?;
        let element = next_element(source)?;
        see(source, &element)?;
        at = match element.end {
            _ if opened.contains(&element.id) => element.body,
            Some(end) => end,
            None => break,
        };
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
