//! The tracks and tags of a media file, by symphonia's probe; the pixels of an image.

use std::{collections::BTreeMap, fs::File, path::Path};

use imagesize::{ImageError, ImageType};
use serde_json::{Value, json};
use symphonia::core::{
    audio::Channels,
    codecs::CodecParameters,
    errors::Error,
    formats::{FormatReader, Track as FileTrack},
    meta::{MetadataContainer, RawValue, StandardTag, Tag},
};

use super::codecs;
use crate::servers::{media, tool::ToolError};

/// Tags told of one file, and characters of each: a lyrics tag may hold a book.
const MOST_TAGS: usize = 128;
const MOST_CHARACTERS: usize = 2000;

/// What a file says of itself; nothing where it is no media file.
#[derive(Debug, Default)]
pub(super) struct About {
    pub(super) container: Option<&'static str>,
    /// In seconds.
    pub(super) duration: Option<f64>,
    pub(super) tracks: Vec<Track>,
    pub(super) tags: BTreeMap<String, String>,
}

/// One stream of a file.
#[derive(Debug)]
pub(super) struct Track {
    kind: &'static str,
    codec: Option<&'static str>,
    /// As the file writes it: an ISO 639-2 or BCP 47 code.
    language: Option<String>,
    /// Samples per second.
    rate: Option<u32>,
    channels: Option<usize>,
    width: Option<usize>,
    height: Option<usize>,
}

impl Track {
    pub(super) fn to_json(&self) -> Value {
        json!({
            "type": self.kind,
            "codec": self.codec,
            "language": self.language,
            "sample_rate": self.rate,
            "channels": self.channels,
            "width": self.width,
            "height": self.height,
        })
    }

    fn of(kind: &'static str, codec: Option<&'static str>) -> Self {
        Self {
            kind,
            codec,
            language: None,
            rate: None,
            channels: None,
            width: None,
            height: None,
        }
    }
}

/// Reads the headers of a video or audio file. One in a container that symphonia does not know has
/// no tracks to tell of.
pub(super) fn of_media(path: &Path, file: File) -> Result<About, ToolError> {
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

/// Reads the size of an image.
pub(super) fn of_image(path: &Path, kind: ImageType) -> Result<About, ToolError> {
    let name = match kind {
        ImageType::Gif => "gif",
        ImageType::Jpeg => "jpeg",
        ImageType::Png => "png",
        ImageType::Webp => "webp",
        _ => return Ok(About::default()),
    };
    let size = imagesize::size(path).map_err(|error| match error {
        ImageError::IoError(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
            ToolError::Failed(format!("cannot read {}: {error}", path.display()))
        }
        _ => ToolError::Corrupt(format!("{} ends before it tells its size", path.display())),
    })?;
    let track = Track {
        width: Some(size.width),
        height: Some(size.height),
        ..Track::of("image", Some(name))
    };
    Ok(About {
        container: Some(name),
        tracks: vec![track],
        ..About::default()
    })
}

fn track(track: &FileTrack) -> Track {
    let told = match &track.codec_params {
        Some(CodecParameters::Audio(audio)) => Track {
            rate: audio.sample_rate,
            channels: audio.channels.as_ref().map(Channels::count),
            ..Track::of("audio", codecs::audio(audio.codec))
        },
        Some(CodecParameters::Video(video)) => Track {
            width: video.width.map(usize::from).filter(|pixels| *pixels > 0),
            height: video.height.map(usize::from).filter(|pixels| *pixels > 0),
            ..Track::of("video", codecs::video(video.codec))
        },
        Some(CodecParameters::Subtitle(_)) => Track::of("subtitle", None),
        _ => Track::of("other", None),
    };
    Track {
        // `und` is a language nobody named. symphonia keeps the languages of MP4 to itself.
        language: track
            .language
            .clone()
            .filter(|code| code != "und" && !code.is_empty()),
        ..told
    }
}

/// The longest there is: what the container says, else what its tracks say.
fn duration(reader: &dyn FormatReader) -> Option<f64> {
    let media = reader.media_info();
    let of_tracks = reader
        .tracks()
        .iter()
        .filter_map(|track| media::seconds(track.time_base, track.duration));
    media::seconds(media.time_base, media.duration).or_else(|| of_tracks.max_by(f64::total_cmp))
}

/// The tags of the file as a whole; of several with one name, all values.
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
                if !known.split("; ").any(|each| each == value) {
                    *known = format!("{known}; {value}");
                }
            })
            .or_insert(value);
    }
}

/// One name for what every container calls otherwise.
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
