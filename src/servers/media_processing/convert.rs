//! Converts samples: mixes channels, changes the rate, and rounds to 16 bits.

use super::{
    resample::Resampler,
    signal::{Block, Origin, Signal, Width},
};
use crate::servers::tool::ToolError;

/// The factor between samples of −1 to 1 and samples of 16 bits.
const ONE: f64 = 32768.0;

/// Converts blocks of one signal as one stream.
pub(super) struct Converter {
    origin: Origin,
    /// A row of gains for each output channel. `None` leaves the channels unchanged.
    gains: Option<Vec<Vec<f64>>>,
    resampler: Option<Resampler>,
    /// Whether mixing adds channels. It is then done after resampling, so that fewer channels are resampled.
    widens: bool,
}

impl Converter {
    /// Makes a converter from `signal` to `rate` samples per second and `width`.
    pub(super) fn new(signal: &Signal, rate: u32, width: Width) -> Result<Self, ToolError> {
        let (from, to) = (signal.layout.channels(), usize::from(width.channels()));
        let gains = signal.layout.gains(width).map(|rows| match signal.origin {
            Origin::Narrow => rows.iter().map(|row| in_fixed_point(row)).collect(),
            Origin::Wide | Origin::Real => rows,
        });
        let resampler =
            (rate != signal.rate).then(|| Resampler::new(signal.rate, rate, from.min(to)));
        Ok(Self {
            origin: signal.origin,
            gains,
            resampler: resampler.transpose()?,
            widens: to > from,
        })
    }

    /// The converted samples that `block` completes, interleaved.
    pub(super) fn push(&mut self, block: Block) -> Result<Vec<i16>, ToolError> {
        let block = if self.widens {
            block
        } else {
            self.mixed(block)
        };
        let block = match &mut self.resampler {
            Some(resampler) => resampler.push(block)?,
            None => block,
        };
        Ok(self.finished(block))
    }

    /// The remaining samples at the end, interleaved.
    pub(super) fn finish(&mut self) -> Result<Vec<i16>, ToolError> {
        match &mut self.resampler {
            Some(resampler) => {
                let left = resampler.finish()?;
                Ok(self.finished(left))
            }
            None => Ok(Vec::new()),
        }
    }

    fn finished(&self, block: Block) -> Vec<i16> {
        let block = if self.widens {
            self.mixed(block)
        } else {
            block
        };
        let cut = self.origin == Origin::Wide && self.gains.is_none() && self.resampler.is_none();
        let written = |sample: &f32| {
            let scaled = f64::from(*sample) * ONE;
            to_i16(if cut {
                scaled.floor()
            } else {
                scaled.round_ties_even()
            })
        };
        let at = |at| block.0.iter().filter_map(move |plane| plane.get(at));
        (0..block.frames()).flat_map(at).map(written).collect()
    }

    fn mixed(&self, block: Block) -> Block {
        let Some(rows) = &self.gains else {
            return block;
        };
        let mix = |row: &Vec<f64>| {
            let mut sums = vec![0.0; block.frames()];
            for (plane, gain) in block.0.iter().zip(row) {
                for (sum, sample) in sums.iter_mut().zip(plane) {
                    *sum += f64::from(*sample) * gain;
                }
            }
            sums.into_iter().map(|sum| self.rounded(sum)).collect()
        };
        Block(rows.iter().map(mix).collect())
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "samples are kept in single precision"
    )]
    fn rounded(&self, sum: f64) -> f32 {
        match self.origin {
            Origin::Narrow => f32::from(to_i16((sum * ONE + 0.5).floor())) / 32768.0,
            Origin::Wide | Origin::Real => sum as f32,
        }
    }
}

/// Rounds gains to multiples of 2⁻¹⁵. The rounding error of one gain is added to the next, which keeps their sum.
fn in_fixed_point(row: &[f64]) -> Vec<f64> {
    let mut owed = 0.0;
    row.iter()
        .map(|gain| {
            let wanted = gain * ONE + owed;
            let given = wanted.round_ties_even();
            owed = wanted - given;
            given / ONE
        })
        .collect()
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "`as` saturates, which is the clipping wanted; NaN is silence"
)]
fn to_i16(scaled: f64) -> i16 {
    scaled as i16
}

#[cfg(test)]
mod tests {
    use symphonia::core::audio::Channels;

    use super::*;
    use crate::servers::media_processing::signal::Layout;

    fn converter(channels: u16, origin: Origin, width: Width) -> Converter {
        let layout = Layout::of(&Channels::Discrete(channels)).expect("mono or stereo");
        let signal = Signal {
            rate: 16000,
            layout,
            origin,
        };
        Converter::new(&signal, 16000, width).expect("nothing to resample")
    }

    /// Samples given at the scale of 16 bits.
    fn block(planes: &[&[f32]]) -> Block {
        let plane = |plane: &&[f32]| plane.iter().map(|sample| sample / 32768.0).collect();
        Block(planes.iter().map(plane).collect())
    }

    #[test]
    fn stereo_is_averaged_into_mono() {
        let mut converter = converter(2, Origin::Narrow, Width::Mono);
        let block = block(&[&[100.0, -101.0, 32767.0], &[300.0, -100.0, 32767.0]]);
        assert_eq!(converter.push(block).expect("mixed"), [200, -100, 32767]);
        assert!(converter.finish().expect("nothing left").is_empty());
    }

    #[test]
    fn untouched_samples_come_out_as_they_went_in() {
        let mut converter = converter(2, Origin::Narrow, Width::Stereo);
        let block = block(&[&[1.0, 2.0], &[-1.0, -2.0]]);
        assert_eq!(converter.push(block).expect("untouched"), [1, -1, 2, -2]);
    }

    #[test]
    fn floats_round_to_even_and_clip_at_both_ends() {
        let mut converter = converter(1, Origin::Real, Width::Mono);
        let block = block(&[&[0.5, 1.5, -0.5, -1.5, 40000.0, -40000.0]]);
        assert_eq!(
            converter.push(block).expect("untouched"),
            [0, 2, 0, -2, 32767, -32768]
        );
    }

    #[test]
    fn wide_integers_lose_their_low_bits_below_zero_too() {
        let mut converter = converter(1, Origin::Wide, Width::Mono);
        let block = block(&[&[-0.25, 0.75]]);
        assert_eq!(converter.push(block).expect("untouched"), [-1, 0]);
    }

    #[test]
    fn gains_in_fixed_point_add_up_to_one_after_rounding() {
        let sum: f64 = in_fixed_point(&[1.0 / 3.0; 3]).iter().sum();
        assert!((sum - 1.0).abs() < f64::EPSILON);
    }
}
