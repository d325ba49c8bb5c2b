//! The tool `video_segmenter` (CAP-PRE-004): cuts a video into segments of equal length, in a zip file.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    bundle::{Member, bundle, timed},
    encoding::{EVEN, Picture, VideoCodec, VideoContainer},
    ffmpeg::{Film, Input, Output, PROGRAMS, url, words},
    request::{input_uri, opened_video, output_path, output_uri},
};
use crate::servers::tool::{self, Effect, Run, Tool, ToolError, World, object, record};

/// The limits of a segment in seconds.
const LEAST: f64 = 0.1;
const MOST: f64 = 86_400.0;
const DEFAULT: f64 = 60.0;

/// The file in which ffmpeg lists the segments with their times.
const LIST: &str = "list.csv";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    input_uri: String,
    #[serde(default)]
    method: Method,
    segment_duration: Option<f64>,
    output_path: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Method {
    /// Cuts exactly, which requires encoding.
    #[default]
    Exact,
    /// Cuts at the next keyframe, without encoding.
    Keyframe,
}

impl Method {
    /// The container of the segments, and whether the video is copied or encoded.
    fn how(self, film: &Film) -> Result<(VideoContainer, Picture), ToolError> {
        match self {
            Self::Exact => {
                let (codec, filter) = (VideoCodec::H264, EVEN.to_owned());
                Ok((VideoContainer::Mp4, Picture::Encoded { codec, filter }))
            }
            Self::Keyframe if film.is_cut => Err(ToolError::argument(
                "method",
                "an edit list of the input hides a part, which keyframe would show; use exact",
            )),
            Self::Keyframe => {
                let fits = VideoContainer::Mp4.picture(film, None)? == Picture::Copied;
                let container = if fits {
                    VideoContainer::Mp4
                } else {
                    VideoContainer::Mkv
                };
                Ok((container, Picture::Copied))
            }
        }
    }
}

/// The file of a segment, and the times at which it starts and ends, in seconds.
type Segment = (PathBuf, f64, f64);

/// Parses a line of ffmpeg's list, such as `000001.mp4,1.000000,2.000000`.
fn segment_of(line: &str, directory: &Path) -> Option<Segment> {
    let mut fields = line.split(',');
    let file = directory.join(fields.next()?);
    let mut time = || fields.next()?.trim().parse().ok();
    Some((file, time()?, time()?))
}

pub(super) fn video_segmenter() -> Tool {
    Tool {
        name: "video_segmenter",
        title: "Cut a video into segments",
        description: "Cuts a local video into segments of equal length (the last may be shorter), with FFmpeg, into a \
                      new zip of videos. Each name contains the start time, such as segment_0000060000ms.mp4. The \
                      limit is 10000 segments. A damaged input is refused, not repaired. An existing file is never \
                      overwritten.",
        input: object(
            &["input_uri"],
            json!({
                "input_uri": input_uri(),
                "method": {
                    "type": "string",
                    "enum": ["exact", "keyframe"],
                    "default": "exact",
                    "description": "exact: cuts at any frame, encoded as MP4 (H.264). keyframe: fast, the video is copied unchanged; \
                                    each cut is at the next keyframe, and some audio may be missing there.",
                },
                "segment_duration": {
                    "type": "number",
                    "minimum": LEAST,
                    "maximum": MOST,
                    "default": DEFAULT,
                    "description": "The length of a segment in seconds.",
                },
                "output_path": output_path(),
            }),
        ),
        output: record(json!({
            "output_uri": output_uri(),
            "output_format": { "const": "zip" },
            "bytes": { "type": "integer", "minimum": 1, "description": "The size of the zip." },
            "method": { "type": "string", "enum": ["exact", "keyframe"] },
            "segments": {
                "type": "array",
                "minItems": 1,
                "items": record(json!({
                    "name": { "type": "string", "description": "The name in the zip." },
                    "start_seconds": { "type": "number" },
                    "end_seconds": { "type": "number" },
                })),
            },
        })),
        effect: Effect::Additive,
        world: World::Programs(PROGRAMS),
        call: tool::call(segment),
    }
}

fn segment(arguments: &Arguments, run: &Run<'_>) -> Result<Value, ToolError> {
    let path = arguments.output_path.as_deref();
    let (input, draft) = opened_video(&arguments.input_uri, path, "zip", run)?;
    let method = arguments.method;
    let seconds = arguments.segment_duration.unwrap_or(DEFAULT);
    let step = ("segment_duration", seconds);
    let (zip, segments) = bundle(&input, step, draft, run, |workshop| {
        let (parts, ending) = cut(&input, method, seconds, workshop)?;
        let named = parts.into_iter().map(|(file, start, end)| {
            let name = timed("segment", start, ending);
            let about = json!({"name": name, "start_seconds": start, "end_seconds": end});
            (Member { file, name }, about)
        });
        Ok(named.collect::<(Vec<_>, Vec<_>)>())
    })?;
    Ok(json!({
        "output_uri": zip.uri,
        "output_format": "zip",
        "bytes": zip.bytes,
        "method": method,
        "segments": segments,
    }))
}

/// Cuts the input into segments in `directory`. Returns also the ending of their names.
fn cut(
    input: &Input<'_>,
    method: Method,
    seconds: f64,
    directory: &Path,
) -> Result<(Vec<Segment>, &'static str), ToolError> {
    let (container, picture) = method.how(&input.film)?;
    let ending = container.name();
    let mut how = container.tracks(&input.film, &picture);
    if method == Method::Exact {
        // Without B-frames, frames are stored in the order in which they are shown. Otherwise audio at a cut would
        // go to the wrong segment.
        how.extend(words(&format!(
            "-bf 0 -force_key_frames expr:gte(t,n_forced*{seconds})"
        )));
    }
    let list = directory.join(LIST);
    how.extend(words(&format!(
        "-fflags +bitexact -avoid_negative_ts disabled -f segment -segment_time {seconds} -reset_timestamps 1 \
         -segment_format_options fflags=+bitexact -segment_list_type csv -segment_list"
    )));
    how.push(url(&list));
    let pattern = format!("%06d.{ending}");
    input.make(&how, Output::Series(directory, &pattern))?;
    let failed = |problem: String| {
        ToolError::Failed(format!(
            "ffmpeg's list {} cannot be read: {problem}",
            list.display()
        ))
    };
    let text = fs::read_to_string(&list).map_err(|error| failed(error.to_string()))?;
    let parts: Option<Vec<Segment>> = text
        .lines()
        .map(|line| segment_of(line, directory))
        .collect();
    match parts {
        Some(parts) if !parts.is_empty() => Ok((parts, ending)),
        _ => Err(failed(format!("{text:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_list_is_a_segment() {
        let segment = segment_of("000001.mp4,1.000000,2.5", Path::new("/d"));
        assert_eq!(segment, Some(("/d/000001.mp4".into(), 1.0, 2.5)));
        assert_eq!(segment_of("000001.mp4,1.0", Path::new("/d")), None);
    }
}
