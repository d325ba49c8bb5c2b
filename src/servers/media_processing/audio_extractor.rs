//! The tool `audio_extractor` (CAP-PRE-002): writes the audio of a media file as WAV or FLAC, as ffmpeg does
//! (`ffmpeg -i IN -vn -ac CHANNELS -ar RATE -c:a pcm_s16le`). What symphonia decodes becomes WAV without another program.
//! The samples agree within rounding at the rate of the source, and within 60 dB and a millisecond at another rate. The
//! memory does not depend on the length of the file. Everything else is done by FFmpeg.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    audio_track::{About, AudioTrack, Undecoded},
    convert::Converter,
    draft::{Draft, Written},
    ffmpeg::{Input, Limits, Output, Sound, words},
    request::{input_uri, output_path, output_uri},
    wav::Wav,
};
use crate::servers::{
    files::local_path,
    tool::{self, Effect, Run, Tool, ToolError, World, object, record},
};

/// Seconds of audio between two reports of progress.
const REPORT_EVERY: f64 = 1.0;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    input_uri: String,
    #[serde(default)]
    output_format: AudioFormat,
    sample_rate: Option<u32>,
    #[serde(default = "mono")]
    channels: u16,
    output_path: Option<String>,
}

/// The format of the output file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum AudioFormat {
    #[default]
    Wav,
    Flac,
}

fn mono() -> u16 {
    1
}

/// The audio that was written.
struct Made {
    about: About,
    rate: u32,
    /// Per channel.
    samples: u64,
}

pub(super) fn audio_extractor() -> Tool {
    let count = json!({ "type": "integer", "minimum": 1 });
    Tool {
        name: "audio_extractor",
        title: "Extract audio",
        description: format!(
            "Extracts the audio of a local media file ({}) into a new 16-bit WAV or FLAC file. FLAC is made by FFmpeg, \
             and so is what only FFmpeg decodes, such as Opus. An existing file is never overwritten.",
            crate::task::Format::readable()
        )
        .leak(),
        input: object(
            &["input_uri"],
            json!({
                "input_uri": input_uri(),
                "output_format": {
                    "type": "string",
                    "enum": ["wav", "flac"],
                    "default": "wav",
                    "description": "Both contain 16-bit samples; flac is smaller, and needs FFmpeg.",
                },
                "sample_rate": {
                    "type": "integer",
                    "minimum": 8000,
                    "maximum": 192_000,
                    "description": "Samples per second. Default: the rate of the source.",
                },
                "channels": {
                    "type": "integer",
                    "enum": [1, 2],
                    "default": 1,
                    "description": "1 is mono, 2 is stereo.",
                },
                "output_path": output_path(),
            }),
        ),
        output: record(json!({
            "output_uri": output_uri(),
            "output_format": { "type": "string", "enum": ["wav", "flac"] },
            "sample_rate": count,
            "channels": { "type": "integer", "enum": [1, 2] },
            "duration_seconds": { "type": "number", "exclusiveMinimum": 0 },
            "samples": { "type": "integer", "minimum": 1, "description": "Per channel." },
            "bytes": { "type": "integer", "minimum": 1, "description": "The size of the new file." },
            "source": {
                "type": "object",
                "description": "The input.",
                "properties": {
                    "container": { "type": "string" },
                    "codec": { "type": "string" },
                    "sample_rate": count,
                    "channels": count,
                },
                "required": ["container", "codec", "sample_rate", "channels"],
                "additionalProperties": false,
            },
        })),
        effect: Effect::Additive,
        world: World::Closed,
        call: tool::call(extract),
    }
}

fn extract(arguments: &Arguments, run: &Run<'_>) -> Result<Value, ToolError> {
    let input = local_path("input_uri", &arguments.input_uri)?;
    let ending = match arguments.output_format {
        AudioFormat::Wav => "wav",
        AudioFormat::Flac => "flac",
    };
    let mut draft = Draft::create(arguments.output_path.as_deref(), &input, ending)?;
    let made = decode(arguments, &input, &mut draft, run);
    let made = made.or_else(|error| match error {
        Undecoded::Failed(error) => Err(error),
        Undecoded::Unsupported(reason) => {
            let made = by_ffmpeg(arguments, &input, &draft, run);
            made.map_err(|error| match error {
                ToolError::Failed(problem) => {
                    ToolError::Failed(format!("FFmpeg is needed, because {reason}: {problem}"))
                }
                error => error,
            })
        }
    });
    let Made {
        about,
        rate,
        samples,
    } = made?;
    if samples == 0 {
        return Err(ToolError::Corrupt(
            "its audio is too short for a single sample".to_owned(),
        ));
    }
    run.check_cancelled()?;
    let Written { uri, bytes } = draft.publish()?;
    Ok(json!({
        "output_uri": uri,
        "output_format": arguments.output_format,
        "sample_rate": rate,
        "channels": arguments.channels,
        "duration_seconds": seconds(samples, rate),
        "samples": samples,
        "bytes": bytes,
        "source": {
            "container": about.container,
            "codec": about.codec,
            "sample_rate": about.rate,
            "channels": about.channels,
        },
    }))
}

