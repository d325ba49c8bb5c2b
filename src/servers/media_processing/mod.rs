//! The built-in server `media-processing`: extracts audio without other programs, and processes video with FFmpeg.
//!
//! Audio passes through `source` (file → packets → `decode` → the window of `signal`) → `convert` (`resample`)
//! → `output`. Video passes through [`opened`] → `ffmpeg` (with the rules of `encoding`) → `film_file` or `bundle`.
//! `place` writes the files.

mod audio_extractor;
mod bundle;
mod container;
mod convert;
mod decode;
mod encoding;
mod ffmpeg;
mod film_file;
mod frame_extractor;
mod output;
mod place;
mod resample;
mod signal;
mod source;
mod video_segmenter;

use std::path::{Path, PathBuf};

use ffmpeg::{Input, Limits};
use place::Place;
use serde_json::{Value, json};

use super::{
    files::local_path,
    tool::{self, Run, Tool, ToolError},
};

pub(super) fn tools() -> Vec<Tool> {
    vec![
        audio_extractor::audio_extractor(),
        film_file::format_converter(),
        frame_extractor::frame_extractor(),
        video_segmenter::video_segmenter(),
        film_file::resolution_normalizer(),
    ]
}

#[cfg(test)]
mod tests;

fn input_uri() -> Value {
    tool::text("The media file: a file:// URI or a path.")
}

fn output_path() -> Value {
    tool::text(
        "The new file: a path or file:// URI that does not exist. Default: a new file in the temporary \
         directory.",
    )
}

fn output_uri() -> Value {
    json!({ "type": "string", "format": "uri", "pattern": "^file:///" })
}

/// The path of the input, and the place of the output.
fn places(input_uri: &str, output_path: Option<&str>) -> Result<(PathBuf, Place), ToolError> {
    let path = local_path("input_uri", input_uri)?;
    let place = Place::of(output_path, &path)?;
    Ok((path, place))
}

/// The input, examined with ffprobe, and the place of the output.
fn opened<'a>(
    input_uri: &str,
    output_path: Option<&str>,
    run: &'a Run<'a>,
) -> Result<(Input<'a>, Place), ToolError> {
    let (path, place) = places(input_uri, output_path)?;
    Ok((Input::open(&path, Limits::default(), run)?, place))
}

/// The same for an input that must have video.
fn opened_video<'a>(
    input_uri: &str,
    output_path: Option<&str>,
    run: &'a Run<'a>,
) -> Result<(Input<'a>, Place), ToolError> {
    let (input, place) = opened(input_uri, output_path, run)?;
    match input.film.video {
        Some(_) => Ok((input, place)),
        None => Err(lacks("video", &input.path)),
    }
}

/// The error of an input without the required tracks.
fn lacks(what: &str, input: &Path) -> ToolError {
    ToolError::argument("input_uri", format!("{} has no {what}", input.display()))
}
