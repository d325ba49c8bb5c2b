//! The tool `metadata_extractor` (CAP-ACQ-007): reads tracks and tags of a media file, or the size of an image,
//! without decoding them.

use std::{collections::BTreeMap, fs::File, path::Path};

use imagesize::{ImageError, ImageType};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use symphonia::{
    core::{
        audio::Channels,
        codecs::{
            CodecParameters,
            audio::AudioCodecId,
            video::{VideoCodecId, well_known as id},
        },
        errors::Error,
        formats::{FormatReader, Track as FileTrack},
        meta::{MetadataContainer, RawValue, StandardTag, Tag},
    },
    default::get_codecs,
};

use super::content::{HEAD, is_media, sniffed_type};
use crate::servers::{
    files::{head, local_path, open_regular},
    media,
    tool::{self, Effect, Run, Tool, ToolError, World, object, record},
};

const ARGUMENT: &str = "file_uri";

/// The largest number of tags, and of characters of each tag. A tag can contain the text of a book.
const MOST_TAGS: usize = 128;
const MOST_CHARACTERS: usize = 2000;

#[derive(Deserialize)]
struct Arguments {
    file_uri: String,
}

pub(super) fn metadata_extractor() -> Tool {
    let number = json!({"type": ["integer", "null"], "minimum": 1});
    let text = json!({"type": ["string", "null"]});
    Tool {
        name: "metadata_extractor",
        title: "Read a file's metadata",
        description: format!(
            "Read the metadata of a file of this machine: container, duration, tracks and tags of {}; width and \
             height of PNG, JPEG, GIF and WebP. For other files, the answer contains the size, the time and the MIME \
             type, and `container` is null.",
            crate::task::Format::readable()
        )
        .leak(),
        input: object(
            &[ARGUMENT],
            json!({"file_uri": tool::text("a path or file:// URI")}),
        ),
        output: record(json!({
            "container": text,
            "mime": {"type": ["string", "null"], "description": "by the first bytes, not by the name"},
            "duration_seconds": {"type": ["number", "null"], "exclusiveMinimum": 0},
            "bytes": {"type": "integer", "minimum": 0},
            "modified": {"type": ["string", "null"], "format": "date-time"},
            "tracks": {"type": "array", "items": record(json!({
                "type": {"enum": ["audio", "video", "subtitle", "image", "other"]},
                "codec": {"type": ["string", "null"], "description": "as FFmpeg names it; null if unknown"},
                "language": {
                    "type": ["string", "null"],
                    "description": "of Matroska and WebM, as written in the file"
                },
                "sample_rate": number, "channels": number, "width": number,
                "height": number
            }))},
            "tags": {"type": "object", "additionalProperties": {"type": "string"}}
        })),
        effect: Effect::ReadOnly,
        world: World::Closed,
        call: tool::call(extract),
    }
}

fn extract(Arguments { file_uri }: &Arguments, _: &Run<'_>) -> Result<Value, ToolError> {
    let path = local_path(ARGUMENT, file_uri)?;
    let mut file = open_regular(ARGUMENT, &path)?;
    let status = file.metadata().map_err(ToolError::io("read", &path))?;
    let head = head(&mut file, HEAD).map_err(ToolError::io("read", &path))?;
    let about = about(&path, file, &head)?;
    let modified = status.modified().ok();
    let modified = modified.and_then(|time| Timestamp::try_from(time).ok());
    Ok(json!({
        "container": about.container,
        "mime": sniffed_type(&head),
        "duration_seconds": about.duration,
        "bytes": status.len(),
        "modified": modified.map(|time| time.to_string()),
        "tracks": about.tracks,
        "tags": about.tags,
    }))
}

fn about(path: &Path, file: File, head: &[u8]) -> Result<About, ToolError> {
    // Only media files are probed: symphonia would take a sync word in another file for MP3.
    if is_media(head) {
        return of_media(path, file);
    }
    match imagesize::image_type(head) {
        Ok(kind) => of_image(path, kind),
        Err(_) => Ok(About::default()),
    }
}

/// The metadata of a file. It is empty if the file is no media file.
#[derive(Debug, Default)]
struct About {
    container: Option<&'static str>,
    /// In seconds.
    duration: Option<f64>,
    tracks: Vec<Track>,
    tags: BTreeMap<String, String>,
}

#[derive(Debug, Default, Serialize)]
struct Track {
    r#type: &'static str,
    codec: Option<&'static str>,
    /// The code in the file, of ISO 639-2 or BCP 47.
    language: Option<String>,
    sample_rate: Option<u32>,
    channels: Option<usize>,
    width: Option<usize>,
    height: Option<usize>,
}

/// Reads the headers of a video or audio file. The answer is empty if symphonia does not know the container.
fn of_media(path: &Path, file: File) -> Result<About, ToolError> {
    let mut reader = match media::probe(file, path) {
        Ok(reader) => reader,
        Err(error) if media::is_headless(&error) => {
            let problem = format!("{} has no movie header (moov)", path.display());
            return Err(ToolError::Corrupt(problem));
        }
        Err(Error::Unsupported(_)) => return Ok(About::default()),
        Err(error) => {
            let problem = format!("the headers of {}: {error}", path.display());
            return Err(ToolError::Corrupt(problem));
        }
    };
    Ok(About {
        container: Some(media::container_name(reader.format_info().short_name)),
        duration: duration(&*reader),
        tracks: reader.tracks().iter().map(track).collect(),
        tags: tags(&mut *reader),
    })
}

