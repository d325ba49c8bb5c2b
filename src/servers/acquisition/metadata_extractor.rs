//! `metadata_extractor` (CAP-ACQ-007): what a media file says of itself, without decoding it.

use std::{fs::File, io::Read, path::Path};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{
    format::{HEAD, is_media, sniffed_type},
    tracks::{self, About},
};
use crate::servers::{
    files::{local_path, open_regular},
    tool::{Annotations, Definition, Effect, Run, Tool, ToolError, World},
};

const ARGUMENT: &str = "file_uri";

/// The tool.
pub(super) struct MetadataExtractor;

impl Tool for MetadataExtractor {
    fn definition(&self) -> Definition {
        let number = json!({"type": ["integer", "null"], "minimum": 1});
        let text = json!({"type": ["string", "null"]});
        Definition {
            name: "metadata_extractor",
            title: "Read a file's metadata",
            description: "Read what a file of this machine says of itself: container, duration, tracks and tags of \
                MP4, MOV, MKV, WebM, MP3, FLAC, OGG and WAV; width and height of PNG, JPEG, GIF and WebP. Of other \
                files the size, the time and the MIME type; `container` is null then.",
            input_schema: json!({
                "type": "object", "required": [ARGUMENT], "additionalProperties": false,
                "properties": {
                    "file_uri": {"type": "string", "minLength": 1, "description": "a path or file:// URI"}
                }
            }),
            output_schema: json!({
                "type": "object",
                "required": ["container", "mime", "duration_seconds", "bytes", "modified", "tracks", "tags"],
                "additionalProperties": false,
                "properties": {
                    "container": text,
                    "mime": {"type": ["string", "null"], "description": "by the first bytes, never by the name"},
                    "duration_seconds": {"type": ["number", "null"], "exclusiveMinimum": 0},
                    "bytes": {"type": "integer", "minimum": 0},
                    "modified": {"type": ["string", "null"], "format": "date-time"},
                    "tracks": {"type": "array", "items": {
                        "type": "object", "additionalProperties": false,
                        "required": ["type", "codec", "language", "sample_rate", "channels", "width", "height"],
                        "properties": {
                            "type": {"enum": ["audio", "video", "subtitle", "image", "other"]},
                            "codec": {"type": ["string", "null"], "description": "as FFmpeg names it; null if unknown"},
                            "language": {
                                "type": ["string", "null"],
                                "description": "of Matroska and WebM, as the file writes it"
                            },
                            "sample_rate": number, "channels": number, "width": number,
                            "height": number
                        }
                    }},
                    "tags": {"type": "object", "additionalProperties": {"type": "string"}}
                }
            }),
            annotations: Annotations {
                effect: Effect::ReadOnly,
                world: World::Closed,
            },
        }
    }

    fn call(&self, arguments: &Map<String, Value>, _: &Run<'_>) -> Result<Value, ToolError> {
        let given = arguments.get(ARGUMENT).and_then(Value::as_str);
        let path = local_path(ARGUMENT, given.unwrap_or_default())?;
        let mut file = open_regular(ARGUMENT, &path)?;
        let unreadable = |error: std::io::Error| {
            ToolError::Failed(format!("cannot read {}: {error}", path.display()))
        };
        let status = file.metadata().map_err(unreadable)?;
        let mut head = Vec::with_capacity(HEAD);
        (&mut file)
            .take(HEAD as u64)
            .read_to_end(&mut head)
            .map_err(unreadable)?;
        let mime = sniffed_type(&head);
        let about = about(&path, file, &head)?;
        let modified = status.modified().ok();
        let modified = modified.and_then(|time| Timestamp::try_from(time).ok());
        Ok(json!({
            "container": about.container,
            "mime": mime,
            "duration_seconds": about.duration,
            "bytes": status.len(),
            "modified": modified.map(|time| time.to_string()),
            "tracks": about.tracks.iter().map(tracks::Track::to_json).collect::<Vec<_>>(),
            "tags": about.tags,
        }))
    }
}

fn about(path: &Path, file: File, head: &[u8]) -> Result<About, ToolError> {
    // Only what looks like media is probed: a stray sync word in any other file would make an MP3.
    if is_media(head) {
        return tracks::of_media(path, file);
    }
    match imagesize::image_type(head) {
        Ok(kind) => tracks::of_image(path, kind),
        Err(_) => Ok(About::default()),
    }
}
