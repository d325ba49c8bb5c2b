//! Decodes packets with symphonia. symphonia does not decode Opus; `ropus` does, with the same result as libopus in fixed
//! point.

use std::{fmt::Display, io};

use ropus::DecodeMode;
use symphonia::{
    core::{
        audio::{Channels, GenericAudioBufferRef},
        codecs::audio::{
            AudioCodecId, AudioCodecParameters, AudioDecoder, AudioDecoderOptions, well_known as id,
        },
        errors::Error,
        packet::Packet,
    },
    default::get_codecs,
};

use super::signal::{Block, Layout, Origin, Signal};
use crate::servers::{media, tool::ToolError};

/// The readable formats, for messages.
pub(super) fn readable() -> String {
    crate::task::Format::readable()
        + " with AAC-LC (mono, stereo), ADPCM, ALAC, FLAC, MP3, Opus, PCM or Vorbis audio"
}

/// The rate at which Opus is decoded and its pre-skip is counted (RFC 7845, 5.1).
const OPUS_RATE: u32 = 48_000;

/// Samples per channel in the longest packet of Opus (120 ms).
const LONGEST: usize = 5760;

pub(super) struct Decoder {
    kind: Kind,
    /// Significant bits of an integer sample.
    bits: Option<u32>,
}

enum Kind {
    Symphonia(Box<dyn AudioDecoder>),
    Opus(Box<Opus>),
}

impl Decoder {
    /// `container` is symphonia's name of it.
    pub(super) fn new(
        parameters: &AudioCodecParameters,
        container: &str,
    ) -> Result<Self, ToolError> {
        let kind = if parameters.codec == id::CODEC_ID_OPUS {
            let bytes = parameters.extra_data.as_deref().unwrap_or_default();
            let head = match container {
                "isomp4" => Head::read(bytes, u16::from_be_bytes),
                _ => Head::read(bytes, u16::from_le_bytes),
            }?;
            Kind::Opus(Box::new(Opus::new(head)?))
        } else {
            let made = get_codecs().make_audio_decoder(parameters, &AudioDecoderOptions::default());
            Kind::Symphonia(made.map_err(|error| match error {
                Error::Unsupported(_) => {
                    let codec = match parameters.codec {
                        id::CODEC_ID_AAC => {
                            "AAC of a profile other than LC, or with more than two channels,"
                                .to_owned()
                        }
                        other => media::undecoded(other)
                            .map_or_else(|| other.to_string(), |(_, name)| name.to_owned()),
                    };
                    undecodable(&format!("its audio codec {codec} is not supported"))
                }
                error => failed(error),
            })?)
        };
        let bits = parameters.bits_per_sample;
        Ok(Self {
            kind,
            bits: bits.or(decoded_bits(parameters.codec)),
        })
    }

    /// FFmpeg's short name of the codec.
    pub(super) fn codec(&self) -> &'static str {
        match &self.kind {
            Kind::Symphonia(decoder) => decoder.codec_info().short_name,
            Kind::Opus(_) => "opus",
        }
    }

    /// Samples of the codec's delay at the start, if the demuxer does not remove them.
    pub(super) fn pre_skip(&self) -> usize {
        match &self.kind {
            Kind::Symphonia(_) => 0,
            Kind::Opus(opus) => opus.head.pre_skip.into(),
        }
    }

    /// Decodes a packet and removes the samples that it marks as padding. The block may be empty.
    pub(super) fn decode(&mut self, packet: &Packet) -> Result<(Block, Signal), ToolError> {
        match &mut self.kind {
            Kind::Symphonia(decoder) => {
                let buffer = decoder.decode(packet).map_err(failed)?;
                let mut planes = Vec::new();
                buffer.copy_to_vecs_planar::<f32>(&mut planes);
                let (spec, origin) = (buffer.spec(), origin(&buffer, self.bits));
                Ok((Block(planes), signal(spec.rate(), spec.channels(), origin)?))
            }
            Kind::Opus(opus) => {
                let mut block = opus.decode(&packet.data)?;
                let frames = |ticks: u64| usize::try_from(ticks).unwrap_or(usize::MAX);
                block.trim(
                    frames(packet.trim_start.get()),
                    frames(packet.trim_end.get()),
                );
                let channels = Channels::Discrete(opus.head.channels.into());
                Ok((block, signal(OPUS_RATE, &channels, Origin::Real)?))
            }
        }
    }
}

fn origin(buffer: &GenericAudioBufferRef<'_>, bits: Option<u32>) -> Origin {
    use GenericAudioBufferRef as Buffer;
    match buffer {
        Buffer::U8(_) | Buffer::S8(_) | Buffer::U16(_) | Buffer::S16(_) => Origin::Narrow,
        Buffer::F32(_) | Buffer::F64(_) => Origin::Real,
        _ if bits.is_some_and(|bits| bits <= 16) => Origin::Narrow,
        _ => Origin::Wide,
    }
}

fn signal(rate: u32, channels: &Channels, origin: Origin) -> Result<Signal, ToolError> {
    let layout = Layout::of(channels).ok_or_else(|| {
        let count = channels.count();
        undecodable(&format!(
            "its {count} audio channels have unknown positions, or positions that cannot be mixed down"
        ))
    })?;
    Ok(Signal {
        rate,
        layout,
        origin,
    })
}

