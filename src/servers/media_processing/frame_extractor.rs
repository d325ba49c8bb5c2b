//! The tool `frame_extractor` (CAP-PRE-003): still pictures of a video at a fixed interval, as one zip.
//!
//! Picture number n, from 0, is what is to be seen at n × interval.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    bundle::{Member, bundle, timed},
    ffmpeg::{self, Input, Output, words},
    request::{self, described},
    series,
};
use crate::servers::tool::{Definition, Run, Tool, ToolError};

/// Seconds between two pictures: a millisecond to a day.
const LEAST: f64 = 0.001;
const MOST: f64 = 86_400.0;

pub(super) struct FrameExtractor;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    input_uri: String,
    #[serde(default = "second")]
    interval_seconds: f64,
    #[serde(default)]
    output_format: Picture,
    output_path: Option<String>,
}

fn second() -> f64 {
    1.0
}

/// What a picture is written as.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Picture {
    #[default]
    Jpg,
    Png,
}

impl Picture {
    const NAMES: [&str; 2] = ["jpg", "png"];

    fn name(self) -> &'static str {
        match self {
            Self::Jpg => "jpg",
            Self::Png => "png",
        }
    }

    fn encoder(self) -> &'static [&'static str] {
        match self {
            // 2 to 31; at 2 the eye sees no difference.
            Self::Jpg => &["-c:v", "mjpeg", "-q:v", "2"],
            Self::Png => &["-c:v", "png"],
        }
    }
}

impl Tool for FrameExtractor {
    fn definition(&self) -> Definition {
        Definition {
            name: "frame_extractor",
            title: "Extract frames",
            description: "Takes still pictures out of a local video at a fixed interval, with FFmpeg, into a new zip of \
                          JPEG or PNG files. The first shows the beginning; each is named after its time, such as \
                          frame_0000002000ms.jpg. At most 10000 pictures. A damaged input is refused, not repaired. \
                          Never overwrites a file.",
            input_schema: json!({
                "type": "object",
                "properties": {
                    "input_uri": described::input(),
                    "interval_seconds": {
                        "type": "number",
                        "minimum": LEAST,
                        "maximum": MOST,
                        "default": 1.0,
                        "description": "Time between two pictures.",
                    },
                    "output_format": { "type": "string", "enum": Picture::NAMES, "default": "jpg" },
                    "output_path": described::output(),
                },
                "required": ["input_uri"],
                "additionalProperties": false,
            }),
            output_schema: json!({
                "type": "object",
                "properties": {
                    "output_uri": { "type": "string", "format": "uri", "pattern": "^file:///" },
                    "output_format": { "const": "zip" },
                    "bytes": { "type": "integer", "minimum": 1, "description": "Size of the zip." },
                    "frames": { "type": "integer", "minimum": 1, "description": "Pictures in it." },
                    "interval_seconds": { "type": "number" },
                },
                "required": ["output_uri", "output_format", "bytes", "frames", "interval_seconds"],
                "additionalProperties": false,
            }),
            annotations: request::ANNOTATIONS,
        }
    }

    fn needs(&self) -> &'static [&'static str] {
        ffmpeg::PROGRAMS
    }

    fn call(&self, arguments: &Map<String, Value>, run: &Run<'_>) -> Result<Value, ToolError> {
        let wire: Wire = request::parsed(arguments)?;
        let (input, place) =
            request::opened_video(&wire.input_uri, wire.output_path.as_deref(), run)?;
        let interval = wire.interval_seconds;
        series::bounded("interval_seconds", interval, &input.film)?;
        let (zip, frames) = bundle(&place, run, |workshop| {
            let members = pictures(&input, interval, wire.output_format, workshop)?;
            let frames = members.len();
            Ok((members, frames))
        })?;
        Ok(json!({
            "output_uri": zip.uri,
            "output_format": "zip",
            "bytes": zip.bytes,
            "frames": frames,
            "interval_seconds": interval,
        }))
    }
}

/// Takes the pictures into `directory`.
fn pictures(
    input: &Input<'_>,
    interval: f64,
    format: Picture,
    directory: &Path,
) -> Result<Vec<Member>, ToolError> {
    // The last picture at or before each multiple of the interval; the first one stands for the
    // time before it too.
    let micros = (interval * 1e6).round();
    let filter = format!("fps=fps=1000000/{micros}:round=up:start_time=0");
    let mut how = words(["-map", "0:V:0", "-vf", &filter, "-fps_mode", "passthrough"]);
    how.extend(words(format.encoder()));
    how.extend(words(["-fflags", "+bitexact", "-flags:v", "+bitexact"]));
    how.extend(words(["-f", "image2", "-start_number", "0"]));
    // One more than may be, to tell that there are too many.
    how.extend(words([
        "-frames:v".to_owned(),
        (series::MOST + 1).to_string(),
    ]));
    let ending = format.name();
    let pattern = format!("%06d.{ending}");
    input.make(&how, Output::Series(directory, &pattern))?;
    let files = series::files(directory)?;
    series::counted("interval_seconds", files.len())?;
    if files.is_empty() {
        let path = input.path().display();
        return Err(ToolError::Corrupt(format!("{path}: it has no picture")));
    }
    let named = files.into_iter().zip(0_u32..).map(|(file, number)| Member {
        file,
        name: timed("frame", f64::from(number) * interval, ending),
    });
    Ok(named.collect())
}
