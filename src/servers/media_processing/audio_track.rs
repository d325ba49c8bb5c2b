//! Decodes the audio track of a media file with symphonia, one packet at a time.

use std::{
    io::ErrorKind::UnexpectedEof,
    ops::{Range, RangeInclusive},
    path::Path,
};

use symphonia::{
    core::{
        codecs::{
            CodecParameters,
            audio::{AudioCodecId, AudioCodecParameters, AudioDecoder, AudioDecoderOptions},
        },
        errors::Error,
        formats::{FormatReader, TrackType},
        packet::Packet,
        units::TimeBase,
    },
    default::get_codecs,
};

use super::{
    edits::{Edits, edits},
    whole::check_whole,
};
use crate::{
    assets::format::unless_it_panics,
    servers::{
        files::open_regular,
        media,
        tool::{Run, ToolError},
    },
    task::Format,
};

/// Limits on the values of a header, so that a few bytes cannot cause much work or memory.
/// Samples per second: from below telephony to twice the fastest converters.
const RATES: RangeInclusive<u32> = 1_000..=768_000;
/// Samples per channel in one packet. The longest packets of FLAC have 65,535.
const LONGEST_PACKET: u64 = 1 << 16;
const MOST_CHANNELS: u32 = 2;

/// The samples of a packet from −1 to 1, one vector for each channel.
pub(super) type Planes = Vec<Vec<f32>>;

/// The audio track of one file.
pub(super) struct AudioTrack {
    reader: Box<dyn FormatReader>,
    track: u32,
    time_base: Option<TimeBase>,
    decoder: Box<dyn AudioDecoder>,
    /// The part that is played, in the time base of the track.
    part: Option<Range<i64>>,
    /// Whether the file does not state its length, because it was written to a pipe.
    is_open: bool,
    pub(super) about: About,
}

/// What is known of the input.
#[derive(Debug)]
pub(super) struct About {
    pub(super) container: String,
    pub(super) codec: String,
    pub(super) rate: u32,
    pub(super) channels: u32,
    /// The duration in seconds that the container states.
    pub(super) duration: Option<f64>,
}

/// Why the track is not decoded here.
pub(super) enum Undecoded {
    /// symphonia does not decode the track, for this reason. The file need not be damaged.
    Unsupported(String),
    Failed(ToolError),
}

impl From<ToolError> for Undecoded {
    fn from(error: ToolError) -> Self {
        Self::Failed(error)
    }
}

impl AudioTrack {
    /// Opens the default audio track and decodes it up to the first block that is played.
    pub(super) fn open(path: &Path, run: &Run<'_>) -> Result<(Self, Planes), Undecoded> {
        let Some(format) = check_whole(path, run)? else {
            let media = Format::readable();
            return Err(unsupported(&format!("its format is none of {media}")));
        };
        let opened = unless_it_panics(|| {
            let mut opened = Self::of(path, format)?;
            let first = opened.next_block(run)?;
            let problem = || ToolError::Corrupt("its audio track has no samples".to_owned());
            Ok((opened, first.ok_or_else(problem)?))
        });
        opened.unwrap_or_else(|| Err(malformed().into()))
    }

    fn of(path: &Path, format: Format) -> Result<Self, Undecoded> {
        let edits = edits(path, Some(format))?;
        let file = open_regular("input_uri", path)?;
        // symphonia calls some whole files malformed, such as MP4 with long headers of HEVC.
        let reader = media::probe(file, path)
            .map_err(|error| unsupported(&format!("its headers are unknown ({error})")))?;
        let audio = reader.default_track(TrackType::Audio);
        let Some((track, Some(CodecParameters::Audio(parameters)))) =
            audio.map(|track| (track, &track.codec_params))
        else {
            return Err(unsupported("it has no audio track of a known codec"));
        };
        check(parameters)?;
        let decoder = get_codecs()
            .make_audio_decoder(parameters, &AudioDecoderOptions::default())
            .map_err(|_| unsupported(&codec_reason(parameters.codec)))?;
        let part = match edits.into_iter().find(|edits| edits.track == track.id) {
            Some(Edits { part: None, .. }) => {
                return Err(unsupported(
                    "its edit list does not name exactly one part of the audio track",
                ));
            }
            edits => edits.and_then(|edits| edits.part),
        };
        let media = reader.media_info();
        let duration = media::seconds(track.time_base, track.duration)
            .or_else(|| media::seconds(media.time_base, media.duration));
        let about = About {
            container: media::container_name(reader.format_info().short_name).to_owned(),
            codec: decoder.codec_info().short_name.to_owned(),
            rate: 0,
            channels: 0,
            duration,
        };
        Ok(Self {
            track: track.id,
            time_base: track.time_base,
            is_open: duration.is_none(),
            reader,
            decoder,
            part,
            about,
        })
    }

