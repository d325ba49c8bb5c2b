//! The facts about a media file that `ffprobe` finds.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::{
    process::{FFPROBE, Limits, Program, opening},
    reason::refused,
};
use crate::servers::tool::{Run, ToolError};

#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct Film {
    /// FFmpeg's name of the container, or `mp4`.
    pub(in super::super) container: String,
    /// The duration in seconds, if it is known.
    pub(in super::super) duration: Option<f64>,
    /// The first video track that is not a cover picture.
    pub(in super::super) video: Option<Video>,
    pub(in super::super) audio: Vec<Sound>,
    /// Whether the video is shown turned.
    pub(in super::super) is_turned: bool,
    /// Whether an edit list hides a part of a track.
    pub(in super::super) is_cut: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in super::super) struct Video {
    /// FFmpeg's name of the codec.
    pub(in super::super) codec: String,
    /// Pixels before rotation.
    pub(in super::super) width: u32,
    pub(in super::super) height: u32,
}

/// An audio track.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Sound {
    /// FFmpeg's name of the codec.
    pub(in super::super) codec: String,
    pub(in super::super) rate: u32,
    pub(in super::super) channels: u32,
}

impl Film {
    pub(super) fn look(path: &Path, limits: Limits, run: &Run<'_>) -> Result<Self, ToolError> {
        let arguments = opening(
            "-of json -read_intervals %+#64 -show_entries \
             packet=stream_index,flags:format=format_name,duration:\
             stream=index,codec_type,codec_name,width,height,sample_rate,channels:\
             stream_disposition=attached_pic:stream_side_data=rotation",
        );
        let program = Program {
            name: FFPROBE,
            arguments: &arguments,
            input: path,
            output: None,
            limits,
        };
        let ended = program.run(run, &mut |_| {})?;
        if !ended.succeeded {
            return Err(refused(FFPROBE, path, &ended));
        }
        let probed = serde_json::from_str(&ended.stdout).map_err(|error| {
            ToolError::Failed(format!("the answer of {FFPROBE} cannot be read: {error}"))
        })?;
        Ok(Self::of(&probed))
    }

    /// The facts in an answer of ffprobe. What is missing there is empty, 0 or `None`.
    pub(super) fn of(probed: &Value) -> Self {
        let of = |kind: &'static str| {
            let streams = list(&probed["streams"]);
            streams.filter(move |stream| stream["codec_type"] == kind)
        };
        // The first packets of audio may be hidden because they only prepare the decoder: up to 4 of Opus, 3 of AAC.
        let is_hidden = |stream: &Value, number: usize| {
            let packets = list(&probed["packets"]);
            let mut packets = packets.filter(|packet| packet["stream_index"] == stream["index"]);
            let flags = packets.nth(number).map(|packet| text(&packet["flags"]));
            flags.is_some_and(|flags| flags.contains('D'))
        };
        let video = of("video").find(|stream| number(at(stream, "/disposition/attached_pic")) == 0);
        let is_turned = |video: &Value| {
            let mut beside = list(&video["side_data_list"]);
            beside.any(|data| data["rotation"].as_f64().is_some_and(|by| by != 0.0))
        };
        let mut names = text(at(probed, "/format/format_name")).split(',');
        let first = names.next().unwrap_or_default();
        let duration = text(at(probed, "/format/duration")).parse().ok();
        Self {
            container: names
                .find(|name| *name == "mp4")
                .unwrap_or(first)
                .to_owned(),
            duration: duration.filter(|seconds: &f64| seconds.is_finite() && *seconds > 0.0),
            is_turned: video.is_some_and(is_turned),
            is_cut: video.is_some_and(|video| is_hidden(video, 0))
                || of("audio").any(|audio| is_hidden(audio, 4)),
            video: video.map(|video| Video {
                codec: codec(video),
                width: number(&video["width"]),
                height: number(&video["height"]),
            }),
            audio: of("audio")
                .map(|audio| Sound {
                    codec: codec(audio),
                    rate: text(&audio["sample_rate"]).parse().unwrap_or(0),
                    channels: number(&audio["channels"]),
                })
                .collect(),
        }
    }
}

fn at<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn number(value: &Value) -> u32 {
    let number = value.as_u64().and_then(|number| number.try_into().ok());
    number.unwrap_or(0)
}

fn codec(stream: &Value) -> String {
    stream["codec_name"]
        .as_str()
        .unwrap_or("unknown")
        .to_owned()
}
