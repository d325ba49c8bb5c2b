//! The formats whose content oneact can check.

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
    Webm,
    Json,
    Jsonl,
    Text,
    Jpg,
    Png,
    Zip,
    /// Anything at all: only existence and size are checked.
    Any,
}

impl Format {
    /// Every format, in the order in which messages list them.
    pub const ALL: [Self; 15] = [
        Self::Wav,
        Self::Flac,
        Self::Mp3,
        Self::Ogg,
        Self::Mp4,
        Self::Mov,
        Self::Mkv,
        Self::Webm,
        Self::Json,
        Self::Jsonl,
        Self::Text,
        Self::Jpg,
        Self::Png,
        Self::Zip,
        Self::Any,
    ];

    /// The name in a catalog.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wav => "wav",
            Self::Flac => "flac",
            Self::Mp3 => "mp3",
            Self::Ogg => "ogg",
            Self::Mp4 => "mp4",
            Self::Mov => "mov",
            Self::Mkv => "mkv",
            Self::Webm => "webm",
            Self::Json => "json",
            Self::Jsonl => "jsonl",
            Self::Text => "text",
            Self::Jpg => "jpg",
            Self::Png => "png",
            Self::Zip => "zip",
            Self::Any => "any",
        }
    }

    /// The format of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The file name extension, without the dot.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Text => "txt",
            Self::Any => "bin",
            other => other.name(),
        }
    }
}
