//! What lets a call pass just before it is sent, in the transaction that dispatches it: [`CHECKS`] of its approval, and
//! what the grant that it names covers.
//!
//! Whether a call needs an approval is decided before (`run.rs`, `pass`). A call of high risk needs one beside
//! its grant (`improvised.rs`, `covered`). A grant that does not match its link is none (`GrantState::of`).

use jiff::Timestamp;

use super::{
    grant::GrantState,
    request::{Approval, Intended, Passage, Person, policy},
};
use crate::{
    evidence::Signer,
    ledger::{Ask, Session, StoreError, Tx, Under, action_type},
    task::{Elicitation, Failure, Fault, SelfApproval, visible},
};

/// Everything that the checks depend on.
pub(super) struct Facts<'a> {
    pub(super) case: &'a Approval,
    pub(super) intended: &'a Intended,
    /// By the clock of the ledger's host.
    pub(super) now: Timestamp,
    /// The session that asked, if it still exists.
    pub(super) session: Option<Session>,
    /// The user who runs the call.
    pub(super) asker: &'a str,
}

/// One check. `number` is that of the design, whose first check is that an approval was requested; the order of the table
/// decides which failure is reported.
pub(super) struct Check {
    pub(super) number: u8,
    pub(super) fault: Fault,
    /// What a person reads.
    why: &'static str,
    holds: fn(&Facts<'_>) -> bool,
}

/// The number of the check that the request is still open.
const IS_OPEN: u8 = 12;

pub(super) const CHECKS: [Check; 11] = [
    Check {
        number: IS_OPEN,
        fault: Fault::ApprovalRequired,
        why: "the approval was used, or ended by a later run",
        holds: |of| of.case.used.is_none() && of.case.ended.is_none(),
    },
    Check {
        number: 10,
        fault: Fault::ApprovalDenied,
        why: "the request was denied",
        holds: |of| of.case.denial().is_none(),
    },
    Check {
        number: 4,
        fault: Fault::ApprovalExpired,
        why: "the time for the approval has ended",
        holds: |of| of.now < of.case.expires(),
    },
    Check {
        number: 3,
        fault: Fault::ApprovalMismatch,
        why: "the approval is for another call: an input, a parameter, a file or the entry has changed since it was requested",
        holds: |of| {
            let (asked, intended) = (&of.case.asked, of.intended);
            asked.intent_hash == intended.intent_hash && asked.preview_hash == intended.preview_hash
        },
    },
    Check {
        number: 11,
        fault: Fault::ApprovalMismatch,
        why: "the approval was requested under another risk or under another policy",
        holds: |of| of.case.asked.policy == policy(of.intended),
    },
    Check {
        number: 9,
        fault: Fault::ApprovalMismatch,
        why: "another user requested the approval, or the session of the request is not open",
        holds: |of| of.case.asked_by == of.asker && of.session.is_some(),
    },
    Check {
        number: 2,
        fault: Fault::ApprovalRequired,
        why: "nobody has approved yet",
        holds: |of| of.case.approvals().next().is_some(),
    },
    Check {
        number: 7,
        fault: Fault::ApprovalMismatch,
        why: "an approval is not signed by an allowed signer, and was not given by a user of this machine",
        holds: |of| persons(of).all(|person| person.is_some()),
    },
    Check {
        number: 6,
        fault: Fault::ApprovalMismatch,
        why: "an approval was given by somebody who is not in `approval.approvers`",
        holds: |of| {
            let mut persons = persons(of).flatten();
            persons.all(|person| may_approve(&person, of.intended))
        },
    },
    Check {
        number: 8,
        fault: Fault::ApprovalMismatch,
        why: "an approval was given by the user who asked (`prevent_self`)",
        holds: |of| {
            let mut persons = persons(of).flatten();
            persons.all(|person| !asked_it(&person, of.case, of.intended))
        },
    },
    Check {
        number: 5,
        fault: Fault::ApprovalRequired,
        why: "more persons have to approve",
        holds: |of| of.case.persons(&of.intended.signers) >= of.intended.policy.quorum,
    },
];

/// The persons who approved; `None` for each who is not certain.
fn persons(of: &Facts<'_>) -> impl Iterator<Item = Option<Person>> {
    let approvals = of.case.approvals();
    approvals.map(|vote| vote.person(of.case, &of.intended.signers))
}

impl Approval {
    /// How many persons have approved.
    pub(crate) fn persons(&self, signers: &[Signer]) -> u32 {
        let persons = self.approvals().map(|vote| vote.person(self, signers));
        u32::try_from(count(persons.flatten())).unwrap_or(u32::MAX)
    }
}

/// How many persons these are: a chain of common names joins users and keys.
fn count(persons: impl Iterator<Item = Person>) -> usize {
    let mut distinct: Vec<Vec<Person>> = Vec::new();
    for person in persons {
        let is_own = |known: &mut Vec<Person>| known.iter().any(|known| known.is_same(&person));
        let mut own: Vec<Person> = distinct.extract_if(.., is_own).flatten().collect();
        own.push(person);
        distinct.push(own);
    }
    distinct.len()
}

/// Whether every entry of the task accepts this person. A host is accepted only where `by` names elicitation.
pub(super) fn may_approve(person: &Person, intended: &Intended) -> bool {
    if let Person::Host(..) = person {
        return intended.policy.elicitation == Elicitation::Allowed;
    }
    let mut lists = intended.policy.approvers.iter();
    lists.all(|list| list.iter().any(|approver| person.is(approver)))
}

/// Whether the policy refuses this person, because the same user asked. The holder of a key is not a user.
pub(super) fn asked_it(person: &Person, case: &Approval, intended: &Intended) -> bool {
    let same = matches!(person, Person::Uid(uid) | Person::Host(uid, _) if case.asked_by == format!("uid:{uid}"));
    same && intended.policy.own == SelfApproval::Prevented
}

/// The first check that fails.
pub(super) fn first_failed<'c>(
    checks: impl IntoIterator<Item = &'c Check>,
    facts: &Facts<'_>,
) -> Option<&'c Check> {
    checks.into_iter().find(|check| !(check.holds)(facts))
}

