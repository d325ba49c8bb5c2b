//! Changes the sample rate with a polyphase filter bank of the design libswresample documents as its
//! default: a sinc under a Kaiser window (β 9), 32 zero crossings wide, cut off at 0.97 of the lower
//! Nyquist rate, with one phase for each position an output sample can have between two inputs
//! (at most 1024), and no interpolation between phases.
//!
//! The ends are libswresample's too, so that lengths agree: the start is mirrored about the first
//! sample, and half a filter of mirrored samples follows the last.

use std::f64::consts::PI;

use super::samples::{Planes, Sample};

/// Width of the filter in input samples, before it is widened for a lower output rate.
const WIDTH: f64 = 32.0;
const CUTOFF: f64 = 0.97;
const BETA: f64 = 9.0;
const MOST_PHASES: u64 = 1024;

/// One filter for each phase.
struct Bank<W> {
    /// All filters in a row, each of `length` taps.
    taps: Vec<W>,
    length: usize,
}

/// Where the next output sample lies: `sample + (phase + part / parts) / phases`.
struct Position {
    sample: usize,
    phase: usize,
    part: u64,
}

/// Resamples blocks of any length as one stream.
pub(super) struct Resampler<S: Sample> {
    bank: Bank<S::Weight>,
    phases: usize,
    /// An output sample is `whole + part / parts` phases after the one before it.
    step_whole: usize,
    step_part: u64,
    parts: u64,
    position: Position,
    /// Input that may still be needed, and from which `position.sample` counts.
    pending: Planes<S>,
    started: bool,
}

impl<S: Sample> Resampler<S> {
    /// From `from` to `to` samples per second, both above zero.
    pub(super) fn new(from: u32, to: u32, channels: usize) -> Self {
        let (from, to) = (u64::from(from), u64::from(to));
        let reduced = to / gcd(from, to);
        let phases = if reduced <= MOST_PHASES {
            reduced
        } else {
            MOST_PHASES
        };
        let step = from * phases;
        let parts = to / gcd(step, to);
        let step = step / gcd(step, to);
        Self {
            bank: Bank::new::<S>(ratio(to, from), index(phases)),
            phases: index(phases),
            step_whole: index(step / parts),
            step_part: step % parts,
            parts,
            position: Position {
                sample: 0,
                phase: 0,
                part: 0,
            },
            pending: vec![Vec::new(); channels],
            started: false,
        }
    }

    /// Takes a block and gives the output it completes.
    pub(super) fn push(&mut self, block: &[Vec<S>]) -> Planes<S> {
        for (pending, more) in self.pending.iter_mut().zip(block) {
            pending.extend_from_slice(more);
        }
        if !self.started && self.available() > self.bank.length {
            self.start();
        }
        self.produce()
    }

    /// Gives what is left once the input has ended.
    pub(super) fn finish(&mut self) -> Planes<S> {
        if !self.started {
            self.start();
        }
        let left = self.available().saturating_sub(self.position.sample);
        let mirrored = left.min(self.bank.length).div_ceil(2);
        for pending in &mut self.pending {
            let tail: Vec<_> = pending.iter().rev().take(mirrored).copied().collect();
            pending.extend(tail);
        }
        self.produce()
    }

    fn available(&self) -> usize {
        self.pending.first().map_or(0, Vec::len)
    }

    /// Puts the mirror of the first samples before them, so that the first output lies on the first
    /// input. A stream shorter than the filter is mirrored as far as it goes, silence before.
    fn start(&mut self) {
        let before = (self.bank.length - 1) / 2;
        for pending in &mut self.pending {
            let mut mirrored: Vec<_> = pending.iter().skip(1).take(before).copied().collect();
            mirrored.resize(before, S::default());
            mirrored.reverse();
            pending.splice(0..0, mirrored);
        }
        self.started = true;
    }

    /// Computes every output whose whole filter is covered, then lets go of the input before the next.
    fn produce(&mut self) -> Planes<S> {
        let mut out = vec![Vec::new(); self.pending.len()];
        if !self.started {
            return out;
        }
        let length = self.bank.length;
        while self.position.sample + length <= self.available() {
            let taps = self.bank.phase(self.position.phase);
            for (pending, out) in self.pending.iter().zip(&mut out) {
                if let Some(covered) =
                    pending.get(self.position.sample..self.position.sample + length)
                {
                    out.push(S::filtered(covered, taps));
                }
            }
            self.advance();
        }
        let spent = self.position.sample.min(self.available());
        for pending in &mut self.pending {
            pending.drain(..spent);
        }
        self.position.sample -= spent;
        out
    }

