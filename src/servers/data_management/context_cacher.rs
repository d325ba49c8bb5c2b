//! `context_cacher` (CAP-DAT-003): keeps a JSON value under a key until it expires.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::{Place, database::Database, document};
use crate::servers::tool::{Annotations, Definition, Effect, Run, Tool, ToolError, World};

/// Seconds a value is kept where nothing is said, and at most: an hour, 30 days.
const DEFAULT_TTL: i64 = 3600;
const MAX_TTL: i64 = 30 * 24 * 3600;

/// The largest value that is kept, as JSON: 16 MiB.
const MOST_BYTES: usize = 16 << 20;

/// The tool.
pub(super) struct ContextCacher(pub(super) Place);

impl Tool for ContextCacher {
    fn definition(&self) -> Definition {
        Definition {
            name: "context_cacher",
            title: "Cache context",
            description: "Keep a JSON value under a key for some time, in place of what the key had. context_reader \
                gives it back. At most 16 MiB; an hour unless `ttl` says otherwise, 30 days at most.",
            input_schema: json!({
                "type": "object", "required": ["context_data", "cache_key"], "additionalProperties": false,
                "properties": {
                    "context_data": {
                        "description": "any JSON value; a string that is a file:// URI or begins with /, ./ or ../ \
                            is a file whose content is kept: JSON, or else UTF-8 text"
                    },
                    "cache_key": {"type": "string", "minLength": 1, "maxLength": 512},
                    "ttl": {
                        "type": "integer", "minimum": 1, "maximum": MAX_TTL, "default": DEFAULT_TTL,
                        "description": "seconds"
                    }
                }
            }),
            output_schema: json!({
                "type": "object", "required": ["cached", "cache_key", "expires_at", "replaced"],
                "additionalProperties": false,
                "properties": {
                    "cached": {"const": true},
                    "cache_key": {"type": "string"},
                    "expires_at": {"type": "string", "format": "date-time"},
                    "replaced": {"type": "boolean", "description": "whether the key had a value"}
                }
            }),
            annotations: Annotations {
                effect: Effect::Replacing,
                world: World::Closed,
            },
        }
    }

    fn call(&self, arguments: &Map<String, Value>, run: &Run<'_>) -> Result<Value, ToolError> {
        let key = arguments.get("cache_key").and_then(Value::as_str);
        let key = key.unwrap_or_default();
        let given = arguments.get("context_data").unwrap_or(&Value::Null);
        let data = document::by_value_or_explicit_file("context_data", given)?.to_string();
        if data.len() > MOST_BYTES {
            let problem = format!(
                "it has {} bytes as JSON, at most {MOST_BYTES} are kept",
                data.len()
            );
            return Err(ToolError::Argument {
                argument: "context_data",
                problem,
            });
        }
        let now = self.0.clock.timestamp();
        let expires = expiry(now, arguments.get("ttl"))?;
        run.check_cancelled()?;
        let replaced = Database::open(&self.0.database)?.write("cache in", |transaction| {
            transaction.execute("DELETE FROM context WHERE expires <= ?", [now.as_second()])?;
            let replaced = transaction.execute("DELETE FROM context WHERE key = ?", [key])?;
            transaction.execute(
                "INSERT INTO context (key, data, expires) VALUES (?, ?, ?)",
                (key, &data, expires.as_second()),
            )?;
            Ok(replaced > 0)
        })?;
        Ok(json!({
            "cached": true, "cache_key": key, "expires_at": expires.to_string(), "replaced": replaced
        }))
    }
}

/// When a value that is cached now expires, in whole seconds.
fn expiry(now: Timestamp, ttl: Option<&Value>) -> Result<Timestamp, ToolError> {
    let refused = |problem: String| ToolError::Argument {
        argument: "ttl",
        problem,
    };
    let seconds = match ttl {
        None => DEFAULT_TTL,
        Some(ttl) => ttl
            .as_i64()
            .filter(|seconds| (1..=MAX_TTL).contains(seconds))
            .ok_or_else(|| {
                refused(format!(
                    "{ttl} is not a number of seconds from 1 to {MAX_TTL}"
                ))
            })?,
    };
    Timestamp::from_second(now.as_second())
        .and_then(|now| now.checked_add(SignedDuration::from_secs(seconds)))
        .map_err(|error| refused(error.to_string()))
}
