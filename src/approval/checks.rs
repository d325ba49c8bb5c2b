//! What lets a call pass just before it is sent, in the transaction that dispatches it: [`CHECKS`] of its approval, and
//! [`CONDITIONS`] of the grant that it names.
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
    ledger::{Ask, StoreError, Tx, Under, action_type},
    task::{Elicitation, Failure, Fault, SelfApproval, visible},
};

/// Everything that the checks depend on.
pub(super) struct Facts<'a> {
    pub(super) case: Option<&'a Approval>,
    pub(super) intended: &'a Intended,
    /// By the clock of the ledger's host.
    pub(super) now: Timestamp,
    pub(super) session: SessionIs,
    /// The user who runs the call.
    pub(super) asker: &'a str,
}

/// Whether the session that asked still exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionIs {
    Open,
    Gone,
}

pub(super) fn is_open(tx: &mut Tx<'_>, session_id: &str) -> Result<SessionIs, StoreError> {
    Ok(match tx.session(session_id)? {
        Some(_) => SessionIs::Open,
        None => SessionIs::Gone,
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

/// The number of the check that the request is still open.
const IS_OPEN: u8 = 12;

pub(super) const CHECKS: [Check; 12] = [
    Check {
        number: 1,
        fault: Fault::ApprovalRequired,
        why: "no approval was requested",
        holds: |of| of.case.is_some(),
    },
    Check {
        number: IS_OPEN,
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

fn is_own(person: &Person, of: &Facts<'_>) -> bool {
    of.case
        .is_some_and(|case| asked_it(person, case, of.intended))
}

/// Whether the policy refuses this person, because the same user asked. The holder of a key is not a user.
pub(super) fn asked_it(person: &Person, case: &Approval, intended: &Intended) -> bool {
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
    pub(super) fn passage(&self, case: Option<Approval>) -> Passage {
        let Some(case) = case.map(Box::new) else {
            return Passage::Ask;
        };
        let undecided = case.votes.is_empty();
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

/// Everything on which the coverage of a call depends.
struct GrantFacts<'a> {
    grant: &'a GrantState,
    entry: &'a str,
    under: &'a Under<'a>,
    session_id: &'a str,
    /// By the clock of the ledger's host.
    now: Timestamp,
}

/// A condition, its fault, and what a person reads if it does not hold.
type Condition = (
    Fault,
    fn(&GrantFacts<'_>) -> bool,
    fn(&GrantFacts<'_>) -> String,
);

/// The first one that does not hold is reported.
const CONDITIONS: [Condition; 6] = [
    (
        Fault::GrantNotFound,
        |of| of.grant.session_id == of.session_id,
        |_| "another session opened it".to_owned(),
    ),
    (
        Fault::GrantClosed,
        |of| of.grant.closed.is_none(),
        |of| format!("link {} closed it", of.grant.closed.unwrap_or_default()),
    ),
    (
        Fault::GrantExpired,
        |of| {
            of.grant
                .granted
                .until
                .parse()
                .is_ok_and(|until: Timestamp| of.now < until)
        },
        |of| format!("it expired at {}", of.grant.granted.until),
    ),
    (
        Fault::GrantMismatch,
        |of| of.grant.home.as_ref() == Some(&of.under.home),
        |_| "it was opened in another root".to_owned(),
    ),
    (
        Fault::GrantMismatch,
        |of| of.grant.granted.entries.get(of.entry) == Some(&of.under.seal),
        |of| {
            let ids: Vec<&str> = of
                .grant
                .granted
                .entries
                .keys()
                .map(String::as_str)
                .collect();
            if of.grant.granted.entries.contains_key(of.entry) {
                format!("the entry {} has changed in the catalog since", of.entry)
            } else {
                format!(
                    "it does not contain {}; it contains {}",
                    of.entry,
                    ids.join(", ")
                )
            }
        },
    ),
    (
        Fault::GrantUsedUp,
        |of| {
            let most = usize::try_from(of.grant.granted.max_calls).unwrap_or(usize::MAX);
            of.grant.calls.len() < most
        },
        |of| format!("all {} calls were made", of.grant.granted.max_calls),
    ),
];

/// The operation of the grant that the call names, if the grant covers the call now. The caller records the call in
/// the same transaction.
pub(super) fn covers(
    tx: &mut Tx<'_>,
    under: &Under<'_>,
    ask: &Ask<'_>,
    now: Timestamp,
) -> Result<Result<String, Failure>, StoreError> {
    let grant = GrantState::by(tx, under.operation_id)?;
    let refused = |fault, why: &str| {
        let operation = visible(under.operation_id);
        let message = format!(
            "the grant {operation} does not cover the call: {why}. Nothing was performed. Propose a new grant, or send \
             the call without `under`"
        );
        Ok(Err(Failure::new(fault, message)))
    };
    let Some(grant) = grant else {
        return refused(
            Fault::GrantNotFound,
            "no operation with this id opened a grant",
        );
    };
    let facts = GrantFacts {
        grant: &grant,
        entry: &action_type(&ask.asked),
        under,
        session_id: ask.who.session_id,
        now,
    };
    let mut conditions = CONDITIONS.iter();
    if let Some((fault, _, why)) = conditions.find(|(_, holds, _)| !holds(&facts)) {
        return refused(*fault, &why(&facts));
    }
    Ok(Ok(grant.row.operation_id))
}

#[cfg(test)]
mod tests;
