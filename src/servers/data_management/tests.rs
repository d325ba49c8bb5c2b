//! The tools on real databases and real folders.

mod context;
mod database;
mod index;
mod storing;
mod tasks;

use std::{fs, path::Path, sync::atomic::AtomicBool};

use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{tools_at, workspace::Workspace};
use crate::{
    host::Clock,
    servers::tool::{Run, ToolError},
};

/// A working directory of its own.
struct DataFolder {
    folder: TempDir,
    clock: Clock,
}

impl DataFolder {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            clock: Clock::System,
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn database(&self) -> std::path::PathBuf {
        self.path().join(".oneact/data.db")
    }

    fn workspace(&self) -> Workspace {
        Workspace {
            database: self.database(),
            directory: self.path().to_owned(),
            clock: self.clock.clone(),
        }
    }

    /// Lets the clock stand so many seconds after a moment of its own.
    fn at(&mut self, seconds: i64) {
        let moment: Timestamp = "2026-02-24T02:00:00Z".parse().unwrap();
        let moment = moment + SignedDuration::from_secs(seconds);
        self.clock = Clock::Fixed(moment.to_zoned(TimeZone::UTC));
    }

    /// Calls a tool with arguments that may break its schema.
    fn try_raw(&self, name: &str, arguments: &Value) -> Result<Value, ToolError> {
        let tools = tools_at(&self.workspace());
        let tool = tools.iter().find(|tool| tool.name == name);
        let tool = tool.unwrap();
        let answer = (tool.call)(
            arguments.as_object().unwrap(),
            &Run {
                cancelled: &AtomicBool::new(false),
                report: &|_| {},
            },
        )?;
        assert!(jsonschema::is_valid(&tool.output, &answer), "{answer}");
        Ok(answer)
    }

    fn call(&self, name: &str, arguments: &Value) -> Value {
        self.try_raw(name, arguments).unwrap()
    }

    fn refused(&self, name: &str, arguments: &Value) -> String {
        self.try_raw(name, arguments).unwrap_err().to_string()
    }
}
