//! What the arguments of the tools that use FFmpeg have in common.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{
    ffmpeg::{Input, Limits},
    place::Place,
};
use crate::servers::{
    files::local_path,
    tool::{Annotations, Effect, Run, ToolError, World},
};

/// What all these tools do to the world.
pub(super) const ANNOTATIONS: Annotations = Annotations {
    effect: Effect::Additive,
    world: World::Closed,
};

/// The arguments as the tool's type of them; they fit its input schema.
pub(super) fn parsed<T: DeserializeOwned>(arguments: &Map<String, Value>) -> Result<T, ToolError> {
    T::deserialize(Value::Object(arguments.clone())).map_err(|error| ToolError::Argument {
        argument: "arguments",
        problem: error.to_string(),
    })
}

/// The input, opened, and where the output goes.
pub(super) fn opened<'a>(
    input_uri: &str,
    output_path: Option<&str>,
    run: &'a Run<'a>,
) -> Result<(Input<'a>, Place), ToolError> {
    let path = local_path("input_uri", input_uri)?;
    let place = Place::of(output_path, &path)?;
    Ok((Input::open(&path, Limits::default(), run)?, place))
}

/// The same, of an input that has pictures.
pub(super) fn opened_video<'a>(
    input_uri: &str,
    output_path: Option<&str>,
    run: &'a Run<'a>,
) -> Result<(Input<'a>, Place), ToolError> {
    let (input, place) = opened(input_uri, output_path, run)?;
    match input.film.video {
        Some(_) => Ok((input, place)),
        None => Err(lacks("video", input.path())),
    }
}

/// An input without what the tool works on.
pub(super) fn lacks(what: &str, input: &Path) -> ToolError {
    ToolError::Argument {
        argument: "input_uri",
        problem: format!("{} has no {what}", input.display()),
    }
}

/// Schemas of arguments.
pub(super) mod described {
    use serde_json::{Value, json};

    pub(in super::super) fn input() -> Value {
        json!({
            "type": "string",
            "minLength": 1,
            "description": "The media file: a file:// URI, or a path of this machine.",
        })
    }

    pub(in super::super) fn output() -> Value {
        json!({
            "type": "string",
            "minLength": 1,
            "description": "Where to write: a path or file:// URI that does not exist yet. Default: a new file in the \
                            temporary directory.",
        })
    }
}
