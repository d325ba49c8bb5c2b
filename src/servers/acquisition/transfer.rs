//! Moving the bytes of a source into a [`Draft`]: in blocks, counted, continued after a drop.

use std::{io, path::Path};

use reqwest::{Response, StatusCode, header};
use url::Url;

use super::{
    content::{HEAD, check_format},
    web::{Rest, Stop, Web, failure, header},
};
use crate::{
    host,
    servers::{
        files::{Draft, blocks},
        tool::{Run, ToolError},
    },
    task::{presentable, unsigned},
};

/// How often a dropped connection is taken up again within one call.
const MAX_RESUMPTIONS: u32 = 5;

/// What is true of a whole transfer.
#[derive(Debug)]
pub(super) struct Transferred {
    /// The `Content-Type`, if the server gave one.
    pub(super) content_type: Option<String>,
    /// Where the bytes came from in the end, as it may be shown.
    pub(super) url: String,
    /// Whether bytes of an earlier connection were kept.
    pub(super) resumed: bool,
}

/// What the bytes are the beginning of.
#[derive(Debug)]
struct Beginning {
    /// The URL after all redirects, without its signature.
    url: String,
    /// None if the content cannot be told from a changed one, so that nothing is continued.
    etag: Option<String>,
    length: Option<u64>,
}

pub(super) struct Transfer<'a> {
    draft: &'a mut Draft,
    format: Option<&'a str>,
    max_bytes: u64,
    run: &'a Run<'a>,
    beginning: Option<Beginning>,
    resumed: bool,
    /// The most that was reported: progress never goes back, a restarted transfer does.
    reported: u64,
}

impl<'a> Transfer<'a> {
    pub(super) fn new(
        draft: &'a mut Draft,
        format: Option<&'a str>,
        max_bytes: u64,
        run: &'a Run<'a>,
    ) -> Self {
        Self {
            draft,
            format,
            max_bytes,
            run,
            beginning: None,
            resumed: false,
            reported: 0,
        }
    }

    /// Fetches `url`, taking up a dropped connection again.
    pub(super) fn fetch(mut self, url: &Url, web: &Web) -> Result<Transferred, ToolError> {
        let mut why = String::new();
        for attempt in 0..=MAX_RESUMPTIONS {
            if attempt > 0 {
                web.pause(attempt, self.run)?;
            }
            match self.attempt(url, web) {
                Ok(answer) => {
                    return Ok(Transferred {
                        content_type: header(&answer, header::CONTENT_TYPE).map(str::to_owned),
                        url: presentable(answer.url()),
                        resumed: self.resumed,
                    });
                }
                // A server that answered once may be coming back.
                Err(Stop::Lost(reason)) if self.beginning.is_some() || attempt > 0 => why = reason,
                Err(stop) => return Err(stop.into()),
            }
        }
        let length = self.beginning.and_then(|beginning| beginning.length);
        let length = length.map(|length| length.to_string());
        // The words "corrupt" and "incomplete" would say that the input is bad (docs/catalog.md).
        Err(ToolError::Failed(format!(
            "the download of {} broke off after {} of {} bytes and {MAX_RESUMPTIONS} resumptions ({why}); retrying may help",
            presentable(url),
            self.draft.bytes(),
            length.as_deref().unwrap_or("an unknown number of"),
        )))
    }

    /// Copies a file of this machine.
    pub(super) fn copy(mut self, path: &Path, shown: String) -> Result<Transferred, ToolError> {
        let failed = |error| ToolError::io("read", path)(error);
        let mut file = host::open_named(path).map_err(failed)?;
        let length = Some(file.metadata().map_err(failed)?.len());
        self.refuse_too_large(length)?;
        let run = self.run;
        blocks(&mut file, path, run, |block| self.take(block, length))?;
        self.end(length).map_err(|stop| match stop {
            Stop::Lost(why) => failed(io::Error::other(format!("the copy is incomplete: {why}"))),
            Stop::Final(error) => error,
        })?;
        Ok(Transferred {
            content_type: None,
            url: shown,
            resumed: false,
        })
    }

    fn attempt(&mut self, url: &Url, web: &Web) -> Result<Response, Stop> {
        let begun = self.beginning.as_ref();
        let rest = begun.and_then(|begun| {
            let from = Some(self.draft.bytes()).filter(|from| *from > 0)?;
            let etag = begun.etag.clone()?;
            Some(Rest { from, etag })
        });
        let mut answer = web.get(url, rest.as_ref(), self.run)?;
        let length = match (answer.status(), rest) {
            (StatusCode::OK, _) => {
                refuse_encoded(&answer)?;
                self.begin(&answer)?;
                answer.content_length()
            }
            (StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE, Some(_)) => {
                refuse_encoded(&answer)?;
                let Some(length) = self.continued(&answer) else {
                    self.restart()?;
                    let why = "the server continued the content otherwise than it began";
                    return Err(Stop::Lost(why.to_owned()));
                };
                self.resumed = true;
                Some(length)
            }
            _ => return Err(failure(&answer)),
        };
        self.refuse_too_large(length)?;
        while let Some(bytes) = web.more(&mut answer, self.run)? {
            self.take(&bytes, length)?;
        }
        self.end(length)?;
        Ok(answer)
    }

