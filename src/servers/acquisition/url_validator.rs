//! The tool `url_validator` (CAP-ACQ-001, R-000-117, R-000-118): checks whether a URL leads to a recording.
//! A [`Source`] is an `http` or `https` URL, or a file of this machine.

use std::path::{Path, PathBuf};

use reqwest::{Response, header};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::{
    content::{HEAD, is_media, is_media_type},
    web::{Web, header, status_text},
};
use crate::{
    host,
    servers::{
        files::{file_path, file_uri, head, is_explicit_path, is_file_uri},
        tool::{self, Effect, Run, Tool, ToolError, World, object, record},
    },
    task::presentable,
};

const DEFAULT_PLATFORM: &str = "generic_video_platform";

#[derive(Deserialize)]
struct Arguments {
    url: String,
    platform: Option<String>,
}

pub(super) fn url_validator() -> Tool {
    Tool {
        name: "url_validator",
        title: "Validate a recording's URL",
        description: "Check that an http(s) or file URL, or an absolute path, leads to a video or audio recording \
            that can be read, without downloading it. If it does not, that is an answer and not an error. An \
            unreachable server is an error. Loopback and private addresses are refused unless the server's entry \
            says allow_private = true. The variables HTTPS_PROXY, HTTP_PROXY and NO_PROXY can name proxies.",
        input: object(
            &["url"],
            json!({
                "url": {"type": "string", "description": "http, https or file URL, or an absolute path"},
                "platform": {
                    "type": "string", "minLength": 1, "default": DEFAULT_PLATFORM,
                    "description": "returned unchanged"
                }
            }),
        ),
        output: record(json!({
            "url_valid": {"type": "boolean"},
            "platform": {"type": "string"},
            "video_available": {"type": "boolean"},
            "restrictions": {
                "type": ["string", "null"],
                "description": "why the recording is not available, such as `HTTP 403 Forbidden`"
            }
        })),
        effect: Effect::ReadOnly,
        world: World::Open,
        call: tool::call(|arguments: &Arguments, run: &Run<'_>| {
            let verdict = validate(&arguments.url, &Web::from_environment()?, run)?;
            let platform = arguments.platform.as_deref();
            Ok(verdict.into_content(platform.unwrap_or(DEFAULT_PLATFORM)))
        }),
    }
}

/// The result of the check.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The text is not a usable URL.
    Invalid(String),
    /// The URL does not lead to a recording that can be read.
    Unavailable(String),
    Available,
}

impl Verdict {
    pub(super) fn into_content(self, platform: &str) -> Value {
        let (valid, available, restrictions) = match self {
            Self::Invalid(why) => (false, false, Some(why)),
            Self::Unavailable(why) => (true, false, Some(why)),
            Self::Available => (true, true, None),
        };
        json!({
            "url_valid": valid, "platform": platform, "video_available": available, "restrictions": restrictions
        })
    }
}

/// Checks the URL. Fails only if the server cannot be reached or must not be contacted.
pub(super) fn validate(text: &str, web: &Web, run: &Run<'_>) -> Result<Verdict, ToolError> {
    match Source::parse(text) {
        Err(why) => Ok(Verdict::Invalid(why)),
        Ok(Source::Local(path)) => Ok(look(&path)),
        Ok(Source::Web(url)) => Ok(judge(&web.look(&url, run)?)),
    }
}

fn judge(answer: &Response) -> Verdict {
    if !answer.status().is_success() {
        return Verdict::Unavailable(status_text(answer.status()));
    }
    let content_type = header(answer, header::CONTENT_TYPE).unwrap_or_default();
    let attachment = header(answer, header::CONTENT_DISPOSITION).and_then(attachment_name);
    let name = attachment
        .map(str::to_owned)
        .or_else(|| Source::Web(answer.url().clone()).file_name());
    if is_media_type(content_type, name.as_deref()) {
        return Verdict::Available;
    }
    let shown = match content_type {
        "" => "missing",
        shown => shown,
    };
    Verdict::Unavailable(format!(
        "not a video or audio file: its Content-Type is {shown}"
    ))
}

fn look(path: &Path) -> Verdict {
    let unavailable = |what: &str| Verdict::Unavailable(format!("{}: {what}", path.display()));
    match host::open_named(path).and_then(|mut file| head(&mut file, HEAD)) {
        Err(error) => unavailable(&error.to_string()),
        Ok(head) if head.is_empty() => unavailable("the file is empty"),
        Ok(head) if is_media(&head) => Verdict::Available,
        Ok(_) => unavailable("not a video or audio file by its content"),
    }
}

/// The `filename` of a `Content-Disposition` (RFC 6266). Only its ending is used, so escapes are not decoded.
fn attachment_name(text: &str) -> Option<&str> {
    let (_, value) = text.split_once("filename=")?;
    match value.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => value.split(';').next().map(str::trim),
    }
}

/// The source of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// A URL with the scheme `http` or `https` and a host.
    Web(Url),
    Local(PathBuf),
}

impl Source {
    /// Parses an `http`, `https` or `file` URL, or a path that begins with `/`, `./` or `../`. The error does not contain the
    /// text, because it cannot be redacted.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if is_explicit_path(text) {
            let path = std::path::absolute(text);
            return path
                .map(Self::Local)
                .map_err(|error| format!("the path cannot be made absolute: {error}"));
        }
        if is_file_uri(text) {
            let why =
                "a file URL must name an absolute path of this machine, as in file:///tmp/a.mp4";
            let path = file_path(text);
            return path.map(Self::Local).map_err(|_| why.to_owned());
        }
        let url = Url::parse(text).map_err(|error| {
            format!("neither a URL ({error}) nor a path, which begins with `/`, `./` or `../`")
        })?;
        match url.scheme() {
            "http" | "https" => Ok(Self::Web(url)),
            other => Err(format!(
                "the scheme `{other}` is not supported: use http, https or file"
            )),
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
        for (text, why) in [
            ("ftp://a.example/v", "the scheme `ftp`"),
            ("not a url", "neither a URL"),
            ("https://", "neither a URL"),
            ("file://elsewhere/tmp/a", "a file URL must name"),
        ] {
            assert!(Source::parse(text).unwrap_err().contains(why), "{text}");
        }
    }
}