fn of_image(path: &Path, kind: ImageType) -> Result<About, ToolError> {
    let name = match kind {
        ImageType::Gif => "gif",
        ImageType::Jpeg => "jpeg",
        ImageType::Png => "png",
        ImageType::Webp => "webp",
        _ => return Ok(About::default()),
    };
    let size = imagesize::size(path).map_err(|error| match error {
        ImageError::IoError(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
            ToolError::io("read", path)(error)
        }
        _ => ToolError::Corrupt(format!(
            "{} ends before the size of the image",
            path.display()
        )),
    })?;
    let track = Track {
        r#type: "image",
        codec: Some(name),
        width: Some(size.width),
        height: Some(size.height),
        ..Track::default()
    };
    Ok(About {
        container: Some(name),
        tracks: vec![track],
        ..About::default()
    })
}

fn track(track: &FileTrack) -> Track {
    let kind = |r#type, codec| Track {
        r#type,
        codec,
        // `und` means that no language is stated. symphonia does not report the languages of MP4.
        language: track
            .language
            .clone()
            .filter(|code| code != "und" && !code.is_empty()),
        ..Track::default()
    };
    match &track.codec_params {
        Some(CodecParameters::Audio(audio)) => Track {
            sample_rate: audio.sample_rate.filter(|rate| *rate > 0),
            channels: audio
                .channels
                .as_ref()
                .map(Channels::count)
                .filter(|count| *count > 0),
            ..kind("audio", audio_codec(audio.codec))
        },
        Some(CodecParameters::Video(video)) => Track {
            width: video.width.map(usize::from).filter(|pixels| *pixels > 0),
            height: video.height.map(usize::from).filter(|pixels| *pixels > 0),
            ..kind("video", video_codec(video.codec))
        },
        Some(CodecParameters::Subtitle(_)) => kind("subtitle", None),
        _ => kind("other", None),
    }
}

/// The duration of the container, or else of the longest track.
fn duration(reader: &dyn FormatReader) -> Option<f64> {
    let media = reader.media_info();
    let of_tracks = reader
        .tracks()
        .iter()
        .filter_map(|track| media::seconds(track.time_base, track.duration));
    media::seconds(media.time_base, media.duration).or_else(|| of_tracks.max_by(f64::total_cmp))
}

/// The tags of the file. The values of several tags with the same name are joined.
fn tags(reader: &mut dyn FormatReader) -> BTreeMap<String, String> {
    let mut told = BTreeMap::new();
    let mut log = reader.metadata();
    while let Some(revision) = log.pop() {
        add(&mut told, &revision.media);
    }
    if let Some(revision) = log.current() {
        add(&mut told, &revision.media);
    }
    told
}

fn add(told: &mut BTreeMap<String, String>, from: &MetadataContainer) {
    for Tag { raw, std } in &from.tags {
        if matches!(raw.value, RawValue::Binary(_)) {
            continue;
        }
        let name = std.as_ref().and_then(common_name).unwrap_or(&raw.key);
        let value: String = raw
            .value
            .to_string()
            .chars()
            .take(MOST_CHARACTERS)
            .collect();
        if told.len() >= MOST_TAGS && !told.contains_key(name) {
            continue;
        }
        told.entry(name.to_owned())
            .and_modify(|known| {
                let room = MOST_CHARACTERS.saturating_sub(known.chars().count());
                if room > 0 && !known.split("; ").any(|each| each == value) {
                    known.extend("; ".chars().chain(value.chars()).take(room));
                }
            })
            .or_insert(value);
    }
}

/// The common name of tags that each container calls differently.
fn common_name(tag: &StandardTag) -> Option<&'static str> {
    Some(match tag {
        StandardTag::TrackTitle(_) => "title",
        StandardTag::Album(_) => "album",
        StandardTag::AlbumArtist(_) => "album_artist",
        StandardTag::Artist(_) => "artist",
        StandardTag::Comment(_) => "comment",
        StandardTag::Composer(_) => "composer",
        StandardTag::Copyright(_) => "copyright",
        StandardTag::Description(_) => "description",
        StandardTag::Encoder(_) => "encoder",
        StandardTag::Genre(_) => "genre",
        StandardTag::RecordingDate(_) | StandardTag::ReleaseDate(_) => "date",
        _ => return None,
    })
}

/// FFmpeg's name of an audio codec.
fn audio_codec(codec: AudioCodecId) -> Option<&'static str> {
    let decoded = get_codecs().get_audio_decoder(codec);
    let decoded = decoded.map(|known| known.codec.info.short_name);
    decoded.or_else(|| media::undecoded(codec))
}

fn video_codec(codec: VideoCodecId) -> Option<&'static str> {
    Some(match codec {
        id::CODEC_ID_AV1 => "av1",
        id::CODEC_ID_FLV => "flv1",
        id::CODEC_ID_H263 => "h263",
        id::CODEC_ID_H264 => "h264",
        id::CODEC_ID_HEVC => "hevc",
        id::CODEC_ID_MJPEG => "mjpeg",
        id::CODEC_ID_MPEG1 => "mpeg1video",
        id::CODEC_ID_MPEG2 => "mpeg2video",
        id::CODEC_ID_MPEG4 => "mpeg4",
        id::CODEC_ID_THEORA => "theora",
        id::CODEC_ID_VC1 => "vc1",
        id::CODEC_ID_VP8 => "vp8",
        id::CODEC_ID_VP9 => "vp9",
        id::CODEC_ID_VVC => "vvc",
        _ => return None,
    })
}
