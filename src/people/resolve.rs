//! A person settles an operation whose outcome is unknown (R-004-58), unless the journal of a file plan shows the
//! opposite.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::naming::{CANDIDATES, CommandError, only};
use crate::{
    envelope::{Received, to_response},
    executor::{Fate, fate, is_journalled},
    host::Host,
    ledger::{
        Case, Claim, ClaimState, Effects, Event, Head, Ledger, Seq, StoreError, Tx, Which, answer,
        begin::lock_of,
        home, instant, read,
        settle::{How, UNDONE, Unsettled, row_of, unsettled},
    },
    record::Project,
    task::{Effect, Failure, Fault, Outcome, Phase, State},
};

#[derive(Clone, Copy)]
pub(crate) enum Happened<'a> {
    /// It happened. The function makes the answer that repetitions get.
    Yes(&'a dyn Fn(&Case) -> String),
    /// It did not happen, so it may be performed.
    No,
}

#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) case: Case,
    pub(crate) link: Head,
    /// The answer's number in its session; none if nothing happened.
    pub(crate) step_index: Option<u64>,
}

impl Ledger<'_> {
    /// The operation that a person may settle. `operation` may be the beginning of its id.
    pub(crate) fn unsettled(&mut self, operation: &str) -> Result<Case, CommandError> {
        Ok(self.found(operation)?.case)
    }

    fn found(&mut self, operation: &str) -> Result<Unsettled, CommandError> {
        self.absorb_outbox();
        let actor = self.actor.clone();
        let found = read(&mut *self.store, |tx| open(tx, operation, &actor))?;
        self.must_be_open(&found.claim)?;
        Ok(found)
    }

    /// Settles an operation whose outcome is unknown. `operation` may be the beginning of its id.
    pub(crate) fn resolve(
        &mut self,
        operation: &str,
        happened: Happened<'_>,
        note: Option<&str>,
    ) -> Result<Resolved, CommandError> {
        let found = self.found(operation)?;
        let operation = found.case.operation_id.clone();
        let at = self.host.timestamp();
        let answer = match happened {
            Happened::Yes(answer) => Some(answer(&found.case)),
            Happened::No => None,
        };
        let how = match answer {
            Some(answer) => {
                let row = answer::resolved(
                    found.recorded().unwrap_or_else(|| found.facts()),
                    &answer,
                    instant(at),
                );
                How::Answered(Event::Resolved, Box::new(row))
            }
            None => How::NotMade("did_not_happen"),
        };
        let Some((link, step_index)) = self.settle(&found, &how, at, note)? else {
            return Err(CommandError::Settled { operation });
        };
        Ok(Resolved {
            case: found.case,
            link,
            step_index,
        })
    }

    /// Fails unless the owner is dead, and the operation may have happened and must not happen twice.
    fn must_be_open(&mut self, claim: &Claim) -> Result<(), CommandError> {
        let operation = claim.operation_id.clone();
        if claim.state == ClaimState::Unknown {
            return Ok(());
        }
        if self.store.held(lock_of(&operation))? {
            return Err(CommandError::AtWork { operation });
        }
        match (claim.state, claim.effects) {
            (ClaimState::Reserved, _) => Err(CommandError::NothingHappened { operation }),
            (_, Effects::Once) => Ok(()),
            (_, Effects::None | Effects::Idempotent) => Err(CommandError::MayRepeat { operation }),
        }
    }
}

/// The open claim of the operation whose id begins with `name`.
fn open(tx: &mut Tx<'_>, name: &str, actor: &str) -> Result<Unsettled, CommandError> {
    let mut claims = match name {
        "" => tx.open_claims(None)?,
        name => tx.claims_named(name)?,
    };
    claims.retain(Claim::is_open);
    // Ended operations count, too: a shown short id is unique among all ids.
    let open = claims.iter().map(|claim| claim.operation_id.clone());
    let mut operations: Vec<String> = open.collect();
    let mut settled_before = BTreeMap::new();
    if !name.is_empty() {
        if operations.is_empty() {
            settled_before = settled(tx, name)?;
            operations.extend(settled_before.keys().cloned());
        }
        let ended = tx.rows(&Which::operation(name), CANDIDATES)?;
        operations.extend(ended.into_iter().map(|row| row.operation_id));
    }
    let operation = only(name, None, operations, Clone::clone)?;
    claims.retain(|claim| claim.operation_id == operation);
    let matters = |claim: &&Claim| claim.may_have_happened();
    if claims.iter().filter(matters).count() > 1 {
        return Err(CommandError::SameId { operation });
    }
    let claim = claims.iter().find(matters).or(claims.first()).cloned();
    let row = row_of(tx, &operation)?;
    if let Some((link, how)) = settled_before.remove(&operation) {
        return Err(CommandError::SettledBefore {
            operation,
            link,
            how,
        });
    }
    let Some(claim) = claim else {
        return Err(match row.and_then(|row| row.state) {
            Some(state) => CommandError::Ended {
                operation,
                state: state.name(),
            },
            None => CommandError::Nothing {
                text: operation,
                session: None,
            },
        });
    };
    Ok(unsettled(claim, row, actor))
}

/// The operations whose ids begin with `text` and that were settled without their own answer: the link, and how.
fn settled(tx: &mut Tx<'_>, text: &str) -> Result<BTreeMap<String, (Seq, String)>, StoreError> {
    let mut settled = BTreeMap::new();
    for claim in tx.claims_named(text)? {
        let link = claim.ended.map(|ended| tx.link(ended)).transpose()?;
        let Some(link) = link.flatten() else { continue };
        let body = link.body().unwrap_or_default();
        let reason = body.reason;
        let how = match claim.state {
            ClaimState::TakenOver => {
                let is_same = body.request_hash.as_ref() == Some(&claim.request_hash);
                let what = if is_same { "request" } else { "delivery" };
                format!("operation {} took its {what} over", link.operation_id)
            }
            ClaimState::NotMade if reason.as_deref() == Some(UNDONE) => {
                "the journal of its plan showed that no change remains".to_owned()
            }
            ClaimState::NotMade => "a person said that it did not happen".to_owned(),
            _ if link.is(Event::Resolved) => "a person said that it happened".to_owned(),
            _ => continue,
        };
        settled.insert(claim.operation_id, (link.seq, how));
    }
    Ok(settled)
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
