//! Decoded audio: blocks of samples, their properties with the speaker layouts, and the window that cuts the blocks to
//! the part that is played.
//!
//! The gains that mix a layout to mono or stereo are those of ffmpeg's default: centre and surround channels with −3 dB,
//! the rear centre with −6 dB, no LFE, and all gains scaled so that the result cannot clip.

use std::{f64::consts::FRAC_1_SQRT_2, iter::Peekable, vec::IntoIter};

use serde::Deserialize;
use symphonia::core::{
    audio::{Channels, Position},
    units::{TimeBase, Timestamp},
};

use super::container::{Marks, Padding, Played};

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
    played: Played,
    time_base: Option<TimeBase>,
    /// Samples that are still to be dropped at the start.
    skip: usize,
    /// The number of packets that were passed.
    packets: u64,
    padding: Peekable<IntoIter<Padding>>,
}

impl Window {
    /// `pre_skip` samples of each channel are dropped at the start, unless an edit states another start. As in ffmpeg, an
    /// edit from 0 states none.
    pub(super) fn new(marks: Marks, time_base: Option<TimeBase>, pre_skip: usize) -> Self {
        let skip = match &marks.played {
            Played::Part(edit) if edit.start > 0 => 0,
            _ => pre_skip,
        };
        Self {
            played: marks.played,
            time_base,
            skip,
            packets: 0,
            padding: marks.padding.into_iter().peekable(),
        }
    }

    /// Returns what is played of the block of the next packet, which is at `at`. The result may be empty.
    pub(super) fn pass(&mut self, mut block: Block, at: Timestamp, rate: u32) -> Block {
        let packet = self.packets;
        self.packets += 1;
        let padding = self.padding.next_if(|padding| padding.packet == packet);
        let (at_start, at_end) = padding.map_or((None, 0), |padding| padding.samples(rate));
        self.skip = at_start.unwrap_or(self.skip);
        let outside = self.outside(&block, at, rate);
        let skipped = self.skip.min(block.frames());
        self.skip -= skipped;
        block.trim(skipped.max(outside), 0);
        // ffmpeg ignores a padding that is longer than the rest of its packet.
        if at_end <= block.frames() {
            block.trim(0, at_end);
        }
        block
    }

    /// The number of samples at the front of the block that lie outside the edit. As in ffmpeg, a block that begins
    /// inside the edit is played to its end.
    fn outside(&self, block: &Block, at: Timestamp, rate: u32) -> usize {
        let (Played::Part(edit), Some(time_base)) = (&self.played, self.time_base) else {
            return 0;
        };
        let frames_at = |ticks: i64| {
            let numerator =
                i128::from(ticks) * i128::from(rate) * i128::from(time_base.numer.get());
            numerator / i128::from(time_base.denom.get())
        };
        let begin = frames_at(at.get());
        if begin >= frames_at(edit.end) {
            return block.frames();
        }
        let before = frames_at(edit.start) - begin;
        usize::try_from(before.max(0)).unwrap_or(usize::MAX)
    }
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

    fn window(played: Played, padding: &[(u64, i64)], pre_skip: usize) -> Window {
        let padding = padding.iter().map(|&(packet, nanoseconds)| Padding {
            packet,
            nanoseconds,
        });
        let marks = Marks {
            played,
            padding: padding.collect(),
            ..Marks::default()
        };
        Window::new(marks, TimeBase::try_new(1, 1000), pre_skip)
    }

    #[expect(clippy::cast_possible_truncation, reason = "small whole numbers")]
    /// What is heard of three blocks of four samples at 1 kHz.
    fn heard(mut window: Window) -> Vec<i16> {
        [0_i16, 4, 8]
            .into_iter()
            .flat_map(|at| {
                let block = block(at..at + 4);
                window
                    .pass(block, Timestamp::new(at.into()), 1000)
                    .0
                    .concat()
            })
            .map(|sample: f32| sample as i16)
            .collect()
    }

    #[test]
    fn without_marks_everything_is_heard() {
        assert_eq!(
            heard(window(Played::Whole, &[], 0)),
            (0..12).collect::<Vec<_>>()
        );
    }

    #[test]
    fn an_edit_cuts_to_the_sample_at_its_start_and_to_the_block_at_its_end() {
        assert_eq!(
            heard(window(Played::Part(2..6), &[], 0)),
            (2..8).collect::<Vec<_>>()
        );
        assert_eq!(
            heard(window(Played::Part(5..i64::MAX), &[], 0)),
            (5..12).collect::<Vec<_>>()
        );
    }

    // The expected figures were read off ffmpeg 5.1.
    #[test]
    fn an_edit_that_begins_after_0_replaces_the_pre_skip() {
        assert_eq!(
            heard(window(Played::Part(3..12), &[], 3)),
            (3..12).collect::<Vec<_>>()
        );
        assert_eq!(
            heard(window(Played::Part(2..12), &[], 6)),
            (2..12).collect::<Vec<_>>()
        );
        assert_eq!(
            heard(window(Played::Part(0..8), &[], 3)),
            (3..8).collect::<Vec<_>>()
        );
    }

    #[test]
    fn padding_is_cut_from_its_packet_alone() {
        let heard = |padding: &[(u64, i64)]| heard(window(Played::Whole, padding, 0));
        assert_eq!(heard(&[(2, 3_000_000)]), (0..9).collect::<Vec<_>>());
        assert_eq!(
            heard(&[(0, 2_400_000), (1, 4_000_000)]),
            [0, 1, 8, 9, 10, 11]
        );
        assert_eq!(heard(&[(2, 5_000_000)]), (0..12).collect::<Vec<_>>());
        // Negative padding is at the start.
        assert_eq!(heard(&[(1, -1_500_000)]), [0, 1, 2, 3, 6, 7, 8, 9, 10, 11]);
    }

    #[test]
    fn a_skip_longer_than_a_block_goes_on_in_the_next() {
        assert_eq!(
            heard(window(Played::Whole, &[(2, 1_000_000)], 6)),
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
