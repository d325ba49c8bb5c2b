//! Moving the bytes of a source into a [`Part`]: in blocks, counted, continued after a drop.

use std::{
    io::{self, Read},
    path::Path,
};

use jiff::{SignedDuration, Timestamp, fmt::rfc2822::DateTimeParser};
use reqwest::{StatusCode, Version, header};
use url::Url;

use super::{
    content::{HEAD, check_format},
    partial::{Origin, Part},
    url_validator::{identity, secret_identity},
    web::{Answer, Ask, Stop, Web},
};
use crate::{
    servers::{
        files::{BLOCK, open, read_block},
        tool::{Run, ToolError},
    },
    task::presentable,
};

/// The largest file that is fetched: 16 GiB.
pub(super) const MAX_BYTES: u64 = 16 << 30;

/// How often a dropped connection is taken up again within one call.
const MAX_RESUMPTIONS: u32 = 5;

/// What is true of a whole transfer.
#[derive(Debug)]
pub(super) struct Transferred {
    /// The `Content-Type`, if the server gave one.
    pub(super) content_type: Option<String>,
    /// Where the bytes came from in the end, as it may be shown.
    pub(super) url: String,
    /// Whether bytes of an earlier connection, of this call or another, were kept.
    pub(super) resumed: bool,
}

pub(super) struct Transfer<'a> {
    part: &'a mut Part,
    format: Option<&'static str>,
    max_bytes: u64,
    run: &'a Run<'a>,
    resumed: bool,
    /// The secret identity of the URL, after all redirects, from which this call has fetched the start of the file.
    begun_from: Option<String>,
    /// The most that was reported: progress never goes back, a restarted transfer does.
    reported: u64,
}

impl<'a> Transfer<'a> {
    pub(super) fn new(
        part: &'a mut Part,
        format: Option<&'static str>,
        max_bytes: u64,
        run: &'a Run<'a>,
    ) -> Self {
        Self {
            part,
            format,
            max_bytes,
            run,
            resumed: false,
            begun_from: None,
            reported: 0,
        }
    }

    /// Fetches `url`, continuing what the part holds, and taking up a dropped connection again.
    pub(super) fn fetch(mut self, url: &Url, web: &Web) -> Result<Transferred, ToolError> {
        let mut why = String::new();
        for attempt in 0..=MAX_RESUMPTIONS {
            if attempt > 0 {
                web.pause(attempt, self.run)?;
            }
            match self.attempt(url, web, attempt) {
                Ok(answer) => {
                    return Ok(Transferred {
                        content_type: answer.header(header::CONTENT_TYPE).map(str::to_owned),
                        url: presentable(&answer.url),
                        resumed: self.resumed,
                    });
                }
                Err(Stop::Lost(reason)) => why = reason,
                Err(Stop::Final(error)) => return Err(error),
            }
        }
        let length = self.part.origin().and_then(|origin| origin.length);
        let length = length.map(|length| length.to_string());
        // The words "corrupt" and "incomplete" would say that the input is bad (docs/catalog.md).
        Err(ToolError::Failed(format!(
            "the download of {} broke off after {} of {} bytes and {MAX_RESUMPTIONS} resumptions ({why}); retrying may help",
            presentable(url),
            self.part.bytes(),
            length.as_deref().unwrap_or("an unknown number of"),
        )))
    }

    /// Copies a file of this machine.
    pub(super) fn copy(mut self, path: &Path, shown: String) -> Result<Transferred, ToolError> {
        let failed = |error| ToolError::io("read", path)(error);
        let about = path.metadata().map_err(failed)?;
        if !about.is_file() {
            return Err(failed(io::Error::other("it is not a regular file")));
        }
        let mut file = open(path).map_err(failed)?;
        let length = Some(about.len());
        self.part.begin(Origin {
            url: None,
            etag: None,
            last_modified: None,
            length,
        })?;
        self.refuse_too_large(length)?;
        let poured = self.pour(&mut file, length, &mut |error| failed(error).into());
        poured.map_err(|stop| match stop {
            Stop::Lost(why) => failed(io::Error::other(format!("the copy is incomplete: {why}"))),
            Stop::Final(error) => error,
        })?;
        Ok(Transferred {
            content_type: None,
            url: shown,
            resumed: false,
        })
    }

