//! `integrity_checker` (CAP-ACQ-006): is this file whole, and what it should be?

use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Map, Value, json};

use super::{
    content::{Content, name_of},
    format::HEAD,
};
use crate::{
    assets::format::{FormatError, check},
    servers::{
        files::{Measured, local_path, measure, open_regular},
        tool::{Annotations, Definition, Effect, Run, Tool, ToolError, World},
    },
    task::Format,
};

const ARGUMENT: &str = "file_uri";

/// The tool.
pub(super) struct IntegrityChecker;

/// What the file should be; all of it may be unsaid.
struct Expected<'a> {
    format: Option<Format>,
    sha256: Option<&'a str>,
    bytes: Option<u64>,
}

impl Tool for IntegrityChecker {
    fn definition(&self) -> Definition {
        Definition {
            name: "integrity_checker",
            title: "Check a file's integrity",
            description: "Check that a file of this machine is whole: its structure by its content, never its name, \
                and its size and SHA-256 where they are given. A broken file is an answer (valid: false, with its \
                problems), not an error; a file that is not there is an error. A file whose structure cannot be \
                checked is valid only if its SHA-256 was given and is right.",
            input_schema: json!({
                "type": "object", "required": [ARGUMENT], "additionalProperties": false,
                "properties": {
                    "file_uri": {"type": "string", "minLength": 1, "description": "a path or file:// URI"},
                    "expected_format": {
                        "type": "string", "enum": Format::names(),
                        "description": "without it, the format is found out by the content"
                    },
                    "expected_sha256": {"type": "string", "pattern": "^[0-9A-Fa-f]{64}$"},
                    "expected_bytes": {"type": "integer", "minimum": 0}
                }
            }),
            output_schema: json!({
                "type": "object", "required": ["valid", "format", "bytes", "sha256", "problems"],
                "additionalProperties": false,
                "properties": {
                    "valid": {"type": "boolean"},
                    "format": {
                        "type": ["string", "null"],
                        "description": "what the content is, e.g. mp4; null where it is nothing known"
                    },
                    "bytes": {"type": "integer", "minimum": 0},
                    "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
                    "problems": {"type": "array", "items": {"type": "string"}, "description": "empty if valid"}
                }
            }),
            annotations: Annotations {
                effect: Effect::ReadOnly,
                world: World::Closed,
            },
        }
    }

    fn call(&self, arguments: &Map<String, Value>, run: &Run<'_>) -> Result<Value, ToolError> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let expected = Expected {
            format: text("expected_format").and_then(Format::named),
            sha256: text("expected_sha256"),
            bytes: arguments.get("expected_bytes").and_then(Value::as_u64),
        };
        let path = local_path(ARGUMENT, text(ARGUMENT).unwrap_or_default())?;
        let path = Utf8PathBuf::from_path_buf(path).map_err(|path| ToolError::Argument {
            argument: ARGUMENT,
            problem: format!("{} is not Unicode", path.display()),
        })?;
        let (measured, head) = read(path.as_std_path(), run)?;
        let content = Content::of(&head, &path);
        let problems = problems(&path, &measured, content, &expected)?;
        Ok(json!({
            "valid": problems.is_empty(),
            "format": content.name(),
            "bytes": measured.bytes,
            "sha256": measured.sha256,
            "problems": problems,
        }))
    }
}

/// Reads the whole file once.
#[expect(clippy::cast_precision_loss, reason = "files are far below 2^53 bytes")]
fn read(path: &Path, run: &Run<'_>) -> Result<(Measured, Vec<u8>), ToolError> {
    let mut file = open_regular(ARGUMENT, path)?;
    let total = file.metadata().ok().map(|about| about.len() as f64);
    let (mut head, mut done) = (Vec::new(), 0.0);
    let measured = measure(&mut file, path, run, |block| {
        let room = HEAD.saturating_sub(head.len()).min(block.len());
        head.extend_from_slice(block.get(..room).unwrap_or_default());
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
    expected: &Expected<'_>,
) -> Result<Vec<String>, ToolError> {
    let mut problems = Vec::new();
    let known_bytes = expected
        .sha256
        .is_some_and(|sha256| sha256.eq_ignore_ascii_case(&measured.sha256));
    if let Some(bytes) = expected.bytes.filter(|bytes| *bytes != measured.bytes) {
        problems.push(format!(
            "it has {} bytes instead of {bytes}",
            measured.bytes
        ));
    }
    if let Some(sha256) = expected.sha256.filter(|_| !known_bytes) {
        problems.push(format!(
            "its SHA-256 is not {}",
            sha256.to_ascii_lowercase()
        ));
    }
    let format = match (expected.format, content) {
        (Some(format), _) | (None, Content::Checkable(format)) => Some(format),
        (None, Content::Named(ending)) => {
            if !known_bytes {
                problems.push(format!(
                    "it looks like {ending}, whose structure cannot be checked"
                ));
            }
            None
        }
        (None, Content::Unknown) if measured.bytes == 0 => {
            problems.push("it is empty".to_owned());
            None
        }
        (None, Content::Unknown) => {
            if !known_bytes {
                problems.push("its content is of no format known here".to_owned());
            }
            None
        }
    };
    if let Some(format) = format {
        problems.extend(flaw(path, format)?);
    }
    Ok(problems)
}

/// What is wrong with the structure, if anything is.
fn flaw(path: &Utf8Path, format: Format) -> Result<Option<String>, ToolError> {
    match check(path, format) {
        Ok(_) => Ok(None),
        Err(FormatError::Other {
            expected, found, ..
        }) => Ok(Some(format!("expected {expected}, found {found}"))),
        Err(FormatError::Broken { problem, .. }) => Ok(Some(format!(
            "it is corrupt or incomplete {}: {problem}",
            name_of(format)
        ))),
        Err(error @ (FormatError::NotAFile { .. } | FormatError::Io { .. })) => {
            Err(ToolError::Failed(error.to_string()))
        }
    }
}