    fn begin(&mut self, answer: &Response) -> Result<(), ToolError> {
        self.restart()?;
        // `If-Range` needs a strong one (RFC 9110, 13.1.5).
        let etag = header(answer, header::ETAG).filter(|etag| etag.starts_with('"'));
        self.beginning = Some(Beginning {
            url: unsigned(answer.url().as_str()).into_owned(),
            etag: etag.map(str::to_owned),
            length: answer.content_length(),
        });
        Ok(())
    }

    /// Drops what there is. The next attempt asks for the whole content.
    fn restart(&mut self) -> Result<(), ToolError> {
        self.resumed = false;
        let path = self.draft.path().to_owned();
        self.draft.restart().map_err(ToolError::io("empty", &path))
    }

    /// The whole length, if the answer continues exactly what there is. A server that ignores `If-Range` still names what
    /// it sends, and a redirect may lead to another file by now. An answer that does not tell a length may be a part of the
    /// rest.
    fn continued(&self, answer: &Response) -> Option<u64> {
        let begun = self.beginning.as_ref()?;
        let (first, total) = content_range(header(answer, header::CONTENT_RANGE)?)?;
        let length = total.or(begun.length)?;
        let etag = header(answer, header::ETAG);
        let is_same = first == self.draft.bytes()
            && begun.length.is_none_or(|known| known == length)
            && (etag.is_none() || etag == begun.etag.as_deref())
            && unsigned(answer.url().as_str()) == begun.url;
        is_same.then_some(length)
    }

    /// Takes the next bytes, of `length` in all.
    fn take(&mut self, bytes: &[u8], length: Option<u64>) -> Result<(), ToolError> {
        let before = self.draft.bytes();
        let appended = self.draft.append(bytes);
        appended.map_err(ToolError::io("write", self.draft.path()))?;
        let now = self.draft.bytes();
        refuse_longer(now, length)?;
        self.refuse_too_large(Some(now))?;
        if (before..now).contains(&(HEAD as u64 - 1)) {
            self.check_format()?;
        }
        self.report(now, length);
        Ok(())
    }

    /// Checks the whole.
    fn end(&mut self, length: Option<u64>) -> Result<(), Stop> {
        let bytes = self.draft.bytes();
        // An earlier connection may have sent more than this one announces.
        refuse_longer(bytes, length)?;
        match length {
            Some(length) if bytes < length => Err(Stop::Lost(format!(
                "the data ended after {bytes} of {length} bytes"
            ))),
            _ if bytes == 0 => Err(ToolError::Corrupt("the source is empty".to_owned()).into()),
            _ => Ok(self.check_format()?),
        }
    }

    fn check_format(&self) -> Result<(), ToolError> {
        let Some(format) = self.format else {
            return Ok(());
        };
        check_format(format, self.draft.head()).map_err(|found| {
            ToolError::Corrupt(format!(
                "the content is {found}, not {format} as `format` asks"
            ))
        })
    }

    fn refuse_too_large(&self, bytes: Option<u64>) -> Result<(), ToolError> {
        let max = self.max_bytes;
        match bytes {
            Some(bytes) if bytes > max => Err(ToolError::Failed(format!(
                "the source is too large: {bytes} bytes or more, at most {max} are fetched"
            ))),
            _ => Ok(()),
        }
    }

    /// Reports at most about a hundred times where the length is known, else every 4 MiB.
    #[expect(clippy::cast_precision_loss, reason = "16 GiB is far below 2^53")]
    fn report(&mut self, bytes: u64, length: Option<u64>) {
        let step = length.map_or(4 << 20, |length| (length / 100).max(256 << 10));
        if bytes >= self.reported + step || (Some(bytes) == length && bytes > self.reported) {
            self.reported = bytes;
            let total = length.map(|length| length as f64);
            self.run.progress(bytes as f64, total, "bytes moved");
        }
    }
}

fn refuse_longer(bytes: u64, length: Option<u64>) -> Result<(), ToolError> {
    match length {
        Some(length) if bytes > length => Err(ToolError::Corrupt(format!(
            "more bytes came than the {length} that were announced"
        ))),
        _ => Ok(()),
    }
}

/// Compressed content has another length and other ranges than the file, and it was not asked for. The HTTP client reads no
/// other transfer coding than chunks.
fn refuse_encoded(answer: &Response) -> Result<(), ToolError> {
    for (name, plain) in [
        (header::CONTENT_ENCODING, "none"),
        (header::TRANSFER_ENCODING, "chunked"),
    ] {
        for value in answer.headers().get_all(name) {
            let codings = String::from_utf8_lossy(value.as_bytes()).to_lowercase();
            let mut codings = codings.split(',').map(str::trim);
            if let Some(coding) = codings.find(|coding| ![plain, "identity", ""].contains(coding)) {
                return Err(ToolError::Failed(format!(
                    "{} sends the content compressed ({coding}) although it was asked not to",
                    presentable(answer.url())
                )));
            }
        }
    }
    Ok(())
}

/// The first byte's position and the whole length of a `Content-Range` (RFC 9110, 14.4).
fn content_range(text: &str) -> Option<(u64, Option<u64>)> {
    let text = text.trim().strip_prefix("bytes")?;
    let (range, total) = text.trim_start().split_once('/')?;
    let (first, _) = range.split_once('-')?;
    let total = match total {
        "*" => None,
        digits => Some(digits.parse().ok()?),
    };
    Some((first.parse().ok()?, total))
}
