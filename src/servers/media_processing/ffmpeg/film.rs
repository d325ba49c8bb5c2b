//! The facts about a media file that `ffprobe` finds.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::{
    FFPROBE, FORMATS, Limits, corrupt, opening,
    process::{Ended, Program},
    unclear,
};
use crate::servers::{
    files::open_regular,
    tool::{Run, ToolError},
};

#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct Film {
    /// The duration in seconds, if it is known.
    pub(in super::super) duration: Option<f64>,
    /// The first video track that is not a cover picture.
    pub(in super::super) video: Option<Video>,
    /// FFmpeg's name of the codec of each audio track.
    pub(in super::super) audio: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in super::super) struct Video {
    /// FFmpeg's name of the codec.
    pub(in super::super) codec: String,
    /// Pixels before rotation.
    pub(in super::super) width: u32,
    pub(in super::super) height: u32,
}

impl Film {
    pub(super) fn look(path: &Path, limits: Limits, run: &Run<'_>) -> Result<Self, ToolError> {
        let arguments = opening(
            "-of json -show_entries \
             format=duration:stream=codec_type,codec_name,width,height:stream_disposition=attached_pic",
        );
        let ended = Program {
            name: FFPROBE,
            arguments: &arguments,
            input: open_regular("input_uri", path)?,
            output: None,
            limits,
        }
        .run(run, &mut |_| {})?;
        if ended.succeeded {
            Self::parse(&ended.stdout).map_err(|error| {
                ToolError::Failed(format!("the answer of {FFPROBE} cannot be read: {error}"))
            })
        } else {
            Err(refused(path, &ended))
        }
    }

    fn parse(json: &str) -> Result<Self, serde_json::Error> {
        let probed: Value = serde_json::from_str(json)?;
        let duration = probed.pointer("/format/duration").and_then(Value::as_str);
        let mut film = Self {
            duration: duration
                .and_then(|seconds| seconds.parse().ok())
                .filter(|seconds: &f64| seconds.is_finite() && *seconds > 0.0),
            video: None,
            audio: Vec::new(),
        };
        let streams = probed.get("streams").and_then(Value::as_array);
        for stream in streams.into_iter().flatten() {
            let text = |name: &str| stream.get(name).and_then(Value::as_str);
            let number = |pointer: &str| {
                let number = stream.pointer(pointer).and_then(Value::as_u64);
                number
                    .and_then(|number| number.try_into().ok())
                    .unwrap_or(0)
            };
            let codec = text("codec_name").unwrap_or("unknown").to_owned();
            let is_cover = number("/disposition/attached_pic") > 0;
            match text("codec_type") {
                Some("video") if !is_cover && film.video.is_none() => {
                    film.video = Some(Video {
                        codec,
                        width: number("/width"),
                        height: number("/height"),
                    });
                }
                Some("audio") => film.audio.push(codec),
                _ => {}
            }
        }
        Ok(film)
    }
}

/// The error of a file that ffprobe cannot read.
fn refused(path: &Path, ended: &Ended) -> ToolError {
    if ended.stderr.contains("not on whitelist") {
        let path = path.display();
        let problem =
            format!("{path} has a format that this tool does not read; it reads {FORMATS}");
        return ToolError::argument("input_uri", problem);
    }
    unclear(FFPROBE, path, ended).map_or_else(|error| error, |line| corrupt(path, &line))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cover_picture_is_no_video() {
        let film = Film::parse(
            r#"{"streams": [
                {"codec_type": "video", "codec_name": "mjpeg", "width": 9, "height": 9, "disposition": {"attached_pic": 1}},
                {"codec_type": "audio", "codec_name": "mp3"}
            ], "format": {"duration": "2.5"}}"#,
        )
        .expect("readable");
        assert_eq!((film.video, film.audio), (None, vec!["mp3".to_owned()]));
        assert_eq!(film.duration, Some(2.5));
    }

    #[test]
    fn an_unknown_duration_is_none() {
        for duration in ["N/A", "0.000000", "-1", "inf"] {
            let json = json!({"streams": [], "format": {"duration": duration}}).to_string();
            assert_eq!(Film::parse(&json).expect("readable").duration, None);
        }
    }
}
