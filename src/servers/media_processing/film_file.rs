//! One new video file out of another: what `format_converter` and `resolution_normalizer` share.

use serde_json::{Value, json};

use super::{
    encoding::{Container, Picture},
    ffmpeg::{Input, Limits, Output},
    place::{Draft, Place, Written},
};
use crate::servers::{
    files::{absolute, file_uri},
    tool::{Run, ToolError},
};

/// Makes the file, looks into it, and moves it to its place. Answers with what it is.
pub(super) fn make(
    input: &Input<'_>,
    container: Container,
    picture: &Picture,
    place: &Place,
    run: &Run<'_>,
) -> Result<Value, ToolError> {
    let draft = Draft::create(place, container.name())?;
    let arguments = container.arguments(&input.film, picture);
    input.make(&arguments, Output::File(draft.path()))?;
    let made = Input::open(draft.path(), Limits::default(), run)
        .map_err(|error| ToolError::Failed(format!("what ffmpeg made cannot be read: {error}")))?;
    let Written { path, bytes } = draft.publish()?;
    let mut answer = json!({
        "output_uri": file_uri(&absolute("output_path", &path)?),
        "output_format": container.name(),
        "bytes": bytes,
    });
    if let (Some(answer), Value::Object(film)) = (answer.as_object_mut(), made.film.to_json()) {
        answer.extend(film);
    }
    Ok(answer)
}

/// The schema of that answer.
pub(super) fn output_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "output_uri": { "type": "string", "format": "uri", "pattern": "^file:///" },
            "output_format": { "type": "string", "enum": Container::NAMES },
            "bytes": { "type": "integer", "minimum": 1, "description": "Size of the file written." },
            "duration_seconds": { "type": ["number", "null"] },
            "video": {
                "type": ["object", "null"],
                "properties": {
                    "codec": { "type": "string", "description": "FFmpeg's name." },
                    "width": { "type": "integer" },
                    "height": { "type": "integer" },
                },
                "required": ["codec", "width", "height"],
                "additionalProperties": false,
            },
            "audio": { "type": "array", "items": { "type": "string", "description": "FFmpeg's name of a track's codec." } },
        },
        "required": ["output_uri", "output_format", "bytes", "duration_seconds", "video", "audio"],
        "additionalProperties": false,
    })
}
