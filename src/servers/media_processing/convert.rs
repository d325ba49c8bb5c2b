//! Converts samples: mixes channels, and changes the rate.

use std::f32::consts::FRAC_1_SQRT_2;

use super::{audio_track::Planes, resample::Resampler};

/// Converts blocks of mono or stereo as one stream.
pub(super) struct Converter {
    channels: u16,
    /// One for each channel of the output. None if the rate stays.
    resamplers: Vec<Resampler>,
}

impl Converter {
    /// Makes a converter to 1 or 2 channels, and from a rate to another one. Rates are above zero.
    pub(super) fn new(channels: u16, from: u32, to: u32) -> Self {
        let resamplers = (0..channels).filter(|_| from != to);
        Self {
            channels,
            resamplers: resamplers.map(|_| Resampler::new(from, to)).collect(),
        }
    }

    /// The converted samples that `block` completes.
    pub(super) fn push(&mut self, block: Planes) -> Planes {
        let mixed = mixed(block, self.channels);
        if self.resamplers.is_empty() {
            return mixed;
        }
        let resamplers = self.resamplers.iter_mut().zip(&mixed);
        resamplers
            .map(|(resampler, plane)| resampler.push(plane))
            .collect()
    }

    /// The remaining samples at the end.
    pub(super) fn finish(&mut self) -> Planes {
        self.resamplers.iter_mut().map(Resampler::finish).collect()
    }
}

/// Mixes as ffmpeg does: mono is the mean of both channels, and goes to each of two with −3 dB.
fn mixed(block: Planes, channels: u16) -> Planes {
    match (channels, &block[..]) {
        (1, [left, right]) => {
            let both = left.iter().zip(right);
            vec![both.map(|(left, right)| (left + right) / 2.0).collect()]
        }
        (2, [mono]) => {
            let quieter: Vec<f32> = mono.iter().map(|sample| sample * FRAC_1_SQRT_2).collect();
            vec![quieter.clone(), quieter]
        }
        _ => block,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stereo_is_averaged_into_mono_and_mono_goes_to_both_sides() {
        let mut to_mono = Converter::new(1, 16_000, 16_000);
        let stereo = vec![vec![0.5, -0.25], vec![0.25, -0.25]];
        assert_eq!(to_mono.push(stereo), [[0.375, -0.25]]);
        let mut to_stereo = Converter::new(2, 16_000, 16_000);
        assert_eq!(to_stereo.push(vec![vec![1.0]]), [[FRAC_1_SQRT_2]; 2]);
        assert!(to_stereo.finish().is_empty());
    }

    #[test]
    fn channels_that_are_right_already_are_left_alone() {
        for planes in [vec![vec![0.5]], vec![vec![0.5], vec![0.25]]] {
            let channels = u16::try_from(planes.len()).expect("1 or 2");
            assert_eq!(
                Converter::new(channels, 8_000, 8_000).push(planes.clone()),
                planes
            );
        }
    }
}
