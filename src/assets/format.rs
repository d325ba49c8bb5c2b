//! Checks the content of a file against a format (R-000-83), by its structure and not by its name.
//!
//! Each check reads the headers of the file with bounded memory and skips the payload; of FLAC and MP3, whose headers
//! are in the payload, it reads all. It finds a file that is empty, incomplete, zeroed or of another format. It does not
//! find out whether the payload can be decoded.

mod audio;
mod jpeg;
mod matroska;
mod mp4;
mod png;
mod source;
#[cfg(test)]
mod tests;
mod text;
mod wav;
mod zip;

use std::{
    fs::File,
    io::{self, Read, Seek},
};

use camino::{Utf8Path, Utf8PathBuf};

pub(crate) use audio::{open, unless_it_panics};
use source::{Flaw, Source};

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
    let mut source = Source::new(file, block, go_on).map_err(io("look at"))?;
    let judged = match format {
        Format::Wav => wav::check(&mut source),
        Format::Flac => audio::check_flac(&mut source),
        Format::Mp3 => audio::check_mp3(&mut source),
        Format::Ogg => audio::check_ogg(&mut source),
        Format::Mp4 => mp4::check(&mut source),
        Format::Mov => mp4::check_mov(&mut source),
        Format::Mkv => matroska::check(&mut source, &["matroska", "webm"]),
        Format::WebM => matroska::check(&mut source, &["webm"]),
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
    source.rewind()?;
    source.take(HEAD as u64).read_to_end(&mut head)?;
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
