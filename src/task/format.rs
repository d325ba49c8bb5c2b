//! The formats whose content oneact can check.

use std::fmt;

struct Row {
    name: &'static str,
    title: &'static str,
    media: Option<(u8, &'static str)>,
    endings: &'static [&'static str],
}

/// Makes a format of each row: `FORMAT = NAME IN THE CATALOG, NAME FOR PEOPLE, MEDIA, FILE NAME ENDINGS;`. If the
/// built-in media tools read the format, `MEDIA` is its place in lists of such formats and its short name there, and
/// FFmpeg knows its demuxer by `NAME IN THE CATALOG` (or by that of another row). The first ending is the usual one.
macro_rules! table {
    ($($(#[$doc:meta])* $format:ident = $name:literal, $title:literal, $media:expr, $endings:expr;)*) => {
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
                        media: $media,
                        endings: &$endings,
                    },)*
                }
            }
        }
    };
}

table! {
    Wav = "wav", "WAV (RIFF/WAVE)", Some((8, "WAV")), ["wav"];
    Flac = "flac", "FLAC", Some((6, "FLAC")), ["flac"];
    Mp3 = "mp3", "MP3 (MPEG audio layer III)", Some((5, "MP3")), ["mp3"];
    Ogg = "ogg", "Ogg", Some((7, "OGG")), ["ogg", "opus"];
    Mp4 = "mp4", "MP4 (ISO base media)", Some((1, "MP4")), ["mp4", "m4v", "m4a"];
    Mov = "mov", "QuickTime movie", Some((2, "MOV")), ["mov"];
    Mkv = "mkv", "Matroska", Some((3, "MKV")), ["mkv"];
    WebM = "webm", "WebM", Some((4, "WebM")), ["webm"];
    Json = "json", "JSON", None, ["json"];
    JsonLines = "jsonl", "JSON Lines", None, ["jsonl"];
    Text = "text", "UTF-8 text", None, ["txt"];
    Jpeg = "jpg", "JPEG", None, ["jpg"];
    Png = "png", "PNG", None, ["png"];
    Zip = "zip", "ZIP", None, ["zip", "docx", "epub", "odp", "ods", "odt", "pptx", "xlsx"];
    /// Any regular file.
    Any = "any", "any file", None, ["bin"];
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
        Self::all().filter(|format| format.row().media.is_some())
    }

    /// The formats of audio and video in a text.
    pub fn readable() -> String {
        let mut media: Vec<_> = Self::all().filter_map(|each| each.row().media).collect();
        media.sort_unstable();
        let mut names: Vec<_> = media.into_iter().map(|(_, name)| name).collect();
        let last = names.pop().unwrap_or_default();
        format!("{} and {last}", names.join(", "))
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

    #[test]
    fn the_documentation_lists_the_formats() {
        let page = include_str!("../../docs/catalog.md");
        let names = Format::names().join(", ");
        assert!(page.contains(&format!("format of the content: {names}.")));
        let page = include_str!("../../docs/servers.md");
        assert!(page.contains(&format!("extracts audio from {} to", Format::readable())));
    }
}
