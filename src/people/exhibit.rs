//! Prepares an output of a step for display: its bytes if they can be read, and whether they have changed.

use std::{
    fs::File,
    io::{Read as _, Seek as _},
};

use camino::Utf8Path;

use crate::{
    assets::{
        format::recognised,
        open_regular,
        print::{self, GoOn},
    },
    ledger::Made,
    task::{Links, Sight, Still, Uri},
};

/// An output of a step.
#[derive(Debug)]
pub(crate) struct Exhibit {
    pub(crate) still: Still,
    pub(crate) shown: ExhibitContent,
    /// Where a browser of this machine finds it: a percent-encoded `file://` or `http(s)://` URL.
    pub(crate) link: Option<String>,
}

#[derive(Debug)]
pub(crate) enum ExhibitContent {
    /// Audio, an image or a video, with its media type by the first bytes: `audio/x-wav`.
    Media {
        media_type: &'static str,
        bytes: Vec<u8>,
    },
    /// The beginning of a text.
    Words(String),
    /// The file is larger than the room allows.
    TooLarge,
    /// A kind that is not shown, a file that cannot be read, or a file that does not have the recorded content.
    Nothing,
}

/// The limits for embedded bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExhibitLimits {
    /// Bytes of one exhibit of media.
    pub(crate) each: u64,
    pub(crate) left: u64,
}

/// The bytes of a text that are shown.
const WORDS: usize = 20_000;

/// Prepares an output. A relative path starts at `root`. It is read while `go_on` says yes.
pub(crate) fn exhibit(
    made: &Made,
    root: &Utf8Path,
    room: &mut ExhibitLimits,
    go_on: GoOn<'_>,
) -> Exhibit {
    let nothing = |link| Exhibit {
        still: Still::Unknown,
        shown: ExhibitContent::Nothing,
        link,
    };
    let Ok(uri) = Uri::parse(&made.storage_uri) else {
        return nothing(None);
    };
    let Some(path) = uri.local_path(root) else {
        let web = ["http://", "https://"];
        let web = web.iter().any(|scheme| uri.as_str().starts_with(scheme));
        return nothing(web.then(|| uri.redacted().into_owned()));
    };
    let still = print::still(&made.print, &uri, root, Links::Refused, go_on);
    let Ok(file) = open_regular(&path) else {
        return Exhibit {
            still,
            ..nothing(None)
        };
    };
    let link = Uri::from_path(&path).ok();
    let shown = match &made.print.sight {
        Sight::Content(content) if content.bytes > room.each => ExhibitContent::TooLarge,
        // Another writer of a shared ledger can name any file of this user, with its size and its times. The hash of
        // the content shows that the writer knew the content.
        Sight::Content(content) if print::has_content(&file, content, go_on) => shown(file, room),
        Sight::Content(_) | Sight::Object(_) | Sight::Absent | Sight::Unknown => {
            ExhibitContent::Nothing
        }
    };
    Exhibit {
        still,
        shown,
        link: link.map(|link| link.as_str().to_owned()),
    }
}

fn shown(mut file: File, room: &mut ExhibitLimits) -> ExhibitContent {
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let mut bytes = Vec::new();
    // The file was read before, to compare its content.
    let rewound = file.rewind();
    let begun = rewound.and_then(|()| (&mut file).take(WORDS as u64).read_to_end(&mut bytes));
    if begun.is_err() {
        return ExhibitContent::Nothing;
    }
    let Some(media_type) = media_type(&bytes) else {
        return words(&bytes);
    };
    if length > room.each || length > room.left {
        return ExhibitContent::TooLarge;
    }
    if file.take(room.each).read_to_end(&mut bytes).is_err() {
        return ExhibitContent::Nothing;
    }
    room.left = room.left.saturating_sub(bytes.len() as u64);
    ExhibitContent::Media { media_type, bytes }
}

/// The media type, if browsers show it and it cannot contain a script.
fn media_type(begin: &[u8]) -> Option<&'static str> {
    let (_, found) = recognised(begin)?;
    let kinds = ["audio/", "image/", "video/"];
    let is_shown = kinds.iter().any(|kind| found.starts_with(kind));
    (is_shown && !found.contains("svg")).then_some(found)
}

/// A text from UTF-8 bytes, whose last character may be incomplete.
fn words(bytes: &[u8]) -> ExhibitContent {
    let text = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let cut = bytes.len() == WORDS;
    let rest = bytes.len() - text.len();
    let plain = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t');
    if text.is_empty() || rest > 3 || (rest > 0 && !cut) || !text.chars().all(plain) {
        return ExhibitContent::Nothing;
    }
    ExhibitContent::Words(format!("{text}{}", if cut { "\n…" } else { "" }))
}

#[cfg(test)]
mod tests {
    use camino::Utf8PathBuf;

