//! Packets to blocks, by symphonia's decoders or the Opus one.

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

use super::{
    convert::{Block, Signal},
    layout::Layout,
    opus::{self, Head, Opus, OpusProblem},
    samples::Rounding,
};

/// Why a packet gave no sound.
#[derive(Debug, thiserror::Error)]
pub(super) enum DecodeProblem {
    #[error("{0}")]
    Symphonia(#[from] Error),
    #[error("{0}")]
    Opus(#[from] OpusProblem),
    #[error("its audio codec {0} is not supported")]
    Codec(String),
    #[error("its {0} audio channels have no known places, or places that cannot be mixed down")]
    Layout(usize),
}

/// The decoder of one track.
pub(super) struct Decoder {
    kind: Kind,
    /// Significant bits of an integer sample.
    bits: Option<u32>,
}

enum Kind {
    Symphonia(Box<dyn AudioDecoder>),
    Opus(Box<Opus>, Head),
}

impl Decoder {
    pub(super) fn new(parameters: &AudioCodecParameters) -> Result<Self, DecodeProblem> {
        let kind = if parameters.codec == id::CODEC_ID_OPUS {
            let head = Head::read(parameters.extra_data.as_deref().unwrap_or_default())?;
            Kind::Opus(Box::new(Opus::new(head)?), head)
        } else {
            let made = get_codecs().make_audio_decoder(parameters, &AudioDecoderOptions::default());
            Kind::Symphonia(made.map_err(|error| match error {
                Error::Unsupported(_) => DecodeProblem::Codec(codec_name(parameters.codec)),
                error => DecodeProblem::Symphonia(error),
            })?)
        };
        Ok(Self {
            kind,
            bits: parameters
                .bits_per_sample
                .or(decoded_bits(parameters.codec)),
        })
    }

    /// The codec's short name, as ffmpeg has it.
    pub(super) fn codec(&self) -> &'static str {
        match &self.kind {
            Kind::Symphonia(decoder) => decoder.codec_info().short_name,
            Kind::Opus(..) => "opus",
        }
    }

    /// Samples at the start that are the codec's alone, where the demuxer leaves them in.
    pub(super) fn pre_skip(&self) -> usize {
        match &self.kind {
            Kind::Symphonia(_) => 0,
            Kind::Opus(_, head) => head.pre_skip.into(),
        }
    }

    /// The packet's samples, without those it says to trim; the block may be empty.
    pub(super) fn decode(&mut self, packet: &Packet) -> Result<(Block, Signal), DecodeProblem> {
        match &mut self.kind {
            Kind::Symphonia(decoder) => from_buffer(&decoder.decode(packet)?, self.bits),
            Kind::Opus(decoder, head) => {
                let mut block = Block::Real(decoder.decode(&packet.data)?);
                block.trim(
                    frames(packet.trim_start.get()),
                    frames(packet.trim_end.get()),
                );
                let channels = Channels::Discrete(head.channels.into());
                Ok((block, signal(opus::RATE, &channels, Rounding::Nearest)?))
            }
        }
    }
}

/// Integers of at most 16 bits stay integers; everything else becomes floats.
fn from_buffer(
    buffer: &GenericAudioBufferRef<'_>,
    bits: Option<u32>,
) -> Result<(Block, Signal), DecodeProblem> {
    use GenericAudioBufferRef as Buffer;
    let (narrow, rounding) = match buffer {
        Buffer::U8(_) | Buffer::S8(_) | Buffer::U16(_) | Buffer::S16(_) => {
            (true, Rounding::Nearest)
        }
        Buffer::F32(_) | Buffer::F64(_) => (false, Rounding::Nearest),
        Buffer::U24(_) | Buffer::S24(_) | Buffer::U32(_) | Buffer::S32(_) => {
            (bits.is_some_and(|bits| bits <= 16), Rounding::Down)
        }
    };
    let block = if narrow {
        let mut planes = Vec::new();
        buffer.copy_to_vecs_planar::<i16>(&mut planes);
        Block::Integer(planes)
    } else {
        let mut planes = Vec::new();
        buffer.copy_to_vecs_planar::<f32>(&mut planes);
        Block::Real(planes)
    };
    Ok((
        block,
        signal(buffer.spec().rate(), buffer.spec().channels(), rounding)?,
    ))
}

fn signal(rate: u32, channels: &Channels, rounding: Rounding) -> Result<Signal, DecodeProblem> {
    let layout = Layout::of(channels).ok_or(DecodeProblem::Layout(channels.count()))?;
    Ok(Signal {
        rate,
        layout,
        rounding,
    })
}

fn frames(ticks: u64) -> usize {
    usize::try_from(ticks).unwrap_or(usize::MAX)
}

/// The width of a codec's samples where the container does not tell: ADPCM always decodes to 16 bits.
fn decoded_bits(codec: AudioCodecId) -> Option<u32> {
    matches!(
        codec,
        id::CODEC_ID_ADPCM_MS | id::CODEC_ID_ADPCM_IMA_WAV | id::CODEC_ID_ADPCM_IMA_QT
    )
    .then_some(16)
}

/// The name of a codec that is known and not decoded.
fn codec_name(codec: AudioCodecId) -> String {
    let name = match codec {
        id::CODEC_ID_AC3 => "AC-3",
        id::CODEC_ID_EAC3 => "E-AC-3",
        id::CODEC_ID_AC4 => "AC-4",
        id::CODEC_ID_DCA => "DTS",
        id::CODEC_ID_TRUEHD => "TrueHD",
        id::CODEC_ID_MP1 => "MP1",
        id::CODEC_ID_MP2 => "MP2",
        id::CODEC_ID_SPEEX => "Speex",
        id::CODEC_ID_WMA => "WMA",
        id::CODEC_ID_WAVPACK => "WavPack",
        id::CODEC_ID_AAC => "AAC of a profile other than LC, or with more than two channels,",
        other => return other.to_string(),
    };
    name.to_owned()
}
