//! The tools that make one video file: `format_converter` (CAP-PRE-001) changes the container and, if necessary or
//! requested, the codec. `resolution_normalizer` (CAP-PRE-005) scales a video to MP4 (H.264), upright and with
//! square pixels.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    draft::{Draft, Written},
    encoding::{Picture, VideoCodec, VideoContainer},
    ffmpeg::{Input, Limits, Output, PROGRAMS},
    request::{input_uri, opened, opened_video, output_path, output_uri},
};
use crate::servers::tool::{self, Effect, Run, Tool, ToolError, World, object, record};

/// The limits of width and height, in pixels.
const LEAST: u32 = 100;
const MOST: u32 = 8192;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Conversion {
    input_uri: String,
    target_format: VideoContainer,
    target_codec: Option<VideoCodec>,
    output_path: Option<String>,
}

pub(super) fn format_converter() -> Tool {
    Tool {
        name: "format_converter",
        title: "Convert a video",
        description: "Converts a local media file into a new MP4, MOV, MKV or WebM file, with FFmpeg: its first \
                      video track and all audio tracks. A track with a suitable codec is copied unchanged; the others \
                      are encoded. Subtitles are left out. A damaged input is refused, not repaired. An existing \
                      file is never overwritten.",
        input: object(
            &["input_uri", "target_format"],
            json!({
                "input_uri": input_uri(),
                "target_format": { "type": "string", "enum": VideoContainer::NAMES },
                "target_codec": {
                    "type": "string",
                    "enum": VideoCodec::NAMES,
                    "description": "The codec of the video. Default: the codec of the input, if the format supports it; otherwise h264, or vp9 in webm.",
                },
                "output_path": output_path(),
            }),
        ),
        output: output_schema(),
        effect: Effect::Additive,
        world: World::Programs(PROGRAMS),
        call: tool::call(convert),
    }
}

