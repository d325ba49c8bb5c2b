//! The formats whose content oneact can check.

use std::fmt;

/// A format of an asset, as catalogs name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Wav,
    Flac,
    Mp3,
    Ogg,
    Mp4,
    Mov,
    Mkv,
    WebM,
    Json,
    JsonLines,
    Text,
    Jpeg,
    Png,
    Zip,
    /// Any regular file.
    Any,
}

/// A format with its name in the catalog, its name for people, and the file name endings of its content. The first
/// ending is the usual one.
type Row = (Format, &'static str, &'static str, &'static [&'static str]);

/// The formats of audio and video.
const MEDIA: [Row; 8] = [
    (Format::Wav, "wav", "WAV (RIFF/WAVE)", &["wav"]),
    (Format::Flac, "flac", "FLAC", &["flac"]),
    (Format::Mp3, "mp3", "MP3 (MPEG audio layer III)", &["mp3"]),
    (Format::Ogg, "ogg", "Ogg", &["ogg", "opus"]),
    (
        Format::Mp4,
        "mp4",
        "MP4 (ISO base media)",
        &["mp4", "m4v", "m4a"],
    ),
    (Format::Mov, "mov", "QuickTime movie", &["mov"]),
    (Format::Mkv, "mkv", "Matroska", &["mkv"]),
    (Format::WebM, "webm", "WebM", &["webm"]),
];

const OTHERS: [Row; 7] = [
    (Format::Json, "json", "JSON", &["json"]),
    (Format::JsonLines, "jsonl", "JSON Lines", &["jsonl"]),
    (Format::Text, "text", "UTF-8 text", &["txt"]),
    (Format::Jpeg, "jpg", "JPEG", &["jpg"]),
    (Format::Png, "png", "PNG", &["png"]),
    (
        Format::Zip,
        "zip",
        "ZIP",
        &["zip", "docx", "epub", "odp", "ods", "odt", "pptx", "xlsx"],
    ),
    (Format::Any, "any", "any file", &["bin"]),
];

fn rows() -> impl Iterator<Item = &'static Row> {
    MEDIA.iter().chain(&OTHERS)
}

impl Format {
    pub fn named(name: &str) -> Option<Self> {
        rows().find(|row| row.1 == name).map(|row| row.0)
    }

    /// The format of content whose file names usually end like this.
    pub fn of_ending(ending: &str) -> Option<Self> {
        rows().find(|row| row.3.contains(&ending)).map(|row| row.0)
    }

    pub fn name(self) -> &'static str {
        self.row().map_or("any", |row| row.1)
    }

    /// All names, in the order in which messages list them.
    pub fn names() -> Vec<&'static str> {
        rows().map(|row| row.1).collect()
    }

    /// All file name endings of audio and video.
    pub fn media_endings() -> impl Iterator<Item = &'static str> {
        MEDIA.iter().flat_map(|row| row.3).copied()
    }

    /// The usual file name ending, without a dot.
    pub fn extension(self) -> &'static str {
        let endings = self.row().map_or(&[][..], |row| row.3);
        endings.first().unwrap_or(&"bin")
    }

    fn row(self) -> Option<&'static Row> {
        rows().find(|row| row.0 == self)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().map_or("any file", |row| row.2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_found_by_its_name() {
        for (format, name, ..) in rows() {
            assert_eq!((Format::named(name), format.name()), (Some(*format), *name));
        }
        assert_eq!(Format::named("WAV"), None);
        assert_eq!(Format::Text.extension(), "txt");
        assert_eq!(Format::of_ending("opus"), Some(Format::Ogg));
    }
}