    fn attempt(&mut self, url: &Url, web: &Web, attempt: u32) -> Result<Answer, Stop> {
        let ask = match self.part.resumable() {
            Some((from, validator)) => Ask::Rest {
                from,
                validator: validator.to_owned(),
            },
            None => Ask::Whole,
        };
        let mut answer = match web.ask(url, &ask) {
            // A server that answered once may be coming back.
            Err(Stop::Lost(why)) if attempt == 0 => return Err(ToolError::Failed(why).into()),
            other => other?,
        };
        if answer.status().is_success() {
            refuse_encoded(&answer)?;
        }
        let length = match (answer.status(), &ask) {
            (StatusCode::OK, _) => {
                self.resumed = false;
                self.begun_from = Some(secret_identity(&answer.url));
                let origin = Origin {
                    url: identity(&answer.url),
                    etag: answer.header(header::ETAG).map(str::to_owned),
                    last_modified: strong_date(&answer).map(str::to_owned),
                    length: answer.content_length(),
                };
                self.part.begin(origin)?;
                answer.content_length()
            }
            (StatusCode::PARTIAL_CONTENT, Ask::Rest { from, .. }) => {
                let total = self.continuation(&answer, *from)?;
                self.resumed = true;
                self.part.resume(self.run)?;
                Some(total)
            }
            (StatusCode::RANGE_NOT_SATISFIABLE, Ask::Rest { .. }) => {
                self.part.condemn();
                return Err(Stop::Lost("the server has no such range".to_owned()));
            }
            _ => return Err(answer.failure()),
        };
        self.refuse_too_large(length)?;
        let from = answer.url.clone();
        let on_error = &mut |error| web.read_error(&from, error);
        self.pour(&mut answer.reader(web), length, on_error)?;
        Ok(answer)
    }

    /// The whole length, from a 206 that continues exactly what the part holds. A server that
    /// ignores `If-Range` still names what it sends.
    fn continuation(&mut self, answer: &Answer, from: u64) -> Result<u64, Stop> {
        let continued = continued_length(self.part.origin(), answer, from);
        // A redirect may lead to another file by now, whose validator may be equal.
        let as_noted = || {
            let url = self.part.origin().and_then(|origin| origin.url.as_ref());
            url.is_some() && url == identity(&answer.url).as_ref()
        };
        let begun_from = self.begun_from.as_ref();
        let is_same_url =
            begun_from.map_or_else(as_noted, |url| *url == secret_identity(&answer.url));
        match continued {
            Some(length) if is_same_url => Ok(length),
            continued => {
                self.part.condemn();
                let why = match continued {
                    Some(_) => "a redirect led to another URL than before",
                    None => "the server sent another range or content than was asked for",
                };
                Err(Stop::Lost(why.to_owned()))
            }
        }
    }

    /// Moves blocks until the reader ends, and holds it to `length` bytes in all.
    fn pour(
        &mut self,
        reader: &mut dyn Read,
        length: Option<u64>,
        on_error: &mut dyn FnMut(io::Error) -> Stop,
    ) -> Result<(), Stop> {
        let mut block = vec![0; BLOCK];
        loop {
            self.run.check_cancelled()?;
            let n = read_block(reader, &mut block).map_err(&mut *on_error)?;
            if n == 0 {
                break;
            }
            let before = self.part.bytes();
            self.part.append(block.get(..n).unwrap_or_default())?;
            let bytes = self.part.bytes();
            self.refuse_longer(length)?;
            self.refuse_too_large(Some(bytes))?;
            if before < HEAD as u64 && bytes >= HEAD as u64 {
                self.check_format()?;
            }
            self.report(bytes, length);
        }
        // A cancelled connection ends like an answer that states no length.
        self.run.check_cancelled()?;
        // An earlier connection may have sent more than this one announces.
        self.refuse_longer(length)?;
        match length {
            Some(length) if self.part.bytes() < length => Err(Stop::Lost(format!(
                "the data ended after {} of {length} bytes",
                self.part.bytes()
            ))),
            _ if self.part.bytes() == 0 => {
                Err(ToolError::Corrupt("the source is empty".to_owned()).into())
            }
            _ => Ok(self.check_format()?),
        }
    }

