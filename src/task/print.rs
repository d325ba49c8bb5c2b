//! What a file was: enough to tell later whether it still is.

use serde::{Deserialize, Serialize};

/// The content of something at a URI, as it was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Print {
    /// Without presign parts.
    pub uri: String,
    pub sight: Sight,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sight {
    Content(Content),
    /// Nothing: it was deleted.
    Absent,
    /// It could not be looked at.
    Unknown,
}

/// Bytes, by their number and BLAKE3 hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    pub bytes: u64,
    pub blake3: String,
    /// What the file system said of it; none where a change within one tick of its clock could have gone
    /// unseen.
    pub stat: Option<Stat>,
}

/// What the file system says of a file: while this is the same, the bytes are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stat {
    pub dev: u64,
    pub ino: u64,
    pub bytes: u64,
    pub mtime: i64,
    pub ctime: i64,
}

impl Stat {
    /// Whether it is the same file with the same content, as far as its times can tell. A new name of the file
    /// makes no difference.
    pub fn has_content_of(&self, other: &Self) -> bool {
        let content = |stat: &Self| (stat.dev, stat.ino, stat.bytes, stat.mtime);
        content(self) == content(other)
    }
}

/// What became of something that was seen before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Still {
    Same,
    Other,
    Gone,
    /// It could not be looked at, then or now.
    Unknown,
}

/// Whether the name of a file may be a link that leads to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Of an input: what is read is what it leads to.
    Followed,
    /// Of an output: what was made was no link.
    Refused,
}
