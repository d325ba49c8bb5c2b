//! Reads the audio track of a media file as a stream of blocks, one packet at a time.
//!
//! The result agrees with ffmpeg: it contains the samples inside the track's edits, without the encoder's priming
//! and padding if the container states them. A file that ends before its audio is an error.

use std::{
    fs::File,
    io::ErrorKind::UnexpectedEof,
    ops::RangeInclusive,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

use symphonia::core::{
    codecs::{CodecParameters, audio::AudioCodecParameters},
    errors::Error,
    formats::{FormatReader, Track, TrackType},
    packet::Packet,
};

use super::{
    container::{self, Marks, Played},
    decode::{Decoder, failed, readable},
    signal::{Block, Signal, Window},
};
use crate::servers::{
    files::open_regular,
    media,
    tool::{Run, ToolError},
};

/// The number of samples by which a track may be shorter than its container states: priming, padding, a last
/// packet. Native FLAC has none of these.
const SLACK: u64 = 4096;

/// Limits on the values of a header, so that a few bytes cannot cause much work or memory.
/// Samples per second: from below telephony to twice the fastest converters.
const RATES: RangeInclusive<u32> = 1_000..=768_000;
const MOST_CHANNELS: usize = 64;
/// Samples per channel in one packet. The longest packets of FLAC have 65 535.
const LONGEST_PACKET: u64 = 1 << 20;

/// The audio track of one file.
pub(super) struct Source {
    reader: Box<dyn FormatReader>,
    track: u32,
    decoder: Decoder,
    window: Window,
    about: About,
    /// The samples per channel that the container states, with priming and padding.
    promised: Option<u64>,
    /// Whether the container does not state its length. All its elements are complete.
    is_open: bool,
    /// Whether the container is native FLAC. symphonia leaves out its damaged frames.
    is_flac: bool,
    decoded: u64,
    /// The signal of the first block that is played.
    first: Option<Signal>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct About {
    pub(super) container: &'static str,
    pub(super) codec: &'static str,
    /// The duration in seconds that the container states.
    pub(super) duration: Option<f64>,
}

impl Source {
    /// Opens the default audio track and decodes it up to the first block that is played.
    pub(super) fn open(path: &Path, run: &Run<'_>) -> Result<(Self, Signal, Block), ToolError> {
        let mut source = unbroken(|| Self::of(path, run))?;
        let first = source.next(run)?;
        match (first, source.first.clone()) {
            (Some(first), Some(signal)) => Ok((source, signal, first)),
            _ => Err(ToolError::Corrupt(format!(
                "{} has an audio track without samples",
                path.display()
            ))),
        }
    }

    fn of(path: &Path, run: &Run<'_>) -> Result<Self, ToolError> {
        container::check_whole(open_file(path)?, path, run)?;
        let (file, again) = (open_file(path)?, open_file(path)?);
        let end = container::audio_end(open_file(path)?, path)?;
        let reader = probe(file, end, path)?;
        let name = reader.format_info().short_name;
        container::check_beginning(name, open_file(path)?, path)?;
        let (track, parameters) = audio_track(&*reader, path)?;
        check_track(parameters)?;
        let marks = container::marks(name, again, track.id);
        let marks = marks.map_err(|flaw| container::refused(flaw, path))?;
        check_marks(&marks, path)?;
        let (is_open, is_flac) = (marks.is_open, name == "flac");
        let decoder = Decoder::new(parameters, name)?;
        let window = Window::new(marks, track.time_base, decoder.pre_skip());
        let about = About {
            container: media::container_name(name),
            codec: decoder.codec(),
            duration: duration(track, &*reader),
        };
        // symphonia estimates the length of an MP3 without a LAME tag from its bit rate, and takes the time of the last
        // page for the length of Ogg. The time need not begin at 0, and all pages of Ogg have been checked.
        let guessed = name == "ogg" || (name == "mp3" && track.delay.is_none());
        let promised = track.num_frames.filter(|_| !guessed);
        let track = track.id;
        Ok(Self {
            reader,
            track,
            decoder,
            window,
            about,
            promised,
            is_open,
            is_flac,
            decoded: 0,
            first: None,
        })
    }

    pub(super) fn about(&self) -> &About {
        &self.about
    }

    /// The next block that is played, which is not empty. `None` at the end of the track.
    pub(super) fn next(&mut self, run: &Run<'_>) -> Result<Option<Block>, ToolError> {
        unbroken(|| self.next_block(run))
    }

    fn next_block(&mut self, run: &Run<'_>) -> Result<Option<Block>, ToolError> {
        while let Some(packet) = self.next_packet(run)? {
            let (block, signal) = self.decoder.decode(&packet)?;
            check_signal(&signal)?;
            self.check_place(&packet)?;
            self.decoded += block.frames() as u64;
            let block = self.window.pass(block, packet.pts, signal.rate);
            if block.frames() > 0 {
                self.check_unchanged(&signal)?;
                return Ok(Some(block));
            }
        }
        self.check_complete()?;
        Ok(None)
    }

    /// Fails if the signal of a block that is played is not that of the first one.
    fn check_unchanged(&mut self, signal: &Signal) -> Result<(), ToolError> {
        let first = self.first.get_or_insert_with(|| signal.clone());
        if first == signal {
            return Ok(());
        }
        let (before, after) = (described(first), described(signal));
        Err(ToolError::Failed(format!(
            "the audio changes from {before} to {after} within the track, which is not supported"
        )))
    }

    fn next_packet(&mut self, run: &Run<'_>) -> Result<Option<Packet>, ToolError> {
        loop {
            run.check_cancelled()?;
            match self.reader.next_packet() {
                Ok(Some(packet)) if packet.track_id == self.track => return Ok(Some(packet)),
                Ok(Some(_)) => {}
                Ok(None) => return Ok(None),
                Err(Error::IoError(error)) if self.is_open && error.kind() == UnexpectedEof => {
                    return Ok(None);
                }
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// Fails if frames are missing before a packet of native FLAC, whose number gives its first sample.
    fn check_place(&self, packet: &Packet) -> Result<(), ToolError> {
        let (decoded, next) = (self.decoded, packet.pts.get());
        if !self.is_flac || u64::try_from(next) == Ok(decoded) {
            return Ok(());
        }
        Err(ToolError::Corrupt(format!(
            "after {decoded} samples, the next audio frame begins at sample {next}"
        )))
    }

    fn check_complete(&self) -> Result<(), ToolError> {
        let decoded = self.decoded;
        match self.promised {
            Some(promised) if self.is_flac && decoded != promised => Err(ToolError::Corrupt(
                format!("the audio has {decoded} samples instead of {promised}"),
            )),
            Some(promised) if decoded + SLACK < promised => Err(ToolError::Corrupt(format!(
                "the audio ends after {decoded} of {promised} samples"
            ))),
            _ => Ok(()),
        }
    }
}

/// Performs a step of reading. symphonia panics on some invalid headers. A panic is reported as a corrupt file,
/// which is not read any further.
fn unbroken<T>(read: impl FnOnce() -> Result<T, ToolError>) -> Result<T, ToolError> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| {
        Err(ToolError::Corrupt(
            "its header or data cannot be decoded".to_owned(),
        ))
    })
}

fn described(signal: &Signal) -> String {
    format!(
        "{} Hz with {} channels",
        signal.rate,
        signal.layout.channels()
    )
}

fn open_file(path: &Path) -> Result<File, ToolError> {
    let file = open_regular("input_uri", path)?;
    match file.metadata() {
        Ok(about) if about.len() == 0 => {
            Err(ToolError::Corrupt(format!("{} is empty", path.display())))
        }
        _ => Ok(file),
    }
}

fn probe(file: File, end: u64, path: &Path) -> Result<Box<dyn FormatReader>, ToolError> {
    media::probe_first(end, file, path).map_err(|error| match error {
        error if media::is_headless(&error) => {
            ToolError::Corrupt("it has no movie header (moov)".to_owned())
        }
        Error::Unsupported(_) => ToolError::Failed(format!(
            "{} has a format that this tool does not read; it reads {}",
            path.display(),
            readable()
        )),
        error => failed(error),
    })
}

fn audio_track<'r>(
    reader: &'r dyn FormatReader,
    path: &Path,
) -> Result<(&'r Track, &'r AudioCodecParameters), ToolError> {
    let of_audio = |track: &'r Track| match &track.codec_params {
        Some(CodecParameters::Audio(parameters)) => Some((track, parameters)),
        _ => None,
    };
    if let Some(found) = reader.default_track(TrackType::Audio).and_then(of_audio) {
        return Ok(found);
    }
    let problem = match reader
        .tracks()
        .iter()
        .filter(|track| track.codec_params.is_none())
        .count()
    {
        0 => format!("{} has no audio track", path.display()),
        unknown => format!(
            "{} has no audio track that this tool can decode ({unknown} with an unknown codec); it reads {}",
            path.display(),
            readable()
        ),
    };
    Err(ToolError::Failed(problem))
}

fn duration(track: &Track, reader: &dyn FormatReader) -> Option<f64> {
    let media = reader.media_info();
    media::seconds(track.time_base, track.duration)
        .or_else(|| media::seconds(media.time_base, media.duration))
}

/// Checks the values of the container, before a decoder is made.
fn check_track(parameters: &AudioCodecParameters) -> Result<(), ToolError> {
    parameters.sample_rate.map_or(Ok(()), check_rate)?;
    let named = parameters.channels.as_ref();
    named.map_or(Ok(()), |named| check_channels(named.count()))?;
    let frames = parameters.max_frames_per_packet.unwrap_or_default();
    possible(&frames, &(0..=LONGEST_PACKET), || {
        format!("packets of {frames} samples; {LONGEST_PACKET} is the maximum")
    })
}

/// Checks the values of the codec, for each packet.
fn check_signal(signal: &Signal) -> Result<(), ToolError> {
    check_rate(signal.rate)?;
    check_channels(signal.layout.channels())
}

fn check_marks(marks: &Marks, path: &Path) -> Result<(), ToolError> {
    match marks.played {
        Played::Whole | Played::Part(_) => Ok(()),
        Played::Parts => Err(ToolError::Failed(format!(
            "{}: the edit list of its audio track does not name exactly one part of the track, which is not supported; \
             extract it with ffmpeg instead",
            path.display()
        ))),
    }
}

fn check_rate(rate: u32) -> Result<(), ToolError> {
    let (low, high) = (RATES.start(), RATES.end());
    possible(&rate, &RATES, || {
        format!("a sample rate of {rate} Hz; {low} to {high} are supported")
    })
}

fn check_channels(channels: usize) -> Result<(), ToolError> {
    possible(&channels, &(1..=MOST_CHANNELS), || {
        format!("{channels} channels; 1 to {MOST_CHANNELS} are supported")
    })
}

/// Fails if a value of a header is outside the range. `claim` describes it.
fn possible<T: PartialOrd>(
    claimed: &T,
    range: &RangeInclusive<T>,
    claim: impl FnOnce() -> String,
) -> Result<(), ToolError> {
    if range.contains(claimed) {
        return Ok(());
    }
    let claim = claim();
    Err(ToolError::Corrupt(format!("its header claims {claim}")))
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
                "{corrupt}a sample rate of 4294967295 Hz; 1000 to 768000 are supported"
            ))
        );
        assert_eq!(
            refused(|track| track.channels = Some(Channels::Discrete(65))),
            Some(format!("{corrupt}65 channels; 1 to 64 are supported"))
        );
        assert_eq!(
            refused(|track| track.max_frames_per_packet = Some(1 << 32)),
            Some(format!(
                "{corrupt}packets of 4294967296 samples; 1048576 is the maximum"
            ))
        );
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
    }
}
