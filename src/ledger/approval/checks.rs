//! The checks of an approval just before the call, in the transaction that dispatches it.

use jiff::Timestamp;

use crate::task::{Answer, Elicitation, Fault, SelfApproval};

use super::{Case, Intended, Passage, Person, policy};
use crate::ledger::{
    record::Event,
    signature::Signer,
    store::{StoreError, Tx},
};

/// Everything that the checks depend on.
pub(super) struct Facts<'a> {
    pub(super) case: Option<&'a Case>,
    pub(super) intended: &'a Intended,
    /// By the clock of the ledger's host.
    pub(super) now: Timestamp,
    pub(super) session: SessionIs,
    /// The user who runs the call.
    pub(super) asker: &'a str,
}

/// Whether the session that asked still exists as the link that opened it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionIs {
    Open,
    Gone,
}

pub(super) fn is_open(tx: &mut Tx<'_>, session_id: &str) -> Result<SessionIs, StoreError> {
    let Some(session) = tx.session(session_id)? else {
        return Ok(SessionIs::Gone);
    };
    let link = tx.link(session.seq)?;
    let opened = link.and_then(|link| link.opens(&link.body()?));
    Ok(if opened.as_ref() == Some(&session) {
        SessionIs::Open
    } else {
        SessionIs::Gone
    })
}

/// One check. `number` is that of the design; the order of the table decides which failure is reported.
pub(super) struct Check {
    pub(super) number: u8,
    pub(super) fault: Fault,
    /// What a person reads.
    why: &'static str,
    holds: fn(&Facts<'_>) -> bool,
}

pub(super) const CHECKS: [Check; 12] = [
    Check {
        number: 1,
        fault: Fault::ApprovalRequired,
        why: "no approval was requested",
        holds: |of| of.case.is_some(),
    },
    Check {
        number: 12,
        fault: Fault::ApprovalRequired,
        why: "the approval was used, or ended by a later run",
        holds: |of| {
            of.case
                .is_none_or(|case| case.used.is_none() && case.ended.is_none())
        },
    },
    Check {
        number: 10,
        fault: Fault::ApprovalDenied,
        why: "the request was denied",
        holds: |of| of.case.is_none_or(|case| case.denial().is_none()),
    },
    Check {
        number: 4,
        fault: Fault::ApprovalExpired,
        why: "the time for the approval has ended",
        holds: |of| of.case.is_none_or(|case| of.now < case.expires()),
    },
    Check {
        number: 3,
        fault: Fault::ApprovalMismatch,
        why: "the approval is for another call: an input, a parameter, a file or the entry has changed since it was requested",
        holds: |of| {
            of.case.is_none_or(|case| {
                let asked = &case.asked;
                (&asked.intent_hash, &asked.preview_hash)
                    == (&of.intended.intent_hash, &of.intended.preview_hash)
            })
        },
    },
    Check {
        number: 11,
        fault: Fault::ApprovalMismatch,
        why: "the approval was requested under another risk or under another policy",
        holds: |of| {
            of.case
                .is_none_or(|case| case.asked.policy == policy(of.intended))
        },
    },
    Check {
        number: 9,
        fault: Fault::ApprovalMismatch,
        why: "another user requested the approval, or the session of the request is not open",
        holds: |of| {
            let is_asker = of.case.is_none_or(|case| case.by == of.asker);
            is_asker && of.session == SessionIs::Open
        },
    },
    Check {
        number: 2,
        fault: Fault::ApprovalRequired,
        why: "nobody has approved yet",
        holds: |of| of.case.is_none_or(|case| case.approvals().next().is_some()),
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
            persons(of)
                .flatten()
                .all(|person| may_approve(&person, of.intended))
        },
    },
    Check {
        number: 8,
        fault: Fault::ApprovalMismatch,
        why: "an approval was given by the user who asked (`prevent_self`)",
        holds: |of| persons(of).flatten().all(|person| !is_own(&person, of)),
    },
    Check {
        number: 5,
        fault: Fault::ApprovalRequired,
        why: "more persons have to approve",
        holds: |of| {
            let signers = &of.intended.signers;
            of.case
                .is_none_or(|case| case.persons(signers) >= of.intended.policy.quorum)
        },
    },
];

/// The persons who approved; `None` for each who is not certain.
fn persons<'a>(of: &'a Facts<'_>) -> impl Iterator<Item = Option<Person>> + 'a {
    let cases = of.case.into_iter();
    cases.flat_map(|case| {
        case.approvals()
            .map(|vote| vote.person(case, &of.intended.signers))
    })
}

impl Case {
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

fn is_own(person: &Person, of: &Facts<'_>) -> bool {
    of.case
        .is_some_and(|case| asked_it(person, case, of.intended))
}

/// Whether the policy refuses this person, because the same user asked. The holder of a key is not a user.
pub(super) fn asked_it(person: &Person, case: &Case, intended: &Intended) -> bool {
    let same = matches!(person, Person::Uid(uid) | Person::Host(uid, _) if case.by == format!("uid:{uid}"));
    same && intended.policy.own == SelfApproval::Prevented
}

pub(super) fn first_failed<'c>(
    checks: impl IntoIterator<Item = &'c Check>,
    facts: &Facts<'_>,
) -> Option<&'c Check> {
    checks.into_iter().find(|check| !(check.holds)(facts))
}

impl Check {
    /// What a run does if this check fails. As long as nobody has approved, a request that does not fit any more is
    /// replaced by a new one.
    pub(super) fn passage(&self, case: Option<Case>) -> Passage {
        let Some(case) = case.map(Box::new) else {
            return Passage::Ask;
        };
        let undecided = case.votes.is_empty();
        match (self.number, self.fault) {
            (12, _) => Passage::Ask,
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

impl Event {
    /// The link of a decision.
    pub(in crate::ledger) const fn of(answer: Answer) -> Self {
        match answer {
            Answer::Approved => Self::Approved,
            Answer::Denied => Self::Denied,
        }
    }
}

#[cfg(test)]
mod tests;