fn convert(order: &Conversion, run: &Run<'_>) -> Result<Value, ToolError> {
    let (container, path) = (order.target_format, order.output_path.as_deref());
    let (input, draft) = opened(&order.input_uri, path, container.name(), run)?;
    if input.film.video.is_none() && input.film.audio.is_empty() {
        return Err(input.lacks("video or audio"));
    }
    let picture = container.picture(&input.film, order.target_codec)?;
    make(&input, container, &picture, draft, run)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scaling {
    input_uri: String,
    target_resolution: String,
    output_path: Option<String>,
}

pub(super) fn resolution_normalizer() -> Tool {
    Tool {
        name: "resolution_normalizer",
        title: "Normalize a video's resolution",
        description: "Scales a local video to a resolution, into a new MP4 (H.264) file, with FFmpeg. The video is upright, has \
                      square pixels and keeps its aspect ratio. Audio that MP4 supports is copied, other audio \
                      becomes AAC. A damaged input is refused, not repaired. An existing file is never overwritten.",
        input: object(
            &["input_uri", "target_resolution"],
            json!({
                "input_uri": input_uri(),
                "target_resolution": {
                    "type": "string",
                    "pattern": "^[1-9][0-9]{2,3}(?:p|x[1-9][0-9]{2,3})$",
                    "description": "720p: this height, and the width that keeps the aspect ratio. 1280x720: exactly \
                                    this size, with black bars if the aspect ratio differs. The numbers must be \
                                    even, from 100 to 8192.",
                },
                "output_path": output_path(),
            }),
        ),
        output: output_schema(),
        effect: Effect::Additive,
        world: World::Programs(PROGRAMS),
        call: tool::call(scale),
    }
}

fn scale(order: &Scaling, run: &Run<'_>) -> Result<Value, ToolError> {
    let picture = Picture::Encoded {
        codec: VideoCodec::H264,
        filter: Resolution::parse(&order.target_resolution)?.filter(),
    };
    let path = order.output_path.as_deref();
    let (input, draft) = opened_video(&order.input_uri, path, "mp4", run)?;
    make(&input, VideoContainer::Mp4, &picture, draft, run)
}

/// Makes the file, examines it, and moves it to its place.
fn make(
    input: &Input<'_>,
    container: VideoContainer,
    picture: &Picture,
    draft: Draft,
    run: &Run<'_>,
) -> Result<Value, ToolError> {
    let arguments = container.arguments(&input.film, picture);
    input.make(&arguments, Output::File(draft.path()))?;
    let made = Input::open(draft.path(), Limits::default(), run).map_err(|error| {
        ToolError::Failed(format!("the output of ffmpeg cannot be read: {error}"))
    })?;
    let film = made.film;
    if film.video.is_none() && film.audio.is_empty() {
        let problem = "its edit list plays nothing, or it has no packets";
        return Err(ToolError::Failed(format!(
            "{}: {problem}",
            input.path.display()
        )));
    }
    let Written { uri, bytes } = draft.publish()?;
    Ok(json!({
        "output_uri": uri,
        "output_format": container.name(),
        "bytes": bytes,
        "duration_seconds": film.duration,
        "video": film.video,
        "audio": film.audio.into_iter().map(|sound| sound.codec).collect::<Vec<_>>(),
    }))
}

fn output_schema() -> Value {
    record(json!({
        "output_uri": output_uri(),
        "output_format": { "type": "string", "enum": VideoContainer::NAMES },
        "bytes": { "type": "integer", "minimum": 1, "description": "The size of the new file." },
        "duration_seconds": { "type": ["number", "null"] },
        "video": {
            "type": ["object", "null"],
            "properties": {
                "codec": { "type": "string", "description": "FFmpeg's name of the codec." },
                "width": { "type": "integer" },
                "height": { "type": "integer" },
            },
            "required": ["codec", "width", "height"],
            "additionalProperties": false,
        },
        "audio": { "type": "array", "items": { "type": "string", "description": "FFmpeg's name of a track's codec." } },
    }))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resolution {
    /// `720p`: this height. The width keeps the aspect ratio.
    Height(u32),
    /// `1280x720`: exactly this size, with black bars if the aspect ratio differs.
    Box { width: u32, height: u32 },
}

impl Resolution {
    fn parse(text: &str) -> Result<Self, ToolError> {
        let refused =
            |problem: &str| ToolError::argument("target_resolution", format!("{text:?} {problem}"));
        let side = |digits: &str| {
            let side = digits.parse().ok();
            let side = side.filter(|side: &u32| side.is_multiple_of(2));
            side.filter(|side| (LEAST..=MOST).contains(side))
                .ok_or_else(|| {
                    refused(&format!(
                        "requires even numbers of pixels from {LEAST} to {MOST}"
                    ))
                })
        };
        if let Some(height) = text.strip_suffix('p') {
            return Ok(Self::Height(side(height)?));
        }
        let (width, height) = text
            .split_once('x')
            .ok_or_else(|| refused("is not a resolution such as 720p or 1280x720"))?;
        Ok(Self::Box {
            width: side(width)?,
            height: side(height)?,
        })
    }

    /// The filters of FFmpeg. `dar` is the display aspect ratio.
    fn filter(self) -> String {
        match self {
            Self::Height(height) => {
                format!("scale=w='max(2,round({height}*dar/2)*2)':h={height},setsar=1")
            }
            Self::Box { width, height } => format!(
                "scale=w='max(2,min({width},round({height}*dar/2)*2))':h='max(2,min({height},round({width}/dar/2)*2))',\
                 pad=w={width}:h={height}:x='(ow-iw)/2':y='(oh-ih)/2',setsar=1"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_height_or_a_box_is_a_resolution() {
        let parsed = |text| Resolution::parse(text).expect("valid");
        assert_eq!(parsed("720p"), Resolution::Height(720));
        assert_eq!(
            parsed("1280x720"),
            Resolution::Box {
                width: 1280,
                height: 720
            }
        );
    }

    #[test]
    fn odd_and_boundless_sides_are_refused() {
        for text in [
            "721p", "1281x720", "9998p", "98p", "720", "hd", "x", "-720p",
        ] {
            let refused = Resolution::parse(text).expect_err("refused").to_string();
            assert!(refused.contains("`target_resolution`"), "{refused}");
        }
    }
}