/// Decodes the audio with symphonia and writes it as WAV.
fn decode(
    arguments: &Arguments,
    input: &Path,
    draft: &mut Draft,
    run: &Run<'_>,
) -> Result<Made, Undecoded> {
    if arguments.output_format == AudioFormat::Flac {
        return Err(Undecoded::Unsupported("it writes FLAC".to_owned()));
    }
    let (mut track, first) = AudioTrack::open(input, run)?;
    let rate = arguments.sample_rate.unwrap_or(track.about.rate);
    let failed = draft.failed();
    let mut wav = Wav::create(draft, rate, arguments.channels).map_err(&failed)?;
    let mut converter = Converter::new(arguments.channels, track.about.rate, rate);
    let (mut heard, mut reported) = (0, 0.0);
    let mut next = Some(first);
    while let Some(block) = next {
        heard += block.first().map_or(0, Vec::len) as u64;
        wav.write(&converter.push(block)).map_err(&failed)?;
        let done = seconds(heard, track.about.rate);
        if done >= reported + REPORT_EVERY {
            reported = done;
            let total = track.about.duration.map(|total| total.max(done));
            run.progress(done, total, "seconds of audio");
        }
        next = track.next(run)?;
    }
    wav.write(&converter.finish()).map_err(&failed)?;
    Ok(Made {
        about: track.about,
        rate,
        samples: wav.finish().map_err(&failed)?,
    })
}

/// Extracts the audio with FFmpeg.
fn by_ffmpeg(
    arguments: &Arguments,
    path: &Path,
    draft: &Draft,
    run: &Run<'_>,
) -> Result<Made, ToolError> {
    let limits = Limits {
        // A WAV file cannot state a larger size.
        bytes: u32::MAX.into(),
        ..Limits::default()
    };
    let input = Input::open(path, limits, run)?;
    let Some(Sound {
        codec,
        rate,
        channels,
    }) = input.film.audio.first().cloned()
    else {
        return Err(input.lacks("audio track"));
    };
    let about = About {
        container: input.film.container.clone(),
        codec,
        rate,
        channels,
        duration: input.film.duration,
    };
    let rate = arguments.sample_rate.unwrap_or(rate);
    let encoder = match arguments.output_format {
        AudioFormat::Wav => "-c:a pcm_s16le -f wav",
        AudioFormat::Flac => "-c:a flac -sample_fmt s16 -f flac",
    };
    let how = format!(
        "-map 0:a:0 -map_metadata -1 -ac {} -ar {rate} {encoder} -fflags +bitexact -flags:a +bitexact",
        arguments.channels
    );
    input.make(&words(&how), Output::File(draft.path()))?;
    let made = Input::open(draft.path(), limits, run)?;
    Ok(Made {
        about,
        rate,
        samples: made
            .film
            .duration
            .map_or(0, |seconds| samples(seconds, rate)),
    })
}

#[expect(clippy::cast_precision_loss, reason = "2^53 samples are millennia")]
fn seconds(samples: u64, rate: u32) -> f64 {
    samples as f64 / f64::from(rate)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a duration above 0, of at most 2^53 samples"
)]
fn samples(seconds: f64, rate: u32) -> u64 {
    (seconds * f64::from(rate)).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: Value) -> Arguments {
        serde_json::from_value(arguments).expect("of the schema")
    }

    fn problem(arguments: Value) -> String {
        let run = Run {
            cancelled: &false.into(),
            report: &|_| {},
        };
        let refused = extract(&parsed(arguments), &run);
        refused.expect_err("refused").to_string()
    }

    #[test]
    fn an_input_alone_asks_for_mono_wav_at_its_own_rate() {
        let request = parsed(json!({"input_uri": "film/The End.mp4"}));
        assert_eq!(
            (request.output_format, request.sample_rate, request.channels),
            (AudioFormat::Wav, None, 1)
        );
    }

    #[test]
    fn other_schemes_and_other_machines_are_refused() {
        assert_eq!(
            problem(json!({"input_uri": "https://a.b/c.mp4"})),
            "invalid argument `input_uri`: \"https://a.b/c.mp4\" has the scheme https; only file: URIs and paths are accepted"
        );
        assert!(
            problem(json!({"input_uri": "file://other/c.mp4"}))
                .contains("names the host `other`; a file URI must be local")
        );
        assert!(problem(json!({"input_uri": ""})).contains("is empty"));
    }

    #[test]
    fn a_percent_sign_in_a_plain_path_is_itself() {
        assert!(problem(json!({"input_uri": "/a%20b.mp4"})).contains("cannot open /a%20b.mp4"));
    }
}
