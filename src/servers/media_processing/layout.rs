//! Speaker layouts, and the gains that mix them to mono or stereo.
//!
//! The gains are those of ffmpeg's default: centre and surround channels with −3 dB, the rear centre with −6 dB,
//! no LFE, and all gains scaled so that the result cannot clip.

use std::f64::consts::FRAC_1_SQRT_2;

use serde::Deserialize;
use symphonia::core::audio::{Channels, Position};

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
    use super::*;

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
