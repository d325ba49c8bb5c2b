//! Recognises content: by its first bytes, by a media type, by the ending of a file name.

use camino::Utf8Path;

pub(super) use crate::assets::format::HEAD;
use crate::{
    assets::{
        format::{UNCHECKED, check_while, is_text, recognised},
        print::GoOn,
    },
    task::Format,
};

/// The formats that a caller may ask for, each as a file name ending.
pub(super) fn formats() -> impl Iterator<Item = &'static str> {
    let checked = Format::media().flat_map(Format::endings);
    checked.chain(UNCHECKED).copied()
}

/// The endings of media besides the [`formats`].
const MEDIA_ENDINGS: &[&str] = &[
    "3g2", "3gp", "aif", "m2ts", "m3u8", "mka", "mpd", "mpeg", "mts", "mxf", "oga", "ogv", "ts",
    "wma",
];

/// Media types of video and audio outside `video/*` and `audio/*`.
const MEDIA_TYPES: &[&str] = &[
    "application/dash+xml",
    "application/mp4",
    "application/mxf",
    "application/ogg",
    "application/vnd.apple.mpegurl",
    "application/vnd.ms-sstr+xml",
    "application/x-matroska",
    "application/x-mpegurl",
];

/// Media types that say nothing about the content.
const OPAQUE_TYPES: &[&str] = &[
    "",
    "application/octet-stream",
    "binary/octet-stream",
    "application/x-download",
];

/// The bytes that can follow the first bracket of JSON. A text with such a beginning is treated as JSON, so that
/// damaged JSON is found.
const VALUES: &[u8] = b"\"{}[]-0123456789";

/// The content of a file, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Checkable(Format),
    /// The structure cannot be checked. The value is the usual file name ending.
    Named(&'static str),
    Unknown,
}

impl Content {
    /// `head` are the first bytes of the file. Only a text is read completely, while `go_on` says yes.
    pub(super) fn of(head: &[u8], path: &Utf8Path, go_on: GoOn<'_>) -> Self {
        match recognised(head) {
            Some((ending, _)) => {
                Format::of_ending(ending).map_or(Self::Named(ending), Self::Checkable)
            }
            None if is_text(head) => Self::Checkable(text_format(head, path, go_on)),
            None => Self::Unknown,
        }
    }

    /// The name in the catalog, or the usual file name ending.
    pub(super) fn name(self) -> Option<&'static str> {
        match self {
            Self::Checkable(format) => Some(format.name()),
            Self::Named(ending) => Some(ending),
            Self::Unknown => None,
        }
    }
}

fn text_format(head: &[u8], path: &Utf8Path, go_on: GoOn<'_>) -> Format {
    let mut meaning = head.iter().filter(|byte| !byte.is_ascii_whitespace());
    let opening = meaning.next();
    let like_json = matches!(opening, Some(b'{' | b'['))
        && meaning.next().is_none_or(|byte| VALUES.contains(byte));
    let is = |format| check_while(path, format, go_on).is_ok();
    if !like_json {
        Format::Text
    } else if !is(Format::Json) && is(Format::JsonLines) {
        Format::JsonLines
    } else {
        Format::Json
    }
}

/// Checks that content has one of the [`formats`]. The error describes the content instead.
pub(super) fn check_format(format: &str, head: &[u8]) -> Result<(), String> {
    let (found, media_type) = recognised(head).ok_or("of an unknown format")?;
    let has_ending = |whole: Format| whole.endings().contains(&format);
    let is_same = match (format, found) {
        // M4A contains only audio, and Ogg may contain another codec than Opus.
        ("m4a", "mp4" | "m4v") | ("mp4" | "m4v", "m4a") | ("opus", "ogg") => false,
        _ => found == format || Format::of_ending(found).is_some_and(has_ending),
    };
    is_same
        .then_some(())
        .ok_or_else(|| format!("{found} ({media_type})"))
}

