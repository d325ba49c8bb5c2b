//! `upload_registrar` (CAP-ACQ-005): a file somebody uploaded becomes a new file of the store,
//! whole or not at all.

use serde_json::{Map, Value, json};

use super::{
    downloader::{Order, content_type, fill, target},
    source::Source,
    transfer::MAX_BYTES,
};
use crate::servers::{
    files::{absolute, file_uri, local_path},
    tool::{Annotations, Definition, Effect, Run, Tool, ToolError, World},
};

/// The tool.
pub(super) struct UploadRegistrar;

impl Tool for UploadRegistrar {
    fn definition(&self) -> Definition {
        Definition {
            name: "upload_registrar",
            title: "Register an upload",
            description: "Copy an uploaded file of this machine into a new file. The upload must be a regular file \
                that is not empty; it stays where it is. The copy appears under its final name only when it is \
                complete and synced; an existing file is never overwritten. At most 16 GiB.",
            input_schema: json!({
                "type": "object", "required": ["file_path"], "additionalProperties": false,
                "properties": {
                    "file_path": {"type": "string", "minLength": 1, "description": "the upload: a path or file:// URI"},
                    "output_path": {
                        "type": "string", "minLength": 1,
                        "description": "where to put it: a path or file:// URI that does not exist yet, in a folder \
                            that does; without it, a new file in the temporary folder"
                    }
                }
            }),
            output_schema: json!({
                "type": "object",
                "required": ["output_uri", "bytes", "sha256", "content_type", "original_name"],
                "additionalProperties": false,
                "properties": {
                    "output_uri": {"type": "string", "description": "file:// URI of the new file"},
                    "bytes": {"type": "integer", "minimum": 1},
                    "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
                    "content_type": {"type": "string", "description": "by the first bytes, never by the name"},
                    "original_name": {"type": "string", "description": "the upload's name, without its folder"}
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
        let upload = local_path("file_path", text("file_path").unwrap_or_default())?;
        let upload = absolute("file_path", &upload)?;
        let source = Source::Local(upload.clone());
        let original_name = source.file_name().unwrap_or_default();
        let order = Order {
            target: text("output_path").map(target).transpose()?,
            format: None,
            max_bytes: MAX_BYTES,
            source,
        };
        let (file, _) = fill(&order, run, |transfer| {
            transfer.copy(&upload, order.source.presentable())
        })?;
        Ok(json!({
            "output_uri": file_uri(&file.path),
            "bytes": file.bytes,
            "sha256": file.sha256,
            "content_type": content_type(&file),
            "original_name": original_name,
        }))
    }
}
