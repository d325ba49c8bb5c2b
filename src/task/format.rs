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

/// The name in the catalog, the usual extension, and the name for people. One line per format.
const TABLE: [(Format, &str, &str, &str); 15] = [
    (Format::Wav, "wav", "wav", "WAV (RIFF/WAVE)"),
    (Format::Flac, "flac", "flac", "FLAC"),
    (Format::Mp3, "mp3", "mp3", "MP3 (MPEG audio layer III)"),
    (Format::Ogg, "ogg", "ogg", "Ogg"),
    (Format::Mp4, "mp4", "mp4", "MP4 (ISO base media)"),
    (Format::Mov, "mov", "mov", "QuickTime movie"),
    (Format::Mkv, "mkv", "mkv", "Matroska"),
    (Format::WebM, "webm", "webm", "WebM"),
    (Format::Json, "json", "json", "JSON"),
    (Format::JsonLines, "jsonl", "jsonl", "JSON Lines"),
    (Format::Text, "text", "txt", "UTF-8 text"),
    (Format::Jpeg, "jpg", "jpg", "JPEG"),
    (Format::Png, "png", "png", "PNG"),
    (Format::Zip, "zip", "zip", "ZIP"),
    (Format::Any, "any", "bin", "any file"),
];

impl Format {
    pub fn all() -> [Self; TABLE.len()] {
        TABLE.map(|row| row.0)
    }

    pub fn named(name: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    pub fn name(self) -> &'static str {
        self.row().map_or("any", |row| row.1)
    }

    /// All names, in the order in which messages list them.
    pub fn names() -> [&'static str; TABLE.len()] {
        TABLE.map(|row| row.1)
    }

    /// The usual file name extension, without a dot.
    pub fn extension(self) -> &'static str {
        self.row().map_or("bin", |row| row.2)
    }

    fn row(self) -> Option<&'static (Self, &'static str, &'static str, &'static str)> {
        TABLE.iter().find(|row| row.0 == self)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().map_or("any file", |row| row.3))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_found_by_its_name() {
        for (format, name) in Format::all().into_iter().zip(Format::names()) {
            assert_eq!((Format::named(name), format.name()), (Some(format), name));
        }
        assert_eq!(Format::named("WAV"), None);
        assert_eq!(Format::Text.extension(), "txt");
    }
}
