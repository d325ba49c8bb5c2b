//! The arguments and results that all tools of this server have.

use serde_json::{Value, json};

use super::{
    draft::Draft,
    ffmpeg::{Input, Limits},
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

/// The input, examined with ffprobe, and the new file, whose name ends with `ending` by default.
pub(super) fn opened<'a>(
    input_uri: &str,
    output_path: Option<&str>,
    ending: &str,
    run: &'a Run<'a>,
) -> Result<(Input<'a>, Draft), ToolError> {
    let path = local_path("input_uri", input_uri)?;
    let draft = Draft::create(output_path, &path, ending)?;
    Ok((Input::open(&path, Limits::default(), run)?, draft))
}

/// The same for an input that must have video.
pub(super) fn opened_video<'a>(
    input_uri: &str,
    output_path: Option<&str>,
    ending: &str,
    run: &'a Run<'a>,
) -> Result<(Input<'a>, Draft), ToolError> {
    let (input, draft) = opened(input_uri, output_path, ending, run)?;
    match input.film.video {
        Some(_) => Ok((input, draft)),
        None => Err(input.lacks("video")),
    }
}
