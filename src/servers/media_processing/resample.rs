//! Changes the sample rate of one channel with windowed sinc filters, with the settings of ffmpeg's default: 32 zero
//! crossings, a cut-off at 0.97 of the lower Nyquist rate, and one filter for each possible position of an output sample
//! between two inputs, at most 1024. The Blackman window is close to ffmpeg's Kaiser window. As in ffmpeg, the signal is
//! mirrored at its ends by half the length of the filter.

use std::f64::consts::PI;

/// Half waves of the filter, which becomes wider for a lower output rate.
const WIDTH: f64 = 32.0;
const CUTOFF: f64 = 0.97;
const MOST_PHASES: u64 = 1024;

/// The samples that are multiplied at once. The length of a filter is a multiple.
const LANES: usize = 8;

/// Resamples blocks of any length as one stream. The first output sample is at the time of the first input sample.
pub(super) struct Resampler {
    from: u64,
    to: u64,
    /// A filter for each position between two inputs.
    filters: Vec<Vec<f32>>,
    /// Input from half a filter before the next output sample on.
    pending: Vec<f32>,
    is_begun: bool,
    /// The input samples before those that are pending, without the mirrored ones.
    dropped: u64,
    taken: u64,
    given: u64,
}

impl Resampler {
    /// Makes a resampler between two rates above zero.
    pub(super) fn new(from: u32, to: u32) -> Self {
        let phases = u64::from(to / gcd(from, to)).min(MOST_PHASES);
        let cutoff = (CUTOFF * f64::from(to) / f64::from(from)).min(1.0);
        let filter = |phase| filter(cutoff, as_f64(phase) / as_f64(phases));
        Self {
            from: from.into(),
            to: to.into(),
            filters: (0..phases).map(filter).collect(),
            pending: Vec::new(),
            is_begun: false,
            dropped: 0,
            taken: 0,
            given: 0,
        }
    }

    /// Takes a block and returns the output that it completes.
    pub(super) fn push(&mut self, block: &[f32]) -> Vec<f32> {
        self.taken += block.len() as u64;
        self.pending.extend_from_slice(block);
        if !self.is_begun && self.pending.len() <= self.half() {
            return Vec::new();
        }
        self.begin();
        self.output(u64::MAX)
    }

    /// Returns the remaining output at the end of the input.
    pub(super) fn finish(&mut self) -> Vec<f32> {
        self.begin();
        let half = self.half();
        let mut mirrored: Vec<f32> = self.pending.iter().rev().take(half).copied().collect();
        mirrored.resize(2 * half, 0.0);
        self.pending.extend(mirrored);
        self.output((self.taken * self.to + self.from / 2) / self.from)
    }

    /// Half the length of a filter.
    fn half(&self) -> usize {
        self.filters.first().map_or(0, |filter| filter.len() / 2)
    }

    /// Puts the mirrored beginning before the first samples, once. Beyond a stream that is shorter than half the filter,
    /// there is silence.
    fn begin(&mut self) {
        if !self.is_begun {
            self.is_begun = true;
            let half = self.half();
            let mut mirrored: Vec<f32> = self.pending.iter().skip(1).take(half).copied().collect();
            mirrored.resize(half, 0.0);
            mirrored.reverse();
            self.pending.splice(0..0, mirrored);
        }
    }

    /// The output that the pending input completes, up to the sample `end`.
    fn output(&mut self, end: u64) -> Vec<f32> {
        let (mut output, phases) = (Vec::new(), self.filters.len() as u64);
        while self.given < end {
            let position = self.given * self.from;
            // The nearest filter, which may be the first one of the next input sample.
            let phase = (position % self.to * phases + self.to / 2) / self.to;
            let first = position / self.to + phase / phases - self.dropped;
            let index = |number| usize::try_from(number).unwrap_or(usize::MAX);
            let Some(filter) = self.filters.get(index(phase % phases)) else {
                break;
            };
            // The input sample at the middle of the filter is behind half of the mirrored ones.
            let input = self.pending.get(index(first) + 1..);
            let Some(input) = input.and_then(|input| input.get(..filter.len())) else {
                break;
            };
            output.push(product(input, filter));
            self.given += 1;
        }
        let next = self.given * self.from / self.to;
        let spent = usize::try_from(next - self.dropped).unwrap_or(usize::MAX);
        self.pending.drain(..spent.min(self.pending.len()));
        self.dropped = next;
        output
    }
}

