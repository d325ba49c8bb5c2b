//! The tool `audio_extractor`: the audio of a media file as WAV or FLAC, as ffmpeg would extract it
//! (`ffmpeg -i IN -vn -ac CHANNELS -ar RATE -c:a pcm_s16le`), sample for sample within rounding.
//!
//! It streams: memory does not grow with the file.

use serde_json::{Map, Value, json};

use super::{
    arguments::Request, convert::Converter, output::Output, place::Written, source::Source,
};
use crate::servers::{
    files::file_uri,
    tool::{Annotations, Definition, Effect, Run, Tool, ToolError, World},
};

/// Seconds of audio between two reports of progress.
const REPORT_EVERY: f64 = 1.0;
/// Samples per channel converted at once: of a long packet at a low rate, each becomes hundreds.
const PIECE: usize = 8192;

pub(super) struct AudioExtractor;

impl Tool for AudioExtractor {
    fn definition(&self) -> Definition {
        Definition {
            name: "audio_extractor",
            title: "Extract audio",
            description: "Extracts the audio of a local media file (MP4, MOV, MKV, WebM, MP3, FLAC, OGG, WAV) into a \
                          new 16-bit WAV or FLAC file. Never overwrites a file.",
            input_schema: input_schema(),
            output_schema: output_schema(),
            annotations: Annotations {
                effect: Effect::Additive,
                world: World::Closed,
            },
        }
    }

    fn call(&self, arguments: &Map<String, Value>, run: &Run<'_>) -> Result<Value, ToolError> {
        let request = Request::parse(arguments)?;
        let mut source = Source::open(&request.input, run)?;
        let signal = source.signal().clone();
        let (rate, channels) = (
            request.rate.unwrap_or(signal.rate),
            request.width.channels(),
        );
        let mut output = Output::create(&request.place, request.format, rate, request.width)?;
        let mut converter = Converter::new(signal.clone(), rate, request.width);
        let total = source.about().duration;
        let (mut heard, mut reported) = (0, 0.0);
        let mut written = 0;
        while let Some(block) = source.next(run)? {
            heard += block.frames() as u64;
            for piece in block.pieces(PIECE) {
                run.check_cancelled()?;
                let samples = converter.push(piece);
                output.write(&samples)?;
                written += samples.len() as u64;
            }
            let done = seconds(heard, signal.rate);
            if done >= reported + REPORT_EVERY {
                reported = done;
                run.progress(done, total.map(|total| total.max(done)), "seconds of audio");
            }
        }
        let samples = converter.finish();
        output.write(&samples)?;
        let samples = (written + samples.len() as u64) / u64::from(channels);
        if samples == 0 {
            return Err(ToolError::Corrupt(
                "its audio is too short to make a single sample".to_owned(),
            ));
        }
        run.check_cancelled()?;
        let Written { path, bytes } = output.finish()?;
        let path = std::path::absolute(&path).unwrap_or(path);
        let about = source.about();
        Ok(json!({
            "output_uri": file_uri(&path),
            "output_format": request.format.name(),
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
}

#[expect(clippy::cast_precision_loss, reason = "2^53 samples are millennia")]
fn seconds(samples: u64, rate: u32) -> f64 {
    samples as f64 / f64::from(rate)
}

fn input_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "input_uri": {
                "type": "string",
                "minLength": 1,
                "description": "The media file: a file:// URI, or a path of this machine.",
            },
            "output_format": {
                "type": "string",
                "enum": ["wav", "flac"],
                "default": "wav",
                "description": "Both hold 16-bit samples; flac is smaller.",
            },
            "sample_rate": {
                "type": "integer",
                "minimum": 8000,
                "maximum": 192_000,
                "description": "Samples per second. Default: those of the source.",
            },
            "channels": {
                "type": "integer",
                "enum": [1, 2],
                "default": 1,
                "description": "1 mixes down to mono, 2 gives stereo.",
            },
            "output_path": {
                "type": "string",
                "minLength": 1,
                "description": "Where to write: a path or file:// URI that does not exist yet. Default: a new file \
                                in the temporary directory.",
            },
        },
        "required": ["input_uri"],
        "additionalProperties": false,
    })
}

fn output_schema() -> Value {
    let count = json!({ "type": "integer", "minimum": 1 });
    json!({
        "type": "object",
        "properties": {
            "output_uri": { "type": "string", "format": "uri", "pattern": "^file:///" },
            "output_format": { "type": "string", "enum": ["wav", "flac"] },
            "sample_rate": count,
            "channels": { "type": "integer", "enum": [1, 2] },
            "duration_seconds": { "type": "number", "exclusiveMinimum": 0 },
            "samples": { "type": "integer", "minimum": 1, "description": "Per channel." },
            "bytes": { "type": "integer", "minimum": 1, "description": "Size of the file written." },
            "source": {
                "type": "object",
                "description": "What the input was.",
                "properties": {
                    "container": { "type": "string" },
                    "codec": { "type": "string" },
                    "sample_rate": count,
                    "channels": count,
                },
                "required": ["container", "codec", "sample_rate", "channels"],
                "additionalProperties": false,
            },
        },
        "required": [
            "output_uri", "output_format", "sample_rate", "channels", "duration_seconds", "samples", "bytes", "source",
        ],
        "additionalProperties": false,
    })
}
