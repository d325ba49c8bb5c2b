//! The result of an examination.

use serde::Serialize;

use super::damage::Broken;
use crate::ledger::{Head, Seq};

/// The result of an examination.
#[derive(Debug, Clone, Default)]
pub(crate) struct Verdict {
    /// The name of the ledger, for people.
    pub(crate) place: String,
    pub(crate) links: u64,
    pub(crate) last: Option<Head>,
    /// The number of rows that agree with their links.
    pub(crate) rows: u64,
    /// The number of these rows whose request and response are unchanged.
    pub(crate) payloads: u64,
    /// The number of these rows that were pruned.
    pub(crate) pruned: u64,
    /// The number of rows from before oneact, which no link seals.
    pub(crate) outside: u64,
    /// The number of claims whose operation is at work.
    pub(crate) at_work: u64,
    /// The number of operations whose outcome a person has to decide.
    pub(crate) unknown: u64,
    pub(crate) broken: Option<Broken>,
    /// The last link that one of the given anchors names.
    pub(crate) anchored: Option<Seq>,
    /// The number of links that could be removed or changed without making an anchor or a signed head file wrong.
    pub(crate) alone: u64,
    pub(crate) head: HeadSays,
}

impl Verdict {
    /// The last link that an anchor or a signed head file names. A writer of the ledger cannot forge those.
    pub(crate) fn vouched(&self) -> Option<Seq> {
        self.anchored.max(self.head.signed())
    }
}

/// What the head file says about the ledger.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(crate) enum HeadSays {
    #[default]
    #[serde(rename = "missing")]
    Nothing,
    Unreadable,
    /// It names that link, without a signature. Whoever can write the ledger can write the file as well.
    Unsigned {
        seq: Seq,
    },
    /// It is signed, but without a public key the signature cannot be checked.
    #[serde(rename = "not_checked")]
    Unchecked {
        seq: Seq,
    },
    Signed {
        seq: Seq,
        at: Option<String>,
        fingerprint: String,
    },
}

impl HeadSays {
    pub(super) fn signed(&self) -> Option<Seq> {
        match self {
            Self::Signed { seq, .. } => Some(*seq),
            Self::Nothing | Self::Unreadable | Self::Unsigned { .. } | Self::Unchecked { .. } => {
                None
            }
        }
    }
}
