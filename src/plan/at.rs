//! Times as reports and journals write them.

use jiff::{Timestamp, Zoned};
use serde::{Deserialize, Serialize};

/// A time as reports write it (ISO 8601 with its offset). A time that is read keeps its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct At {
    text: String,
    timestamp: Timestamp,
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

impl At {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn timestamp(&self) -> Timestamp {
        self.timestamp
    }

    /// The day, as `2026-11-30`.
    pub(crate) fn day(&self) -> &str {
        self.text.get(..10).unwrap_or(&self.text)
    }
}
