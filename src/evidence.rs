//! Shows later what was changed in a ledger: [`verify`] compares its tables, its links and their copies ([`anchor`]) with each
//! other, and a [`receipt`] proves one answer. [`signature`] is for the heads of ledgers and for approvals.

mod anchor;
pub(crate) mod receipt;
pub(crate) mod signature;
pub(crate) mod verify;

pub(crate) use anchor::{AnchorError, read_anchors};
#[cfg(test)]
pub(crate) use signature::PublicKey;
pub(crate) use signature::{
    KeyError, Purpose, SignatureError, Signer, can_sign, check, public_file, public_half,
    read_signers, signers_for, signing,
};
pub(crate) use verify::{Broken, HeadSays, Signers, Verdict};
