//! What makes a change of the ledger visible afterwards: the [`chain`] of links, whose hashes are computed from
//! [`canonical`](mod@canonical) JSON; copies of links outside the ledger ([`anchor`]) and their signatures; and the
//! examination that compares all of these with the tables ([`verify`]).

pub(crate) mod anchor;
pub(crate) mod canonical;
pub(crate) mod chain;
mod head;
pub(crate) mod receipt;
pub(crate) mod signature;
pub(crate) mod verify;

pub(crate) use anchor::{AnchorError, HeadFile, read_anchors};
pub(crate) use canonical::{canonical, escaped, exact, marked, same_json, sha256};
pub(crate) use chain::{AskedApproval, Body, Bound, Change, SessionSeal, Stamp, Told, instant};
pub(crate) use signature::{
    KeyError, Purpose, Signer, can_sign, public_file, public_half, read_signers, signers_for,
};
pub(crate) use verify::{Broken, HeadSays, Signers, Verdict};
