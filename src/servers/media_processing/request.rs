//! Arguments and parts of schemas that the tools of this server share.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{
    ffmpeg::{Input, Limits},
    place::Place,
};
use crate::servers::{
    files::local_path,
    tool::{self, Run, ToolError},
};

pub(super) fn input_uri() -> Value {
    tool::text("The media file: a file:// URI or a path.")
}

pub(super) fn output_path() -> Value {
    tool::text(
        "The new file: a path or file:// URI that does not exist. Default: a new file in the temporary \
         directory.",
    )
}

pub(super) fn output_uri() -> Value {
    json!({ "type": "string", "format": "uri", "pattern": "^file:///" })
}

/// The path of the input, and the place of the output.
pub(super) fn places(
    input_uri: &str,
    output_path: Option<&str>,
) -> Result<(PathBuf, Place), ToolError> {
    let path = local_path("input_uri", input_uri)?;
    let place = Place::of(output_path, &path)?;
    Ok((path, place))
}

/// The input, examined with ffprobe, and the place of the output.
pub(super) fn opened<'a>(
    input_uri: &str,
    output_path: Option<&str>,
    run: &'a Run<'a>,
) -> Result<(Input<'a>, Place), ToolError> {
    let (path, place) = places(input_uri, output_path)?;
    Ok((Input::open(&path, Limits::default(), run)?, place))
}

/// The same for an input that must have video.
pub(super) fn opened_video<'a>(
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
pub(super) fn lacks(what: &str, input: &Path) -> ToolError {
    ToolError::argument("input_uri", format!("{} has no {what}", input.display()))
}
