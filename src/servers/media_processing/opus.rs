//! Opus packets to samples. symphonia demuxes Opus and decodes it not; `opus-rs` does, bit for bit
//! as libopus.

use opus_rs::OpusDecoder;

/// The rate Opus decodes at, and counts its pre-skip in, whatever was encoded (RFC 7845, 5.1).
pub(super) const RATE: u32 = 48_000;

/// Samples per channel in the longest packet, 120 ms.
const LONGEST: usize = 5760;

/// The identification header (RFC 7845, 5.1), as Ogg and Matroska both carry it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Head {
    pub(super) channels: u8,
    /// Samples to drop at the start.
    pub(super) pre_skip: u16,
    /// The factor every sample is multiplied with.
    gain: f32,
}

/// Why Opus could not be decoded.
#[derive(Debug, thiserror::Error)]
pub(super) enum OpusProblem {
    #[error("its Opus header is broken")]
    Head,
    #[error("Opus with {0} channels is not supported; mono and stereo are")]
    Channels(u8),
    #[error("an Opus packet cannot be decoded: {0}")]
    Packet(&'static str),
}

impl Head {
    /// Reads an `OpusHead`.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, OpusProblem> {
        let (b"OpusHead", [_version, channels, s0, s1, _, _, _, _, g0, g1, ..]) =
            bytes.split_at_checked(8).ok_or(OpusProblem::Head)?
        else {
            return Err(OpusProblem::Head);
        };
        // In 1/256 dB.
        let gain = f32::from(i16::from_le_bytes([*g0, *g1])) / 256.0;
        Ok(Self {
            channels: *channels,
            pre_skip: u16::from_le_bytes([*s0, *s1]),
            gain: 10_f32.powf(gain / 20.0),
        })
    }
}

/// Decodes the packets of one stream.
pub(super) struct Opus {
    decoder: OpusDecoder,
    head: Head,
    interleaved: Vec<f32>,
}

impl Opus {
    pub(super) fn new(head: Head) -> Result<Self, OpusProblem> {
        if !matches!(head.channels, 1 | 2) {
            return Err(OpusProblem::Channels(head.channels));
        }
        let channels = usize::from(head.channels);
        let decoder =
            OpusDecoder::new(RATE.cast_signed(), channels).map_err(OpusProblem::Packet)?;
        Ok(Self {
            decoder,
            head,
            interleaved: vec![0.0; LONGEST * channels],
        })
    }

    /// The packet's samples, one vector for each channel.
    pub(super) fn decode(&mut self, packet: &[u8]) -> Result<Vec<Vec<f32>>, OpusProblem> {
        // An empty packet would be taken for a lost one.
        if packet.is_empty() {
            return Err(OpusProblem::Packet("it is empty"));
        }
        let channels = usize::from(self.head.channels);
        let frames = self
            .decoder
            .decode(packet, LONGEST, &mut self.interleaved)
            .map_err(OpusProblem::Packet)?;
        let plane = |channel| {
            let samples = self
                .interleaved
                .iter()
                .skip(channel)
                .step_by(channels)
                .take(frames);
            samples.map(|sample| sample * self.head.gain).collect()
        };
        Ok((0..channels).map(plane).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"OpusHead\x01\x02\x38\x01\x80\xbb\x00\x00\x00\x00\x00";

    #[test]
    fn the_header_gives_channels_pre_skip_and_gain() {
        assert_eq!(
            Head::read(HEAD).expect("a header"),
            Head {
                channels: 2,
                pre_skip: 312,
                gain: 1.0
            }
        );
        let mut louder = HEAD.to_vec();
        louder.splice(16..18, 1541_i16.to_le_bytes());
        assert!((Head::read(&louder).expect("a header").gain - 2.0).abs() < 1e-3);
    }

    #[test]
    fn a_header_cut_short_or_of_another_codec_is_refused() {
        assert!(matches!(Head::read(&HEAD[..12]), Err(OpusProblem::Head)));
        assert!(matches!(Head::read(b"vorbis"), Err(OpusProblem::Head)));
        assert!(matches!(Head::read(&[0; 19]), Err(OpusProblem::Head)));
    }

    #[test]
    fn surround_is_refused_by_name() {
        let head = Head {
            channels: 6,
            ..Head::read(HEAD).expect("a header")
        };
        assert_eq!(
            Opus::new(head).err().map(|error| error.to_string()),
            Some("Opus with 6 channels is not supported; mono and stereo are".to_owned())
        );
    }
}