    /// The next block that is played. `None` at the end of the track.
    pub(super) fn next(&mut self, run: &Run<'_>) -> Result<Option<Planes>, ToolError> {
        let next = unless_it_panics(|| self.next_block(run));
        let next = next.unwrap_or_else(|| Err(malformed().into()));
        next.map_err(|error| match error {
            Undecoded::Failed(error) => error,
            Undecoded::Unsupported(reason) => ToolError::Failed(format!(
                "the audio changes within the track, which is not supported: {reason}"
            )),
        })
    }

    fn next_block(&mut self, run: &Run<'_>) -> Result<Option<Planes>, Undecoded> {
        loop {
            run.check_cancelled()?;
            let packet = match self.reader.next_packet() {
                Ok(Some(packet)) => packet,
                Ok(None) => return Ok(None),
                Err(Error::IoError(error)) if self.is_open && error.kind() == UnexpectedEof => {
                    return Ok(None);
                }
                Err(error) => return Err(failed(error)),
            };
            if packet.track_id == self.track {
                let block = self.decode(&packet)?;
                if block.first().is_some_and(|plane| !plane.is_empty()) {
                    return Ok(Some(block));
                }
            }
        }
    }

    /// The samples of a packet that are played. As in ffmpeg, a packet that begins inside the part is played to its end.
    fn decode(&mut self, packet: &Packet) -> Result<Planes, Undecoded> {
        let decoded = self.decoder.decode(packet).map_err(failed)?;
        let rate = decoded.spec().rate();
        let channels = u32::try_from(decoded.spec().channels().count()).unwrap_or(u32::MAX);
        let mut planes = Vec::new();
        decoded.copy_to_vecs_planar::<f32>(&mut planes);
        check_rate(rate)?;
        if !(1..=MOST_CHANNELS).contains(&channels) {
            return Err(unsupported(&format!("it has {channels} channels")));
        }
        let about = &mut self.about;
        if about.rate == 0 {
            (about.rate, about.channels) = (rate, channels);
        } else if (about.rate, about.channels) != (rate, channels) {
            return Err(unsupported(&format!(
                "from {} Hz with {} channels to {rate} Hz with {channels}",
                about.rate, about.channels
            )));
        }
        let (Some(part), Some(base)) = (&self.part, self.time_base) else {
            return Ok(planes);
        };
        let samples_at = |ticks: i64| {
            let samples = i128::from(ticks) * i128::from(rate) * i128::from(base.numer.get());
            samples / i128::from(base.denom.get())
        };
        let begin = samples_at(packet.pts.get());
        let hidden = if begin < samples_at(part.end) {
            samples_at(part.start) - begin
        } else {
            i128::MAX
        };
        let hidden = usize::try_from(hidden.max(0)).unwrap_or(usize::MAX);
        for plane in &mut planes {
            plane.drain(..hidden.min(plane.len()));
        }
        Ok(planes)
    }
}

fn unsupported(reason: &str) -> Undecoded {
    Undecoded::Unsupported(reason.to_owned())
}

fn codec_reason(codec: AudioCodecId) -> String {
    let name = media::undecoded(codec).map_or_else(|| codec.to_string(), str::to_owned);
    format!("symphonia does not decode its audio codec {name}")
}

/// Translates an error of symphonia.
fn failed(error: Error) -> Undecoded {
    Undecoded::Failed(match error {
        Error::Unsupported(_) | Error::ResetRequired => return unsupported(&error.to_string()),
        Error::IoError(error) if error.kind() != UnexpectedEof => {
            ToolError::Failed(format!("the input cannot be read: {error}"))
        }
        Error::IoError(_) => ToolError::Corrupt("it ends in the middle of its audio".to_owned()),
        error => ToolError::Corrupt(error.to_string()),
    })
}

fn malformed() -> ToolError {
    ToolError::Corrupt("its header or data cannot be decoded".to_owned())
}

/// Checks the values of the container, before a decoder is made.
fn check(parameters: &AudioCodecParameters) -> Result<(), ToolError> {
    let frames = parameters.max_frames_per_packet.unwrap_or_default();
    if frames > LONGEST_PACKET {
        return Err(ToolError::Corrupt(format!(
            "its header claims packets of {frames} samples; {LONGEST_PACKET} is the maximum"
        )));
    }
    parameters.sample_rate.map_or(Ok(()), check_rate)
}

fn check_rate(rate: u32) -> Result<(), ToolError> {
    if RATES.contains(&rate) {
        return Ok(());
    }
    let (low, high) = (RATES.start(), RATES.end());
    Err(ToolError::Corrupt(format!(
        "its header claims a sample rate of {rate} Hz; {low} to {high} are supported"
    )))
}
