//! What content is: container formats by their first bytes, media by type and by name.

use infer::MatcherType;

/// Bytes from the start of a file that tell its format.
pub(super) const HEAD: usize = 8192;

/// Media types outside `video/*` and `audio/*` that are video or audio all the same.
const MEDIA_TYPES: [&str; 8] = [
    "application/dash+xml",
    "application/mp4",
    "application/mxf",
    "application/ogg",
    "application/vnd.apple.mpegurl",
    "application/vnd.ms-sstr+xml",
    "application/x-matroska",
    "application/x-mpegurl",
];

/// Names that say no more than "bytes".
const OPAQUE_TYPES: [&str; 4] = [
    "",
    "application/octet-stream",
    "binary/octet-stream",
    "application/x-download",
];

/// Endings of media files.
const MEDIA_ENDINGS: [&str; 31] = [
    "3g2", "3gp", "aac", "aif", "aiff", "avi", "flac", "flv", "m2ts", "m3u8", "m4a", "m4v", "mkv",
    "mka", "mov", "mp3", "mp4", "mpd", "mpeg", "mpg", "mts", "mxf", "oga", "ogg", "ogv", "opus",
    "ts", "wav", "webm", "wma", "wmv",
];

/// A container format a caller may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Aac,
    Aiff,
    Avi,
    Flac,
    Flv,
    M4a,
    M4v,
    Mkv,
    Mov,
    Mp3,
    Mp4,
    Mpg,
    Ogg,
    Opus,
    Wav,
    Webm,
    Wmv,
}

impl Format {
    pub(super) const ALL: [Self; 17] = [
        Self::Mp4,
        Self::Mkv,
        Self::Webm,
        Self::Mov,
        Self::M4v,
        Self::Avi,
        Self::Flv,
        Self::Wmv,
        Self::Mpg,
        Self::Mp3,
        Self::Wav,
        Self::M4a,
        Self::Flac,
        Self::Ogg,
        Self::Opus,
        Self::Aac,
        Self::Aiff,
    ];

    /// The name in the arguments, which is also the file's ending.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Aac => "aac",
            Self::Aiff => "aiff",
            Self::Avi => "avi",
            Self::Flac => "flac",
            Self::Flv => "flv",
            Self::M4a => "m4a",
            Self::M4v => "m4v",
            Self::Mkv => "mkv",
            Self::Mov => "mov",
            Self::Mp3 => "mp3",
            Self::Mp4 => "mp4",
            Self::Mpg => "mpg",
            Self::Ogg => "ogg",
            Self::Opus => "opus",
            Self::Wav => "wav",
            Self::Webm => "webm",
            Self::Wmv => "wmv",
        }
    }

    pub(super) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|each| each.name() == name)
    }

    /// Whether content that begins with `head` has this format; if not, what it is instead.
    pub(super) fn check(self, head: &[u8]) -> Result<(), String> {
        let found = infer::get(head);
        let ending = found.map(|kind| kind.extension());
        let same = match self {
            // M4V is MP4 under Apple's brand; Opus travels in Ogg.
            Self::Mp4 | Self::M4v => matches!(ending, Some("mp4" | "m4v")),
            Self::Ogg => matches!(ending, Some("ogg" | "opus")),
            other => ending == Some(other.name()),
        };
        if same {
            return Ok(());
        }
        Err(found.map_or_else(
            || "of no format known here".to_owned(),
            |kind| format!("{} ({})", kind.extension(), kind.mime_type()),
        ))
    }
}

/// The media type that the first bytes tell, if they tell one.
pub(super) fn sniffed_type(head: &[u8]) -> Option<&'static str> {
    infer::get(head).map(|kind| kind.mime_type())
}

/// Whether the first bytes are those of a video or audio file.
pub(super) fn is_media(head: &[u8]) -> bool {
    infer::get(head)
        .is_some_and(|kind| matches!(kind.matcher_type(), MatcherType::Video | MatcherType::Audio))
}

/// Whether a `Content-Type` (or, where that says nothing, a file name) is that of video or audio.
pub(super) fn is_media_type(content_type: &str, file_name: Option<&str>) -> bool {
    let essence = content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    if OPAQUE_TYPES.contains(&essence.as_str()) {
        return file_name.is_some_and(is_media_name);
    }
    essence.starts_with("video/")
        || essence.starts_with("audio/")
        || MEDIA_TYPES.contains(&essence.as_str())
}

fn is_media_name(name: &str) -> bool {
    let ending = name
        .rsplit_once('.')
        .map(|(_, ending)| ending.to_ascii_lowercase());
    ending.is_some_and(|ending| MEDIA_ENDINGS.contains(&ending.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_known_by_its_first_bytes_and_a_mismatch_says_what_it_is() {
        let mp4 = b"\0\0\0\x20ftypisom\0\0\x02\0";
        assert_eq!(Format::Mp4.check(mp4), Ok(()));
        assert_eq!(Format::Webm.check(mp4), Err("mp4 (video/mp4)".to_owned()));
        assert_eq!(
            Format::Mp4.check(b"plain words"),
            Err("of no format known here".to_owned())
        );
        assert_eq!(Format::Wav.check(b"RIFF\x24\0\0\0WAVEfmt "), Ok(()));
    }

    #[test]
    fn every_format_is_found_by_its_name() {
        for format in Format::ALL {
            assert_eq!(Format::parse(format.name()), Some(format));
        }
        assert_eq!(Format::parse("exe"), None);
    }

    #[test]
    fn the_content_type_decides_and_the_name_only_where_it_says_nothing() {
        assert!(is_media_type("video/mp4", None));
        assert!(is_media_type("Audio/MPEG; rate=1", None));
        assert!(is_media_type("application/vnd.apple.mpegurl", None));
        assert!(is_media_type("application/octet-stream", Some("Talk.MP4")));
        assert!(is_media_type("", Some("talk.mkv")));
        assert!(!is_media_type("application/octet-stream", Some("talk.pdf")));
        assert!(!is_media_type("text/html; charset=utf-8", Some("talk.mp4")));
    }
}
