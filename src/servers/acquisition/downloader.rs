//! The downloaders, which are one implementation under several names (R-000-127), and `upload_registrar`
//! (CAP-ACQ-005).

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    content::sniffed_type,
    transfer::{Transfer, Transferred},
    url_validator::Source,
    web::Web,
};
use crate::servers::{
    files::{
        Draft, Measured, Placed, absolute, file_uri, free_place, local_path, parent, taken,
        temporary_directory,
    },
    tool::{self, Effect, Run, Tool, ToolError, World, object, record, sha256},
};

/// The largest file that is fetched: 16 GiB.
const MAX_BYTES: u64 = 16 << 30;

const DESCRIPTION: &str = "Download an http(s) or file URL into a new file. The file appears under its final name \
    only when it is complete (its length is checked, and it is synced). An existing file is never overwritten. A \
    dropped connection is resumed within the call. The limits are 16 GiB, 5 redirects, 10 s to connect, and 30 s \
    without data. Loopback and private addresses are refused unless the \
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
    /// One of the [`formats`](super::content::formats).
    pub(super) format: Option<String>,
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
        let source =
            Source::parse(&arguments.url).map_err(|why| ToolError::argument("url", why))?;
        let target = arguments
            .output_path
            .as_deref()
            .map(free_place)
            .transpose()?;
        Ok(Self {
            source,
            target,
            format: arguments.format.clone(),
            max_bytes: MAX_BYTES,
        })
    }
}

pub(super) fn download(order: &Order, web: &Web, run: &Run<'_>) -> Result<Value, ToolError> {
    let (file, transferred) = fill(order, run, |transfer| match &order.source {
        Source::Web(url) => transfer.fetch(url, web),
        Source::Local(path) => transfer.copy(path, order.source.presentable()),
    })?;
    let stated = transferred.content_type;
    Ok(json!({
        "output_uri": file.uri,
        "bytes": file.measured.bytes,
        "content_type": stated.unwrap_or_else(|| file.sniffed.to_owned()),
        "sha256": file.measured.sha256,
        "url": transferred.url,
        "resumed": transferred.resumed,
    }))
}

/// A file under its final name.
struct Stored {
    uri: String,
    measured: Measured,
    /// The media type of the first bytes.
    sniffed: &'static str,
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
        target: upload.output_path.as_deref().map(free_place).transpose()?,
        format: None,
        max_bytes: MAX_BYTES,
    };
    let (file, _) = fill(&order, run, |transfer| {
        transfer.copy(&path, order.source.presentable())
    })?;
    Ok(json!({
        "output_uri": file.uri,
        "bytes": file.measured.bytes,
        "sha256": file.measured.sha256,
        "content_type": file.sniffed,
        "original_name": order.source.file_name().unwrap_or_default(),
    }))
}

/// Fills a new file by `transfer`.
fn fill(
    order: &Order,
    run: &Run<'_>,
    transfer: impl FnOnce(Transfer<'_>) -> Result<Transferred, ToolError>,
) -> Result<(Stored, Transferred), ToolError> {
    let folder = match &order.target {
        Some(target) => parent(target).to_owned(),
        None => temporary_directory(),
    };
    let draft = Draft::new_in(&folder);
    let mut draft = draft.map_err(ToolError::io("create a file in", &folder))?;
    let transferred = transfer(Transfer::new(
        &mut draft,
        order.format.as_deref(),
        order.max_bytes,
        run,
    ))?;
    let path = match &order.target {
        Some(target) => target.clone(),
        None => new_name(order, draft.path())?,
    };
    let sniffed = sniffed_type(draft.head()).unwrap_or("application/octet-stream");
    let placed = draft.place(&path);
    let (measured, placed) = placed.map_err(ToolError::io("create", &path))?;
    if placed == Placed::Taken {
        return Err(taken(&path));
    }
    let stored = Stored {
        uri: file_uri(&path),
        measured,
        sniffed,
    };
    Ok((stored, transferred))
}

/// The name that a draft in the temporary directory gets: its own without the dot, with the ending of the content.
fn new_name(order: &Order, draft: &Path) -> Result<PathBuf, ToolError> {
    let ending = match &order.format {
        Some(format) => Some(format!(".{format}")),
        None => order.source.file_name().and_then(|name| ending(&name)),
    };
    let stem = draft.file_stem().unwrap_or_default().to_string_lossy();
    let name = format!(
        "{}{}",
        stem.trim_start_matches('.'),
        ending.unwrap_or_default()
    );
    absolute("output_path", &draft.with_file_name(name))
}

/// The ending of a file name with its dot, if it consists of at most 8 letters and digits.
fn ending(name: &str) -> Option<String> {
    let (_, ending) = name.rsplit_once('.')?;
    let plain =
        (1..=8).contains(&ending.len()) && ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
    plain.then(|| format!(".{ending}"))
}
