//! `context_reader`: gives back what `context_cacher` keeps, until it expires.

use jiff::Timestamp;
use rusqlite::OptionalExtension;
use serde_json::{Map, Value, json};

use super::{Place, database::Database};
use crate::servers::tool::{Annotations, Definition, Effect, Run, Tool, ToolError, World};

/// The tool.
pub(super) struct ContextReader(pub(super) Place);

impl Tool for ContextReader {
    fn definition(&self) -> Definition {
        Definition {
            name: "context_reader",
            title: "Read cached context",
            description: "Give back the JSON value that context_cacher keeps under a key. A key that has none, or \
                whose value has expired, is an answer (found: false), not an error.",
            input_schema: json!({
                "type": "object", "required": ["cache_key"], "additionalProperties": false,
                "properties": {"cache_key": {"type": "string", "minLength": 1, "maxLength": 512}}
            }),
            output_schema: json!({
                "type": "object", "required": ["found", "context_data", "expires_at"],
                "additionalProperties": false,
                "properties": {
                    "found": {"type": "boolean"},
                    "context_data": {"description": "null where nothing was found"},
                    "expires_at": {"type": ["string", "null"], "format": "date-time"}
                }
            }),
            annotations: Annotations {
                effect: Effect::ReadOnly,
                world: World::Closed,
            },
        }
    }

    fn call(&self, arguments: &Map<String, Value>, _: &Run<'_>) -> Result<Value, ToolError> {
        let key = arguments.get("cache_key").and_then(Value::as_str);
        let now = self.0.clock.timestamp().as_second();
        let nothing = json!({"found": false, "context_data": null, "expires_at": null});
        let Some(mut database) = Database::find(&self.0.database)? else {
            return Ok(nothing);
        };
        let found = database.read("read", |transaction| {
            transaction
                .query_row(
                    "SELECT data, expires FROM context WHERE key = ? AND expires > ?",
                    (key.unwrap_or_default(), now),
                    |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)),
                )
                .optional()
        })?;
        let Some((data, expires)) = found else {
            return Ok(nothing);
        };
        let data: Value = serde_json::from_str(&data).map_err(|error| {
            ToolError::Corrupt(format!("the cached value is not JSON: {error}"))
        })?;
        let expires = Timestamp::from_second(expires)
            .ok()
            .map(|at| at.to_string());
        Ok(json!({"found": true, "context_data": data, "expires_at": expires}))
    }
}
