//! The stated place of an asset: a `storage_uri`, parsed once.
//!
//! Pure: nothing here looks at a file or a network. A `Uri` is well-formed, and its text is byte for byte as
//! received.

#[cfg(test)]
mod tests;

use std::{borrow::Cow, fmt};

use camino::{Utf8Path, Utf8PathBuf};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use url::Url;

use super::redact_presigned;

/// A `storage_uri` (R-000-54).
#[derive(Clone, PartialEq, Eq)]
pub struct Uri {
    text: String,
    location: Location,
}

#[derive(Clone, PartialEq, Eq)]
pub enum Location {
    /// A local file: absolute, or relative to the root.
    File(Utf8PathBuf),
    Http(Url),
    /// `s3://bucket/key`, `gs://bucket/key` or `az://container/key`. The key is not percent-decoded, as in S3 tools.
    Object {
        service: Service,
        bucket: String,
        /// Without its leading slash; empty if the URI names the bucket itself.
        key: String,
    },
    /// A URI of an unknown scheme.
    Other {
        /// In lower case, without the colon.
        scheme: String,
    },
}

/// A kind of object store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Service {
    S3,
    /// Google Cloud Storage.
    Gcs,
    /// Azure Blob Storage.
    Azure,
}

impl Service {
    pub const fn scheme(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Gcs => "gs",
            Self::Azure => "az",
        }
    }
}

/// Why a text is no `storage_uri`, without its secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UriError(String);

impl UriError {
    fn of(text: &str, problem: &str) -> Self {
        Self(format!(
            "storage URI `{}` {problem}",
            redact_presigned(text)
        ))
    }
}

const NUL: &str = "contains a NUL character";
const NOT_ABSOLUTE: &str = "is not absolute; write file:///path";

/// Bytes that must be encoded in the path of a file URI (all but RFC 3986 `pchar` and `/`).
const NOT_IN_PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

impl Uri {
    /// Reads a `storage_uri`. A text that begins with neither `scheme://` nor `file:` nor `data:` is a path and is
    /// not percent-decoded, so `12:30 notes.wav` is a file.
    pub fn parse(text: &str) -> Result<Self, UriError> {
        if text.trim().is_empty() {
            let message =
                "storage URI is empty; give a file:// URI, a path, or an http(s):// or s3:// URI";
            return Err(UriError(message.to_owned()));
        }
        if text.contains('\0') {
            return Err(UriError::of(text, NUL));
        }
        let location = match scheme(text) {
            None => Location::File(Utf8PathBuf::from(text)),
            Some((scheme, rest)) => match scheme.to_ascii_lowercase().as_str() {
                "file" => Location::File(file_path(text, rest)?),
                "http" | "https" => Location::Http(Url::parse(text).map_err(|error| {
                    UriError::of(text, &format!("is not a valid URL: {error}"))
                })?),
                "s3" => object(Service::S3, text, rest)?,
                "gs" => object(Service::Gcs, text, rest)?,
                "az" => object(Service::Azure, text, rest)?,
                other => Location::Other {
                    scheme: other.to_owned(),
                },
            },
        };
        Ok(Self {
            text: text.to_owned(),
            location,
        })
    }

    /// The `file://` URI of an absolute path, percent-encoded to ASCII.
    pub fn from_path(path: &Utf8Path) -> Result<Self, UriError> {
        if !path.is_absolute() {
            return Err(UriError::of(path.as_str(), NOT_ABSOLUTE));
        }
        if path.as_str().contains('\0') {
            return Err(UriError::of(path.as_str(), NUL));
        }
        Self::parse(&encoded(path))
    }

    /// The text for other programs: a file URI in the spelling that all programs read alike, any other text as
    /// received.
    pub fn for_others(&self) -> Cow<'_, str> {
        match &self.location {
            Location::File(path) if scheme(&self.text).is_some() => Cow::Owned(encoded(path)),
            _ => Cow::Borrowed(&self.text),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The text without its secrets, for output and records (invariant 6).
    pub fn redacted(&self) -> Cow<'_, str> {
        redact_presigned(&self.text)
    }

    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The path of a file URI; a relative path starts at `root`. `None` for any other URI.
    pub fn local_path(&self, root: &Utf8Path) -> Option<Utf8PathBuf> {
        match &self.location {
            Location::File(path) => Some(root.join(path)),
            Location::Http(_) | Location::Object { .. } | Location::Other { .. } => None,
        }
    }
}

/// Redacted, so that a log of a larger value does not reveal a presigned URL.
impl fmt::Debug for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Uri").field(&self.redacted()).finish()
    }
}

fn encoded(path: &Utf8Path) -> String {
    format!("file://{}", utf8_percent_encode(path.as_str(), NOT_IN_PATH))
}

/// Removes `.` and `..`, as URI readers do (RFC 3986 §5.2.4). A file system that follows a symbolic link before
/// `..` would reach another file.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            name => kept.push(name),
        }
    }
    format!("/{}", kept.join("/"))
}

/// The scheme, and the text after its colon (RFC 3986 §3.1).
fn scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let well_formed = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    let without_slashes = ["file", "data"]
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known));
    (well_formed && (rest.starts_with("//") || without_slashes)).then_some((scheme, rest))
}

/// The path of a file URI (RFC 8089). `?` and `#` are part of the path: file URIs have no query, and file names
/// may contain both.
fn file_path(text: &str, rest: &str) -> Result<Utf8PathBuf, UriError> {
    let path = match rest.strip_prefix("//") {
        None => rest,
        Some(after) => {
            let host_end = after.find('/').unwrap_or(after.len());
            let (host, path) = after.split_at(host_end);
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                let problem =
                    format!("names the host `{host}`; a file URI must be local: file:///path");
                return Err(UriError::of(text, &problem));
            }
            path
        }
    };
    if !path.starts_with('/') {
        return Err(UriError::of(text, NOT_ABSOLUTE));
    }
    if let Some(at) = bad_percent(path) {
        let at = text.len() - path.len() + at;
        let problem = format!("has a bad percent-encoding at byte {at}; write a literal % as %25");
        return Err(UriError::of(text, &problem));
    }
    let decoded = percent_decode_str(path)
        .decode_utf8()
        .map_err(|_| UriError::of(text, "is not UTF-8 once percent-decoded"))?;
    if decoded.contains('\0') {
        return Err(UriError::of(text, NUL));
    }
    Ok(Utf8PathBuf::from(without_dots(&decoded)))
}

/// The place of the first `%` that two hexadecimal digits do not follow.
fn bad_percent(path: &str) -> Option<usize> {
    path.match_indices('%').map(|(at, _)| at).find(|at| {
        let digits = path.as_bytes().get(at + 1..at + 3);
        !digits.is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit))
    })
}

fn object(service: Service, text: &str, rest: &str) -> Result<Location, UriError> {
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
    if bucket.is_empty() {
        let problem = "names no bucket; write for example s3://bucket/key";
        return Err(UriError::of(text, problem));
    }
    Ok(Location::Object {
        service,
        bucket: bucket.to_owned(),
        key: key.to_owned(),
    })
}
