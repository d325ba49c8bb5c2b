//! The downloaders, which are one implementation under several names (R-000-127), and `upload_registrar`
//! (CAP-ACQ-005).

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    content::{formats, sniffed_type},
    partial::{Finished, Part},
    transfer::{MAX_BYTES, Transfer, Transferred},
    url_validator::Source,
    web::Web,
};
use crate::servers::{
    files::{absolute, check_unprotected, file_uri, local_path, temporary_directory},
    tool::{self, Effect, Run, Tool, ToolError, World, object, record, sha256},
};

const DESCRIPTION: &str = "Download an http(s) or file URL into a new file. The file appears under its final name \
    only when it is complete (its length is checked, and it is synced). An existing file is never overwritten. A \
    dropped connection is resumed. With `output_path`, the next call resumes a failed download. The limits are 16 GiB, \
    5 redirects, 10 s to connect, and 30 s without data. Loopback and private addresses are refused unless the \
    server's entry says allow_private = true; link-local addresses are always refused. The variables HTTPS_PROXY, \
    HTTP_PROXY and NO_PROXY can name proxies.";

#[derive(Debug, Deserialize)]
pub(super) struct Arguments {
    url: String,
    output_path: Option<String>,
    format: Option<String>,
}

#[derive(Debug)]
pub(super) struct Order {
    pub(super) source: Source,
    /// An absolute path. `None` stands for a new file in the temporary directory.
    pub(super) target: Option<PathBuf>,
    pub(super) format: Option<&'static str>,
    pub(super) max_bytes: u64,
}

/// Makes a downloader. It has the parameter `format` if `formats` is not empty.
pub(super) fn downloader(name: &'static str, title: &'static str, formats: &[&str]) -> Tool {
    let mut properties = json!({
        "url": tool::text("http, https or file URL, or an absolute path"),
        "output_path": output_path(),
    });
    if let (false, Value::Object(properties)) = (formats.is_empty(), &mut properties) {
        let schema = json!({
            "type": "string", "enum": formats,
            "description": "the required format of the content; nothing is converted"
        });
        properties.insert("format".to_owned(), schema);
    }
    Tool {
        name,
        title,
        description: DESCRIPTION,
        input: object(&["url"], properties),
        output: record(json!({
            "output_uri": {"type": "string", "description": "file:// URI of the new file"},
            "bytes": {"type": "integer", "minimum": 1},
            "content_type": {"type": "string", "description": "as the server states it, or by the first bytes"},
            "sha256": sha256(),
            "url": {"type": "string", "description": "the URL after redirects, without signatures"},
            "resumed": {"type": "boolean", "description": "whether bytes of an earlier connection were kept"}
        })),
        effect: Effect::Additive,
        world: World::Open,
        call: tool::call(|arguments: &Arguments, run: &Run<'_>| {
            let order = Order::parse(arguments)?;
            download(&order, &Web::from_environment()?, run)
        }),
    }
}

/// Makes the tool that copies an uploaded file to a new file.
pub(super) fn upload_registrar() -> Tool {
    Tool {
        name: "upload_registrar",
        title: "Register an upload",
        description: "Copy an uploaded file of this machine into a new file. The upload must be a regular file \
            that is not empty; it is not moved. The copy appears under its final name only when it is \
            complete and synced. An existing file is never overwritten. The limit is 16 GiB.",
        input: object(
            &["file_path"],
            json!({
                "file_path": tool::text("the upload: a path or file:// URI"),
                "output_path": output_path(),
            }),
        ),
        output: record(json!({
            "output_uri": {"type": "string", "description": "file:// URI of the new file"},
            "bytes": {"type": "integer", "minimum": 1},
            "sha256": sha256(),
            "content_type": {"type": "string", "description": "by the first bytes, not by the name"},
            "original_name": {"type": "string", "description": "the file name of the upload, without its directory"}
        })),
        effect: Effect::Additive,
        world: World::Closed,
        call: tool::call(register),
    }
}

fn output_path() -> Value {
    tool::text(
        "the new file: a path or file:// URI that does not exist, in a directory that exists; the default is \
        a new file in the temporary directory",
    )
}