    use super::*;
    use crate::task::{Content, Print, Sight};

    const ROOM: ExhibitLimits = ExhibitLimits {
        each: 100_000,
        left: 100_000,
    };

    /// One pixel (<https://www.w3.org/TR/png/>); all that counts is the signature.
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

    fn shown_as(name: &str, bytes: &[u8], mut room: ExhibitLimits) -> Exhibit {
        let dir = tempfile::tempdir().unwrap();
        let root = Utf8PathBuf::try_from(dir.path().to_owned()).unwrap();
        std::fs::write(root.join(name), bytes).unwrap();
        let uri = Uri::parse(name).unwrap();
        let print = print::print(&uri, &root, Links::Refused, &|| true);
        let made = Made {
            print,
            ..made(name)
        };
        exhibit(&made, &root, &mut room, &|| true)
    }

    #[test]
    fn a_file_is_shown_only_with_the_content_that_was_recorded() {
        let dir = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(dir.path()).unwrap();
        std::fs::write(root.join("key"), "secret").unwrap();
        let uri = Uri::parse("key").unwrap();
        let print = print::print(&uri, root, Links::Refused, &|| true);
        let Sight::Content(content) = print.sight else {
            panic!("{print:?}")
        };
        let other = Content {
            blake3: "00".repeat(32),
            ..content
        };
        for sight in [Sight::Unknown, Sight::Absent, Sight::Content(other)] {
            let mut made = made("key");
            made.print.sight = sight;
            let exhibit = exhibit(&made, root, &mut { ROOM }, &|| true);
            assert!(
                matches!(exhibit.shown, ExhibitContent::Nothing),
                "{exhibit:?}"
            );
        }
    }

    #[test]
    fn a_file_is_read_no_further_than_the_run_may_go_on() {
        let dir = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(dir.path()).unwrap();
        let file = File::create(root.join("large")).unwrap();
        let mut made = made("large");
        made.print.sight = Sight::Content(Content {
            bytes: 1,
            blake3: "00".repeat(32),
            stat: None,
        });
        file.set_len(32 << 30).unwrap();
        let asked = std::cell::Cell::new(0);
        let go_on = || {
            asked.set(asked.get() + 1);
            asked.get() < 10
        };
        let exhibit = exhibit(&made, root, &mut { ROOM }, &go_on);
        assert!(
            matches!(exhibit.shown, ExhibitContent::Nothing),
            "{exhibit:?}"
        );
        assert_eq!(asked.get(), 10);
    }

    fn made(uri: &str) -> Made {
        Made {
            ref_id: "derived_1".to_owned(),
            storage_uri: uri.to_owned(),
            asset_type: "file".to_owned(),
            capability_id: "CAP".to_owned(),
            parent_ref_id: None,
            print: Print {
                uri: uri.to_owned(),
                sight: Sight::Unknown,
            },
        }
    }

    #[test]
    fn a_picture_is_known_by_its_bytes_and_shown() {
        let exhibit = shown_as("a.txt", PNG, ROOM);
        assert!(
            matches!(&exhibit.shown, ExhibitContent::Media { media_type: "image/png", bytes } if bytes == PNG)
        );
    }

    #[test]
    fn what_is_too_large_is_linked_to() {
        let room = ExhibitLimits { each: 4, ..ROOM };
        let exhibit = shown_as("a b#1.png", PNG, room);
        assert!(matches!(exhibit.shown, ExhibitContent::TooLarge));
        assert!(exhibit.link.unwrap().ends_with("/a%20b%231.png"));
        let room = ExhibitLimits { left: 4, ..ROOM };
        assert!(matches!(
            shown_as("a.png", PNG, room).shown,
            ExhibitContent::TooLarge
        ));
    }

    #[test]
    fn a_text_is_shown_by_its_beginning_and_other_bytes_not_at_all() {
        let long = "ä".repeat(WORDS);
        assert!(
            matches!(shown_as("a", long.as_bytes(), ROOM).shown, ExhibitContent::Words(text) if text.ends_with("ä\n…"))
        );
        assert!(matches!(
            shown_as("a", b"\x00\x01\x02", ROOM).shown,
            ExhibitContent::Nothing
        ));
        assert!(matches!(
            shown_as("a", b"abc\xff", ROOM).shown,
            ExhibitContent::Nothing
        ));
    }

    #[test]
    fn nothing_but_files_and_the_web_is_linked_to() {
        let nowhere = Utf8Path::new("/nowhere");
        let link = |uri: &str| exhibit(&made(uri), nowhere, &mut { ROOM }, &|| true).link;
        assert_eq!(link("javascript:alert(1)"), None);
        assert_eq!(link("s3://bucket/a"), None);
        assert_eq!(
            link("https://example.com/a").unwrap(),
            "https://example.com/a"
        );
    }
}
