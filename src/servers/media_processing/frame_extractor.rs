//! The tool `frame_extractor` (CAP-PRE-003): extracts frames of a video at a fixed interval into a zip file. Frame
//! number n, counted from 0, shows the video at n × interval, in whole microseconds.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    bundle::{MOST_MEMBERS, Member, bundle, files, timed},
    ffmpeg::{Input, Output, PROGRAMS, words},
    request::{input_uri, opened_video, output_path, output_uri},
};
use crate::servers::tool::{self, Effect, Run, Tool, ToolError, World, object, record};

/// The limits of the interval in seconds: a millisecond to a day.
const LEAST: f64 = 0.001;
const MOST: f64 = 86_400.0;
const DEFAULT: f64 = 1.0;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    input_uri: String,
    interval_seconds: Option<f64>,
    #[serde(default)]
    output_format: ImageFormat,
    output_path: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ImageFormat {
    #[default]
    Jpg,
    Png,
}

pub(super) fn frame_extractor() -> Tool {
    Tool {
        name: "frame_extractor",
        title: "Extract frames",
        description: "Extracts frames of a local video at a fixed interval, with FFmpeg, into a new zip of JPEG or \
                      PNG files. The first frame shows the beginning. Each name contains the time, such as \
                      frame_0000002000ms.jpg. The limit is 10000 frames. A damaged input is refused, not repaired. \
                      An existing file is never overwritten.",
        input: object(
            &["input_uri"],
            json!({
                "input_uri": input_uri(),
                "interval_seconds": {
                    "type": "number",
                    "minimum": LEAST,
                    "maximum": MOST,
                    "default": DEFAULT,
                    "description": "The time between two frames.",
                },
                "output_format": { "type": "string", "enum": ["jpg", "png"], "default": "jpg" },
                "output_path": output_path(),
            }),
        ),
        output: record(json!({
            "output_uri": output_uri(),
            "output_format": { "const": "zip" },
            "bytes": { "type": "integer", "minimum": 1, "description": "The size of the zip." },
            "frames": { "type": "integer", "minimum": 1, "description": "The number of frames in the zip." },
            "interval_seconds": { "type": "number" },
        })),
        effect: Effect::Additive,
        world: World::Programs(PROGRAMS),
        call: tool::call(extract),
    }
}

fn extract(arguments: &Arguments, run: &Run<'_>) -> Result<Value, ToolError> {
    let path = arguments.output_path.as_deref();
    let (input, draft) = opened_video(&arguments.input_uri, path, "zip", run)?;
    let interval = arguments.interval_seconds.unwrap_or(DEFAULT);
    let step = ("interval_seconds", interval);
    let (zip, frames) = bundle(&input, step, draft, run, |workshop| {
        let members = pictures(&input, interval, arguments.output_format, workshop)?;
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

/// Writes the frames into `directory`.
fn pictures(
    input: &Input<'_>,
    interval: f64,
    format: ImageFormat,
    directory: &Path,
) -> Result<Vec<Member>, ToolError> {
    // Each output is the last frame at or before a multiple of the interval. The first frame also stands for the
    // time before it.
    let micros = micros(interval);
    let (ending, encoder) = match format {
        // The quality scale is 2 (best) to 31.
        ImageFormat::Jpg => ("jpg", "-c:v mjpeg -q:v 2"),
        ImageFormat::Png => ("png", "-c:v png"),
    };
    // One more than allowed, so that too many are detected.
    let most = MOST_MEMBERS + 1;
    let how = words(&format!(
        "-map 0:V:0 -vf fps=fps=1000000/{micros}:round=up:start_time=0 -fps_mode passthrough {encoder} \
         -fflags +bitexact -flags:v +bitexact -f image2 -start_number 0 -frames:v {most}"
    ));
    let pattern = format!("%06d.{ending}");
    input.make(&how, Output::Series(directory, &pattern))?;
    let files = files(directory)?;
    if files.is_empty() {
        let path = input.path.display();
        return Err(ToolError::Corrupt(format!("{path}: it has no frame")));
    }
    let named = files.into_iter().zip(0_u32..).map(|(file, number)| Member {
        file,
        name: timed("frame", seconds(number, interval), ending),
    });
    Ok(named.collect())
}

/// The interval in microseconds, as FFmpeg receives it.
fn micros(interval: f64) -> f64 {
    (interval * 1e6).round()
}

/// The time of frame `number` in seconds.
fn seconds(number: u32, interval: f64) -> f64 {
    f64::from(number) * micros(interval) / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_picture_is_counted_in_the_microseconds_that_ffmpeg_is_given() {
        for (number, interval, shown) in [(2000, 1.0 / 30.0, 66.666), (3, 0.5, 1.5)] {
            assert!((seconds(number, interval) - shown).abs() < 1e-9);
        }
    }
}
