//! Decoded audio: blocks of samples and their properties.

use super::layout::Layout;

/// A block of decoded audio: samples from −1 to 1, in one vector for each channel. All vectors have the same
/// length.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Block(pub(super) Vec<Vec<f32>>);

impl Block {
    /// Samples per channel.
    pub(super) fn frames(&self) -> usize {
        self.0.first().map_or(0, Vec::len)
    }

    /// Drops `start` samples of each channel at the front and `end` samples at the back.
    pub(super) fn trim(&mut self, start: usize, end: usize) {
        for plane in &mut self.0 {
            plane.truncate(plane.len().saturating_sub(end));
            plane.drain(..start.min(plane.len()));
        }
    }

    /// Splits the block into parts of at most `most` samples per channel. `most` is above zero.
    pub(super) fn pieces(&self, most: usize) -> impl Iterator<Item = Self> {
        (0..self.frames()).step_by(most).map(move |from| {
            let part = |plane: &Vec<f32>| plane.iter().skip(from).take(most).copied().collect();
            Self(self.0.iter().map(part).collect())
        })
    }
}

/// The sample format of the source, before the conversion to floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// Integers of at most 16 bits. They are mixed in fixed point and halves are rounded up, as in ffmpeg.
    Narrow,
    /// Wider integers. Their low bits are cut off, except if they are mixed or resampled, which rounds them.
    Wide,
    Real,
}

/// The properties that all blocks of a source share.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Signal {
    pub(super) rate: u32,
    pub(super) layout: Layout,
    pub(super) origin: Origin,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_of_a_block_are_all_of_it() {
        let block = Block(vec![vec![1.0, 2.0, 3.0], vec![6.0, 7.0, 8.0]]);
        assert_eq!(
            block.pieces(2).collect::<Vec<_>>(),
            [
                Block(vec![vec![1.0, 2.0], vec![6.0, 7.0]]),
                Block(vec![vec![3.0], vec![8.0]]),
            ]
        );
    }

    #[test]
    fn trimming_drops_from_both_ends_and_never_more_than_there_is() {
        let mut block = Block(vec![vec![1.0, 2.0, 3.0, 4.0, 5.0]]);
        block.trim(1, 2);
        assert_eq!(block, Block(vec![vec![2.0, 3.0]]));
        block.trim(5, 5);
        assert_eq!(block.frames(), 0);
    }
}
