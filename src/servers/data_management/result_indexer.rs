//! `result_indexer` (CAP-DAT-001): puts a JSON document where `result_searcher` finds it.

use serde_json::{Map, Value, json};

use super::{Place, database::Database, document, text::seamed};
use crate::servers::tool::{Annotations, Definition, Effect, Run, Tool, ToolError, World};

/// The tool.
pub(super) struct ResultIndexer(pub(super) Place);

impl Tool for ResultIndexer {
    fn definition(&self) -> Definition {
        Definition {
            name: "result_indexer",
            title: "Index results",
            description: "Put a JSON document into the full-text index, with metadata of your own. All its strings \
                can be found by result_searcher. The same document with the same metadata is indexed once, and has \
                the same index_id every time.",
            input_schema: json!({
                "type": "object", "required": ["results_data"], "additionalProperties": false,
                "properties": {
                    "results_data": {
                        "description": "any JSON value; a string is the path or file:// URI of a JSON file (64 MiB)"
                    },
                    "metadata": {"type": "object", "description": "comes back with every hit"}
                }
            }),
            output_schema: json!({
                "type": "object", "required": ["index_id", "indexed", "entries", "duplicate"],
                "additionalProperties": false,
                "properties": {
                    "index_id": {"type": "string", "pattern": "^idx_[0-9a-f]{32}$"},
                    "indexed": {"const": true},
                    "entries": {"type": "integer", "minimum": 0, "description": "strings that can be found"},
                    "duplicate": {"type": "boolean", "description": "whether it was indexed before"}
                }
            }),
            annotations: Annotations {
                effect: Effect::Additive,
                world: World::Closed,
            },
        }
    }

    fn call(&self, arguments: &Map<String, Value>, run: &Run<'_>) -> Result<Value, ToolError> {
        let given = arguments.get("results_data").unwrap_or(&Value::Null);
        let content = document::by_value_or_file("results_data", given)?;
        let metadata = arguments.get("metadata").unwrap_or(&Value::Null);
        let id = document::id(&content, metadata);
        let strings = document::strings(&content);
        let text = seamed(&strings.join("\n"));
        let entries = strings.len().cast_signed();
        let now = self.0.clock.timestamp().to_string();
        run.check_cancelled()?;
        let added = Database::open(&self.0.database)?.write("index into", |transaction| {
            let added = transaction.execute(
                "INSERT OR IGNORE INTO document (id, content, metadata, entries, indexed) VALUES (?, ?, ?, ?, ?)",
                (&id, content.to_string(), metadata.to_string(), entries, now),
            )?;
            if added > 0 {
                transaction.execute("INSERT INTO leaf (id, text) VALUES (?, ?)", (&id, text))?;
            }
            Ok(added)
        })?;
        Ok(json!({"index_id": id, "indexed": true, "entries": entries, "duplicate": added == 0}))
    }
}
