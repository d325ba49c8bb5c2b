//! What a file says of its own audio, held against what audio can be: a header of a few bytes must
//! not decide how much memory or time is spent on it.

use symphonia::core::codecs::audio::AudioCodecParameters;

use super::{container::Marks, convert::Signal};
use crate::servers::tool::ToolError;

/// Samples per second: from below telephony to twice the fastest converters.
const RATES: std::ops::RangeInclusive<u32> = 1_000..=768_000;
const MOST_CHANNELS: usize = 64;
/// Samples per channel in one packet. FLAC's longest have 65 535.
const LONGEST_PACKET: u64 = 1 << 20;
/// Nanoseconds at a track's end that are not meant to be heard: less than a packet, in truth.
const MOST_PADDING: u64 = 10_000_000_000;

/// Before a decoder is made: what the container says.
pub(super) fn check_track(parameters: &AudioCodecParameters) -> Result<(), ToolError> {
    parameters.sample_rate.map_or(Ok(()), rate)?;
    let named = parameters.channels.as_ref();
    named.map_or(Ok(()), |named| channels(named.count()))?;
    match parameters.max_frames_per_packet {
        Some(frames) if frames > LONGEST_PACKET => Err(claim(&format!(
            "packets of {frames} samples; {LONGEST_PACKET} are the most"
        ))),
        _ => Ok(()),
    }
}

/// What the codec says, packet by packet.
pub(super) fn check_signal(signal: &Signal) -> Result<(), ToolError> {
    rate(signal.rate)?;
    channels(signal.layout.channels())
}

/// Blocks are held back by as much as will be cut off at the end.
pub(super) fn check_marks(marks: &Marks) -> Result<(), ToolError> {
    match marks.end_padding {
        0..=MOST_PADDING => Ok(()),
        padding => Err(claim(&format!(
            "{padding} ns of padding at its end; {MOST_PADDING} are the most"
        ))),
    }
}

fn rate(rate: u32) -> Result<(), ToolError> {
    if RATES.contains(&rate) {
        return Ok(());
    }
    let (low, high) = (RATES.start(), RATES.end());
    Err(claim(&format!(
        "a sample rate of {rate} Hz; {low} to {high} are possible"
    )))
}

fn channels(channels: usize) -> Result<(), ToolError> {
    if (1..=MOST_CHANNELS).contains(&channels) {
        return Ok(());
    }
    Err(claim(&format!(
        "{channels} channels; 1 to {MOST_CHANNELS} are possible"
    )))
}

fn claim(what: &str) -> ToolError {
    ToolError::Corrupt(format!("its header claims {what}"))
}

#[cfg(test)]
mod tests {
    use symphonia::core::audio::Channels;

    use super::*;

    fn refused(change: impl FnOnce(&mut AudioCodecParameters)) -> Option<String> {
        let mut parameters = AudioCodecParameters::new();
        change(&mut parameters);
        check_track(&parameters)
            .err()
            .map(|error| error.to_string())
    }

    #[test]
    fn claims_no_audio_can_keep_are_named() {
        let corrupt = "input is corrupt or incomplete: its header claims ";
        assert_eq!(
            refused(|track| track.sample_rate = Some(u32::MAX)),
            Some(format!(
                "{corrupt}a sample rate of 4294967295 Hz; 1000 to 768000 are possible"
            ))
        );
        assert_eq!(
            refused(|track| track.channels = Some(Channels::Discrete(65))),
            Some(format!("{corrupt}65 channels; 1 to 64 are possible"))
        );
        assert_eq!(
            refused(|track| track.max_frames_per_packet = Some(1 << 32)),
            Some(format!(
                "{corrupt}packets of 4294967296 samples; 1048576 are the most"
            ))
        );
        let marks = Marks {
            end_padding: u64::MAX,
            ..Marks::default()
        };
        assert!(check_marks(&marks).is_err());
    }

    #[test]
    fn the_extremes_of_real_audio_pass() {
        for rate in [1_000, 768_000] {
            assert_eq!(refused(|track| track.sample_rate = Some(rate)), None);
        }
        assert_eq!(
            refused(|track| track.channels = Some(Channels::Discrete(64))),
            None
        );
        assert!(check_marks(&Marks::default()).is_ok());
    }
}
