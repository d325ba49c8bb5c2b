//! The record examined, and what only a person can decide about it: `oneact verify`, `resolve`, `revoke`,
//! `review`, `prune`. Nothing is performed.

use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

use crate::{
    envelope::{Received, to_response},
    host::Host,
    ledger::{
        AnchorError, Case, Happened, KeyError, Ledger, LedgerError, Note, PruneWish, Pruned,
        RecordError, Resolved, Reviewed, Signers, Wish as Open, read_anchors, read_signers,
    },
    task::{Effect, Failure, Fault, Outcome, Phase, State},
};

use super::{Settings, book::sign_key, look::found};

pub(crate) use crate::ledger::{
    Alone, Broken, Dependants, HeadSays, Name, PruneWish as Wish, Review, Revoked, Told, Verdict,
};

/// Why a command about the record did nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EvidenceError {
    #[error("{}", .0.message)]
    Place(Failure),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Decision(#[from] RecordError),
    #[error(transparent)]
    Anchor(#[from] AnchorError),
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// Beside what the ledger is to be held.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnchorOrder<'a> {
    /// What was kept of it elsewhere.
    pub(crate) anchors: Option<&'a Utf8Path>,
    /// Who may sign: the head must be signed by one of them.
    pub(crate) signers: Option<&'a Utf8Path>,
}

/// What a person says of an operation that nobody knows the end of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Happened,
    DidNot,
}

/// Examines the ledger.
pub(crate) fn verify(
    order: AnchorOrder<'_>,
    settings: &Settings,
    host: &Host,
) -> Result<Verdict, EvidenceError> {
    Ok(examine(order, settings, host)?.1)
}

/// Examines the ledger and gives its last link, for others to keep; none where it is broken or empty.
pub(crate) fn anchor_out(
    order: AnchorOrder<'_>,
    settings: &Settings,
    host: &Host,
) -> Result<(Verdict, Option<Note>), EvidenceError> {
    let (mut ledger, verdict) = examine(order, settings, host)?;
    if verdict.broken.is_some() {
        return Ok((verdict, None));
    }
    let note = ledger.anchor()?.transpose()?;
    Ok((verdict, note))
}

fn examine<'h>(
    order: AnchorOrder<'_>,
    settings: &Settings,
    host: &'h Host,
) -> Result<(Ledger<'h>, Verdict), EvidenceError> {
    let anchors = order.anchors.map(read_anchors).transpose()?;
    let asked = order.signers.map(read_signers).transpose()?;
    let (mut ledger, key) = open(settings, Open::Read, host)?;
    let own = match (&asked, key) {
        (None, Some(key)) => public(&key),
        _ => None,
    };
    let signers = match (&asked, &own) {
        (Some(keys), _) => Signers::Demanded(keys),
        (None, Some(keys)) => Signers::Known(keys),
        (None, None) => Signers::Nobody,
    };
    let verdict = ledger.verify(anchors.unwrap_or_default(), signers)?;
    Ok((ledger, verdict))
}

/// The public key beside a private one.
fn public(key: &Utf8Path) -> Option<Vec<crate::ledger::PublicKey>> {
    let path = Utf8PathBuf::from(format!("{key}.pub"));
    read_signers(&path)
        .inspect_err(|error| tracing::warn!("Signatures are not checked: {error}"))
        .ok()
}

/// Says whether an operation happened of which nobody knows it.
pub(crate) fn resolve(
    operation: &str,
    answer: Answer,
    why: Option<&str>,
    settings: &Settings,
    host: &Host,
) -> Result<Resolved, EvidenceError> {
    let (mut ledger, _) = open(settings, Open::Decide, host)?;
    let at = host.timestamp().to_string();
    let vouched = |case: &Case| vouched(case, &at, why);
    let happened = match answer {
        Answer::Happened => Happened::Yes(&vouched),
        Answer::DidNot => Happened::No,
    };
    Ok(ledger.resolve(operation, happened, why)?)
}

/// The answer of something that was done, as a person says: nothing is known of what came of it.
fn vouched(case: &Case, at: &str, why: Option<&str>) -> String {
    let nobody = Failure::new(Fault::Internal, "");
    let received = Received {
        task_id: case.task_id.clone().unwrap_or_default(),
        ..Received::nobody(case.session_id.clone(), nobody)
    };
    let said: Value = json!({"resolved": {
        "operation_id": case.operation_id, "happened": true, "by": case.by, "at": at, "why": why,
    }});
    let outcome = Outcome {
        effect: Effect::Done,
        result_data: Some(said),
        ..Outcome::nothing_done(State::Done, Phase::Complete, None)
    };
    to_response(&received, &outcome)
}

/// Takes an answer back.
pub(crate) fn revoke(
    name: Name<'_>,
    dependants: Dependants,
    why: Option<&str>,
    settings: &Settings,
    host: &Host,
) -> Result<Revoked, EvidenceError> {
    let (mut ledger, _) = open(settings, Open::Decide, host)?;
    Ok(ledger.revoke(name, dependants, why)?)
}

/// Records what a person found of an answer.
pub(crate) fn review(
    name: Name<'_>,
    review: Review,
    why: Option<&str>,
    settings: &Settings,
    host: &Host,
) -> Result<Reviewed, EvidenceError> {
    let (mut ledger, _) = open(settings, Open::Decide, host)?;
    Ok(ledger.review(name, review, why)?)
}

/// Removes old requests and responses.
pub(crate) fn prune(
    older: Duration,
    wish: PruneWish,
    settings: &Settings,
    host: &Host,
) -> Result<Pruned, EvidenceError> {
    let how = match wish {
        PruneWish::Prune => Open::Decide,
        PruneWish::Look => Open::Read,
    };
    let (mut ledger, _) = open(settings, how, host)?;
    let pruned = ledger.prune(older, wish).map_err(LedgerError::Store)?;
    Ok(pruned)
}

/// The ledger that runs record in, if there is one; and the key that signs its head.
fn open<'h>(
    settings: &Settings,
    wish: Open,
    host: &'h Host,
) -> Result<(Ledger<'h>, Option<Utf8PathBuf>), EvidenceError> {
    let (place, rule) = found(settings).map_err(EvidenceError::Place)?;
    let key = sign_key(settings, &rule);
    let ledger = Ledger::open(&place, &settings.state_dir, wish, host)?;
    Ok((ledger.signed_by(key.clone()), key))
}