/// Translates an error of symphonia.
pub(super) fn failed(error: Error) -> ToolError {
    match error {
        Error::IoError(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
            ToolError::Failed(format!("the input cannot be read: {error}"))
        }
        Error::IoError(_) => ToolError::Corrupt("it ends in the middle of its audio".to_owned()),
        Error::Unsupported(what) => ToolError::Failed(format!(
            "the input uses an unsupported feature ({what}); this tool reads {}",
            readable()
        )),
        Error::ResetRequired => ToolError::Failed(
            "the input is a chain of several streams, which is not supported".to_owned(),
        ),
        error => ToolError::Corrupt(error.to_string()),
    }
}

fn undecodable(problem: &str) -> ToolError {
    ToolError::Failed(format!(
        "the input cannot be decoded: {problem}; this tool reads {}",
        readable()
    ))
}

/// The bits of a sample if the container does not state them. ADPCM is always decoded to 16 bits.
fn decoded_bits(codec: AudioCodecId) -> Option<u32> {
    matches!(
        codec,
        id::CODEC_ID_ADPCM_MS | id::CODEC_ID_ADPCM_IMA_WAV | id::CODEC_ID_ADPCM_IMA_QT
    )
    .then_some(16)
}

/// The identification header of Opus (RFC 7845, 5.1), which Ogg and Matroska contain. MP4 contains the same fields with
/// the most significant byte first (Encapsulation of Opus in ISO Base Media File Format, 4.3.2), to which symphonia adds
/// the name of the header.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Head {
    channels: u8,
    /// Samples to drop at the start.
    pre_skip: u16,
    /// The factor for every sample.
    gain: f32,
}

impl Head {
    /// `number` decodes the bytes of an integer.
    fn read(bytes: &[u8], number: fn([u8; 2]) -> u16) -> Result<Self, ToolError> {
        let fields = bytes.strip_prefix(b"OpusHead");
        let Some([_, channels, s0, s1, _, _, _, _, g0, g1, ..]) = fields else {
            return Err(ToolError::Corrupt(
                "its Opus header is malformed".to_owned(),
            ));
        };
        // In 1/256 dB.
        let gain = f32::from(number([*g0, *g1]).cast_signed()) / 256.0;
        Ok(Self {
            channels: *channels,
            pre_skip: number([*s0, *s1]),
            gain: 10_f32.powf(gain / 20.0),
        })
    }
}

struct Opus {
    decoder: ropus::Decoder,
    head: Head,
    interleaved: Vec<f32>,
}

impl Opus {
    fn new(head: Head) -> Result<Self, ToolError> {
        let channels = match head.channels {
            1 => ropus::Channels::Mono,
            2 => ropus::Channels::Stereo,
            channels => {
                return Err(undecodable(&format!(
                    "Opus with {channels} channels is not supported; mono and stereo are"
                )));
            }
        };
        let decoder = ropus::Decoder::new(OPUS_RATE, channels);
        Ok(Self {
            decoder: decoder.map_err(broken_packet)?,
            head,
            interleaved: vec![0.0; LONGEST * usize::from(head.channels)],
        })
    }

    fn decode(&mut self, packet: &[u8]) -> Result<Block, ToolError> {
        // The decoder would treat an empty packet as a lost one.
        if packet.is_empty() {
            return Err(broken_packet("it is empty"));
        }
        let channels = usize::from(self.head.channels);
        let decoded = self
            .decoder
            .decode_float(packet, &mut self.interleaved, DecodeMode::Normal)
            .map_err(broken_packet)?;
        let plane = |channel| {
            let samples = self.interleaved.iter().skip(channel).step_by(channels);
            let samples = samples.take(decoded);
            samples.map(|sample| sample * self.head.gain).collect()
        };
        Ok(Block((0..channels).map(plane).collect()))
    }
}

fn broken_packet(problem: impl Display) -> ToolError {
    ToolError::Corrupt(format!("an Opus packet cannot be decoded: {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"OpusHead\x01\x02\x38\x01\x80\xbb\x00\x00\x00\x00\x00";

    fn read(bytes: &[u8]) -> Result<Head, ToolError> {
        Head::read(bytes, u16::from_le_bytes)
    }

    #[test]
    fn the_header_gives_channels_pre_skip_and_gain() {
        assert_eq!(
            read(HEAD).expect("a header"),
            Head {
                channels: 2,
                pre_skip: 312,
                gain: 1.0
            }
        );
        let mut louder = HEAD.to_vec();
        louder.splice(16..18, 1541_i16.to_le_bytes());
        assert!((read(&louder).expect("a header").gain - 2.0).abs() < 1e-3);
    }

    #[test]
    fn in_mp4_the_most_significant_byte_of_a_number_is_the_first() {
        let of_mp4 = b"OpusHead\x00\x01\x01\x38\x00\x00\xbb\x80\xfa\x00\x00";
        let head = Head::read(of_mp4, u16::from_be_bytes).expect("a header");
        assert_eq!((head.channels, head.pre_skip), (1, 312));
        assert!((head.gain - 0.501).abs() < 1e-3);
    }

    #[test]
    fn a_header_cut_short_or_of_another_codec_is_refused() {
        assert!(matches!(read(&HEAD[..12]), Err(ToolError::Corrupt(_))));
        assert!(matches!(read(b"vorbis"), Err(ToolError::Corrupt(_))));
        assert!(matches!(read(&[0; 19]), Err(ToolError::Corrupt(_))));
    }

    #[test]
    fn surround_is_refused_by_name() {
        let head = Head {
            channels: 6,
            ..read(HEAD).expect("a header")
        };
        let refused = Opus::new(head).err().expect("refused").to_string();
        assert!(
            refused.contains("Opus with 6 channels is not supported; mono and stereo are"),
            "{refused}"
        );
    }
}
