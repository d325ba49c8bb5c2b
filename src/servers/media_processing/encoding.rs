//! The rules for containers and codecs: which codecs a container supports, which tracks are copied, and how the
//! others are encoded.
//!
//! A track is copied if the container supports its codec and no other codec is required. FFmpeg copies also what an edit
//! list hides, and does not copy a rotation to Matroska and `WebM`, so such films are encoded. Video is encoded as 4:2:0
//! with 8 bits, which every player supports.

use std::ffi::OsString;

use serde::Deserialize;

use super::ffmpeg::{Film, Sound, words};
use crate::servers::tool::ToolError;

/// The container of an output video.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum VideoContainer {
    Mp4,
    Mov,
    Mkv,
    Webm,
}

/// The codec of an encoded video track.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum VideoCodec {
    H264,
    H265,
    Vp8,
    Vp9,
    Av1,
}

/// Whether the video track is copied or encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Picture {
    Copied,
    Encoded { codec: VideoCodec, filter: String },
}

/// Makes both sides even, which 4:2:0 requires.
pub(super) const EVEN: &str = "scale=w='max(2,trunc(iw/2)*2)':h='max(2,trunc(ih/2)*2)'";

/// What a container supports, and how FFmpeg writes it.
struct ContainerRules {
    name: &'static str,
    /// The muxer of FFmpeg, and its options.
    muxer: &'static str,
    /// The supported video codecs. The first is used for encoding.
    video: &'static [VideoCodec],
    /// FFmpeg's names of the supported audio codecs.
    audio: &'static [&'static str],
}

impl VideoContainer {
    pub(super) const NAMES: [&str; 4] = ["mp4", "mov", "mkv", "webm"];

    const fn rules(self) -> ContainerRules {
        use VideoCodec::{Av1, H264, H265, Vp8, Vp9};
        match self {
            Self::Mp4 => ContainerRules {
                name: "mp4",
                muxer: "mp4 -movflags +faststart",
                video: &[H264, H265, Vp9, Av1],
                audio: &["aac", "mp3", "ac3", "eac3", "alac"],
            },
            Self::Mov => ContainerRules {
                name: "mov",
                muxer: "mov -movflags +faststart",
                video: &[H264, H265],
                audio: &["aac", "mp3", "ac3", "alac", "pcm_s16le"],
            },
            Self::Mkv => ContainerRules {
                name: "mkv",
                muxer: "matroska",
                video: &[H264, H265, Vp8, Vp9, Av1],
                audio: &[
                    "aac",
                    "mp3",
                    "ac3",
                    "eac3",
                    "flac",
                    "opus",
                    "vorbis",
                    "pcm_s16le",
                ],
            },
            Self::Webm => ContainerRules {
                name: "webm",
                muxer: "webm",
                video: &[Vp9, Vp8, Av1],
                audio: &["opus", "vorbis"],
            },
        }
    }

    pub(super) const fn name(self) -> &'static str {
        self.rules().name
    }

    fn keeps_rotation(self) -> bool {
        matches!(self, Self::Mp4 | Self::Mov)
    }

    /// Decides whether the video is copied or encoded. `asked` is the requested codec.
    pub(super) fn picture(
        self,
        film: &Film,
        asked: Option<VideoCodec>,
    ) -> Result<Picture, ToolError> {
        let supported = self.rules().video;
        if let Some(codec) = asked.filter(|codec| !supported.contains(codec)) {
            let fit: Vec<_> = supported.iter().map(|codec| codec.name()).collect();
            let (codec, container, fit) = (codec.name(), self.name(), fit.join(", "));
            let problem = format!("{codec} is not supported by {container}, which supports {fit}");
            return Err(ToolError::argument("target_codec", problem));
        }
        let found = film.video.as_ref().map(|video| video.codec.as_str());
        let is_same = !film.is_cut && (!film.is_turned || self.keeps_rotation());
        let fits = |codec: &&VideoCodec| is_same && Some(codec.ffprobe_name()) == found;
        let copied = match asked {
            Some(codec) => fits(&&codec),
            None => supported.iter().any(|codec| fits(&codec)),
        };
        let codec = asked.or(supported.first().copied());
        Ok(match codec {
            Some(codec) if !copied => Picture::Encoded {
                codec,
                filter: EVEN.to_owned(),
            },
            _ => Picture::Copied,
        })
    }

    /// The arguments of ffmpeg for an output file with the first video track and all audio tracks.
    pub(super) fn arguments(self, film: &Film, picture: &Picture) -> Vec<OsString> {
        let mut arguments = self.tracks(film, picture);
        let muxer = self.rules().muxer;
        arguments.extend(words(&format!("-fflags +bitexact -f {muxer}")));
        arguments
    }

    /// The arguments that select the tracks, and copy or encode each of them.
    pub(super) fn tracks(self, film: &Film, picture: &Picture) -> Vec<OsString> {
        let mut arguments = words("-map 0:V:0? -map 0:a? -sn -dn");
        let found = film.video.as_ref().map(|video| video.codec.as_str());
        let (how, codec) = match picture {
            Picture::Copied => ("-c:v copy".to_owned(), found),
            Picture::Encoded { codec, filter } => {
                let how = format!("-vf {filter} {}", codec.encoder());
                (how, Some(codec.ffprobe_name()))
            }
        };
        arguments.extend(words(&how));
        // Apple's players expect this tag.
        if codec == Some("hevc") && matches!(self, Self::Mp4 | Self::Mov) {
            arguments.extend(words("-tag:v hvc1"));
        }
        let is_copied = *picture == Picture::Copied || !film.is_cut;
        for (track, Sound { codec, .. }) in film.audio.iter().enumerate() {
            arguments.extend(words(&if is_copied && self.rules().audio.contains(&codec.as_str()) {
                format!("-c:a:{track} copy")
            } else if self == Self::Webm {
                // libopus supports only these layouts.
                format!(
                    "-c:a:{track} libopus -filter:a:{track} aformat=channel_layouts=7.1|5.1|stereo|mono"
                )
            } else {
                format!("-c:a:{track} aac")
            }));
        }
        arguments
    }
}

impl VideoCodec {
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

    /// FFmpeg's name of the codec.
    fn ffprobe_name(self) -> &'static str {
        match self {
            Self::H265 => "hevc",
            other => other.name(),
        }
    }

    /// The encoder, with a quality at which the difference to the source is hardly visible.
    fn encoder(self) -> &'static str {
        match self {
            Self::H264 => "-c:v libx264 -crf 20 -pix_fmt yuv420p",
            Self::H265 => "-c:v libx265 -crf 24 -x265-params log-level=error -pix_fmt yuv420p",
            Self::Vp8 => "-c:v libvpx -crf 10 -b:v 4M -cpu-used 2 -pix_fmt yuv420p",
            Self::Vp9 => "-c:v libvpx-vp9 -crf 30 -b:v 0 -cpu-used 3 -row-mt 1 -pix_fmt yuv420p",
            Self::Av1 => "-c:v libsvtav1 -crf 32 -preset 8 -pix_fmt yuv420p",
        }
    }
}
