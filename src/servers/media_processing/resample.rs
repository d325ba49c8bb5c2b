//! Changes the sample rate with the windowed-sinc resampler of `rubato`, with the settings of ffmpeg's default: 32
//! zero crossings, a cut-off at 0.97 of the lower Nyquist rate, and one filter for each possible position of an
//! output sample between two inputs, at most 1024. The Blackman window is close to ffmpeg's Kaiser window. As in
//! ffmpeg, the signal is mirrored at its ends by half the length of the filter.

use rubato::{
    Async, FixedAsync, Indexing, Resampler as _, SincInterpolationParameters,
    SincInterpolationType, WindowFunction,
    audioadapter_buffers::{SizeError, direct::SequentialSliceOfVecs},
};

use super::signal::Block;
use crate::servers::tool::ToolError;

/// Half waves of the filter, which becomes wider for a lower output rate.
const WIDTH: f64 = 32.0;
const CUTOFF: f64 = 0.97;
const MOST_PHASES: u32 = 1024;

/// Samples per channel that are resampled at once.
const CHUNK: usize = 1024;

/// Resamples blocks of any length as one stream. The first output sample is at the time of the first input sample.
pub(super) struct Resampler {
    filter: Async<f32>,
    from: u64,
    to: u64,
    /// Half of the filter's length.
    half: usize,
    /// Input that does not fill a chunk yet, or that is mirrored at the end.
    pending: Block,
    /// Silence before the mirrored beginning, until it was inserted.
    silence: Option<usize>,
    /// Output samples before the first input sample, which are still to be dropped.
    early: usize,
    /// Samples per channel so far.
    taken: u64,
    given: u64,
}

impl Resampler {
    /// Makes a resampler between two rates above zero.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a filter's length is a small whole number, and its cut-off a share of one"
    )]
    pub(super) fn new(from: u32, to: u32, channels: usize) -> Result<Self, ToolError> {
        let ratio = f64::from(to) / f64::from(from);
        let phases = (to / gcd(from, to)).min(MOST_PHASES);
        let cutoff = (CUTOFF * ratio).min(1.0);
        let length = (WIDTH / cutoff / 8.0).round() * 8.0;
        let parameters =
            SincInterpolationParameters::new(length as usize, WindowFunction::Blackman)
                .f_cutoff((cutoff / ratio.min(1.0)) as f32)
                .oversampling_factor(phases as usize)
                .interpolation(SincInterpolationType::Nearest);
        let filter = Async::new_sinc(ratio, 1.0, &parameters, CHUNK, channels, FixedAsync::Input)
            .map_err(|error| failed(&error))?;
        let (silence, early) = start(length / 2.0, ratio, phases, from);
        let half = length as usize / 2;
        Ok(Self {
            filter,
            from: from.into(),
            to: to.into(),
            half,
            pending: Block(vec![Vec::new(); channels]),
            silence: Some(silence),
            early,
            taken: 0,
            given: 0,
        })
    }

    /// Takes a block and returns the output that it completes.
    pub(super) fn push(&mut self, block: Block) -> Result<Block, ToolError> {
        self.taken += block.frames() as u64;
        for (pending, mut more) in self.pending.0.iter_mut().zip(block.0) {
            pending.append(&mut more);
        }
        let mut out = self.nothing();
        if self.pending.frames() > self.half {
            self.begin();
            while self.pending.frames() >= CHUNK + self.half {
                self.chunk(&mut out)?;
            }
        }
        Ok(out)
    }

    /// Returns the remaining output at the end of the input.
    pub(super) fn finish(&mut self) -> Result<Block, ToolError> {
        let total = (self.taken * self.to + self.from / 2) / self.from;
        let left = usize::try_from(total.saturating_sub(self.given)).unwrap_or(usize::MAX);
        let mut out = self.nothing();
        self.begin();
        for plane in &mut self.pending.0 {
            let mirrored: Vec<_> = plane.iter().rev().take(self.half).copied().collect();
            plane.extend(mirrored);
        }
        while out.frames() < left {
            self.chunk(&mut out)?;
        }
        let more = out.frames() - left;
        out.trim(0, more);
        Ok(out)
    }

    /// Inserts the mirrored beginning before the first samples, once. If the stream is shorter than half the
    /// filter, silence precedes its mirror.
    fn begin(&mut self) {
        let Some(silence) = self.silence.take() else {
            return;
        };
        for plane in &mut self.pending.0 {
            let mirrored = plane.iter().skip(1).take(self.half).copied();
            let mut before: Vec<_> = mirrored.collect();
            before.resize(self.half + silence, 0.0);
            before.reverse();
            plane.splice(0..0, before);
        }
    }

    fn nothing(&self) -> Block {
        Block(vec![Vec::new(); self.pending.0.len()])
    }

    /// Resamples the next chunk, filled up with silence, and appends the result to `out`.
    fn chunk(&mut self, out: &mut Block) -> Result<(), ToolError> {
        let (channels, frames) = (self.pending.0.len(), self.filter.output_frames_next());
        let input = self.pending.frames().min(CHUNK);
        let mut made = Block(vec![vec![0.0; frames]; channels]);
        let indexing = Indexing {
            input_offset: 0,
            output_offset: 0,
            partial_len: Some(input),
            active_channels_mask: None,
        };
        let wrong = |error: SizeError| failed(&error);
        let from = SequentialSliceOfVecs::new(&self.pending.0, channels, input).map_err(wrong)?;
        let mut to =
            SequentialSliceOfVecs::new_mut(&mut made.0, channels, frames).map_err(wrong)?;
        self.filter
            .process_into_buffer(&from, &mut to, Some(&indexing))
            .map_err(|error| failed(&error))?;
        self.pending.trim(input, 0);
        let dropped = self.early.min(frames);
        self.early -= dropped;
        made.trim(dropped, 0);
        self.given += made.frames() as u64;
        for (out, mut more) in out.0.iter_mut().zip(made.0) {
            out.append(&mut more);
        }
        Ok(())
    }
}

/// The silence before the mirrored beginning with which an output sample is at the time of the first input sample,
/// and the number of output samples before it. The first output sample is half a filter, less a step and a phase,
/// before the first inserted sample.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small whole numbers, not below zero"
)]
fn start(half: f64, ratio: f64, phases: u32, from: u32) -> (usize, usize) {
    let before = 2.0 * half - 1.0 / ratio - 1.0 / f64::from(phases);
    let outputs = |silence: u32| (before + f64::from(silence)) * ratio;
    let aside = |silence: &u32| (outputs(*silence) - outputs(*silence).round()).abs();
    let exact = (0..from).find(|silence| aside(silence) < 1e-6);
    let nearest = || (0..from).min_by(|a, b| aside(a).total_cmp(&aside(b)));
    let silence = exact.or_else(nearest).unwrap_or_default();
    (silence as usize, outputs(silence).round() as usize)
}

fn failed(error: &dyn std::error::Error) -> ToolError {
    ToolError::Failed(format!("the audio cannot be resampled: {error}"))
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resampled(from: u32, to: u32, input: &[f32], block: usize) -> Vec<f32> {
        let mut resampler = Resampler::new(from, to, 1).expect("made");
        let mut out = Vec::new();
        for block in input.chunks(block) {
            let block = Block(vec![block.to_vec()]);
            out.extend(resampler.push(block).expect("resampled").0.remove(0));
        }
        out.extend(resampler.finish().expect("resampled").0.remove(0));
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
