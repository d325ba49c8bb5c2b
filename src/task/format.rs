//! The formats whose content oneact can check.

use std::fmt;

struct Row {
    name: &'static str,
    title: &'static str,
    kind: Kind,
    endings: &'static [&'static str],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Audio or video that the built-in media tools read.
    Media,
    Other,
}

/// Makes a format of each row: `FORMAT = NAME IN THE CATALOG, NAME FOR PEOPLE, KIND, FILE NAME ENDINGS;`. The first
/// ending is the usual one.
macro_rules! table {
    ($($(#[$doc:meta])* $format:ident = $name:literal, $title:literal, $kind:ident, $endings:expr;)*) => {
        /// A format of an asset, as catalogs name it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Format {
            $($(#[$doc])* $format,)*
        }

        impl Format {
            /// Every format, in the order in which messages list them.
            pub const ALL: &[Self] = &[$(Self::$format,)*];

            const fn row(self) -> Row {
                match self {
                    $(Self::$format => Row {
                        name: $name,
                        title: $title,
                        kind: Kind::$kind,
                        endings: &$endings,
                    },)*
                }
            }
        }
    };
}

table! {
    Wav = "wav", "WAV (RIFF/WAVE)", Media, ["wav"];
    Flac = "flac", "FLAC", Media, ["flac"];
    Mp3 = "mp3", "MP3 (MPEG audio layer III)", Media, ["mp3"];
    Ogg = "ogg", "Ogg", Media, ["ogg", "opus"];
    Mp4 = "mp4", "MP4 (ISO base media)", Media, ["mp4", "m4v", "m4a"];
    Mov = "mov", "QuickTime movie", Media, ["mov"];
    Mkv = "mkv", "Matroska", Media, ["mkv"];
    WebM = "webm", "WebM", Media, ["webm"];
    Json = "json", "JSON", Other, ["json"];
    JsonLines = "jsonl", "JSON Lines", Other, ["jsonl"];
    Text = "text", "UTF-8 text", Other, ["txt"];
    Jpeg = "jpg", "JPEG", Other, ["jpg"];
    Png = "png", "PNG", Other, ["png"];
    Zip = "zip", "ZIP", Other, ["zip", "docx", "epub", "odp", "ods", "odt", "pptx", "xlsx"];
    /// Any regular file.
    Any = "any", "any file", Other, ["bin"];
}

impl Format {
    fn all() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied()
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|format| format.name() == name)
    }

    /// The format of content whose file names usually end like this.
    pub fn of_ending(ending: &str) -> Option<Self> {
        Self::all().find(|format| format.row().endings.contains(&ending))
    }

    pub const fn name(self) -> &'static str {
        self.row().name
    }

    pub fn names() -> Vec<&'static str> {
        Self::all().map(Self::name).collect()
    }

    /// The formats of audio and video.
    pub fn media() -> impl Iterator<Item = Self> {
        Self::all().filter(|format| format.row().kind == Kind::Media)
    }

    pub fn endings(self) -> &'static [&'static str] {
        self.row().endings
    }

    /// The usual file name ending, without a dot.
    pub fn extension(self) -> &'static str {
        self.endings().first().unwrap_or(&"bin")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().title)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_found_by_its_name() {
        for format in Format::all() {
            assert_eq!(Format::named(format.name()), Some(format));
        }
        assert_eq!(Format::named("WAV"), None);
        assert_eq!(Format::Text.extension(), "txt");
        assert_eq!(Format::of_ending("opus"), Some(Format::Ogg));
    }
}
