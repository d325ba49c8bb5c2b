//! Fingerprints of files, by which a later change is found.

use serde::{Deserialize, Serialize};

/// The content at a URI when it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Print {
    /// The URI without presign parts.
    pub uri: String,
    pub sight: Sight,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sight {
    Content(Content),
    /// Of an object of a store.
    Object(ObjectPrint),
    /// The file was deleted.
    Absent,
    /// The content could not be read.
    Unknown,
}

impl Sight {
    /// The size, if it is known.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        match self {
            Self::Content(content) => Some(content.bytes),
            Self::Object(object) => Some(object.bytes),
            Self::Absent | Self::Unknown => None,
        }
    }
}

/// The size and the BLAKE3 hash of the content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    pub bytes: u64,
    pub blake3: String,
    /// The file-system facts. `None` if a change within one tick of the file system's clock could be missed.
    pub stat: Option<Stat>,
}

/// What a store says of an object. While it is the same, the content is the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectPrint {
    pub bytes: u64,
    pub etag: Option<String>,
    pub modified: String,
    pub version: Option<String>,
    /// Lower-case hex, if oneact stored the object.
    pub sha256: Option<String>,
}

impl ObjectPrint {
    /// Whether nothing in it changes with the content.
    #[must_use]
    pub fn is_unidentified(&self) -> bool {
        self.etag.is_none() && self.version.is_none()
    }
}

/// File-system facts: while they are the same, the content is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stat {
    pub dev: u64,
    pub ino: u64,
    pub bytes: u64,
    pub mtime: i64,
    pub ctime: i64,
}

/// The state of something that was read before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Still {
    Same,
    Other,
    Gone,
    /// The content could not be read, then or now.
    Unknown,
}

/// Whether the name of a file may be a symbolic link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// For an input: the target of the link is read.
    Followed,
    /// For an output: the file that was made was no link.
    Refused,
}
