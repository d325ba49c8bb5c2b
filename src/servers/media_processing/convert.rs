//! From a source's samples to the samples asked for: channels mixed, rate changed, 16 bits.

use super::{
    layout::{Layout, Width},
    resample::Resampler,
    samples::{Planes, Rounding, Sample, Steps},
};

/// A block of decoded audio, in the arithmetic its source calls for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Block {
    /// From integers of at most 16 bits.
    Integer(Planes<i16>),
    /// From a codec that works in floats, or from wider integers: −1 to 1.
    Real(Planes<f32>),
}

impl Block {
    /// Samples per channel.
    pub(super) fn frames(&self) -> usize {
        match self {
            Self::Integer(planes) => planes.first().map_or(0, Vec::len),
            Self::Real(planes) => planes.first().map_or(0, Vec::len),
        }
    }

    /// Drops `start` samples of each channel at the front and `end` at the back.
    pub(super) fn trim(&mut self, start: usize, end: usize) {
        fn trim<S>(planes: &mut Planes<S>, start: usize, end: usize) {
            for plane in planes {
                plane.truncate(plane.len().saturating_sub(end));
                plane.drain(..start.min(plane.len()));
            }
        }
        match self {
            Self::Integer(planes) => trim(planes, start, end),
            Self::Real(planes) => trim(planes, start, end),
        }
    }
}

impl Block {
    /// The block in parts of at most `most` samples per channel; `most` is above zero.
    pub(super) fn pieces(&self, most: usize) -> impl Iterator<Item = Self> {
        fn part<S: Copy>(planes: &Planes<S>, from: usize, most: usize) -> Planes<S> {
            let part = |plane: &Vec<S>| plane.iter().skip(from).take(most).copied().collect();
            planes.iter().map(part).collect()
        }
        (0..self.frames())
            .step_by(most)
            .map(move |from| match self {
                Self::Integer(planes) => Self::Integer(part(planes, from, most)),
                Self::Real(planes) => Self::Real(part(planes, from, most)),
            })
    }
}

/// What a source's blocks have in common.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Signal {
    pub(super) rate: u32,
    pub(super) layout: Layout,
    /// Wider integers are cut, not rounded, where nothing else happens to them.
    pub(super) rounding: Rounding,
}

/// Converts blocks of one signal as one stream.
pub(super) struct Converter {
    signal: Signal,
    rate: u32,
    width: Width,
    integer: Option<Chain<i16>>,
    real: Option<Chain<f32>>,
}

impl Converter {
    /// From `signal` to `rate` samples per second and `width`.
    pub(super) fn new(signal: Signal, rate: u32, width: Width) -> Self {
        Self {
            signal,
            rate,
            width,
            integer: None,
            real: None,
        }
    }

    /// The converted samples that `block` completes, interleaved.
    pub(super) fn push(&mut self, block: Block) -> Vec<i16> {
        let Self {
            signal,
            rate,
            width,
            integer,
            real,
        } = self;
        match block {
            Block::Integer(planes) => integer
                .get_or_insert_with(|| Chain::new(signal, *rate, *width))
                .push(planes),
            Block::Real(planes) => real
                .get_or_insert_with(|| Chain::new(signal, *rate, *width))
                .push(planes),
        }
    }

    /// What is left at the end, interleaved.
    pub(super) fn finish(&mut self) -> Vec<i16> {
        let mut samples = self.integer.as_mut().map(Chain::finish).unwrap_or_default();
        samples.extend(self.real.as_mut().map(Chain::finish).unwrap_or_default());
        samples
    }
}

/// The steps of a conversion, in one arithmetic.
struct Chain<S: Sample> {
    /// A row of gains for each output channel; `None` leaves the channels alone.
    gains: Option<Vec<Vec<S::Weight>>>,
    resampler: Option<Resampler<S>>,
    first: First,
    rounding: Rounding,
}

/// Which step comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    Mix,
    Resample,
}

impl First {
    /// Integers are rounded after each step, so the order is ffmpeg's. Floats are not, so the order is
    /// the one with fewer channels to resample.
    fn of<S: Sample>(signal: &Signal, rate: u32, width: Width) -> Self {
        let (from, to) = (signal.layout.channels(), usize::from(width.channels()));
        let resample = match S::STEPS {
            Steps::Rounded => (to / from) as u64 * u64::from(signal.rate) < u64::from(rate),
            Steps::Exact => to > from,
        };
        if resample { Self::Resample } else { Self::Mix }
    }
}

