//! Two arithmetics for samples, the two libswresample chooses between when it writes 16 bits:
//! integers in Q15 all through for sources of at most 16 bits, single-precision floats for the rest.
//!
//! Keeping them apart is what makes every output sample agree with ffmpeg's to a unit or two.

/// Samples of one block of audio, one vector for each channel, all of one length.
pub(super) type Planes<S> = Vec<Vec<S>>;

/// A sample, and how it is weighted, summed and written.
pub(super) trait Sample: Copy + Default + Send {
    /// A gain or a filter tap.
    type Weight: Copy + Default + Send;

    /// What becomes of a sample between two steps.
    const STEPS: Steps;

    /// A filter tap. `value` is at most 1.
    fn tap(value: f64) -> Self::Weight;

    /// The gains of one output channel.
    fn gains(row: &[f64]) -> Vec<Self::Weight>;

    /// The sum of the products of samples and taps, of which there are equally many.
    fn filtered(samples: &[Self], taps: &[Self::Weight]) -> Self;

    /// The sum of the products of samples and gains.
    fn mixed(terms: impl Iterator<Item = (Self, Self::Weight)>) -> Self;

    /// The sample on the scale of 16 bits.
    fn to_i16(self, rounding: Rounding) -> i16;
}

/// What becomes of a sample between two steps of a conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Steps {
    /// It is rounded, so that the order of steps shows.
    Rounded,
    /// It keeps all its precision.
    Exact,
}

/// How a float becomes an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rounding {
    /// To the nearest, ties to even.
    Nearest,
    /// Towards minus infinity: integers of more than 16 bits that are neither mixed nor resampled
    /// only lose their low bits.
    Down,
}

/// Bits behind the point of an integer weight.
const POINT: u32 = 15;
const ONE: f64 = 32768.0;

impl Sample for i16 {
    type Weight = i32;
    const STEPS: Steps = Steps::Rounded;

    fn tap(value: f64) -> i32 {
        i32::from(saturated((value * ONE).round_ties_even()))
    }

    /// What rounding takes from one gain is given to the next, so that their sum is kept.
    fn gains(row: &[f64]) -> Vec<i32> {
        let mut owed = 0.0;
        row.iter()
            .map(|gain| {
                let wanted = gain * ONE + owed;
                let given = wanted.round_ties_even();
                owed = wanted - given;
                // A gain is between 0 and 1.
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "0 to 32768 is exact in an i32"
                )]
                let given = given as i32;
                given
            })
            .collect()
    }

    fn filtered(samples: &[Self], taps: &[i32]) -> Self {
        let sum: i64 = samples
            .iter()
            .zip(taps)
            .map(|(&sample, &tap)| i64::from(i32::from(sample) * tap))
            .sum();
        from_q15(sum)
    }

    fn mixed(terms: impl Iterator<Item = (Self, i32)>) -> Self {
        from_q15(
            terms
                .map(|(sample, gain)| i64::from(sample) * i64::from(gain))
                .sum(),
        )
    }

    fn to_i16(self, _: Rounding) -> i16 {
        self
    }
}

fn from_q15(sum: i64) -> i16 {
    let rounded = (sum + (1 << (POINT - 1))) >> POINT;
    i16::try_from(rounded).unwrap_or(if rounded < 0 { i16::MIN } else { i16::MAX })
}

/// Sums kept apart in a filter, so that the compiler can use vector instructions: floats may not be
/// reordered by it.
const LANES: usize = 8;

impl Sample for f32 {
    type Weight = f32;
    const STEPS: Steps = Steps::Exact;

    fn tap(value: f64) -> f32 {
        narrowed(value)
    }

    fn gains(row: &[f64]) -> Vec<f32> {
        row.iter().copied().map(narrowed).collect()
    }

    fn filtered(samples: &[Self], taps: &[f32]) -> Self {
        let mut sums = [0.0; LANES];
        let (samples, taps) = (samples.chunks_exact(LANES), taps.chunks_exact(LANES));
        let rest: f32 = samples
            .remainder()
            .iter()
            .zip(taps.remainder())
            .map(|(sample, tap)| sample * tap)
            .sum();
        for (samples, taps) in samples.zip(taps) {
            for ((sum, sample), tap) in sums.iter_mut().zip(samples).zip(taps) {
                *sum += sample * tap;
            }
        }
        sums.iter().sum::<f32>() + rest
    }

    fn mixed(terms: impl Iterator<Item = (Self, f32)>) -> Self {
        terms.map(|(sample, gain)| sample * gain).sum()
    }

    fn to_i16(self, rounding: Rounding) -> i16 {
        let scaled = f64::from(self) * ONE;
        saturated(match rounding {
            Rounding::Nearest => scaled.round_ties_even(),
            Rounding::Down => scaled.floor(),
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "`as` saturates, which is the clipping wanted; NaN is silence"
)]
fn saturated(value: f64) -> i16 {
    value as i16
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "weights are kept in single precision, as ffmpeg keeps them"
)]
fn narrowed(value: f64) -> f32 {
    value as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_round_to_even_and_clip_at_both_ends() {
        let written = |value: f32| (value / 32768.0).to_i16(Rounding::Nearest);
        assert_eq!(
            [0.5, 1.5, -0.5, -1.5, 40000.0, -40000.0].map(written),
            [0, 2, 0, -2, 32767, -32768]
        );
    }

    #[test]
    fn rounding_down_drops_the_low_bits_of_negative_samples_too() {
        assert_eq!((-0.25_f32 / 32768.0).to_i16(Rounding::Down), -1);
        assert_eq!((0.75_f32 / 32768.0).to_i16(Rounding::Down), 0);
    }

    #[test]
    fn integer_gains_add_up_to_one_after_rounding() {
        let third = 1.0 / 3.0;
        assert_eq!(
            i16::gains(&[third, third, third]).iter().sum::<i32>(),
            32768
        );
    }

    #[test]
    fn a_filter_of_any_length_sums_every_product() {
        for length in 1..20_u8 {
            let samples: Vec<f32> = (1..=length).map(f32::from).collect();
            let expected: u16 = (1..=u16::from(length)).map(|n| n * n).sum();
            assert!((f32::filtered(&samples, &samples) - f32::from(expected)).abs() < f32::EPSILON);
        }
    }

    #[test]
    fn integers_clip_instead_of_wrapping() {
        assert_eq!(
            i16::mixed([(i16::MAX, 32768), (i16::MAX, 32768)].into_iter()),
            i16::MAX
        );
        assert_eq!(
            i16::filtered(&[i16::MIN, i16::MIN], &[32767, 32767]),
            i16::MIN
        );
    }
}
