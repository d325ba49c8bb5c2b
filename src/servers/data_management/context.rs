//! The tools `context_cacher` (CAP-DAT-003) and `context_reader`: JSON values under keys, which expire.

use jiff::Timestamp;
use rusqlite::{
    OptionalExtension,
    TransactionBehavior::{Deferred, Immediate},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{database::Database, document, workspace::Workspace};
use crate::servers::tool::{self, Effect, Run, Tool, ToolError, World, object, record};

/// How long a value is kept, in seconds: an hour by default, at most 30 days.
const DEFAULT_TTL: i64 = 3600;
const MAX_TTL: i64 = 30 * 24 * 3600;

/// The largest value, as JSON: 16 MiB.
const MOST_BYTES: usize = 16 << 20;

#[derive(Deserialize)]
struct Cached {
    context_data: Value,
    cache_key: String,
    ttl: Option<i64>,
}

pub(super) fn context_cacher(place: Workspace) -> Tool {
    Tool {
        name: "context_cacher",
        title: "Cache context",
        description: "Store a JSON value under a key until it expires. A previous value of the key is replaced. \
            context_reader returns the value. The limits are 16 MiB and 30 days; without `ttl`, a value is kept \
            for an hour.",
        input: object(
            &["context_data", "cache_key"],
            json!({
                "context_data": {
                    "description": "any JSON value; a string that is a file:// URI or begins with /, ./ or ../ \
                        names a file whose content is stored, as JSON or as UTF-8 text"
                },
                "cache_key": {"type": "string", "minLength": 1, "maxLength": 512},
                "ttl": {
                    "type": "integer", "minimum": 1, "maximum": MAX_TTL, "default": DEFAULT_TTL,
                    "description": "seconds"
                }
            }),
        ),
        output: record(json!({
            "cached": {"const": true},
            "cache_key": {"type": "string"},
            "expires_at": {"type": "string", "format": "date-time"},
            "replaced": {"type": "boolean", "description": "whether the key had a value"}
        })),
        effect: Effect::Replacing,
        world: World::Closed,
        call: tool::call(move |arguments, run: &Run<'_>| cache(&place, arguments, run)),
    }
}

pub(super) fn context_reader(place: Workspace) -> Tool {
    Tool {
        name: "context_reader",
        title: "Read cached context",
        description: "Return the JSON value that context_cacher stored under a key. If there is none, or if it \
            has expired, that is an answer (found: false) and not an error.",
        input: record(json!({"cache_key": {"type": "string", "minLength": 1, "maxLength": 512}})),
        output: record(json!({
            "found": {"type": "boolean"},
            "context_data": {"description": "null if nothing was found"},
            "expires_at": {"type": ["string", "null"], "format": "date-time"}
        })),
        effect: Effect::ReadOnly,
        world: World::Closed,
        call: tool::call(move |wanted: &Wanted, _: &Run<'_>| read(&place, &wanted.cache_key)),
    }
}

fn cache(place: &Workspace, arguments: &Cached, run: &Run<'_>) -> Result<Value, ToolError> {
    let key = &arguments.cache_key;
    let data = document::by_value_or_explicit_file("context_data", &arguments.context_data)?;
    let data = data.to_string();
    if data.len() > MOST_BYTES {
        let bytes = data.len();
        let problem = format!("it has {bytes} bytes as JSON, the maximum is {MOST_BYTES}");
        return Err(ToolError::argument("context_data", problem));
    }
    let now = place.clock.timestamp();
    let ttl = arguments.ttl.unwrap_or(DEFAULT_TTL);
    let expires = Timestamp::from_second(now.as_second().saturating_add(ttl))
        .map_err(|error| ToolError::argument("ttl", error.to_string()))?;
    run.check_cancelled()?;
    let replaced =
        Database::open(&place.database)?.within("cache in", Immediate, |transaction| {
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

#[derive(Deserialize)]
struct Wanted {
    cache_key: String,
}

fn read(place: &Workspace, key: &str) -> Result<Value, ToolError> {
    let now = place.clock.timestamp().as_second();
    let found = match Database::find(&place.database)? {
        None => None,
        Some(mut database) => database.within("read", Deferred, |transaction| {
            transaction
                .query_row(
                    "SELECT data, expires FROM context WHERE key = ? AND expires > ?",
                    (key, now),
                    |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)),
                )
                .optional()
        })?,
    };
    let Some((data, expires)) = found else {
        return Ok(json!({"found": false, "context_data": null, "expires_at": null}));
    };
    let data: Value = serde_json::from_str(&data)
        .map_err(|error| ToolError::Corrupt(format!("the cached value is not JSON: {error}")))?;
    let expires = Timestamp::from_second(expires)
        .ok()
        .map(|at| at.to_string());
    Ok(json!({"found": true, "context_data": data, "expires_at": expires}))
}
