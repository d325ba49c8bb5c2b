//! What `oneact verify` finds to be wrong.

use super::super::signature::SignatureError;
use crate::ledger::Seq;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    /// The damaged link, if the damage concerns a link.
    pub(crate) link: Option<Seq>,
    /// The last link up to which all are good.
    pub(crate) good: Option<Seq>,
    pub(crate) what: Damage,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Damage {
    #[error("a link is missing before link {found}")]
    Missing { found: Seq },
    #[error("contents do not match its hash")]
    Contents,
    #[error(
        "the links before it are not those that it tied together: one was removed, added or changed, and its hash was computed again"
    )]
    Untied,
    #[error(
        "the link does not contain the hash of the previous link: one of the two was changed, and its hash was computed again"
    )]
    Unlinked,
    #[error("this program cannot read the contents of the link")]
    Unreadable,
    #[error(
        "it is not the link that {whose} names: its chain was computed again, or it is another ledger"
    )]
    Other { whose: Whose },
    #[error(
        "{whose} names link {seq}, which the ledger does not contain: links were removed, or the ledger is an old copy"
    )]
    Cut { whose: Whose, seq: Seq },
    #[error("the record that it made is missing (table {table})")]
    Gone { table: &'static str },
    #[error("the record that it made or changed does not match the links about it (table {table})")]
    Changed { table: &'static str },
    #[error("a record states that a link made it which did not (table {table})")]
    Astray { table: &'static str },
    #[error("contents do not match its hash (agent_actions {row}, {part} changed)")]
    PayloadChanged { row: String, part: &'static str },
    #[error("the {part} of its answer is missing, but it was not pruned (agent_actions {row})")]
    PayloadGone { row: String, part: &'static str },
    #[error(
        "the key for secrets is not the original one: a request with secrets could be performed again (ledger_keys)"
    )]
    KeyChanged,
    #[error("the database contains something that oneact never writes: {why}")]
    Stored { why: String },
    #[error("{whose} is not valid: {why}")]
    Forged { whose: Whose, why: SignatureError },
    #[error("{whose} is not signed, but a signature is required")]
    NotSigned { whose: Whose },
}

impl Damage {
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "link_missing",
            Self::Contents => "link_changed",
            Self::Untied => "link_untied",
            Self::Unlinked => "link_unlinked",
            Self::Unreadable => "link_unreadable",
            Self::Other { .. } => "chain_rewritten",
            Self::Cut { .. } => "chain_cut",
            Self::Gone { .. } => "record_missing",
            Self::Changed { .. } => "record_changed",
            Self::Astray { .. } => "record_astray",
            Self::PayloadChanged { .. } => "row_changed",
            Self::PayloadGone { .. } => "payload_gone",
            Self::KeyChanged => "key_changed",
            Self::Stored { .. } => "store_damaged",
            Self::Forged { .. } => "anchor_forged",
            Self::NotSigned { .. } => "head_not_signed",
        }
    }
}

/// Where a copy of a link is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Whose {
    #[error("the head file")]
    HeadFile,
    #[error("an anchor")]
    Anchor,
}