/// The sum of the products. The compiler multiplies the samples of all lanes at once. The loops are without iterators,
/// which it does not inline across its units: with them, the whole conversion took four times as long.
#[expect(clippy::indexing_slicing, reason = "a lane is always one of the array")]
fn product(mut input: &[f32], mut filter: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    while let (Some((samples, inputs)), Some((weights, filters))) = (
        input.split_first_chunk::<LANES>(),
        filter.split_first_chunk::<LANES>(),
    ) {
        let mut lane = 0;
        while lane < LANES {
            sums[lane] += samples[lane] * weights[lane];
            lane += 1;
        }
        (input, filter) = (inputs, filters);
    }
    sums.iter().sum()
}

/// A filter for an output sample that is `offset` behind the input sample at the end of the filter's first half. The sum
/// of its weights is 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a filter's length is a small whole number, and samples are kept in single precision"
)]
fn filter(cutoff: f64, offset: f64) -> Vec<f32> {
    let lanes = as_f64(LANES as u64);
    let length = (WIDTH / cutoff / lanes).ceil() * lanes;
    let weight = |tap: u32| {
        let distance = f64::from(tap) + 1.0 - length / 2.0 - offset;
        let (wave, place) = (PI * cutoff * distance, 2.0 * PI * distance / length);
        let sinc = if wave == 0.0 { 1.0 } else { wave.sin() / wave };
        sinc * (0.42 + 0.5 * place.cos() + 0.08 * (2.0 * place).cos())
    };
    let weights: Vec<f64> = (0..length as u32).map(weight).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| (weight / sum) as f32).collect()
}

#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn as_f64(number: u64) -> f64 {
    number as f64
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resampled(from: u32, to: u32, input: &[f32], block: usize) -> Vec<f32> {
        let mut resampler = Resampler::new(from, to);
        let mut out = Vec::new();
        for block in input.chunks(block) {
            out.extend(resampler.push(block));
        }
        out.extend(resampler.finish());
        out
    }

    fn tone(rate: f32, frequency: f32, length: u16) -> Vec<f32> {
        (0..length)
            .map(|n| (2.0 * std::f32::consts::PI * frequency * f32::from(n) / rate).sin() / 2.0)
            .collect()
    }

    #[test]
    fn blocks_of_any_size_give_the_same_stream() {
        let input = tone(44100.0, 440.0, 5000);
        let whole = resampled(44100, 16000, &input, 5000);
        for block in [1, 7, 576, 1024] {
            assert_eq!(resampled(44100, 16000, &input, block), whole);
        }
    }

    #[test]
    fn a_tone_keeps_its_shape_at_the_new_rate() {
        for (from, to) in [
            (48000_u16, 16000_u16),
            (44100, 16000),
            (16000, 48000),
            (44100, 48000),
            (44100, 8001),
        ] {
            let out = resampled(
                from.into(),
                to.into(),
                &tone(f32::from(from), 300.0, 9000),
                1024,
            );
            let expected = tone(
                f32::from(to),
                300.0,
                u16::try_from(out.len()).expect("short"),
            );
            let middle = 200..out.len() - 200;
            for (at, (got, wanted)) in out.iter().zip(&expected).enumerate() {
                assert!(
                    !middle.contains(&at) || (got - wanted).abs() < 2e-3,
                    "{from} to {to}: {got} for {wanted} at {at}"
                );
            }
        }
    }

    #[test]
    fn a_constant_stays_one_and_silence_silent() {
        let out = resampled(48000, 16000, &vec![0.5; 4800], 480);
        assert_eq!(out.len(), 1600);
        assert!(out.iter().all(|sample| (sample - 0.5).abs() < 1e-4));
        assert!(
            resampled(16000, 44100, &[0.0; 999], 10)
                .iter()
                .all(|&sample| sample == 0.0)
        );
    }

    #[test]
    fn a_stream_shorter_than_the_filter_still_comes_out() {
        assert_eq!(resampled(48000, 16000, &[0.5; 30], 30).len(), 10);
    }
}
