//! A media file's audio track as a stream of blocks, one packet at a time.
//!
//! What comes out is what ffmpeg would hear: the samples inside the track's edits, without encoder
//! priming and padding where the container tells of them. A file that ends before its audio does is
//! an error, never a shorter answer.

use std::{
    fs::File,
    io,
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
    claims, container,
    convert::{Block, Signal},
    decode::{DecodeProblem, Decoder},
    opus::OpusProblem,
    window::Window,
};
use crate::servers::{
    media,
    tool::{Run, ToolError},
};

/// Samples by which a track may be shorter than its container says: priming, padding, a last packet.
const SLACK: u64 = 4096;

/// What can be read, for messages.
const READABLE: &str = "MP4, MOV, MKV, WebM, MP3, FLAC, OGG and WAV with AAC-LC (mono, stereo), ADPCM, ALAC, FLAC, MP3, Opus, \
                        PCM or Vorbis audio";

/// The audio of one file.
pub(super) struct Source {
    packets: Packets,
    signal: Signal,
    /// The first block, decoded to learn the signal.
    first: Option<Block>,
}

/// What a source is, for the caller.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct About {
    pub(super) container: &'static str,
    pub(super) codec: &'static str,
    /// The length the container gives, in seconds.
    pub(super) duration: Option<f64>,
}

impl Source {
    /// Opens the file's default audio track and decodes up to its first sound.
    pub(super) fn open(path: &Path, run: &Run<'_>) -> Result<Self, ToolError> {
        let mut packets = unbroken(|| Packets::open(path))?;
        match unbroken(|| packets.next(run))? {
            Some((first, signal)) => Ok(Self {
                packets,
                signal,
                first: Some(first),
            }),
            None => Err(ToolError::Corrupt(format!(
                "{} has an audio track without a single sample",
                path.display()
            ))),
        }
    }

    pub(super) fn signal(&self) -> &Signal {
        &self.signal
    }

    pub(super) fn about(&self) -> &About {
        &self.packets.about
    }

    /// The next block, never empty; `None` at the end of the track.
    pub(super) fn next(&mut self, run: &Run<'_>) -> Result<Option<Block>, ToolError> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        let Some((block, signal)) = unbroken(|| self.packets.next(run))? else {
            return Ok(None);
        };
        if signal != self.signal {
            let (before, after) = (described(&self.signal), described(&signal));
            let problem = format!(
                "the audio changes from {before} to {after} on the way, which is not supported"
            );
            return Err(ToolError::Failed(problem));
        }
        Ok(Some(block))
    }
}

/// Does a piece of reading. symphonia's readers panic on some headers no writer makes: the fault is
/// the file's. Nothing is read from it afterwards.
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

/// A track on its way from the file to blocks.
struct Packets {
    reader: Box<dyn FormatReader>,
    track: u32,
    decoder: Decoder,
    window: Window,
    about: About,
    /// Samples per channel the container promises, before anything is cut off.
    promised: Option<u64>,
    decoded: u64,
    /// That of the last block.
    signal: Option<Signal>,
}

impl Packets {
    fn open(path: &Path) -> Result<Self, ToolError> {
        container::check_whole(open_file(path)?)?;
        let (file, again) = (open_file(path)?, open_file(path)?);
        let reader = probe(file, path)?;
        let name = reader.format_info().short_name;
        let (track, parameters) = audio_track(&*reader, path)?;
        claims::check_track(parameters)?;
        let marks = container::marks(name, again, track.id)?;
        claims::check_marks(&marks)?;
        let decoder = Decoder::new(parameters).map_err(tool_error)?;
        let window = Window::new(marks, track.time_base, decoder.pre_skip());
        let about = About {
            container: media::container_name(name),
            codec: decoder.codec(),
            duration: duration(track, &*reader),
        };
        // An MP3 without a LAME tag has its length guessed from its bit rate.
        let guessed = name == "mp3" && track.delay.is_none();
        let promised = track.num_frames.filter(|_| !guessed);
        let track = track.id;
        Ok(Self {
            reader,
            track,
            decoder,
            window,
            about,
            promised,
            decoded: 0,
            signal: None,
        })
    }

