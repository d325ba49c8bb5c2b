//! Decoded audio: blocks of samples, their properties with the speaker layouts, and the window that cuts the blocks to
//! the part that is played.
//!
//! The gains that mix a layout to mono or stereo are those of ffmpeg's default: centre and surround channels with −3 dB,
//! the rear centre with −6 dB, no LFE, and all gains scaled so that the result cannot clip.

use std::{collections::VecDeque, f64::consts::FRAC_1_SQRT_2, ops::Range};

use serde::Deserialize;
use symphonia::core::{
    audio::{Channels, Position},
    units::{TimeBase, Timestamp},
};

use super::container::Marks;

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

/// Cuts the blocks of a track to the part that is played.
pub(super) struct Window {
    marks: Marks,
    time_base: Option<TimeBase>,
    /// Samples that are still to be dropped at the start.
    skip: usize,
    /// The last blocks. The padding is cut off when no more blocks follow.
    held: VecDeque<Block>,
    /// The samples of each channel in `held`.
    held_frames: usize,
}

impl Window {
    /// `skip` samples of each channel are dropped at the start, in addition to the marks.
    pub(super) fn new(mut marks: Marks, time_base: Option<TimeBase>, skip: usize) -> Self {
        join(&mut marks.edits);
        Self {
            marks,
            time_base,
            skip,
            held: VecDeque::new(),
            held_frames: 0,
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
        self.held_frames += block.frames();
        self.held.push_back(block);
        let first = self.held.front().map_or(0, Block::frames);
        let behind = self.held_frames - first;
        if behind < self.padding(rate) {
            return None;
        }
        self.held_frames = behind;
        self.held.pop_front()
    }

    /// Returns the next of the last blocks, after the end of the packets.
    pub(super) fn finish(&mut self, rate: u32) -> Option<Block> {
        let mut padding = self.padding(rate);
        self.marks.end_padding = 0;
        let mut blocks = self.held.iter_mut().rev();
        while padding > 0
            && let Some(block) = blocks.next()
        {
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

    /// The number of samples at the front of the block that lie before the first edit that it touches. As in ffmpeg, a
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
        let reached = edits.get(edits.partition_point(|edit| frames_at(edit.end) <= begin));
        let reached = reached.filter(|edit| frames_at(edit.start) < end);
        let cut = reached.map_or(end, |edit| frames_at(edit.start)) - begin;
        Some(usize::try_from(cut.max(0)).unwrap_or(usize::MAX))
    }
}

/// Sorts the edits and joins those that overlap or touch, so that a binary search finds that of a block.
fn join(edits: &mut Vec<Range<i64>>) {
    edits.sort_unstable_by_key(|edit| edit.start);
    edits.dedup_by(|next, last| {
        let is_joined = next.start <= last.end;
        if is_joined {
            last.end = last.end.max(next.end);
        }
        is_joined
    });
}

/// The channels of the output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u8")]
pub(super) enum Width {
    #[default]
    Mono,
    Stereo,
}

impl TryFrom<u8> for Width {
    type Error = String;

    fn try_from(channels: u8) -> Result<Self, String> {
        match channels {
            1 => Ok(Self::Mono),
            2 => Ok(Self::Stereo),
            other => Err(format!("{other} channels are not 1 or 2")),
        }
    }
}

impl Width {
    pub(super) fn channels(self) -> u16 {
        match self {
            Self::Mono => 1,
            Self::Stereo => 2,
        }
    }
}

/// The speakers of a source's channels.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Layout(Vec<Speaker>);

/// The share of one channel in the left channel, the right channel and mono.
type Speaker = [f64; 3];

const LEFT: Speaker = [1.0, 0.0, FRAC_1_SQRT_2];
const RIGHT: Speaker = [0.0, 1.0, FRAC_1_SQRT_2];
const CENTRE: Speaker = [FRAC_1_SQRT_2, FRAC_1_SQRT_2, 1.0];
const SURROUND_LEFT: Speaker = [FRAC_1_SQRT_2, 0.0, 0.5];
const SURROUND_RIGHT: Speaker = [0.0, FRAC_1_SQRT_2, 0.5];
const SURROUND_CENTRE: Speaker = [0.5, 0.5, 0.5];
const UNHEARD: Speaker = [0.0, 0.0, 0.0];

impl Layout {
    /// The layout of a source. `None` if the place of a channel is unknown or not supported.
    pub(super) fn of(channels: &Channels) -> Option<Self> {
        match (channels.count(), channels) {
            (1, _) => Some(Self(vec![CENTRE])),
            (2, _) => Some(Self(vec![LEFT, RIGHT])),
            (_, Channels::Positioned(positions)) => positions
                .iter()
                .map(speaker)
                .collect::<Option<_>>()
                .map(Self),
            _ => None,
        }
    }

    pub(super) fn channels(&self) -> usize {
        self.0.len()
    }

    /// A row of gains for each output channel. `None` if the channels are already the wanted ones.
    pub(super) fn gains(&self, width: Width) -> Option<Vec<Vec<f64>>> {
        let rows = match (width, self.0.as_slice()) {
            (Width::Mono, [_]) | (Width::Stereo, [LEFT, RIGHT]) => return None,
            (Width::Mono, _) => vec![self.row(|[_, _, mono]| *mono)],
            (Width::Stereo, _) => {
                vec![
                    self.row(|[left, ..]| *left),
                    self.row(|[_, right, _]| *right),
                ]
            }
        };
        let loudest = rows
            .iter()
            .map(|row| row.iter().sum::<f64>())
            .fold(1.0, f64::max);
        Some(
            rows.into_iter()
                .map(|row| row.into_iter().map(|gain| gain / loudest).collect())
                .collect(),
        )
    }

    fn row(&self, share: fn(&Speaker) -> f64) -> Vec<f64> {
        self.0.iter().map(share).collect()
    }
}

fn speaker(position: Position) -> Option<Speaker> {
    Some(match position {
        Position::FRONT_LEFT | Position::FRONT_LEFT_CENTER => LEFT,
        Position::FRONT_RIGHT | Position::FRONT_RIGHT_CENTER => RIGHT,
        Position::FRONT_CENTER => CENTRE,
        Position::LFE1 => UNHEARD,
        Position::REAR_LEFT | Position::SIDE_LEFT => SURROUND_LEFT,
        Position::REAR_RIGHT | Position::SIDE_RIGHT => SURROUND_RIGHT,
        Position::REAR_CENTER => SURROUND_CENTRE,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

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

    fn window(edits: &[Range<i64>], end_padding: u64, skip: usize) -> Window {
        Window::new(
            Marks {
                edits: edits.to_vec(),
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
        assert_eq!(heard(window(&[], 0, 0)), (0..12).collect::<Vec<_>>());
    }

    #[test]
    fn an_edit_cuts_to_the_sample_at_its_start_and_to_the_block_at_its_end() {
        assert_eq!(
            heard(window(from_ref(&(2..6)), 0, 0)),
            (2..8).collect::<Vec<_>>()
        );
        assert_eq!(
            heard(window(from_ref(&(5..i64::MAX)), 0, 0)),
            (5..12).collect::<Vec<_>>()
        );
    }

    #[test]
    fn edits_in_any_order_are_sorted_and_joined_and_a_block_is_cut_to_the_first_that_it_touches() {
        let edits = [10..11, 7..8, 6..7, 2..3, 1..2];
        assert_eq!(window(&edits, 0, 0).marks.edits, [1..3, 6..8, 10..11]);
        assert_eq!(heard(window(&edits, 0, 0)), [1, 2, 3, 6, 7, 10, 11]);
    }

    #[test]
    fn padding_longer_than_a_block_is_cut_from_the_last_blocks() {
        assert_eq!(heard(window(&[], 5_000_000, 0)), (0..7).collect::<Vec<_>>());
    }

    #[test]
    fn the_samples_that_are_held_back_are_counted_as_blocks_come_and_go() {
        let mut window = window(&[], 5_000_000, 2);
        for (at, frames) in [(0, 1), (1, 4), (5, 3), (8, 0), (8, 7), (15, 2)] {
            window.pass(block(at..at + frames), Timestamp::new(at.into()), 1000);
            let held: usize = window.held.iter().map(Block::frames).sum();
            assert_eq!(window.held_frames, held);
        }
        assert_eq!(window.held.len(), 3);
    }

    #[test]
    fn a_skip_longer_than_a_block_goes_on_in_the_next() {
        assert_eq!(
            heard(window(&[], 1_000_000, 6)),
            (6..11).collect::<Vec<_>>()
        );
    }

    fn gains(positions: Position, width: Width) -> Vec<Vec<f64>> {
        let layout = Layout::of(&Channels::Positioned(positions)).expect("supported");
        let rounded = |gain: f64| (gain * 1e4).round() / 1e4;
        let rows = layout.gains(width).expect("mixed");
        rows.into_iter()
            .map(|row| row.into_iter().map(rounded).collect())
            .collect()
    }

    // The expected figures were read off ffmpeg 5.1, one channel sounding at a time.
    #[test]
    fn five_point_one_mixes_as_ffmpeg_mixes_it() {
        let positions = Position::FRONT_LEFT
            | Position::FRONT_RIGHT
            | Position::FRONT_CENTER
            | Position::LFE1
            | Position::SIDE_LEFT
            | Position::SIDE_RIGHT;
        assert_eq!(
            gains(positions, Width::Mono),
            [[0.2071, 0.2071, 0.2929, 0.0, 0.1464, 0.1464]]
        );
        assert_eq!(
            gains(positions, Width::Stereo),
            [
                [0.4142, 0.0, 0.2929, 0.0, 0.2929, 0.0],
                [0.0, 0.4142, 0.2929, 0.0, 0.0, 0.2929]
            ]
        );
    }

    #[test]
    fn stereo_halves_into_mono_and_mono_goes_to_both_sides_three_decibels_down() {
        let stereo = Position::FRONT_LEFT | Position::FRONT_RIGHT;
        assert_eq!(gains(stereo, Width::Mono), [[0.5, 0.5]]);
        let mono =
            Layout::of(&Channels::Discrete(1)).and_then(|layout| layout.gains(Width::Stereo));
        assert_eq!(mono, Some(vec![vec![FRAC_1_SQRT_2]; 2]));
    }

    #[test]
    fn channels_that_are_right_already_are_left_alone() {
        assert_eq!(
            Layout::of(&Channels::Discrete(2)).and_then(|layout| layout.gains(Width::Stereo)),
            None
        );
        assert_eq!(
            Layout::of(&Channels::Discrete(1)).and_then(|layout| layout.gains(Width::Mono)),
            None
        );
    }

    #[test]
    fn channels_without_a_known_place_are_not_guessed_at() {
        assert_eq!(Layout::of(&Channels::Discrete(6)), None);
        assert_eq!(
            Layout::of(&Channels::Positioned(
                Position::from_count(14).expect("positions")
            )),
            None
        );
    }
}
