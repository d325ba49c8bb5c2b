//! The downloader, one implementation under several names (R-000-127): bytes of a URL into a new
//! file, whole or not at all.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::{
    format::{Format, sniffed_type},
    partial::{Finished, Leave, Part},
    source::Source,
    transfer::{MAX_BYTES, Start, Transfer, Transferred},
    web::Web,
};
use crate::servers::{
    files::{absolute, file_uri, local_path, temporary_directory},
    tool::{Annotations, Definition, Effect, Run, Tool, ToolError, World},
};

const DESCRIPTION: &str = "Download an http(s) or file URL into a new file. The file appears under its final name \
    only when it is complete (length checked, synced); an existing file is never overwritten. A dropped connection is \
    resumed; with `output_path`, a failed download is resumed by the next call. At most 16 GiB; at most 5 redirects; \
    10 s to connect, 30 s without data. Loopback and private addresses are refused unless the server entry says \
    allow_private = true; link-local ones always. Uses the proxies in HTTPS_PROXY, HTTP_PROXY and NO_PROXY of its environment.";

/// A downloader under one of its names.
pub(super) struct Downloader {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) formats: Formats,
}

/// Whether the tool takes `format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Formats {
    Choosable,
    AsSent,
}

/// What to download, parsed.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) source: Source,
    /// Absolute; `None`: a new file in the temporary folder.
    pub(super) target: Option<PathBuf>,
    pub(super) format: Option<Format>,
    pub(super) max_bytes: u64,
}

impl Tool for Downloader {
    fn definition(&self) -> Definition {
        let mut properties = json!({
            "url": {"type": "string", "minLength": 1, "description": "http, https or file URL, or an absolute path"},
            "output_path": {
                "type": "string", "minLength": 1,
                "description": "where to put it: a path or file:// URI that does not exist yet, in a folder that does; \
                    without it, a new file in the temporary folder"
            },
        });
        if let (Formats::Choosable, Value::Object(properties)) = (self.formats, &mut properties) {
            properties.insert(
                "format".to_owned(),
                json!({
                    "type": "string", "enum": Format::ALL.map(Format::name),
                    "description": "what the content must be; nothing is converted"
                }),
            );
        }
        Definition {
            name: self.name,
            title: self.title,
            description: DESCRIPTION,
            input_schema: json!({
                "type": "object", "required": ["url"], "additionalProperties": false, "properties": properties
            }),
            output_schema: json!({
                "type": "object",
                "required": ["output_uri", "bytes", "content_type", "sha256", "url", "resumed"],
                "additionalProperties": false,
                "properties": {
                    "output_uri": {"type": "string", "description": "file:// URI of the new file"},
                    "bytes": {"type": "integer", "minimum": 1},
                    "content_type": {"type": "string", "description": "the server's, else by the first bytes"},
                    "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
                    "url": {"type": "string", "description": "after redirects, without signatures"},
                    "resumed": {"type": "boolean", "description": "whether bytes of an earlier connection were kept"}
                }
            }),
            annotations: Annotations {
                effect: Effect::Additive,
                world: World::Open,
            },
        }
    }

    fn call(&self, arguments: &Map<String, Value>, run: &Run<'_>) -> Result<Value, ToolError> {
        let order = Order::parse(arguments)?;
        let web = Web::from_environment()?;
        download(&order, &web, run)
    }
}

impl Order {
    pub(super) fn parse(arguments: &Map<String, Value>) -> Result<Self, ToolError> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let wrong =
            |argument: &'static str, problem: String| ToolError::Argument { argument, problem };
        let source = Source::parse(text("url").unwrap_or_default())
            .map_err(|e| wrong("url", e.to_string()))?;
        let target = text("output_path").map(target);
        let format = text("format").map(|name| {
            Format::parse(name)
                .ok_or_else(|| wrong("format", format!("`{name}` is no format known here")))
        });
        Ok(Self {
            source,
            target: target.transpose()?,
            format: format.transpose()?,
            max_bytes: MAX_BYTES,
        })
    }
}

/// The absolute path of a file to be written, from an `output_path`.
pub(super) fn target(text: &str) -> Result<PathBuf, ToolError> {
    let path = absolute("output_path", &local_path("output_path", text)?)?;
    // A path that ends with `/` or `..` names a folder.
    if text.ends_with('/') || path.file_name().is_none() {
        return Err(ToolError::Argument {
            argument: "output_path",
            problem: format!("{} names no file", path.display()),
        });
    }
    Ok(path)
}

/// Fills the ordered file by `transfer`; a failure leaves what a later call can continue.
pub(super) fn fill(
    order: &Order,
    run: &Run<'_>,
    transfer: impl FnOnce(Transfer<'_>) -> Result<Transferred, ToolError>,
) -> Result<(Finished, Transferred), ToolError> {
    let (target, leave) = match &order.target {
        Some(target) => (target.clone(), Leave::Resumable),
        None => (reserve(order)?, Leave::Nothing),
    };
    let mut part = Part::open(&target, &order.source.presentable())?;
    match transfer(Transfer::new(&mut part, order.format, order.max_bytes, run)) {
        Ok(transferred) => Ok((part.publish()?, transferred)),
        Err(error) => {
            part.abandon(leave);
            Err(error)
        }
    }
}

/// The type that the first bytes tell.
pub(super) fn content_type(file: &Finished) -> String {
    let sniffed = sniffed_type(&file.head).unwrap_or("application/octet-stream");
    sniffed.to_owned()
}

/// Downloads, and answers with the tool's structured content.
pub(super) fn download(order: &Order, web: &Web, run: &Run<'_>) -> Result<Value, ToolError> {
    let (file, transferred) = fill(order, run, |transfer| match &order.source {
        Source::Web(url) => web.until_cancelled(run, || transfer.fetch(url, web)),
        Source::Local(path) => transfer.copy(path, order.source.presentable()),
    })?;
    let content_type = transferred
        .content_type
        .unwrap_or_else(|| content_type(&file));
    Ok(json!({
        "output_uri": file_uri(&file.path),
        "bytes": file.bytes,
        "content_type": content_type,
        "sha256": file.sha256,
        "url": transferred.url,
        "resumed": transferred.start == Start::Resumed,
    }))
}

/// A target in the temporary folder whose part nobody else has.
fn reserve(order: &Order) -> Result<PathBuf, ToolError> {
    let folder = temporary_directory();
    let ending = match order.format {
        Some(format) => format!(".{}", format.name()),
        None => order
            .source
            .file_name()
            .and_then(|name| ending(&name))
            .unwrap_or_default(),
    };
    let failed = |error: String| {
        let folder = folder.display();
        ToolError::Failed(format!("cannot create a file in {folder}: {error}"))
    };
    let (_, part) = tempfile::Builder::new()
        .prefix("oneact-")
        .suffix(&format!("{ending}.part"))
        .tempfile_in(&folder)
        .map_err(|error| failed(error.to_string()))?
        .keep()
        .map_err(|error| failed(error.to_string()))?;
    let target = part.with_extension("");
    std::path::absolute(target).map_err(|error| failed(error.to_string()))
}

/// A file name's ending with its dot, if it is a plain short one.
fn ending(name: &str) -> Option<String> {
    let (_, ending) = name.rsplit_once('.')?;
    let plain =
        (1..=8).contains(&ending.len()) && ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
    plain.then(|| format!(".{ending}"))
}
