//! Decoded audio: blocks of samples, their properties, and the window that cuts them to the part that is played.

use std::collections::VecDeque;

use symphonia::core::units::{TimeBase, Timestamp};

use super::{container::Marks, layout::Layout};

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

pub(super) struct Window {
    marks: Marks,
    time_base: Option<TimeBase>,
    /// Samples that are still to be dropped at the start.
    skip: usize,
    /// The last blocks. The padding is cut off when no more blocks follow.
    held: VecDeque<Block>,
}

impl Window {
    /// `skip` samples of each channel are dropped at the start, in addition to the marks.
    pub(super) fn new(marks: Marks, time_base: Option<TimeBase>, skip: usize) -> Self {
        Self {
            marks,
            time_base,
            skip,
            held: VecDeque::new(),
        }
    }

    /// Takes the block of the packet at `at`. Returns a block that is certainly played.
    pub(super) fn pass(&mut self, mut block: Block, at: Timestamp, rate: u32) -> Option<Block> {
        let skipped = self.skip.min(block.frames());
        self.skip -= skipped;
        block.trim(skipped, 0);
        if let Some(start) = self.cut_by_edits(&block, at, rate) {
            block.trim(start, 0);
        }
        self.held.push_back(block);
        let behind: usize = self.held.iter().skip(1).map(Block::frames).sum();
        if behind < self.padding(rate) {
            return None;
        }
        self.held.pop_front()
    }

    /// Returns the next of the last blocks, after the end of the packets.
    pub(super) fn finish(&mut self, rate: u32) -> Option<Block> {
        let mut padding = self.padding(rate);
        self.marks.end_padding = 0;
        for block in self.held.iter_mut().rev() {
            let cut = padding.min(block.frames());
            padding -= cut;
            block.trim(0, cut);
        }
        self.held.pop_front()
    }

    fn padding(&self, rate: u32) -> usize {
        let frames =
            (u128::from(self.marks.end_padding) * u128::from(rate) + 500_000_000) / 1_000_000_000;
        usize::try_from(frames).unwrap_or(usize::MAX)
    }

    /// The number of samples at the front of the block that lie before the edit in which it is. As in ffmpeg, a
    /// block that begins inside an edit is played to its end, and a block outside all edits is not played.
    fn cut_by_edits(&self, block: &Block, at: Timestamp, rate: u32) -> Option<usize> {
        let time_base = self.time_base?;
        if self.marks.edits.is_empty() {
            return None;
        }
        let frames_at = |ticks: i64| {
            let numerator =
                i128::from(ticks) * i128::from(rate) * i128::from(time_base.numer.get());
            numerator / i128::from(time_base.denom.get())
        };
        let begin = frames_at(at.get());
        let end = begin + block.frames() as i128;
        let edits = &self.marks.edits;
        let reached = edits
            .iter()
            .find(|edit| frames_at(edit.start) < end && begin < frames_at(edit.end));
        let cut = reached.map_or(end, |edit| frames_at(edit.start)) - begin;
        Some(usize::try_from(cut.max(0)).unwrap_or(usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

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

    fn block(samples: Range<i16>) -> Block {
        Block(vec![samples.map(f32::from).collect()])
    }

    fn window(edit: Option<Range<i64>>, end_padding: u64, skip: usize) -> Window {
        let edits = Vec::from_iter(edit);
        Window::new(
            Marks {
                edits,
                end_padding,
                ..Marks::default()
            },
            TimeBase::try_new(1, 1000),
            skip,
        )
    }

    #[expect(clippy::cast_possible_truncation, reason = "small whole numbers")]
    /// What is heard of three blocks of four samples at 1 kHz.
    fn heard(mut window: Window) -> Vec<i16> {
        let mut heard = Vec::new();
        let mut hear = |block: Block| heard.extend(block.0.concat());
        for at in [0_i16, 4, 8] {
            window
                .pass(block(at..at + 4), Timestamp::new(at.into()), 1000)
                .map(&mut hear);
        }
        while let Some(block) = window.finish(1000) {
            hear(block);
        }
        heard.into_iter().map(|sample: f32| sample as i16).collect()
    }

    #[test]
    fn without_marks_everything_is_heard() {
        assert_eq!(heard(window(None, 0, 0)), (0..12).collect::<Vec<_>>());
    }

    #[test]
    fn an_edit_cuts_to_the_sample_at_its_start_and_to_the_block_at_its_end() {
        assert_eq!(heard(window(Some(2..6), 0, 0)), (2..8).collect::<Vec<_>>());
        assert_eq!(
            heard(window(Some(5..i64::MAX), 0, 0)),
            (5..12).collect::<Vec<_>>()
        );
    }

    #[test]
    fn padding_longer_than_a_block_is_cut_from_the_last_blocks() {
        assert_eq!(
            heard(window(None, 5_000_000, 0)),
            (0..7).collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_skip_longer_than_a_block_goes_on_in_the_next() {
        assert_eq!(
            heard(window(None, 1_000_000, 6)),
            (6..11).collect::<Vec<_>>()
        );
    }
}
