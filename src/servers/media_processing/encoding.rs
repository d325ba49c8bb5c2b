//! Containers and codecs: what fits what, what is copied, and how the rest is encoded.
//!
//! A track is copied, bit for bit, wherever its codec fits the container and nothing else is asked
//! for. What is encoded is 4:2:0 with 8 bits, which every player shows.

use std::ffi::OsString;

use serde::Deserialize;

use super::ffmpeg::{Film, words};
use crate::servers::tool::ToolError;

/// What a video is put into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Container {
    Mp4,
    Mov,
    Mkv,
    Webm,
}

/// What a video track is encoded with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Codec {
    H264,
    H265,
    Vp8,
    Vp9,
    Av1,
}

/// What becomes of the video track.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Picture {
    Copied,
    Encoded { codec: Codec, filter: String },
}

/// Makes both sides even, as 4:2:0 wants them.
pub(super) const EVEN: &str = "scale=w='max(2,trunc(iw/2)*2)':h='max(2,trunc(ih/2)*2)'";

impl Container {
    pub(super) const NAMES: [&str; 4] = ["mp4", "mov", "mkv", "webm"];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Mp4 => "mp4",
            Self::Mov => "mov",
            Self::Mkv => "mkv",
            Self::Webm => "webm",
        }
    }

    fn muxer(self) -> &'static str {
        match self {
            Self::Mkv => "matroska",
            other => other.name(),
        }
    }

    /// The codecs of video it takes; the first is the one to encode with.
    fn codecs(self) -> &'static [Codec] {
        match self {
            Self::Mp4 => &[Codec::H264, Codec::H265, Codec::Vp9, Codec::Av1],
            Self::Mov => &[Codec::H264, Codec::H265],
            Self::Mkv => &[Codec::H264, Codec::H265, Codec::Vp8, Codec::Vp9, Codec::Av1],
            Self::Webm => &[Codec::Vp9, Codec::Vp8, Codec::Av1],
        }
    }

    /// FFmpeg's names of the audio codecs that are copied into it.
    fn sounds(self) -> &'static [&'static str] {
        match self {
            Self::Mp4 => &["aac", "mp3", "ac3", "eac3", "alac"],
            Self::Mov => &["aac", "mp3", "ac3", "alac", "pcm_s16le"],
            Self::Mkv => &[
                "aac",
                "mp3",
                "ac3",
                "eac3",
                "flac",
                "opus",
                "vorbis",
                "pcm_s16le",
            ],
            Self::Webm => &["opus", "vorbis"],
        }
    }

    /// What becomes of the film's video, with the codec that is asked for or the one that fits.
    pub(super) fn picture(self, film: &Film, asked: Option<Codec>) -> Result<Picture, ToolError> {
        if let Some(codec) = asked.filter(|codec| !self.codecs().contains(codec)) {
            let fit: Vec<_> = self.codecs().iter().map(|codec| codec.name()).collect();
            return Err(ToolError::Argument {
                argument: "target_codec",
                problem: format!(
                    "{} does not fit into {}, which takes {}",
                    codec.name(),
                    self.name(),
                    fit.join(", ")
                ),
            });
        }
        let found = film.video.as_ref().map(|video| video.codec.as_str());
        let fits = |codec: &&Codec| Some(codec.ffprobe_name()) == found;
        let copied = match asked {
            Some(codec) => fits(&&codec),
            None => self.codecs().iter().any(|codec| fits(&codec)),
        };
        let codec = asked.or(self.codecs().first().copied());
        Ok(match codec {
            Some(codec) if !copied => Picture::Encoded {
                codec,
                filter: EVEN.to_owned(),
            },
            _ => Picture::Copied,
        })
    }

    /// ffmpeg's arguments for one file of this kind: the first video and all audio.
    pub(super) fn arguments(self, film: &Film, picture: &Picture) -> Vec<OsString> {
        let mut arguments = self.tracks(film, picture);
        arguments.extend(words(["-fflags", "+bitexact", "-f", self.muxer()]));
        if matches!(self, Self::Mp4 | Self::Mov) {
            arguments.extend(words(["-movflags", "+faststart"]));
        }
        arguments
    }

    /// Which tracks are taken, and what becomes of each.
    pub(super) fn tracks(self, film: &Film, picture: &Picture) -> Vec<OsString> {
        let mut arguments = words(["-map", "0:V:0?", "-map", "0:a?", "-sn", "-dn"]);
        match picture {
            Picture::Copied => arguments.extend(words(["-c:v", "copy"])),
            Picture::Encoded { codec, filter } => {
                arguments.extend(words(["-vf", filter]));
                arguments.extend(words(codec.encoder()));
            }
        }
        let hevc = match picture {
            Picture::Copied => film
                .video
                .as_ref()
                .is_some_and(|video| video.codec == "hevc"),
            Picture::Encoded { codec, .. } => *codec == Codec::H265,
        };
        // The name Apple's players know it by.
        if hevc && matches!(self, Self::Mp4 | Self::Mov) {
            arguments.extend(words(["-tag:v", "hvc1"]));
        }
        for (track, codec) in film.audio.iter().enumerate() {
            let how = if self.sounds().contains(&codec.as_str()) {
                "copy"
            } else if self == Self::Webm {
                "libopus"
            } else {
                "aac"
            };
            arguments.extend(words([format!("-c:a:{track}"), how.to_owned()]));
            if how == "libopus" {
                // The layouts Opus knows: it refuses the others instead of mixing them.
                let layouts = "aformat=channel_layouts=7.1|5.1|stereo|mono".to_owned();
                arguments.extend(words([format!("-filter:a:{track}"), layouts]));
            }
        }
        arguments
    }
}

impl Codec {
    pub(super) const NAMES: [&str; 5] = ["h264", "h265", "vp8", "vp9", "av1"];

    fn name(self) -> &'static str {
        match self {
            Self::H264 => "h264",
            Self::H265 => "h265",
            Self::Vp8 => "vp8",
            Self::Vp9 => "vp9",
            Self::Av1 => "av1",
        }
    }

    /// FFmpeg's name of what it makes.
    fn ffprobe_name(self) -> &'static str {
        match self {
            Self::H265 => "hevc",
            other => other.name(),
        }
    }

    /// The encoder, at a quality that is hard to tell from the source.
    fn encoder(self) -> &'static [&'static str] {
        match self {
            Self::H264 => &["-c:v", "libx264", "-crf", "20", "-pix_fmt", "yuv420p"],
            Self::H265 => &[
                "-c:v",
                "libx265",
                "-crf",
                "24",
                "-x265-params",
                "log-level=error",
                "-pix_fmt",
                "yuv420p",
            ],
            Self::Vp8 => &[
                "-c:v",
                "libvpx",
                "-crf",
                "10",
                "-b:v",
                "4M",
                "-cpu-used",
                "2",
                "-pix_fmt",
                "yuv420p",
            ],
            Self::Vp9 => &[
                "-c:v",
                "libvpx-vp9",
                "-crf",
                "30",
                "-b:v",
                "0",
                "-cpu-used",
                "3",
                "-row-mt",
                "1",
                "-pix_fmt",
                "yuv420p",
            ],
            Self::Av1 => &[
                "-c:v",
                "libsvtav1",
                "-crf",
                "32",
                "-preset",
                "8",
                "-pix_fmt",
                "yuv420p",
            ],
        }
    }
}
