//! The tools `task_create`, `task_list` and `task_complete`: tasks that people have to do (R-003-38).

use rusqlite::{
    OptionalExtension, Row,
    TransactionBehavior::{Deferred, Immediate},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{database::Database, workspace::Workspace};
use crate::servers::tool::{self, Effect, Run, Tool, ToolError, World, object, record};

const DEFAULT_LIMIT: i64 = 100;
const MOST: i64 = 1000;

const ID: &str = "^todo_[1-9][0-9]{0,17}$";

pub(super) fn task_create(place: Workspace) -> Tool {
    Tool {
        name: "task_create",
        title: "Create a task",
        description: "Create a new task for a person to do. While a task with the same text is open, no second \
            one is created. task_list lists the tasks.",
        input: record(json!({"task_text": {"type": "string", "minLength": 1, "maxLength": 2000}})),
        output: record(json!({
            "todo_id": {"type": "string", "pattern": ID},
            "task_text": {"type": "string"},
            "created_at": {"type": "string", "format": "date-time"},
            "duplicate": {"type": "boolean", "description": "whether the task was open already"}
        })),
        effect: Effect::Additive,
        world: World::Closed,
        call: tool::call(move |new: &New, run: &Run<'_>| create(&place, &new.task_text, run)),
    }
}

pub(super) fn task_list(place: Workspace) -> Tool {
    Tool {
        name: "task_list",
        title: "List tasks",
        description: "List the tasks that task_create created, the oldest first. Without `state`, only the open \
            ones are listed.",
        input: object(
            &[],
            json!({
                "state": {"enum": ["open", "completed", "all"], "default": "open"},
                "limit": {"type": "integer", "minimum": 1, "maximum": MOST, "default": DEFAULT_LIMIT}
            }),
        ),
        output: record(json!({
            "tasks": {"type": "array", "items": record(json!({
                "todo_id": {"type": "string"},
                "task_text": {"type": "string"},
                "created_at": {"type": "string", "format": "date-time"},
                "completed_at": {"type": ["string", "null"], "format": "date-time"}
            }))},
            "total": {"type": "integer", "minimum": 0, "description": "all tasks in that state, also beyond the limit"}
        })),
        effect: Effect::ReadOnly,
        world: World::Closed,
        call: tool::call(move |wanted, _: &Run<'_>| list(&place, wanted)),
    }
}

pub(super) fn task_complete(place: Workspace) -> Tool {
    Tool {
        name: "task_complete",
        title: "Complete a task",
        description: "Mark a task as completed. A task that is completed already stays as it is.",
        input: record(json!({"todo_id": {"type": "string", "pattern": ID}})),
        output: record(json!({
            "todo_id": {"type": "string"},
            "task_text": {"type": "string"},
            "completed_at": {"type": "string", "format": "date-time"}
        })),
        effect: Effect::Additive,
        world: World::Closed,
        call: tool::call(move |done: &Done, run: &Run<'_>| complete(&place, &done.todo_id, run)),
    }
}

#[derive(Deserialize)]
struct New {
    task_text: String,
}

fn create(place: &Workspace, text: &str, run: &Run<'_>) -> Result<Value, ToolError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(ToolError::argument("task_text", "it is blank"));
    }
    let now = place.clock.timestamp().to_string();
    run.check_cancelled()?;
    let (added, number, created) =
        Database::open(&place.database)?.within("create a task in", Immediate, |transaction| {
            let added = transaction.execute(
                "INSERT OR IGNORE INTO todo (text, created) VALUES (?, ?)",
                (text, now),
            )?;
            transaction.query_row(
                "SELECT number, created FROM todo WHERE text = ? AND completed IS NULL",
                [text],
                |row| Ok((added, row.get::<_, i64>(0)?, row.get::<_, String>(1)?)),
            )
        })?;
    Ok(json!({
        "todo_id": format!("todo_{number}"), "task_text": text, "created_at": created, "duplicate": added == 0
    }))
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum State {
    #[default]
    Open,
    Completed,
    All,
}

#[derive(Deserialize)]
struct Wanted {
    #[serde(default)]
    state: State,
    limit: Option<i64>,
}

fn list(place: &Workspace, wanted: &Wanted) -> Result<Value, ToolError> {
    let limit = wanted.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MOST);
    let which = match wanted.state {
        State::Open => "completed IS NULL",
        State::Completed => "completed IS NOT NULL",
        State::All => "true",
    };
    let Some(mut database) = Database::find(&place.database)? else {
        return Ok(json!({"tasks": [], "total": 0}));
    };
    let (tasks, total) = database.within("list the tasks of", Deferred, |transaction| {
        let count = format!("SELECT count(*) FROM todo WHERE {which}");
        let total: i64 = transaction.query_row(&count, (), |row| row.get(0))?;
        let rows = format!(
            "SELECT number, text, created, completed FROM todo WHERE {which} ORDER BY number LIMIT ?"
        );
        let mut statement = transaction.prepare(&rows)?;
        let tasks = statement.query_map([limit], task)?;
        Ok((tasks.collect::<Result<Vec<_>, _>>()?, total))
    })?;
    Ok(json!({"tasks": tasks, "total": total}))
}

fn task(row: &Row<'_>) -> rusqlite::Result<Value> {
    let (number, text, created, completed): (i64, String, String, Option<String>) =
        (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
    Ok(json!({
        "todo_id": format!("todo_{number}"), "task_text": text, "created_at": created, "completed_at": completed
    }))
}

#[derive(Deserialize)]
struct Done {
    todo_id: String,
}

fn complete(place: &Workspace, id: &str, run: &Run<'_>) -> Result<Value, ToolError> {
    let unknown = || ToolError::argument("todo_id", format!("there is no task {id:?}"));
    let number: Option<i64> = id.strip_prefix("todo_").and_then(|text| text.parse().ok());
    let number = number.ok_or_else(unknown)?;
    let now = place.clock.timestamp().to_string();
    run.check_cancelled()?;
    let mut database = Database::find(&place.database)?.ok_or_else(unknown)?;
    let done = database.within("complete a task in", Immediate, |transaction| {
        transaction.execute(
            "UPDATE todo SET completed = ? WHERE number = ? AND completed IS NULL",
            (now, number),
        )?;
        transaction
            .query_row(
                "SELECT text, completed FROM todo WHERE number = ?",
                [number],
                |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)),
            )
            .optional()
    })?;
    let (text, completed) = done.ok_or_else(unknown)?;
    Ok(json!({"todo_id": id, "task_text": text, "completed_at": completed}))
}