impl Order {
    pub(super) fn parse(arguments: &Arguments) -> Result<Self, ToolError> {
        let source = Source::parse(&arguments.url)
            .map_err(|error| ToolError::argument("url", error.to_string()))?;
        let target = arguments.output_path.as_deref().map(target).transpose()?;
        let known = |name: &String| {
            let known = formats().find(|format| format == name);
            known.ok_or_else(|| {
                ToolError::argument("format", format!("`{name}` is not a known format"))
            })
        };
        Ok(Self {
            source,
            target,
            format: arguments.format.as_ref().map(known).transpose()?,
            max_bytes: MAX_BYTES,
        })
    }
}

/// The absolute path that an `output_path` names.
fn target(text: &str) -> Result<PathBuf, ToolError> {
    let path = absolute("output_path", &local_path("output_path", text)?)?;
    // A path that ends with `/` or `..` names a directory.
    if text.ends_with('/') || path.file_name().is_none() {
        let problem = format!("{} does not name a file", path.display());
        return Err(ToolError::argument("output_path", problem));
    }
    check_unprotected("output_path", &path)?;
    Ok(path)
}

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
        "resumed": transferred.resumed,
    }))
}

#[derive(Deserialize)]
struct Upload {
    file_path: String,
    output_path: Option<String>,
}

fn register(upload: &Upload, run: &Run<'_>) -> Result<Value, ToolError> {
    let path = absolute("file_path", &local_path("file_path", &upload.file_path)?)?;
    let order = Order {
        source: Source::Local(path.clone()),
        target: upload.output_path.as_deref().map(target).transpose()?,
        format: None,
        max_bytes: MAX_BYTES,
    };
    let (file, _) = fill(&order, run, |transfer| {
        transfer.copy(&path, order.source.presentable())
    })?;
    Ok(json!({
        "output_uri": file_uri(&file.path),
        "bytes": file.bytes,
        "sha256": file.sha256,
        "content_type": content_type(&file),
        "original_name": order.source.file_name().unwrap_or_default(),
    }))
}

/// Fills the file by `transfer`. After a failure, a later call may resume the download.
fn fill(
    order: &Order,
    run: &Run<'_>,
    transfer: impl FnOnce(Transfer<'_>) -> Result<Transferred, ToolError>,
) -> Result<(Finished, Transferred), ToolError> {
    let target = match &order.target {
        Some(target) => target.clone(),
        None => reserve(order)?,
    };
    let mut part = Part::open(&target, order.source.identity().as_deref())?;
    match transfer(Transfer::new(&mut part, order.format, order.max_bytes, run)) {
        Ok(transferred) => Ok((part.publish()?, transferred)),
        Err(error) => {
            if order.target.is_none() {
                // No later call can know the name of the file.
                part.condemn();
            }
            part.abandon();
            Err(error)
        }
    }
}

/// The media type of the first bytes.
fn content_type(file: &Finished) -> String {
    let sniffed = sniffed_type(&file.head).unwrap_or("application/octet-stream");
    sniffed.to_owned()
}

/// Reserves a new name in the temporary directory.
fn reserve(order: &Order) -> Result<PathBuf, ToolError> {
    let folder = temporary_directory();
    let ending = match order.format {
        Some(format) => format!(".{format}"),
        None => order
            .source
            .file_name()
            .and_then(|name| ending(&name))
            .unwrap_or_default(),
    };
    let made = tempfile::Builder::new()
        .prefix("oneact-")
        .suffix(&format!("{ending}.part"))
        .tempfile_in(&folder)
        .and_then(|file| Ok(file.keep()?.1))
        .and_then(|part| std::path::absolute(part.with_extension("")));
    made.map_err(ToolError::io("create a file in", &folder))
}

/// The ending of a file name with its dot, if it consists of at most 8 letters and digits.
fn ending(name: &str) -> Option<String> {
    let (_, ending) = name.rsplit_once('.')?;
    let plain =
        (1..=8).contains(&ending.len()) && ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
    plain.then(|| format!(".{ending}"))
}