    fn check_format(&mut self) -> Result<(), ToolError> {
        let Some(format) = self.format else {
            return Ok(());
        };
        check_format(format, self.part.head()).map_err(|found| {
            self.part.condemn();
            ToolError::Corrupt(format!(
                "the content is {found}, not {format} as `format` asks"
            ))
        })
    }

    fn refuse_longer(&mut self, length: Option<u64>) -> Result<(), ToolError> {
        match length {
            Some(length) if self.part.bytes() > length => {
                self.part.condemn();
                let text = format!("more bytes came than the {length} that were announced");
                Err(ToolError::Corrupt(text))
            }
            _ => Ok(()),
        }
    }

    fn refuse_too_large(&mut self, bytes: Option<u64>) -> Result<(), ToolError> {
        let max = self.max_bytes;
        match bytes {
            Some(bytes) if bytes > max => {
                self.part.condemn();
                Err(ToolError::Failed(format!(
                    "the source is too large: {bytes} bytes or more, at most {max} are fetched"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Reports at most about a hundred times where the length is known, else every 4 MiB.
    #[expect(clippy::cast_precision_loss, reason = "16 GiB is far below 2^53")]
    fn report(&mut self, bytes: u64, length: Option<u64>) {
        let step = length.map_or(4 << 20, |length| (length / 100).max(256 << 10));
        if bytes >= self.reported + step || (Some(bytes) == length && bytes > self.reported) {
            self.reported = bytes;
            self.run.progress(
                bytes as f64,
                length.map(|length| length as f64),
                "bytes moved",
            );
        }
    }
}

/// The `Last-Modified` of an answer, if it is a strong validator (RFC 9110, 8.8.2.2): the content may change once more
/// within the second that it names, so the `Date` must be later, by a minute as clocks differ.
fn strong_date(answer: &Answer) -> Option<&str> {
    let modified = answer.header(header::LAST_MODIFIED)?;
    let read = |date| -> Option<Timestamp> { DateTimeParser::new().parse_timestamp(date).ok() };
    let age = read(answer.header(header::DATE)?)?.duration_since(read(modified)?);
    (age >= SignedDuration::from_mins(1)).then_some(modified)
}

/// Compressed content has another length and other ranges than the file; it was not asked for. The HTTP client reads
/// chunks of HTTP/1.1 alone, and no other transfer coding (RFC 9112, 6.1).
fn refuse_encoded(answer: &Answer) -> Result<(), ToolError> {
    let content = answer.codings(header::CONTENT_ENCODING);
    if let Some(coding) = content.iter().find(|coding| *coding != "none") {
        return Err(ToolError::Failed(format!(
            "{} sends the content compressed ({coding}) although it was asked not to",
            presentable(&answer.url)
        )));
    }
    let transfer = answer.codings(header::TRANSFER_ENCODING);
    match transfer.as_slice() {
        [] => Ok(()),
        [only] if only == "chunked" && answer.version() == Version::HTTP_11 => Ok(()),
        codings => Err(ToolError::Failed(format!(
            "{} sends the content in the transfer coding `{}` of {:?}, which is not read",
            presentable(&answer.url),
            codings.join(", "),
            answer.version()
        ))),
    }
}

/// The whole length, if the answer continues content of that origin from byte `from` on. An answer that does not tell a
/// length may be a part of the rest.
fn continued_length(origin: Option<&Origin>, answer: &Answer, from: u64) -> Option<u64> {
    let origin = origin?;
    let is_same = |name, then: &Option<String>| {
        let now = answer.header(name);
        now.is_none() || then.is_none() || now == then.as_deref()
    };
    let (first, total) = answer
        .header(header::CONTENT_RANGE)
        .and_then(content_range)?;
    let length = match (origin.length, total) {
        (Some(known), Some(total)) if known != total => None,
        (known, total) => known.or(total),
    };
    length.filter(|_| {
        first == from
            && is_same(header::ETAG, &origin.etag)
            && is_same(header::LAST_MODIFIED, &origin.last_modified)
    })
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
