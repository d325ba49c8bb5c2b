//! The decisions of people about requests for approvals.

use std::fmt;

use jiff::Timestamp;

use super::{
    checks::{asked_it, may_approve},
    request::{Approval, Intended, Person, row_of},
};
use crate::{
    evidence::Signer,
    host,
    ledger::{Body, Event, Head, Ledger, Request, Tx, chain},
    task::{Answer, Failure, Fault, Policy},
};

/// How a person shows who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gesture<'a> {
    /// At a terminal: the user of this process.
    Terminal,
    /// With an armoured signature of the statement.
    Signed(&'a str),
    /// Not again: the user of this process has approved before.
    Before,
    /// The host of that name, which runs as the user of this process, tells what its user decided.
    Told(&'a str),
}

#[derive(Debug)]
pub(crate) struct Voted {
    pub(crate) case: Approval,
    pub(crate) person: Person,
    pub(crate) link: Head,
    /// When the same person had approved before. Then no link was added.
    pub(crate) before: Option<String>,
    /// How many persons still have to approve.
    pub(crate) missing: u32,
}

impl fmt::Display for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uid(uid) => match host::name_of(*uid) {
                Some(name) => write!(f, "uid:{uid} ({name})"),
                None => write!(f, "uid:{uid}"),
            },
            Self::Key(print, names) if names.is_empty() => write!(f, "ssh:{print}"),
            Self::Key(print, names) => write!(f, "ssh:{print} ({})", names.join(", ")),
            Self::Host(uid, name) => write!(f, "the user of the host {name} (uid:{uid})"),
        }
    }
}

impl Ledger<'_> {
    /// Records a decision about the request `shown`, as the person saw it.
    pub(crate) fn vote(
        &mut self,
        shown: &Approval,
        answer: Answer,
        gesture: Gesture<'_>,
        (policy, signers): (Policy, Vec<Signer>),
        note: Option<&str>,
    ) -> Result<Voted, Failure> {
        let intended = Intended {
            policy,
            intent_hash: shown.asked.intent_hash.clone(),
            preview_hash: shown.asked.preview_hash.clone(),
            signers,
        };
        self.decide(note, |tx, by| {
            let case = same(tx, shown)?;
            case.decidable(by.at)?;
            if row_of(tx, &case)?.is_none() {
                return Err(mismatch(format!(
                    "the row of {} was changed, so its parameters cannot be believed; see `oneact verify`",
                    case.id
                )));
            }
            let (mut signature, mut host) = (None, None);
            let person = match gesture {
                Gesture::Terminal | Gesture::Before => Person::Uid(uid_of(by.actor)?),
                Gesture::Told(name) => {
                    host = Some(name.to_owned());
                    Person::Host(uid_of(by.actor)?, name.to_owned())
                }
                Gesture::Signed(text) => {
                    signature = Some(text.trim().to_owned());
                    let signed = case.signed(answer, text, &intended.signers);
                    signed.map_err(|why| mismatch(format!("the signature is not valid: {why}")))?
                }
            };
            if !may_approve(&person, &intended) {
                return Err(mismatch(match person {
                    Person::Host(..) => {
                        "the host may not approve this: `approval.by` of the entry does not name `elicitation`".to_owned()
                    }
                    person => stranger(&person.to_string()),
                }));
            }
            if answer == Answer::Approved && asked_it(&person, &case, &intended) {
                return Err(mismatch(format!(
                    "{person} asked for this, and the entry says `prevent_self = true`: somebody else has to approve, or a key"
                )));
            }
            let missing = |case: &Approval| {
                let persons = case.persons(&intended.signers);
                intended.policy.quorum.saturating_sub(persons)
            };
            if answer == Answer::Approved
                && let Some(before) = case.approved_by(&person, &intended.signers)
            {
                let head: Option<Head> = tx.of(before.seq)?;
                let head = head.ok_or_else(|| changed(&case.id))?;
                let voted = Voted {
                    before: Some(before.at.clone()),
                    missing: missing(&case),
                    case,
                    person,
                    link: head.clone(),
                };
                return Ok((voted, head));
            }
            if gesture == Gesture::Before {
                return Err(changed(&case.id));
            }
            let body = Body {
                request_hash: Some(case.request_hash.clone()),
                about: Some(case.row_id.clone()),
                approval: Some(case.id.clone()),
                note: by.note.map(ToOwned::to_owned),
                signature,
                host,
                ..Body::default()
            };
            let stamp = by.stamp(&case.operation_id, &case.session_id);
            let event = match answer {
                Answer::Approved => Event::Approved,
                Answer::Denied => Event::Denied,
            };
            let link = chain::add_link(tx, event, stamp, &body)?;
            let missing = missing(&same(tx, shown)?);
            Ok((
                Voted {
                    case,
                    person,
                    link: link.clone(),
                    before: None,
                    missing,
                },
                link,
            ))
        })
    }
}

fn mismatch(message: String) -> Failure {
    Failure::new(Fault::ApprovalMismatch, message)
}

fn stranger(person: &str) -> String {
    format!(
        "{person} may not approve this: `approval.approvers` of the entry does not name this person"
    )
}

/// The request is not the one that was shown.
fn changed(id: &str) -> Failure {
    mismatch(format!(
        "{id} was changed while it was shown; look at it again with `oneact approvals {id}`"
    ))
}

fn uid_of(actor: &str) -> Result<u32, Failure> {
    let uid = actor.strip_prefix("uid:").and_then(|uid| uid.parse().ok());
    uid.ok_or_else(|| mismatch(stranger(actor)))
}

/// The same request as it is now, if it is still the one that the person saw.
fn same(tx: &mut Tx<'_>, shown: &Approval) -> Result<Approval, Failure> {
    let now: Option<Request> = tx.of(shown.seq)?;
    let now = now.filter(|now| now.id == shown.id && now.asked == shown.asked);
    let now = now.ok_or_else(|| changed(&shown.id))?;
    let now = Approval::of(tx, now)?;
    now.ok_or_else(|| changed(&shown.id))
}

impl Approval {
    /// Fails if nobody can decide about the request or use it any more.
    pub(crate) fn decidable(&self, now: Timestamp) -> Result<(), Failure> {
        let (id, again) = (&self.id, "send the task again to request a new approval");
        let (fault, why) = if self.used.is_some() {
            let used = "was used: an approval is for one run, and `oneact history` shows what became of it. Send the task again to request a new approval";
            (Fault::ApprovalMismatch, used.to_owned())
        } else if self.denial().is_some() {
            let denied = "was denied; a denial is final. Send the task with another `salt` to request it again";
            (Fault::ApprovalDenied, denied.to_owned())
        } else if self.ended.is_some() {
            let ended = "is closed, because the task was changed or sent again; `oneact approvals` lists the newest requests";
            (Fault::ApprovalMismatch, ended.to_owned())
        } else if self.asked_at.parse::<Timestamp>().is_ok_and(|at| now < at) {
            let at = &self.asked_at;
            let early = format!(
                "was requested at {at}, which is still to come: another clock was used; {again}"
            );
            (Fault::ApprovalExpired, early)
        } else if now >= self.expires() {
            let expired = format!("expired at {}; {again}", self.asked.expires_at);
            (Fault::ApprovalExpired, expired)
        } else {
            return Ok(());
        };
        Err(Failure::new(fault, format!("{id} {why}")))
    }
}
