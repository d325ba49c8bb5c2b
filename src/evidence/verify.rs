//! Verifies the ledger (`oneact verify`): computes every link again, and compares every row with its link, and the
//! chain with copies of its links.
//!
//! Links up to the last knot are read in pages, each in a transaction of its own, and later ones in one transaction. So a long
//! ledger needs no more memory than a short one, and writers do not wait. Only the ends of chains since the last knot, the open
//! claims and the requests for approvals are kept.

mod vouched;
mod walk;

use std::ops::ControlFlow;

use serde::Serialize;

use super::{
    anchor::{Note, Written},
    signature::{PublicKey, SignatureError},
};
use crate::ledger::{Head, Ledger, LedgerError, Seq, Trouble, read};
use walk::{Stop, Walk};

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
    fn signed(&self) -> Option<Seq> {
        match self {
            Self::Signed { seq, .. } => Some(*seq),
            Self::Nothing | Self::Unreadable | Self::Unsigned { .. } | Self::Unchecked { .. } => {
                None
            }
        }
    }
}

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
    #[error("its answer is missing (agent_actions {row})")]
    RowMissing { row: String },
    #[error("an answer names this link, but the link does not seal it (agent_actions {row})")]
    RowUnsealed { row: String },
    #[error("an answer names a link that does not exist (agent_actions {row})")]
    RowAstray { row: String },
    #[error("an answer is marked as written by oneact, but names no link (agent_actions {row})")]
    RowUnlinked { row: String },
    #[error("contents do not match its hash (agent_actions {row}, {part} changed)")]
    RowChanged { row: String, part: Part },
    #[error("the {part} of its answer is missing, but it was not pruned (agent_actions {row})")]
    PayloadGone { row: String, part: Part },
    #[error("its answer is marked as revoked, but no link revokes it (agent_actions {row})")]
    RevokedByNobody { row: String },
    #[error("it revokes an answer that is not marked as revoked (agent_actions {row})")]
    RevocationUndone { row: String },
    #[error(
        "the session {session} that it opened is missing: anyone could open it again (sessions)"
    )]
    SessionGone { session: String },
    #[error("the session {session} names this link, but the link did not open it (sessions)")]
    SessionUnsealed { session: String },
    #[error("the session {session} was changed after it was opened (sessions)")]
    SessionChanged { session: String },
    #[error(
        "the key for secrets is not the original one: a request with secrets could be performed again (ledger_keys)"
    )]
    KeyChanged,
    #[error(
        "the claim of operation {operation} names a link of another operation, or a link that was settled"
    )]
    ClaimAstray { operation: String },
    #[error("the claim of operation {operation} does not match the links about it")]
    ClaimChanged { operation: String },
    #[error(
        "the claim of operation {operation} is missing: the same request could be performed again"
    )]
    ClaimGone { operation: String },
    #[error("the record of {what} that it made is missing, or does not match the links about it")]
    RecordChanged { what: Kept },
    #[error("a record of {what} names this link, but the link did not make it")]
    RecordAstray { what: Kept },
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
            Self::RecordChanged { .. } => "record_changed",
            Self::RecordAstray { .. } => "record_astray",
            Self::Stored { .. } => "store_damaged",
            Self::Forged { .. } => "anchor_forged",
            Self::NotSigned { .. } => "head_not_signed",
        }
    }
}

/// What a record of a table is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Kept {
    #[error("a request for an approval")]
    Request,
    #[error("a decision about an approval")]
    Vote,
    #[error("a grant")]
    Grant,
    #[error("a review")]
    Review,
}

/// Where a copy of a link is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Whose {
    #[error("the head file")]
    HeadFile,
    #[error("an anchor")]
    Anchor,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Part {
    #[error("request")]
    Request,
    #[error("response")]
    Response,
    #[error("columns")]
    Columns,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Signers<'a> {
    /// No public key is known.
    Nobody,
    /// Signatures are checked, and the head must be signed.
    Demanded(&'a [PublicKey]),
}

impl Ledger<'_> {
    /// Examines the whole ledger, and whether it is the chain that `anchors` and the head file name.
    pub(crate) fn verify(
        &mut self,
        anchors: Vec<Note>,
        signers: Signers<'_>,
    ) -> Result<Verdict, LedgerError> {
        // The head file is read before the chain, which may grow meanwhile.
        let written = self.head.read();
        let mut remembered: Vec<(Note, Whose)> = Vec::with_capacity(anchors.len() + 1);
        remembered.extend(anchors.into_iter().map(|note| (note, Whose::Anchor)));
        if let Written::Note(note) = &written {
            remembered.push((note.clone(), Whose::HeadFile));
        }
        remembered.sort_by_key(|(note, _)| note.seq);
        let forged = remembered.iter().find_map(|(note, whose)| {
            let why = note.signer(signers.keys()?)?.err()?;
            Some(Damage::Forged { whose: *whose, why })
        });
        let head = head_says(written, signers);
        let mut walk = Walk::new(remembered, head.signed());
        let broken = loop {
            match read(&mut *self.store, |tx| walk.page(tx)) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => break None,
                Err(Stop::Broken(broken)) => break Some(broken),
                Err(Stop::Store(error)) if error.trouble == Trouble::Corrupt => {
                    break Some(Broken {
                        link: None,
                        good: walk.last(),
                        what: Damage::Stored { why: error.why },
                    });
                }
                Err(Stop::Store(error)) => return Err(error.into()),
            }
        };
        self.sync();
        let confirmed = walk.confirmed;
        let mut verdict = walk.verdict();
        self.store.place().clone_into(&mut verdict.place);
        verdict.head = head;
        let unsigned = match (signers, &verdict.head) {
            (Signers::Nobody, _) | (_, HeadSays::Signed { .. }) => None,
            (Signers::Demanded(_), HeadSays::Nothing) if verdict.links == 0 => None,
            (Signers::Demanded(_), _) => Some(Damage::NotSigned {
                whose: Whose::HeadFile,
            }),
        };
        let said = forged.or(unsigned).map(|what| Broken {
            link: None,
            good: confirmed,
            what,
        });
        verdict.broken = broken.or(said);
        Ok(verdict)
    }
}

impl<'a> Signers<'a> {
    fn keys(self) -> Option<&'a [PublicKey]> {
        match self {
            Self::Nobody => None,
            Self::Demanded(keys) => Some(keys),
        }
    }
}

fn head_says(written: Written, signers: Signers<'_>) -> HeadSays {
    let note = match written {
        Written::Note(note) => note,
        Written::Nothing => return HeadSays::Nothing,
        Written::Blank | Written::Unreadable(_) | Written::Unopened(_) => {
            return HeadSays::Unreadable;
        }
    };
    let seq = note.seq;
    match signers.keys().map(|keys| note.signer(keys)) {
        None if note.signature.is_some() => HeadSays::Unchecked { seq },
        None | Some(None) => HeadSays::Unsigned { seq },
        Some(Some(Ok(key))) => HeadSays::Signed {
            seq,
            at: note.at,
            fingerprint: key.fingerprint(),
        },
        // The verdict reports it as forged.
        Some(Some(Err(_))) => HeadSays::Unchecked { seq },
    }
}
