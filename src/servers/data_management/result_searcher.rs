//! `result_searcher`: finds what `result_indexer` put into the index.

use rusqlite::Row;
use serde_json::{Map, Value, json};

use super::{
    Place,
    database::Database,
    text::{query, unseamed},
};
use crate::servers::tool::{Annotations, Definition, Effect, Run, Tool, ToolError, World};

const DEFAULT_LIMIT: i64 = 10;
const MOST: i64 = 100;

/// BM25 is better the smaller it is. Snippets are counted in tokens.
const HITS: &str = "
SELECT document.id, -bm25(leaf), snippet(leaf, 1, '', '', '…', 24), document.metadata
FROM leaf JOIN document ON document.id = leaf.id
WHERE leaf MATCH ?1 ORDER BY bm25(leaf), document.id LIMIT ?2";

/// The tool.
pub(super) struct ResultSearcher(pub(super) Place);

impl Tool for ResultSearcher {
    fn definition(&self) -> Definition {
        Definition {
            name: "result_searcher",
            title: "Search indexed results",
            description: "Find indexed documents that hold all the words given, best first. Case and accents do not \
                matter; a word is found only whole. Words are taken literally: there are no operators.",
            input_schema: json!({
                "type": "object", "required": ["query"], "additionalProperties": false,
                "properties": {
                    "query": {"type": "string", "minLength": 1, "maxLength": 2000},
                    "limit": {"type": "integer", "minimum": 1, "maximum": MOST, "default": DEFAULT_LIMIT}
                }
            }),
            output_schema: json!({
                "type": "object", "required": ["hits", "total"], "additionalProperties": false,
                "properties": {
                    "hits": {"type": "array", "items": {
                        "type": "object", "required": ["index_id", "score", "snippet", "metadata"],
                        "additionalProperties": false,
                        "properties": {
                            "index_id": {"type": "string"},
                            "score": {"type": "number", "description": "BM25: more is better, within one answer"},
                            "snippet": {"type": "string"},
                            "metadata": {"type": ["object", "null"]}
                        }
                    }},
                    "total": {"type": "integer", "minimum": 0, "description": "documents found, shown or not"}
                }
            }),
            annotations: Annotations {
                effect: Effect::ReadOnly,
                world: World::Closed,
            },
        }
    }

    fn call(&self, arguments: &Map<String, Value>, _: &Run<'_>) -> Result<Value, ToolError> {
        let text = arguments.get("query").and_then(Value::as_str);
        let limit = arguments.get("limit").and_then(Value::as_i64);
        let limit = limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MOST);
        let nothing = json!({"hits": [], "total": 0});
        let Some(query) = query(text.unwrap_or_default()) else {
            return Ok(nothing);
        };
        let Some(mut database) = Database::find(&self.0.database)? else {
            return Ok(nothing);
        };
        let (hits, total) = database.read("search", |transaction| {
            let total: i64 = transaction.query_row(
                "SELECT count(*) FROM leaf WHERE leaf MATCH ?",
                [&query],
                |row| row.get(0),
            )?;
            let mut statement = transaction.prepare(HITS)?;
            let hits = statement.query_map((&query, limit), hit)?;
            Ok((hits.collect::<Result<Vec<_>, _>>()?, total))
        })?;
        Ok(json!({"hits": hits, "total": total}))
    }
}

fn hit(row: &Row<'_>) -> rusqlite::Result<Value> {
    let (id, score, snippet, metadata): (String, f64, String, String) =
        (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
    Ok(json!({
        "index_id": id,
        "score": score,
        "snippet": unseamed(&snippet),
        // Written by the indexer: always JSON.
        "metadata": serde_json::from_str::<Value>(&metadata).unwrap_or_default(),
    }))
}