/// The media type of the first bytes, if it is known.
pub(super) fn sniffed_type(head: &[u8]) -> Option<&'static str> {
    recognised(head).map(|(_, media_type)| media_type)
}

pub(super) fn is_media(head: &[u8]) -> bool {
    sniffed_type(head).is_some_and(|found| is_media_type(found, None))
}

/// Whether a `Content-Type` is video or audio. If it says nothing, the ending of the file name decides.
pub(super) fn is_media_type(content_type: &str, file_name: Option<&str>) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default();
    let essence = essence.trim().to_ascii_lowercase();
    if OPAQUE_TYPES.contains(&essence.as_str()) {
        let ending = file_name.and_then(|name| name.rsplit_once('.'));
        let ending = ending.map(|(_, ending)| ending.to_ascii_lowercase());
        let mut known = formats().chain(MEDIA_ENDINGS.iter().copied());
        return ending.is_some_and(|ending| known.any(|each| each == ending));
    }
    essence.starts_with("video/")
        || essence.starts_with("audio/")
        || MEDIA_TYPES.contains(&essence.as_str())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn of(bytes: &[u8]) -> Option<&'static str> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = Utf8Path::from_path(folder.path())
            .expect("Unicode")
            .join("file");
        fs::write(&path, bytes).expect("written");
        Content::of(bytes, &path, &|| true).name()
    }

    #[test]
    fn an_ending_of_a_format_is_not_listed_again() {
        assert_eq!(
            formats().find(|ending| MEDIA_ENDINGS.contains(ending)),
            None
        );
    }

    #[test]
    fn texts_are_told_apart() {
        assert_eq!(of(b"{\"a\": 1}"), Some("json"));
        assert_eq!(of(b"{\"a\": 1}\n{\"a\": 2}\n"), Some("jsonl"));
        assert_eq!(of(b"{\"a\": "), Some("json"));
        assert_eq!(of("[Vers 1]\nGrüße".as_bytes()), Some("text"));
        assert_eq!(of(b""), None);
        assert_eq!(of(&[0; 64]), None);
    }

    #[test]
    fn what_cannot_be_checked_is_still_named() {
        assert_eq!(of(b"%PDF-1.7\n"), Some("pdf"));
    }

    #[test]
    fn a_format_is_known_by_its_first_bytes_and_a_mismatch_says_what_it_is() {
        let mp4 = b"\0\0\0\x20ftypisom\0\0\x02\0";
        assert_eq!(check_format("mp4", mp4), Ok(()));
        assert_eq!(check_format("webm", mp4), Err("mp4 (video/mp4)".to_owned()));
        assert_eq!(
            check_format("mp4", b"plain words"),
            Err("of an unknown format".to_owned())
        );
        assert_eq!(check_format("wav", b"RIFF\x24\0\0\0WAVEfmt "), Ok(()));
        assert_eq!(check_format("flv", b"FLV\x01\x05"), Ok(()));
    }

    #[test]
    fn a_format_accepts_its_other_brands_and_codecs_but_no_audio_for_video() {
        let mp4 = |brand: &[u8; 4]| [b"\0\0\0\x20ftyp", brand.as_slice(), b"\0\0\x02\0"].concat();
        let opus = [b"OggS".as_slice(), &[0; 24], b"OpusHead"].concat();
        for (format, head, accepted) in [
            ("m4v", &mp4(b"isom"), true),
            ("mp4", &mp4(b"M4V "), true),
            ("mp4", &mp4(b"3gp5"), true),
            ("mp4", &mp4(b"crx "), false),
            ("mp4", &mp4(b"M4A "), false),
            ("m4a", &mp4(b"M4A "), true),
            ("m4a", &mp4(b"isom"), false),
            ("ogg", &opus, true),
            ("opus", &opus, true),
            ("opus", &b"OggS".to_vec(), false),
            ("avi", &b"FLV\x01\x05".to_vec(), false),
        ] {
            assert_eq!(check_format(format, head).is_ok(), accepted, "{format}");
        }
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