impl Check {
    /// What a run does if this check fails. As long as nobody has approved, a request that does not fit any more is
    /// replaced by a new one.
    pub(super) fn passage(&self, case: Approval) -> Passage {
        let undecided = case.votes.is_empty();
        let case = Box::new(case);
        match (self.number, self.fault) {
            (IS_OPEN, _) => Passage::Ask,
            (_, Fault::ApprovalRequired) => Passage::Wait(case),
            (_, Fault::ApprovalMismatch) if undecided => Passage::Ask,
            (_, fault) => Passage::Refused {
                fault,
                why: self.why.to_owned(),
                case,
            },
        }
    }
}

/// The operation of the grant that the call names, if the grant covers the call now. The caller records the call in
/// the same transaction.
pub(super) fn covers(
    tx: &mut Tx<'_>,
    under: &Under<'_>,
    ask: &Ask<'_>,
    now: Timestamp,
) -> Result<Result<String, Failure>, StoreError> {
    let (fault, why) = match GrantState::by(tx, under.operation_id)? {
        None => (
            Fault::GrantNotFound,
            "no operation with this id opened a grant".to_owned(),
        ),
        Some(grant) => match uncovered(&grant, under, ask, now) {
            None => return Ok(Ok(grant.row.operation_id)),
            Some(refused) => refused,
        },
    };
    let operation = visible(under.operation_id);
    let message = format!(
        "the grant {operation} does not cover the call: {why}. Nothing was performed. Propose a new grant, or send \
         the call without `under`"
    );
    Ok(Err(Failure::new(fault, message)))
}

/// The first reason why the grant does not cover the call, and its fault. `now` is by the clock of the ledger's host.
fn uncovered(
    grant: &GrantState,
    under: &Under<'_>,
    ask: &Ask<'_>,
    now: Timestamp,
) -> Option<(Fault, String)> {
    let granted = &grant.granted;
    let entry = action_type(&ask.asked);
    let until = granted.until.parse::<Timestamp>();
    if grant.session_id != ask.who.session_id {
        let why = "another session opened it".to_owned();
        return Some((Fault::GrantNotFound, why));
    }
    if let Some(by) = grant.closed {
        return Some((Fault::GrantClosed, format!("link {by} closed it")));
    }
    if !until.is_ok_and(|until| now < until) {
        let why = format!("it expired at {}", granted.until);
        return Some((Fault::GrantExpired, why));
    }
    if grant.home.as_ref() != Some(&under.home) {
        let why = "it was opened in another root".to_owned();
        return Some((Fault::GrantMismatch, why));
    }
    match granted.entries.get(&entry) {
        Some(seal) if *seal == under.seal => {}
        Some(_) => {
            let why = format!("the entry {entry} has changed in the catalog since");
            return Some((Fault::GrantMismatch, why));
        }
        None => {
            let ids: Vec<&str> = granted.entries.keys().map(String::as_str).collect();
            let ids = ids.join(", ");
            let why = format!("it does not contain {entry}; it contains {ids}");
            return Some((Fault::GrantMismatch, why));
        }
    }
    let used_up = grant.calls.len() >= usize::try_from(granted.max_calls).unwrap_or(usize::MAX);
    used_up.then(|| {
        let why = format!("all {} calls were made", granted.max_calls);
        (Fault::GrantUsedUp, why)
    })
}

#[cfg(test)]
mod tests;
