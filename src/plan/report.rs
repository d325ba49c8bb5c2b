//! What happened, told: every file of a report directory as a function of the one [`Story`]. Pure: bytes
//! and values out; `engine` writes them.
//!
//! | file | made by | when |
//! |---|---|---|
//! | `rollback_manifest.json` | [`Manifest::of`] | before the first change; once more at the end |
//! | `rollback.sh` | [`script()`] | before the first change |
//! | `execution_report.json`, `change_log.json` | [`tell`] | at the end |
//! | `agent_logs/executor/{date}.jsonl` | [`log`] | as things happen, or all of it at the end |

mod by_hand;
mod change_log;
mod checkpoints;
mod execution;
pub(crate) mod log;
mod manifest;

use jiff::{Timestamp, Zoned};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::record::{Run, Story};
pub(crate) use by_hand::script;
pub(crate) use manifest::{Manifest, ManifestError, ManifestStatus, Point};

/// Names of the files in a report directory.
pub(crate) const EXECUTION_REPORT: &str = "execution_report.json";
pub(crate) const CHANGE_LOG: &str = "change_log.json";
pub(crate) const MANIFEST: &str = "rollback_manifest.json";
pub(crate) const SCRIPT: &str = "rollback.sh";

/// What is told at the end.
#[derive(Debug)]
pub(crate) struct Reports {
    pub(crate) execution: Value,
    pub(crate) change_log: Value,
    /// None where nothing was ever to be changed.
    pub(crate) manifest: Option<Manifest>,
}

/// Tells a story. `ids` gives UUIDs that nobody has seen before.
pub(crate) fn tell(story: &Story, ids: &mut dyn FnMut() -> Uuid) -> Reports {
    let report_id = ids();
    Reports {
        execution: execution::execution_report(story, report_id, ids),
        change_log: change_log::change_log(story, report_id, ids),
        manifest: Manifest::at_the_end(story),
    }
}

/// A report as it is written: two spaces deep, a line ending at its end.
pub(crate) fn bytes(report: &impl Serialize) -> Vec<u8> {
    // Texts, numbers and lists: writing them to memory cannot fail.
    let mut bytes = serde_json::to_vec_pretty(report).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

impl Run {
    /// A file of the report directory, from the root.
    pub(crate) fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.directory)
    }
}

/// A point in time as reports write it (ISO 8601 with its offset). Read back, it is written again as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct At {
    text: String,
    timestamp: Timestamp,
}

impl At {
    pub(crate) fn timestamp(&self) -> Timestamp {
        self.timestamp
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

/// To the millisecond, with the offset of the place.
impl From<&Zoned> for At {
    fn from(at: &Zoned) -> Self {
        Self {
            text: at.strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string(),
            timestamp: at.timestamp(),
        }
    }
}

/// To the nanosecond, in UTC: the times of files, which are given back exactly.
impl From<Timestamp> for At {
    fn from(timestamp: Timestamp) -> Self {
        Self {
            text: timestamp.to_string(),
            timestamp,
        }
    }
}

impl TryFrom<String> for At {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.parse() {
            Ok(timestamp) => Ok(Self { text, timestamp }),
            Err(why) => Err(format!("`{text}` is no point in time: {why}")),
        }
    }
}

impl From<At> for String {
    fn from(at: At) -> Self {
        at.text
    }
}

#[cfg(test)]
mod tests;