    fn advance(&mut self) {
        let position = &mut self.position;
        position.part += self.step_part;
        position.phase += self.step_whole;
        if position.part >= self.parts {
            position.part -= self.parts;
            position.phase += 1;
        }
        position.sample += position.phase / self.phases;
        position.phase %= self.phases;
    }
}

impl<W: Copy> Bank<W> {
    /// `ratio` is the output rate over the input rate.
    fn new<S: Sample<Weight = W>>(ratio: f64, phases: usize) -> Self {
        let factor = (ratio * CUTOFF).min(1.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a small whole number above zero"
        )]
        let length = ((WIDTH / factor).ceil() as usize).next_multiple_of(2);
        let centre = float((length - 1) / 2);
        let filter = |phase: usize| {
            let offset = centre + float(phase) / float(phases);
            (0..length).map(move |tap| {
                windowed_sinc((float(tap) - offset) * factor, factor * float(length))
            })
        };
        // Every phase is scaled as the first, which is scaled to pass a constant unchanged.
        let scale: f64 = filter(0).sum();
        let taps = (0..phases)
            .flat_map(filter)
            .map(|value| S::tap(value / scale))
            .collect();
        Self { taps, length }
    }

    /// The taps of one phase.
    fn phase(&self, phase: usize) -> &[W] {
        let start = phase * self.length;
        self.taps
            .get(start..start + self.length)
            .unwrap_or_default()
    }
}

/// The sinc at `x`, times a Kaiser window of `width` about zero.
fn windowed_sinc(x: f64, width: f64) -> f64 {
    let sinc = if x == 0.0 {
        1.0
    } else {
        (PI * x).sin() / (PI * x)
    };
    let at = 2.0 * x / width;
    sinc * bessel_i0(BETA * (1.0 - at * at).max(0.0).sqrt())
}

/// The modified Bessel function of the first kind and order zero, by its power series.
fn bessel_i0(x: f64) -> f64 {
    let quarter = x * x / 4.0;
    let (mut term, mut sum, mut n) = (1.0, 1.0, 1.0);
    while term > sum * f64::EPSILON / 4.0 {
        term *= quarter / (n * n);
        sum += term;
        n += 1.0;
    }
    sum
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "sample rates and tap counts are far below 2^53"
)]
fn ratio(a: u64, b: u64) -> f64 {
    a as f64 / b as f64
}

#[expect(clippy::cast_precision_loss, reason = "tap counts are far below 2^53")]
fn float(n: usize) -> f64 {
    n as f64
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "phases, at most 1024, and steps, at most 1024 × 2^32, fit 64 bits"
)]
fn index(n: u64) -> usize {
    n as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resampled(from: u32, to: u32, input: &[f32], block: usize) -> Vec<f32> {
        let mut resampler = Resampler::new(from, to, 1);
        let mut out = Vec::new();
        for block in input.chunks(block) {
            out.extend(resampler.push(&[block.to_vec()]).remove(0));
        }
        out.extend(resampler.finish().remove(0));
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
        assert!(out.iter().all(|sample| (sample - 0.5).abs() < 1e-5));
        assert!(
            resampled(16000, 44100, &[0.0; 999], 10)
                .iter()
                .all(|&sample| sample == 0.0)
        );
    }

    #[test]
    fn a_stream_shorter_than_the_filter_still_comes_out() {
        assert!(!resampled(48000, 16000, &[0.5; 30], 30).is_empty());
    }

    #[test]
    fn the_bessel_function_has_its_known_values() {
        assert!((bessel_i0(0.0) - 1.0).abs() < 1e-15);
        assert!((bessel_i0(1.0) - 1.266_065_877_752_008_4).abs() < 1e-14);
        assert!((bessel_i0(9.0) / 1_093.588_354_511_374_6 - 1.0).abs() < 1e-13);
    }
}
