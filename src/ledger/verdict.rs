//! What an examination of the ledger came to.

use super::{
    record::{Head, Seq},
    signature::SignatureError,
};

/// The whole of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Verdict {
    /// Which ledger it was.
    pub(crate) place: String,
    /// How many links were found good.
    pub(crate) links: u64,
    /// The last of them.
    pub(crate) last: Option<Head>,
    /// How many rows agree with their links.
    pub(crate) rows: u64,
    /// Of these, how many have request and response, and both are what they were.
    pub(crate) payloads: u64,
    /// Of these, how many have been pruned.
    pub(crate) pruned: u64,
    /// Rows of before oneact: nothing vouches for them.
    pub(crate) outside: u64,
    /// Claims of those at work.
    pub(crate) at_work: u64,
    /// Operations of which a person has to say whether they happened.
    pub(crate) unknown: u64,
    /// The first thing that is wrong.
    pub(crate) broken: Option<Broken>,
    /// The last link that an anchor given to us names.
    pub(crate) anchored: Option<Seq>,
    pub(crate) head: HeadSays,
}

impl Verdict {
    /// The last link that something vouches for which whoever can write the ledger cannot write.
    pub(crate) fn vouched(&self) -> Option<Seq> {
        self.anchored.max(self.head.vouches())
    }

    /// How many of the last links only the ledger itself vouches for.
    pub(crate) fn alone(&self) -> u64 {
        self.links - self.vouched().map_or(0, |seq| seq + 1).min(self.links)
    }
}

/// What the head file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum HeadSays {
    /// There is none.
    #[default]
    Nothing,
    Unreadable,
    /// It names that link. Without a signature it is as easily written as the ledger.
    Unsigned {
        seq: Seq,
    },
    /// It is signed, and by whom cannot be told without a public key.
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
    fn vouches(&self) -> Option<Seq> {
        match self {
            Self::Signed { seq, .. } => Some(*seq),
            Self::Nothing | Self::Unreadable | Self::Unsigned { .. } | Self::Unchecked { .. } => {
                None
            }
        }
    }
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    /// Where it was found; none where it is no link's fault.
    pub(crate) link: Option<Seq>,
    /// All links up to this one are good; none where no link is.
    pub(crate) good: Option<Seq>,
    pub(crate) what: Damage,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Damage {
    #[error("it is missing: the next one there is has the number {found}")]
    Missing { found: Seq },
    #[error("contents do not match its hash")]
    Contents,
    #[error(
        "it does not hold the hash of the link before: one of the two was changed, and its hash computed anew"
    )]
    Unlinked,
    #[error("what it says cannot be read by this program")]
    Unreadable,
    #[error(
        "it is not the link that {whose} names: the chain was computed anew, or is another one"
    )]
    Other { whose: Whose },
    #[error(
        "the chain ends here, but {whose} names link {seq}: what came after was removed, or the ledger is an old copy"
    )]
    Cut { whose: Whose, seq: Seq },
    #[error("its answer is gone (agent_actions {row})")]
    RowMissing { row: String },
    #[error("it has an answer that it does not know of (agent_actions {row})")]
    RowUnsealed { row: String },
    #[error("there is an answer of a link that does not exist (agent_actions {row})")]
    RowAstray { row: String },
    #[error(
        "there is an answer that names no link and says that it is oneact's (agent_actions {row})"
    )]
    RowUnlinked { row: String },
    #[error("contents do not match its hash (agent_actions {row}, {part} changed)")]
    RowChanged { row: String, part: Part },
    #[error("{part} of its answer is gone, and nobody pruned it (agent_actions {row})")]
    PayloadGone { row: String, part: Part },
    #[error("its answer says it was taken back, and no link says so (agent_actions {row})")]
    RevokedByNobody { row: String },
    #[error("it takes an answer back, which does not say so any more (agent_actions {row})")]
    RevocationUndone { row: String },
    #[error("the session {session} that it opened is gone: anybody could open it anew (sessions)")]
    SessionGone { session: String },
    #[error("it did not open the session {session} (sessions)")]
    SessionUnsealed { session: String },
    #[error("the session {session} is not what it was when it was opened (sessions)")]
    SessionChanged { session: String },
    #[error(
        "the key for secrets is not the one that was made: a request with secrets could be done again (ledger_keys)"
    )]
    KeyChanged,
    #[error("the claim of operation {operation} names a link that is not its own, or was settled")]
    ClaimAstray { operation: String },
    #[error("the claim of operation {operation} is not what the links say of it")]
    ClaimChanged { operation: String },
    #[error("operation {operation} is open, and its claim is gone: the same could be done again")]
    ClaimGone { operation: String },
    #[error("the database holds something that oneact never writes: {why}")]
    Stored { why: String },
    #[error("{whose} is not to be believed: {why}")]
    Forged { whose: Whose, why: SignatureError },
    #[error("{whose} is not signed, and only signed ones are asked for")]
    NotSigned { whose: Whose },
}

impl Damage {
    /// Its name, for programs.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "link_missing",
            Self::Contents => "link_changed",
            Self::Unlinked => "link_unlinked",
            Self::Unreadable => "link_unreadable",
            Self::Other { .. } => "chain_rewritten",
            Self::Cut { .. } => "chain_cut",
            Self::RowMissing { .. } => "row_missing",
            Self::RowUnsealed { .. } => "row_unsealed",
            Self::RowAstray { .. } => "row_astray",
            Self::RowUnlinked { .. } => "row_unlinked",
            Self::RowChanged { .. } => "row_changed",
            Self::PayloadGone { .. } => "payload_gone",
            Self::RevokedByNobody { .. } => "revoked_by_nobody",
            Self::RevocationUndone { .. } => "revocation_undone",
            Self::SessionGone { .. } => "session_gone",
            Self::SessionUnsealed { .. } => "session_unsealed",
            Self::SessionChanged { .. } => "session_changed",
            Self::KeyChanged => "key_changed",
            Self::ClaimAstray { .. } => "claim_astray",
            Self::ClaimChanged { .. } => "claim_changed",
            Self::ClaimGone { .. } => "claim_gone",
            Self::Stored { .. } => "store_damaged",
            Self::Forged { .. } => "anchor_forged",
            Self::NotSigned { .. } => "head_not_signed",
        }
    }
}

/// Who remembers a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    HeadFile,
    Anchor,
}

/// A part of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Request,
    Response,
    Columns,
}

impl std::fmt::Display for Whose {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::HeadFile => "the head file",
            Self::Anchor => "an anchor",
        })
    }
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Request => "request",
            Self::Response => "response",
            Self::Columns => "columns",
        })
    }
}
