//! Verifies the ledger, and makes the answer of an operation that a person vouches for.

use camino::Utf8Path;
use serde_json::{Value, json};

use crate::{
    envelope::{Received, to_response},
    executor::{Fate, fate, is_journalled},
    host::Host,
    ledger::{
        Case, CommandError, Ledger, Signers, Verdict, Wish, home, public_half, read_anchors,
        read_signers,
    },
    task::{Effect, Failure, Fault, Outcome, Phase, State},
};

use super::{OpenError, Project};

/// Verifies the ledger against a file of anchors, and signatures against the keys that may sign.
pub(crate) fn verify<'h>(
    anchors: Option<&Utf8Path>,
    signers: Option<&Utf8Path>,
    project: &Project,
    host: &'h Host,
) -> Result<(Ledger<'h>, Verdict), OpenError> {
    let anchors = anchors.map(read_anchors).transpose()?;
    let asked = signers.map(read_signers).transpose()?;
    let (mut ledger, key) = project.open(Wish::Read, host)?;
    let own = || key.map(|key| public_half(&key)).transpose();
    let keys = asked.map_or_else(own, |asked| Ok(Some(asked)))?;
    let signers = match &keys {
        Some(keys) => Signers::Demanded(keys),
        None => Signers::Nobody,
    };
    let verdict = ledger.verify(anchors.unwrap_or_default(), signers)?;
    Ok((ledger, verdict))
}

/// What a person says of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claimed {
    Happened,
    DidNot,
}

/// Fails if the journal of a file plan shows the opposite, or if the plan is still interrupted: the next run would undo
/// or finish it.
pub(crate) fn unless_contradicted(
    case: &Case,
    claimed: Claimed,
    project: &Project,
    host: &Host,
) -> Result<(), CommandError> {
    let operation = case.operation_id.clone();
    // The journals of another root say nothing about it. This root may have got another path or state directory since.
    let is_home = case.home.is_some() && case.home == home(&project.state_dir, &project.root);
    let journalled = || project.with_desk(host, |desk| is_journalled(desk, &operation));
    if !is_home && !journalled().unwrap_or_default() {
        return Ok(());
    }
    let mut settled = Vec::new();
    let fate = project.with_desk(host, |desk| fate(desk, &operation, &mut settled));
    for sentence in settled {
        tracing::warn!("{sentence}");
    }
    let what = match (fate, claimed) {
        (Ok(Fate::Made { .. }), Claimed::DidNot) => "happened",
        (Ok(Fate::NotMade), Claimed::Happened) => "did not happen, or was undone",
        (Ok(Fate::Made { .. } | Fate::NotMade | Fate::Unknown), _) => return Ok(()),
        (Err(failure), _) => {
            let why = failure.message;
            return Err(CommandError::Interrupted { operation, why });
        }
    };
    Err(CommandError::Contradicted { operation, what })
}

/// The answer of an operation that a person says has happened. Its result is not known.
pub(crate) fn vouched(case: &Case, at: &str, why: Option<&str>) -> String {
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
