//! The tool `format_converter` (CAP-PRE-001): a video in another container, with another codec where
//! one is asked for or the container cannot hold the one there is.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    encoding::{Codec, Container},
    ffmpeg, film_file,
    request::{self, described},
};
use crate::servers::tool::{Definition, Run, Tool, ToolError};

pub(super) struct FormatConverter;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    input_uri: String,
    target_format: Container,
    target_codec: Option<Codec>,
    output_path: Option<String>,
}

impl Tool for FormatConverter {
    fn definition(&self) -> Definition {
        Definition {
            name: "format_converter",
            title: "Convert a video",
            description: "Converts a local media file into a new MP4, MOV, MKV or WebM file, with FFmpeg: its first \
                          video track and all audio tracks. A track whose codec fits is copied as it is; the others \
                          are encoded. Subtitles are left out. A damaged input is refused, not repaired. Never \
                          overwrites a file.",
            input_schema: json!({
                "type": "object",
                "properties": {
                    "input_uri": described::input(),
                    "target_format": { "type": "string", "enum": Container::NAMES },
                    "target_codec": {
                        "type": "string",
                        "enum": Codec::NAMES,
                        "description": "Of the video. Default: the input's own, where the format takes it; else h264, or vp9 in webm.",
                    },
                    "output_path": described::output(),
                },
                "required": ["input_uri", "target_format"],
                "additionalProperties": false,
            }),
            output_schema: film_file::output_schema(),
            annotations: request::ANNOTATIONS,
        }
    }

    fn needs(&self) -> &'static [&'static str] {
        ffmpeg::PROGRAMS
    }

    fn call(&self, arguments: &Map<String, Value>, run: &Run<'_>) -> Result<Value, ToolError> {
        let wire: Wire = request::parsed(arguments)?;
        let (input, place) = request::opened(&wire.input_uri, wire.output_path.as_deref(), run)?;
        if input.film.video.is_none() && input.film.audio.is_empty() {
            return Err(request::lacks("video or audio", input.path()));
        }
        let picture = wire.target_format.picture(&input.film, wire.target_codec)?;
        film_file::make(&input, wire.target_format, &picture, &place, run)
    }
}