impl<S: Sample> Chain<S> {
    fn new(signal: &Signal, rate: u32, width: Width) -> Self {
        let gains = signal.layout.gains(width);
        let first = First::of::<S>(signal, rate, width);
        let resampled = match first {
            First::Mix => usize::from(width.channels()),
            First::Resample => signal.layout.channels(),
        };
        let resampler = (rate != signal.rate).then(|| Resampler::new(signal.rate, rate, resampled));
        let untouched = gains.is_none() && resampler.is_none();
        let rounding = if untouched {
            signal.rounding
        } else {
            Rounding::Nearest
        };
        let gains = gains.map(|rows| rows.iter().map(|row| S::gains(row)).collect());
        Self {
            gains,
            resampler,
            first,
            rounding,
        }
    }

    fn push(&mut self, planes: Planes<S>) -> Vec<i16> {
        let planes = match self.first {
            First::Mix => {
                let mixed = self.mixed(planes);
                self.resampled(mixed)
            }
            First::Resample => {
                let resampled = self.resampled(planes);
                self.mixed(resampled)
            }
        };
        self.interleaved(&planes)
    }

    fn finish(&mut self) -> Vec<i16> {
        let left = self
            .resampler
            .as_mut()
            .map(Resampler::finish)
            .unwrap_or_default();
        let planes = match self.first {
            First::Mix => left,
            First::Resample if left.is_empty() => left,
            First::Resample => self.mixed(left),
        };
        self.interleaved(&planes)
    }

    fn resampled(&mut self, planes: Planes<S>) -> Planes<S> {
        match &mut self.resampler {
            Some(resampler) => resampler.push(&planes),
            None => planes,
        }
    }

    fn mixed(&self, planes: Planes<S>) -> Planes<S> {
        let Some(rows) = &self.gains else {
            return planes;
        };
        let frames = planes.first().map_or(0, Vec::len);
        let terms = |at: usize, row: &[S::Weight]| {
            let samples = planes
                .iter()
                .map(|plane| plane.get(at).copied().unwrap_or_default());
            S::mixed(samples.zip(row.iter().copied()))
        };
        rows.iter()
            .map(|row| (0..frames).map(|at| terms(at, row)).collect())
            .collect()
    }

    fn interleaved(&self, planes: &[Vec<S>]) -> Vec<i16> {
        let frames = planes.first().map_or(0, Vec::len);
        let mut out = Vec::with_capacity(frames * planes.len());
        for at in 0..frames {
            out.extend(
                planes
                    .iter()
                    .filter_map(|plane| plane.get(at))
                    .map(|sample| sample.to_i16(self.rounding)),
            );
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use symphonia::core::audio::Channels;

    use super::*;

    fn signal(channels: u16) -> Signal {
        let layout = Layout::of(&Channels::Discrete(channels)).expect("mono or stereo");
        Signal {
            rate: 16000,
            layout,
            rounding: Rounding::Nearest,
        }
    }

    #[test]
    fn stereo_is_averaged_into_mono() {
        let mut converter = Converter::new(signal(2), 16000, Width::Mono);
        let block = Block::Integer(vec![vec![100, -101, i16::MAX], vec![300, -100, i16::MAX]]);
        assert_eq!(converter.push(block), [200, -100, i16::MAX]);
        assert!(converter.finish().is_empty());
    }

    #[test]
    fn integers_are_resampled_first_wherever_ffmpeg_does_so() {
        let (stereo, mono) = (signal(2), signal(1));
        let of = |signal, rate, width| First::of::<i16>(signal, rate, width);
        assert_eq!(of(&stereo, 8000, Width::Mono), First::Resample);
        assert_eq!(of(&mono, 8000, Width::Stereo), First::Mix);
        assert_eq!(of(&mono, 32000, Width::Stereo), First::Mix);
        assert_eq!(of(&mono, 32001, Width::Stereo), First::Resample);
        assert_eq!(First::of::<f32>(&stereo, 8000, Width::Mono), First::Mix);
    }

    #[test]
    fn untouched_samples_come_out_as_they_went_in() {
        let mut converter = Converter::new(signal(2), 16000, Width::Stereo);
        assert_eq!(
            converter.push(Block::Integer(vec![vec![1, 2], vec![-1, -2]])),
            [1, -1, 2, -2]
        );
    }

    #[test]
    fn the_pieces_of_a_block_are_all_of_it() {
        let block = Block::Integer(vec![vec![1, 2, 3, 4, 5], vec![6, 7, 8, 9, 10]]);
        let pieces: Vec<_> = block.pieces(2).collect();
        assert_eq!(
            pieces,
            [
                Block::Integer(vec![vec![1, 2], vec![6, 7]]),
                Block::Integer(vec![vec![3, 4], vec![8, 9]]),
                Block::Integer(vec![vec![5], vec![10]]),
            ]
        );
    }

    #[test]
    fn trimming_drops_from_both_ends_and_never_more_than_there_is() {
        let mut block = Block::Integer(vec![vec![1, 2, 3, 4, 5]]);
        block.trim(1, 2);
        assert_eq!(block, Block::Integer(vec![vec![2, 3]]));
        block.trim(5, 5);
        assert_eq!(block.frames(), 0);
    }
}
