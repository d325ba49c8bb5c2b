//! Which of the formats whose structure can be checked a file claims to be, by its content.

use camino::Utf8Path;

use crate::{assets::format::check, task::Format};

/// A text that begins like JSON is taken for it, so that a broken one is found.
const VALUES: &[u8] = b"\"{}[]-0123456789";

/// What a file is by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// Its structure can be checked.
    Checkable(Format),
    /// A kind of file that is known by name alone: its usual ending.
    Named(&'static str),
    Unknown,
}

impl Content {
    /// `head` are the file's first bytes; only a text is looked at in full.
    pub(super) fn of(head: &[u8], path: &Utf8Path) -> Self {
        match infer::get(head).map(|kind| kind.extension()) {
            Some(ending) => format_of(ending).map_or(Self::Named(ending), Self::Checkable),
            None if is_text(head) => text_format(head, path),
            // What files are called that infer has no brand for.
            None if head.get(4..8) == Some(b"ftyp") => Self::Checkable(Format::Mp4),
            None => Self::Unknown,
        }
    }

    /// Its name as catalogs write it, else its usual ending.
    pub(super) fn name(self) -> Option<&'static str> {
        match self {
            Self::Checkable(format) => Some(name_of(format)),
            Self::Named(ending) => Some(ending),
            Self::Unknown => None,
        }
    }
}

/// The name of a format in a catalog.
pub(super) fn name_of(format: Format) -> &'static str {
    Format::names()
        .into_iter()
        .find(|name| Format::named(name) == Some(format))
        .unwrap_or("any")
}

fn format_of(ending: &str) -> Option<Format> {
    match ending {
        "m4v" | "m4a" => Some(Format::Mp4),
        "opus" => Some(Format::Ogg),
        "docx" | "epub" | "odp" | "ods" | "odt" | "pptx" | "xlsx" => Some(Format::Zip),
        ending => Format::named(ending),
    }
}

/// Text, as far as the head goes: it may end inside a character.
fn is_text(head: &[u8]) -> bool {
    let whole = match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    whole && !head.is_empty() && !head.contains(&0)
}

fn text_format(head: &[u8], path: &Utf8Path) -> Content {
    let mut meaning = head.iter().filter(|byte| !byte.is_ascii_whitespace());
    let opening = meaning.next();
    let like_json = matches!(opening, Some(b'{' | b'['))
        && meaning.next().is_none_or(|byte| VALUES.contains(byte));
    Content::Checkable(match like_json {
        true if check(path, Format::Json).is_err() && check(path, Format::JsonLines).is_ok() => {
            Format::JsonLines
        }
        true => Format::Json,
        false => Format::Text,
    })
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
        Content::of(bytes, &path).name()
    }

    #[test]
    fn every_format_has_its_name() {
        for format in Format::all() {
            assert_eq!(Format::named(name_of(format)), Some(format));
        }
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
}
