//! The tool `audio_extractor` (CAP-PRE-002): writes the audio of a media file as WAV or FLAC, as ffmpeg does
//! (`ffmpeg -i IN -vn -ac CHANNELS -ar RATE -c:a pcm_s16le`). The samples agree within rounding at the rate of the
//! source, and within 60 dB and a millisecond at another rate. The memory does not depend on the length of the
//! file.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    convert::Converter,
    input_uri,
    output::{Format, Output},
    output_path, output_uri,
    place::Written,
    places,
    signal::Width,
    source::Source,
};
use crate::servers::tool::{self, Effect, Run, Tool, ToolError, World, object, record};

/// Seconds of audio between two reports of progress.
const REPORT_EVERY: f64 = 1.0;
/// Samples per channel that are converted at once. At a low rate, resampling can multiply their number by
/// hundreds.
const PIECE: usize = 8192;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    input_uri: String,
    #[serde(default)]
    output_format: Format,
    sample_rate: Option<u32>,
    #[serde(default)]
    channels: Width,
    output_path: Option<String>,
}

pub(super) fn audio_extractor() -> Tool {
    let count = json!({ "type": "integer", "minimum": 1 });
    Tool {
        name: "audio_extractor",
        title: "Extract audio",
        description: format!(
            "Extracts the audio of a local media file ({}) into a new 16-bit WAV or FLAC file. An existing file is \
             never overwritten.",
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
                    "description": "Both contain 16-bit samples; flac is smaller.",
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
    let (format, width) = (arguments.output_format, arguments.channels);
    let (input, place) = places(&arguments.input_uri, arguments.output_path.as_deref())?;
    let (mut source, signal, first) = Source::open(&input, run)?;
    let rate = arguments.sample_rate.unwrap_or(signal.rate);
    let channels = width.channels();
    let mut output = Output::create(&place, format, rate, width)?;
    let mut converter = Converter::new(&signal, rate, width)?;
    let total = source.about().duration;
    let (mut heard, mut reported) = (0, 0.0);
    let mut written = 0;
    let mut next = Some(first);
    while let Some(block) = next {
        heard += block.frames() as u64;
        for piece in block.pieces(PIECE) {
            run.check_cancelled()?;
            let samples = converter.push(piece)?;
            output.write(&samples)?;
            written += samples.len() as u64;
        }
        let done = seconds(heard, signal.rate);
        if done >= reported + REPORT_EVERY {
            reported = done;
            run.progress(done, total.map(|total| total.max(done)), "seconds of audio");
        }
        next = source.next(run)?;
    }
    let samples = converter.finish()?;
    output.write(&samples)?;
    let samples = (written + samples.len() as u64) / u64::from(channels);
    if samples == 0 {
        return Err(ToolError::Corrupt(
            "its audio is too short for a single sample".to_owned(),
        ));
    }
    run.check_cancelled()?;
    let Written { uri, bytes } = output.finish()?;
    let about = source.about();
    Ok(json!({
        "output_uri": uri,
        "output_format": format,
        "sample_rate": rate,
        "channels": channels,
        "duration_seconds": seconds(samples, rate),
        "samples": samples,
        "bytes": bytes,
        "source": {
            "container": about.container,
            "codec": about.codec,
            "sample_rate": signal.rate,
            "channels": signal.layout.channels(),
        },
    }))
}

#[expect(clippy::cast_precision_loss, reason = "2^53 samples are millennia")]
fn seconds(samples: u64, rate: u32) -> f64 {
    samples as f64 / f64::from(rate)
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use serde_json::json;

    use super::*;
    use crate::servers::{files::temporary_directory, media_processing::place::Place};

    fn parsed(arguments: &Value) -> Result<(Arguments, PathBuf, Place), ToolError> {
        let arguments: Arguments =
            serde_json::from_value(arguments.clone()).expect("of the schema");
        let (input, place) = places(&arguments.input_uri, arguments.output_path.as_deref())?;
        Ok((arguments, input, place))
    }

    fn problem(arguments: &Value) -> String {
        parsed(arguments)
            .map(drop)
            .expect_err("refused")
            .to_string()
    }

    #[test]
    fn an_input_alone_asks_for_mono_wav_at_its_own_rate_in_the_temporary_directory() {
        let (request, input, place) =
            parsed(&json!({"input_uri": "film/The End.mp4"})).expect("valid");
        assert_eq!(input, Path::new("film/The End.mp4"));
        assert_eq!(
            (request.output_format, request.sample_rate, request.channels),
            (Format::Wav, None, Width::Mono)
        );
        assert_eq!(
            place,
            Place::In {
                directory: temporary_directory(),
                stem: "The End".to_owned()
            }
        );
    }

    #[test]
    fn everything_can_be_asked_for() {
        let (request, input, place) = parsed(
            &json!({"input_uri": "file:///a%20b.mp4", "output_format": "flac", "sample_rate": 16000,
            "channels": 2, "output_path": "file://localhost/c.flac"}),
        )
        .expect("valid");
        assert_eq!(input, Path::new("/a b.mp4"));
        assert_eq!(
            (request.output_format, request.sample_rate, request.channels),
            (Format::Flac, Some(16000), Width::Stereo)
        );
        assert_eq!(place, Place::At("/c.flac".into()));
    }

    #[test]
    fn a_percent_sign_in_a_plain_path_is_itself() {
        assert_eq!(
            parsed(&json!({"input_uri": "/a%20b.mp4"}))
                .expect("valid")
                .1,
            Path::new("/a%20b.mp4")
        );
    }

    #[test]
    fn there_is_mono_and_stereo() {
        let arguments = json!({"input_uri": "/a", "channels": 3});
        let error = serde_json::from_value::<Arguments>(arguments).expect_err("refused");
        assert_eq!(error.to_string(), "3 channels are not 1 or 2");
    }

    #[test]
    fn other_schemes_and_other_machines_are_refused() {
        assert_eq!(
            problem(&json!({"input_uri": "https://a.b/c.mp4"})),
            "invalid argument `input_uri`: \"https://a.b/c.mp4\" has the scheme https; only file: URIs and paths are accepted"
        );
        assert!(
            problem(&json!({"input_uri": "file://other/c.mp4"}))
                .contains("names the host `other`; a file URI must be local")
        );
        assert!(problem(&json!({"input_uri": ""})).contains("is empty"));
    }
}
