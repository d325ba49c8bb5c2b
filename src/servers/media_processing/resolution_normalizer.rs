//! The tool `resolution_normalizer` (CAP-PRE-005): a video at a resolution that is asked for, with
//! square pixels, upright, as MP4 (H.264).

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    encoding::{Codec, Container, Picture},
    ffmpeg, film_file,
    request::{self, described},
};
use crate::servers::tool::{Definition, Run, Tool, ToolError};

/// Sides of a picture, in pixels: both even.
const LEAST: u32 = 100;
const MOST: u32 = 8192;

pub(super) struct ResolutionNormalizer;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    input_uri: String,
    target_resolution: String,
    output_path: Option<String>,
}

/// What a picture is scaled to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resolution {
    /// `720p`: this height, and the width that keeps the picture's shape.
    Height(u32),
    /// `1280x720`: exactly this, with black bars where the picture has another shape.
    Box { width: u32, height: u32 },
}

impl Resolution {
    fn parse(text: &str) -> Result<Self, ToolError> {
        let refused = |problem: &str| ToolError::Argument {
            argument: "target_resolution",
            problem: format!("{text:?} {problem}"),
        };
        let side = |digits: &str| {
            let side = digits.parse().ok();
            side.filter(|side: &u32| side.is_multiple_of(2) && (LEAST..=MOST).contains(side))
                .ok_or_else(|| {
                    refused(&format!(
                        "needs even numbers of pixels from {LEAST} to {MOST}"
                    ))
                })
        };
        if let Some(height) = text.strip_suffix('p') {
            return Ok(Self::Height(side(height)?));
        }
        let (width, height) = text
            .split_once('x')
            .ok_or_else(|| refused("is no resolution such as 720p or 1280x720"))?;
        Ok(Self::Box {
            width: side(width)?,
            height: side(height)?,
        })
    }

    /// FFmpeg's filters. `dar` is the shape of the picture as it is meant to be seen.
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

impl Tool for ResolutionNormalizer {
    fn definition(&self) -> Definition {
        Definition {
            name: "resolution_normalizer",
            title: "Normalize a video's resolution",
            description: "Scales a local video into a new MP4 (H.264) of a resolution, with FFmpeg: upright, with square \
                          pixels, keeping the picture's shape. Audio that fits MP4 is copied, other audio becomes AAC. \
                          A damaged input is refused, not repaired. Never overwrites a file.",
            input_schema: json!({
                "type": "object",
                "properties": {
                    "input_uri": described::input(),
                    "target_resolution": {
                        "type": "string",
                        "pattern": "^[1-9][0-9]{2,3}(?:p|x[1-9][0-9]{2,3})$",
                        "description": "720p: this height, and the width that fits. 1280x720: exactly this, with black \
                                        bars where the picture has another shape. Even numbers, from 100 to 8192.",
                    },
                    "output_path": described::output(),
                },
                "required": ["input_uri", "target_resolution"],
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
        let resolution = Resolution::parse(&wire.target_resolution)?;
        let (input, place) =
            request::opened_video(&wire.input_uri, wire.output_path.as_deref(), run)?;
        let picture = Picture::Encoded {
            codec: Codec::H264,
            filter: resolution.filter(),
        };
        film_file::make(&input, Container::Mp4, &picture, &place, run)
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