    /// The next block that is heard, never empty, and its signal.
    fn next(&mut self, run: &Run<'_>) -> Result<Option<(Block, Signal)>, ToolError> {
        while let Some(packet) = self.next_packet(run)? {
            let (block, signal) = self.decoder.decode(&packet).map_err(tool_error)?;
            claims::check_signal(&signal)?;
            self.decoded += block.frames() as u64;
            let rate = signal.rate;
            self.signal = Some(signal.clone());
            if let Some(block) = self.window.pass(block, packet.pts, rate)
                && block.frames() > 0
            {
                return Ok(Some((block, signal)));
            }
        }
        self.check_complete()?;
        while let Some(signal) = &self.signal
            && let Some(block) = self.window.finish(signal.rate)
        {
            if block.frames() > 0 {
                return Ok(Some((block, signal.clone())));
            }
        }
        Ok(None)
    }

    fn next_packet(&mut self, run: &Run<'_>) -> Result<Option<Packet>, ToolError> {
        loop {
            run.check_cancelled()?;
            match self.reader.next_packet() {
                Ok(Some(packet)) if packet.track_id == self.track => return Ok(Some(packet)),
                Ok(Some(_)) => {}
                Ok(None) => return Ok(None),
                Err(error) => return Err(tool_error(error.into())),
            }
        }
    }

    fn check_complete(&self) -> Result<(), ToolError> {
        match self.promised {
            Some(promised) if self.decoded + SLACK < promised => {
                let decoded = self.decoded;
                Err(ToolError::Corrupt(format!(
                    "the audio ends after {decoded} of {promised} samples"
                )))
            }
            _ => Ok(()),
        }
    }
}

fn open_file(path: &Path) -> Result<File, ToolError> {
    let refused = |problem: String| ToolError::Argument {
        argument: "input_uri",
        problem,
    };
    let file = File::open(path)
        .map_err(|error| refused(format!("cannot open {}: {error}", path.display())))?;
    match file.metadata() {
        Ok(metadata) if metadata.is_file() && metadata.len() == 0 => {
            Err(ToolError::Corrupt(format!("{} is empty", path.display())))
        }
        Ok(metadata) if metadata.is_file() => Ok(file),
        Ok(_) => Err(refused(format!("{} is not a regular file", path.display()))),
        Err(error) => Err(refused(format!(
            "cannot look at {}: {error}",
            path.display()
        ))),
    }
}

fn probe(file: File, path: &Path) -> Result<Box<dyn FormatReader>, ToolError> {
    media::probe(file, path).map_err(|error| match error {
        error if media::is_headless(&error) => {
            ToolError::Corrupt("it has no movie header (moov)".to_owned())
        }
        Error::Unsupported(_) => ToolError::Failed(format!(
            "{} is in no format this tool reads; it reads {READABLE}",
            path.display()
        )),
        error => tool_error(error.into()),
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
            "{} has no audio track this tool can decode ({unknown} of unknown codec); it reads {READABLE}",
            path.display()
        ),
    };
    Err(ToolError::Failed(problem))
}

fn duration(track: &Track, reader: &dyn FormatReader) -> Option<f64> {
    let media = reader.media_info();
    media::seconds(track.time_base, track.duration)
        .or_else(|| media::seconds(media.time_base, media.duration))
}

fn tool_error(problem: DecodeProblem) -> ToolError {
    match problem {
        DecodeProblem::Symphonia(Error::IoError(error))
            if error.kind() != io::ErrorKind::UnexpectedEof =>
        {
            ToolError::Failed(format!("the input cannot be read: {error}"))
        }
        DecodeProblem::Symphonia(Error::IoError(_)) => {
            ToolError::Corrupt("it ends in the middle of its audio".to_owned())
        }
        DecodeProblem::Symphonia(Error::Unsupported(what)) => ToolError::Failed(format!(
            "the input uses something not supported ({what}); this tool reads {READABLE}"
        )),
        DecodeProblem::Symphonia(Error::ResetRequired) => ToolError::Failed(
            "the input is several streams chained into one, which is not supported".to_owned(),
        ),
        problem @ (DecodeProblem::Codec(_)
        | DecodeProblem::Layout(_)
        | DecodeProblem::Opus(OpusProblem::Channels(_))) => ToolError::Failed(format!(
            "the input cannot be decoded: {problem}; this tool reads {READABLE}"
        )),
        problem => ToolError::Corrupt(problem.to_string()),
    }
}
