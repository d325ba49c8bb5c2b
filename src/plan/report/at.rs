//! Points in time as reports write them.

use jiff::{Timestamp, Zoned};
use serde::{Deserialize, Serialize};

/// A point in time (ISO 8601 with its offset). Read back, it is written again as it was.
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
