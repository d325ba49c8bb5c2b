//! Checks the content of a file against a format (R-000-83), by its structure and not by its name.
//!
//! Each check reads the structure of the file with bounded memory and skips the payload; of Ogg, whose checksums cover
//! the payload, it reads all. It finds a file that is incomplete, zeroed or of another format. It does not find out
//! whether the payload can be decoded.

pub(crate) mod bmff;
pub(crate) mod ebml;
pub(crate) mod flac;
mod jpeg;
mod mp3;
pub(crate) mod ogg;
mod png;
mod source;
#[cfg(test)]
mod tests;
mod text;
mod wav;
mod zip;

use std::{
    fs::File,
    io::{self, Read},
};

use camino::{Utf8Path, Utf8PathBuf};

pub(crate) use source::{Flaw, Source, broken};

use super::{error::StoreError, print::GoOn, regular::open_followed};
use crate::task::Format;

/// The size of the buffer in bytes.
const BLOCK: usize = 64 * 1024;

/// The same for ZIP, whose check reads a few bytes at two places for each entry.
const ZIP_BLOCK: usize = 512;

/// The number of first bytes by which content is recognised.
pub(crate) const HEAD: usize = 8192;

/// The endings of media that is recognised, but whose structure cannot be checked.
pub(crate) const UNCHECKED: &[&str] = &["avi", "flv", "wmv", "mpg", "aac", "aiff"];

/// Recognises content by its first bytes: its usual file name ending and its media type.
pub(crate) fn recognised(head: &[u8]) -> Option<(&'static str, &'static str)> {
    let known = infer::get(head).map(|kind| (kind.extension(), kind.mime_type()));
    // `infer` does not know every brand of MP4. `crx ` is the brand of a photo.
    known.or_else(|| match (head.get(4..8)?, head.get(8..12)?) {
        (b"ftyp", brand) if brand != b"crx " && !is_text(head) => Some(("mp4", "video/mp4")),
        _ => None,
    })
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum FormatError {
    /// The file has another format.
    #[error("`{path}`: expected {expected}, found {found}")]
    Other {
        path: Utf8PathBuf,
        expected: Format,
        found: String,
    },
    /// The file has the right format, but it is incomplete or damaged.
    #[error("`{path}` is corrupt or incomplete {format}: {problem}")]
    Broken {
        path: Utf8PathBuf,
        format: Format,
        problem: String,
    },
    /// The file cannot be opened or read.
    #[error(transparent)]
    File(#[from] StoreError),
}

/// Checks the file at `path`, reading as little of it as the format allows. Returns its size in bytes. Reading fails
/// as soon as `go_on` says no.
pub(crate) fn check_while(
    path: &Utf8Path,
    format: Format,
    go_on: GoOn<'_>,
) -> Result<u64, FormatError> {
    check_opened(open_followed(path)?, path, format, go_on)
}

/// The same for an opened file. Errors name `path`.
pub(crate) fn check_opened(
    file: File,
    path: &Utf8Path,
    format: Format,
    go_on: GoOn<'_>,
) -> Result<u64, FormatError> {
    let io = |operation| StoreError::io(operation, path);
    let block = match format {
        Format::Zip => ZIP_BLOCK,
        _ => BLOCK,
    };
    let source = Source::new(file, block).map_err(io("look at"))?;
    let mut source = source.ending_with(go_on);
    let judged = match format {
        Format::Wav => wav::check(&mut source),
        Format::Flac => flac::check(&mut source),
        Format::Mp3 => mp3::check(&mut source),
        Format::Ogg => ogg::check(&mut source),
        Format::Mp4 => bmff::check(&mut source, bmff::Brand::Mp4),
        Format::Mov => bmff::check(&mut source, bmff::Brand::QuickTime),
        Format::Mkv => ebml::check(&mut source, ebml::DOC_TYPES),
        Format::WebM => ebml::check(&mut source, &["webm"]),
        Format::Json => text::check_json(&mut source),
        Format::JsonLines => text::check_lines(&mut source),
        Format::Text => text::check(&mut source),
        Format::Jpeg => jpeg::check(&mut source),
        Format::Png => png::check(&mut source),
        Format::Zip => zip::check(&mut source),
        Format::Any => Ok(()),
    };
    match judged {
        Ok(()) => Ok(source.len()),
        Err(Flaw::Other) => {
            let found = found(&mut source).map_err(io("read"))?;
            Err(FormatError::Other {
                path: path.to_owned(),
                expected: format,
                found,
            })
        }
        Err(Flaw::Broken(problem)) => Err(FormatError::Broken {
            path: path.to_owned(),
            format,
            problem,
        }),
        Err(Flaw::Read(error)) => Err(io("read")(error).into()),
    }
}

/// Describes the content of a file by its first bytes, if possible with the media type.
fn found(source: &mut Source) -> io::Result<String> {
    let mut head = Vec::new();
    let reader = source.rewound()?;
    reader.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(name_of(&head))
}

fn name_of(head: &[u8]) -> String {
    if head.is_empty() {
        return "an empty file".to_owned();
    }
    if let Some((_, media_type)) = recognised(head) {
        let article = if media_type.starts_with(['a', 'e', 'i', 'o']) {
            "an"
        } else {
            "a"
        };
        return format!("{article} {media_type}");
    }
    if head.iter().all(|byte| *byte == 0) {
        return "only zero bytes".to_owned();
    }
    if is_text(head) {
        "plain text".to_owned()
    } else {
        "unknown binary data".to_owned()
    }
}

/// Whether a file that begins with these bytes is text. The head may end inside a character.
pub(crate) fn is_text(head: &[u8]) -> bool {
    let whole =
        std::str::from_utf8(head).map_or_else(|error| error.error_len().is_none(), |_| true);
    whole && !head.is_empty() && !head.contains(&0)
}
