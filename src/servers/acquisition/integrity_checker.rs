//! The tool `integrity_checker` (CAP-ACQ-006): checks whether a file is complete and has the expected content.

use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;
use serde_json::{Value, json};

use super::content::{Content, HEAD};
use crate::{
    assets::format::{FormatError, check_while},
    servers::{
        files::{Measured, local_path, measure, open_regular},
        tool::{self, Effect, Run, Tool, ToolError, World, object, record, sha256},
    },
    task::Format,
};

const ARGUMENT: &str = "file_uri";

#[derive(Deserialize)]
struct Arguments {
    file_uri: String,
    expected_format: Option<String>,
    expected_sha256: Option<String>,
    expected_bytes: Option<u64>,
}

pub(super) fn integrity_checker() -> Tool {
    Tool {
        name: "integrity_checker",
        title: "Check a file's integrity",
        description: "Check that a file of this machine is complete: its structure, by its content and not by its \
            name, and its size and SHA-256 if they are given. If the file is damaged, that is an answer (valid: \
            false, with its problems) and not an error. A missing file is an error. A file whose structure cannot \
            be checked is valid only if its SHA-256 is given and correct.",
        input: object(
            &[ARGUMENT],
            json!({
                "file_uri": tool::text("a path or file:// URI"),
                "expected_format": {
                    "type": "string", "enum": Format::names(),
                    "description": "the default is the format of the content"
                },
                "expected_sha256": {"type": "string", "pattern": "^[0-9A-Fa-f]{64}$"},
                "expected_bytes": {"type": "integer", "minimum": 0}
            }),
        ),
        output: record(json!({
            "valid": {"type": "boolean"},
            "format": {
                "type": ["string", "null"],
                "description": "the format of the content, e.g. mp4; null if it is unknown"
            },
            "bytes": {"type": "integer", "minimum": 0},
            "sha256": sha256(),
            "problems": {"type": "array", "items": {"type": "string"}, "description": "empty if valid"}
        })),
        effect: Effect::ReadOnly,
        world: World::Closed,
        call: tool::call(examine),
    }
}

fn examine(arguments: &Arguments, run: &Run<'_>) -> Result<Value, ToolError> {
    let path = local_path(ARGUMENT, &arguments.file_uri)?;
    let path = Utf8PathBuf::from_path_buf(path).map_err(|path| {
        ToolError::argument(ARGUMENT, format!("{} is not Unicode", path.display()))
    })?;
    let (measured, head) = read(path.as_std_path(), run)?;
    let content = Content::of(&head, &path, &|| run.check_cancelled().is_ok());
    let problems = problems(&path, &measured, content, arguments, run)?;
    Ok(json!({
        "valid": problems.is_empty(),
        "format": content.name(),
        "bytes": measured.bytes,
        "sha256": measured.sha256,
        "problems": problems,
    }))
}

#[expect(clippy::cast_precision_loss, reason = "files are far below 2^53 bytes")]
fn read(path: &Path, run: &Run<'_>) -> Result<(Measured, Vec<u8>), ToolError> {
    let mut file = open_regular(ARGUMENT, path)?;
    let total = file.metadata().ok().map(|about| about.len() as f64);
    let (mut head, mut done) = (Vec::new(), 0.0);
    let measured = measure(&mut file, path, run, |block| {
        head.extend(block.iter().take(HEAD.saturating_sub(head.len())));
        done += block.len() as f64;
        run.progress(done, total, "bytes read");
        Ok(())
    })?;
    Ok((measured, head))
}

fn problems(
    path: &Utf8Path,
    measured: &Measured,
    content: Content,
    expected: &Arguments,
    run: &Run<'_>,
) -> Result<Vec<String>, ToolError> {
    let mut problems = Vec::new();
    let found = measured.bytes;
    if let Some(bytes) = expected.expected_bytes.filter(|bytes| *bytes != found) {
        problems.push(format!("it has {found} bytes instead of {bytes}"));
    }
    let expected_hash = expected.expected_sha256.as_deref();
    let expected_hash = expected_hash.map(str::to_ascii_lowercase);
    let is_known = expected_hash.as_ref() == Some(&measured.sha256);
    if let Some(expected) = expected_hash.filter(|_| !is_known) {
        problems.push(format!("its SHA-256 is not {expected}"));
    }
    let format = expected.expected_format.as_deref().and_then(Format::named);
    match (format, content) {
        (Some(format), _) | (None, Content::Checkable(format)) => {
            problems.extend(flaw(path, format, run)?);
        }
        (None, Content::Unknown) if measured.bytes == 0 => problems.push("it is empty".to_owned()),
        _ if is_known => {}
        (None, Content::Named(ending)) => problems.push(format!(
            "it looks like {ending}, whose structure cannot be checked"
        )),
        (None, Content::Unknown) => {
            problems.push("its content is of an unknown format".to_owned());
        }
    }
    Ok(problems)
}

/// The problem of the structure, if there is one.
fn flaw(path: &Utf8Path, format: Format, run: &Run<'_>) -> Result<Option<String>, ToolError> {
    let checked = check_while(path, format, &|| run.check_cancelled().is_ok());
    run.check_cancelled()?;
    match checked {
        Ok(_) => Ok(None),
        Err(FormatError::Other {
            expected, found, ..
        }) => Ok(Some(format!("expected {expected}, found {found}"))),
        Err(FormatError::Broken { problem, .. }) => Ok(Some(format!(
            "it is corrupt or incomplete {}: {problem}",
            format.name()
        ))),
        Err(FormatError::File(error)) => Err(ToolError::Failed(error.to_string())),
    }
}
