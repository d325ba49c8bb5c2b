//! `file_storer` (CAP-DAT-002): a file, or bytes, to a path below the working directory.

use std::{
    fs::File,
    io::{Cursor, Read},
    path::PathBuf,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};

use super::{
    Place,
    target::{Folder, Placed, Target},
};
use crate::servers::{
    files::{Measured, local_path, measure, open_regular},
    tool::{Annotations, Definition, Effect, Run, Tool, ToolError, World},
};

/// The tool.
pub(super) struct FileStorer(pub(super) Place);

/// What to store, opened.
enum Data {
    File(File, PathBuf),
    Bytes(Vec<u8>),
}

impl Tool for FileStorer {
    fn definition(&self) -> Definition {
        Definition {
            name: "file_storer",
            title: "Store a file",
            description: "Store a file, or bytes from a base64 data: URI, at a path below the working directory; \
                folders are made as needed. Never overwrites: a file that is there already must be the same, and is \
                then a duplicate. Refuses paths that lead out of the directory, through symbolic links, into .git or \
                .oneact, or to the catalog.",
            input_schema: json!({
                "type": "object", "required": ["file_data", "target_path"], "additionalProperties": false,
                "properties": {
                    "file_data": {
                        "type": "string", "minLength": 1,
                        "description": "a path, a file:// URI, or data:[TYPE];base64,BYTES"
                    },
                    "target_path": {
                        "type": "string", "minLength": 1, "description": "relative, e.g. results/a.json"
                    }
                }
            }),
            output_schema: json!({
                "type": "object", "required": ["stored", "path", "bytes", "sha256", "duplicate"],
                "additionalProperties": false,
                "properties": {
                    "stored": {"const": true},
                    "path": {"type": "string", "description": "from the working directory"},
                    "bytes": {"type": "integer", "minimum": 0},
                    "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
                    "duplicate": {"type": "boolean", "description": "whether it was there already"}
                }
            }),
            annotations: Annotations {
                effect: Effect::Additive,
                world: World::Closed,
            },
        }
    }

    fn call(&self, arguments: &Map<String, Value>, run: &Run<'_>) -> Result<Value, ToolError> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let target = Target::parse(text("target_path").unwrap_or_default())?;
        let data = Data::open(text("file_data").unwrap_or_default())?;
        let folder = target.open(&self.0.directory)?;
        let (measured, placed) = store(data, &folder, run)?;
        if placed == Placed::Taken {
            refuse_other(&measured, &folder, run)?;
        }
        Ok(json!({
            "stored": true,
            "path": folder.path().to_string_lossy(),
            "bytes": measured.bytes,
            "sha256": measured.sha256,
            "duplicate": placed == Placed::Taken,
        }))
    }
}

impl Data {
    fn open(given: &str) -> Result<Self, ToolError> {
        let is_data_uri = given
            .get(..5)
            .is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"));
        if is_data_uri {
            return bytes(given).map(Self::Bytes);
        }
        let path = local_path("file_data", given)?;
        Ok(Self::File(open_regular("file_data", &path)?, path))
    }
}

/// The bytes of a base64 `data:` URI (RFC 2397).
fn bytes(uri: &str) -> Result<Vec<u8>, ToolError> {
    // The URI itself may be megabytes long: it is not shown.
    let refused = |problem: String| ToolError::Argument {
        argument: "file_data",
        problem,
    };
    let (kind, payload) = uri
        .split_once(',')
        .ok_or_else(|| refused("the data: URI has no comma".to_owned()))?;
    if !kind.to_ascii_lowercase().ends_with(";base64") {
        return Err(refused(
            "the data: URI is not base64; write data:;base64,…".to_owned(),
        ));
    }
    let payload: Vec<u8> = percent_encoding::percent_decode_str(payload).collect();
    STANDARD
        .decode(payload)
        .map_err(|error| refused(format!("the data: URI is not base64: {error}")))
}

/// Writes the data beside its place and names it. What is the same as what is there is not written.
fn store(data: Data, folder: &Folder, run: &Run<'_>) -> Result<(Measured, Placed), ToolError> {
    let (mut reader, path): (Box<dyn Read>, PathBuf) = match data {
        Data::File(file, path) => (Box::new(file), path),
        Data::Bytes(bytes) => (Box::new(Cursor::new(bytes)), "data: URI".into()),
    };
    if folder.existing()?.is_some() {
        let measured = measure(&mut reader, &path, run, |_| Ok(()))?;
        return Ok((measured, Placed::Taken));
    }
    folder.place(|writer| {
        measure(&mut reader, &path, run, |block| {
            writer.write_all(block).map_err(|error| {
                ToolError::Failed(format!("cannot write {}: {error}", folder.path().display()))
            })
        })
    })
}

/// Fails unless the file that is there is the same.
fn refuse_other(measured: &Measured, folder: &Folder, run: &Run<'_>) -> Result<(), ToolError> {
    let path = folder.path();
    let same = match folder.existing()? {
        Some(mut file) => measure(&mut file, &path, run, |_| Ok(()))? == *measured,
        None => false,
    };
    if same {
        return Ok(());
    }
    Err(ToolError::Argument {
        argument: "target_path",
        problem: format!(
            "{} exists already with other content and is not overwritten: name another, or remove it",
            path.display()
        ),
    })
}
