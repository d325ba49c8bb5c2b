//! What `ffprobe` finds in a media file, as far as the tools need it.

use std::{ffi::OsString, path::Path};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    DEMUXERS, FFPROBE, FORMATS, INPUT, Limits, corrupt,
    process::{Ended, Program},
    words::{Cause, cause, is_foreign},
};
use crate::servers::{
    files::open_regular,
    tool::{Run, ToolError},
};

/// A media file.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct Film {
    /// In seconds, where it is known.
    pub(in super::super) duration: Option<f64>,
    /// The first that is no cover picture.
    pub(in super::super) video: Option<Video>,
    /// FFmpeg's name of each audio track's codec.
    pub(in super::super) audio: Vec<String>,
}

/// A video track.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Video {
    /// FFmpeg's name.
    pub(in super::super) codec: String,
    /// Pixels, before any rotation.
    pub(in super::super) width: u32,
    pub(in super::super) height: u32,
}

#[derive(Deserialize)]
struct Probed {
    #[serde(default)]
    streams: Vec<Stream>,
    format: Option<Format>,
}

#[derive(Deserialize)]
struct Format {
    /// A decimal number.
    duration: Option<String>,
}

#[derive(Deserialize)]
struct Stream {
    codec_type: Option<String>,
    codec_name: Option<String>,
    width: Option<u32>,
    height: Option<u32>,
    #[serde(default)]
    disposition: Disposition,
}

#[derive(Deserialize, Default)]
struct Disposition {
    #[serde(default)]
    attached_pic: u8,
}

impl Film {
    /// Asks ffprobe.
    pub(super) fn look(path: &Path, limits: Limits, run: &Run<'_>) -> Result<Self, ToolError> {
        let arguments = [
            "-hide_banner",
            "-v",
            "error",
            "-protocol_whitelist",
            "file",
            "-format_whitelist",
            DEMUXERS,
            "-of",
            "json",
            "-show_entries",
            "format=duration:stream=codec_type,codec_name,width,height:stream_disposition=attached_pic",
            "-i",
            INPUT,
        ]
        .map(OsString::from);
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
        let probed: Probed = serde_json::from_str(json)?;
        let duration = probed.format.and_then(|format| format.duration);
        let (mut video, mut audio) = (None, Vec::new());
        for stream in probed.streams {
            let codec = stream.codec_name.unwrap_or_else(|| "unknown".to_owned());
            match stream.codec_type.as_deref() {
                Some("video") if stream.disposition.attached_pic == 0 && video.is_none() => {
                    video = Some(Video {
                        codec,
                        width: stream.width.unwrap_or_default(),
                        height: stream.height.unwrap_or_default(),
                    });
                }
                Some("audio") => audio.push(codec),
                _ => {}
            }
        }
        Ok(Self {
            duration: duration
                .and_then(|seconds| seconds.parse().ok())
                .filter(|seconds: &f64| seconds.is_finite() && *seconds > 0.0),
            video,
            audio,
        })
    }

    /// The parts of a tool's answer that tell of a film.
    pub(in super::super) fn to_json(&self) -> Value {
        let video = self.video.as_ref().map(
            |video| json!({"codec": video.codec, "width": video.width, "height": video.height}),
        );
        json!({"duration_seconds": self.duration, "video": video, "audio": self.audio})
    }
}

/// Why a file is not read.
fn refused(path: &Path, ended: &Ended) -> ToolError {
    let refused = |problem: String| ToolError::Argument {
        argument: "input_uri",
        problem: format!("{} {problem}", path.display()),
    };
    if is_foreign(&ended.stderr) {
        return refused(format!(
            "is in no format this tool reads; it reads {FORMATS}"
        ));
    }
    match cause(FFPROBE, ended) {
        Cause::Known(error) => error,
        Cause::Input(line) | Cause::Unclear(line) => corrupt(path, &line),
    }
}

#[cfg(test)]
mod tests {
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
