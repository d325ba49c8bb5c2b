//! The source of a recording: an `http` or `https` URL, or a file of this machine.

use std::path::PathBuf;

use url::Url;

use crate::{
    servers::files::{file_path, file_uri, is_explicit_path, is_file_uri},
    task::presentable,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// A URL with the scheme `http` or `https` and a host.
    Web(Url),
    Local(PathBuf),
}

/// Why a text is not a source. The text itself is not contained, because it cannot be redacted.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(super) enum SourceError {
    #[error("neither a URL ({0}) nor a path, which begins with `/`, `./` or `../`")]
    NotAUrl(url::ParseError),
    #[error("the scheme `{0}` is not supported: use http, https or file")]
    Scheme(String),
    #[error("a file URL must name an absolute path of this machine, as in file:///tmp/a.mp4")]
    FileUrl,
    #[error("the path cannot be made absolute: {0}")]
    Path(String),
}

impl Source {
    /// Parses an `http`, `https` or `file` URL, or a path that begins with `/`, `./` or `../`.
    pub(super) fn parse(text: &str) -> Result<Self, SourceError> {
        if is_explicit_path(text) {
            let path = std::path::absolute(text);
            return path
                .map(Self::Local)
                .map_err(|error| SourceError::Path(error.to_string()));
        }
        if is_file_uri(text) {
            let path = file_path(text);
            return path.map(Self::Local).map_err(|_| SourceError::FileUrl);
        }
        let url = Url::parse(text).map_err(SourceError::NotAUrl)?;
        match url.scheme() {
            "http" | "https" => Ok(Self::Web(url)),
            other => Err(SourceError::Scheme(other.to_owned())),
        }
    }

    /// The text that may be shown: a URL without its secrets.
    pub(super) fn presentable(&self) -> String {
        match self {
            Self::Web(url) => presentable(url),
            Self::Local(path) => file_uri(path),
        }
    }

    /// The last component of the path, if there is one.
    pub(super) fn file_name(&self) -> Option<String> {
        match self {
            Self::Web(url) => {
                let last = url.path_segments()?.next_back()?;
                let decoded = percent_encoding::percent_decode_str(last)
                    .decode_utf8()
                    .ok()?;
                (!decoded.is_empty()).then(|| decoded.into_owned())
            }
            Self::Local(path) => Some(path.file_name()?.to_string_lossy().into_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_and_paths_are_told_apart() {
        assert!(matches!(
            Source::parse("https://a.example/v.mp4"),
            Ok(Source::Web(_))
        ));
        assert_eq!(
            Source::parse("file:///tmp/a%20b.mp4"),
            Ok(Source::Local("/tmp/a b.mp4".into()))
        );
        assert_eq!(
            Source::parse("/tmp/a?b.mp4"),
            Ok(Source::Local("/tmp/a?b.mp4".into()))
        );
        assert_eq!(
            Source::parse("ftp://a.example/v"),
            Err(SourceError::Scheme("ftp".to_owned()))
        );
        assert!(matches!(
            Source::parse("not a url"),
            Err(SourceError::NotAUrl(_))
        ));
        assert!(matches!(
            Source::parse("https://"),
            Err(SourceError::NotAUrl(_))
        ));
        assert_eq!(
            Source::parse("file://elsewhere/tmp/a"),
            Err(SourceError::FileUrl)
        );
    }
}
