//! The decisions of people about requests for approvals.

use std::fmt;

use jiff::Timestamp;

use super::{
    checks::{asked_it, may_approve},
    request::{Approval, Intended, Person, row_of},
};
use crate::{
    evidence::{Body, Signer, chain},
    host,
    ledger::{Event, Head, Ledger, Request, StoreError, Tx, Vote},
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

/// Why a decision is not recorded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VoteError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "no request for an approval has an id that begins with `{0}`; `oneact approvals` lists them"
    )]
    Nothing(String),
    #[error("`{0}` is the beginning of several ids: {1}; give more characters")]
    Several(String, String),
    #[error(
        "{0} was denied; a denial is final. Send the task with another `salt` to request it again"
    )]
    Denied(String),
    #[error(
        "{0} was used: an approval is for one run, and `oneact history` shows what became of it. Send the task again to request a new approval"
    )]
    Used(String),
    #[error(
        "{0} is closed, because the task was changed or sent again; `oneact approvals` lists the newest requests"
    )]
    Ended(String),
    #[error("{0} expired at {1}; send the task again to request a new approval")]
    Expired(String, String),
    #[error(
        "{0} was requested at {1}, which is still to come: another clock was used; send the task again to request a new approval"
    )]
    Early(String, String),
    #[error("{0} was changed while it was shown; look at it again with `oneact approvals {0}`")]
    Other(String),
    #[error(
        "the row of {0} was changed, so its parameters cannot be believed; see `oneact verify`"
    )]
    Unsealed(String),
    #[error("the signature is not valid: {0}")]
    Signature(String),
    #[error(
        "{0} may not approve this: `approval.approvers` of the entry does not name this person"
    )]
    Stranger(String),
    #[error(
        "the host may not approve this: `approval.by` of the entry does not name `elicitation`"
    )]
    Host,
    #[error(
        "{0} asked for this, and the entry says `prevent_self = true`: somebody else has to approve, or a key"
    )]
    Own(String),
}

impl From<VoteError> for Failure {
    fn from(error: VoteError) -> Self {
        let fault = match &error {
            VoteError::Denied(_) => Fault::ApprovalDenied,
            VoteError::Expired(..) | VoteError::Early(..) => Fault::ApprovalExpired,
            VoteError::Nothing(_) | VoteError::Several(..) => Fault::InvalidUsage,
            VoteError::Store(_) => Fault::LedgerUnavailable,
            _ => Fault::ApprovalMismatch,
        };
        Self::new(fault, error.to_string())
    }
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
    ) -> Result<Voted, VoteError> {
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
                return Err(VoteError::Unsealed(case.request.id));
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
                    signed.map_err(VoteError::Signature)?
                }
            };
            if !may_approve(&person, &intended) {
                if let Person::Host(..) = person {
                    return Err(VoteError::Host);
                }
                return Err(VoteError::Stranger(person.to_string()));
            }
            if answer == Answer::Approved && asked_it(&person, &case, &intended) {
                return Err(VoteError::Own(person.to_string()));
            }
            let missing = |case: &Approval| {
                let persons = case.persons(&intended.signers);
                intended.policy.quorum.saturating_sub(persons)
            };
            if answer == Answer::Approved
                && let Some(before) = case.approved_by(&person, &intended.signers)
            {
                let head: Option<Head> = tx.of(before.seq)?;
                let head = head.ok_or_else(|| VoteError::Other(case.id.clone()))?;
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
                return Err(VoteError::Other(case.request.id));
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
            let link = chain::append(tx, event, stamp, &body)?;
            let made = stamp.link(event, link.seq);
            tx.insert_record(&Vote::made_by(&made, &body, case.seq))?;
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

fn uid_of(actor: &str) -> Result<u32, VoteError> {
    let uid = actor.strip_prefix("uid:").and_then(|uid| uid.parse().ok());
    uid.ok_or_else(|| VoteError::Stranger(actor.to_owned()))
}

/// The same request as it is now, if it is still the one that the person saw.
fn same(tx: &mut Tx<'_>, shown: &Approval) -> Result<Approval, VoteError> {
    let now: Option<Request> = tx.of(shown.seq)?;
    let now = now.filter(|now| now.id == shown.id && now.asked == shown.asked);
    let now = now.ok_or_else(|| VoteError::Other(shown.id.clone()))?;
    let now = Approval::of(tx, now)?;
    now.ok_or_else(|| VoteError::Other(shown.id.clone()))
}

impl Approval {
    /// Fails if nobody can decide about the request or use it any more.
    pub(crate) fn decidable(&self, now: Timestamp) -> Result<(), VoteError> {
        let id = self.id.clone();
        if self.used.is_some() {
            return Err(VoteError::Used(id));
        }
        if self.denial().is_some() {
            return Err(VoteError::Denied(id));
        }
        if self.ended.is_some() {
            return Err(VoteError::Ended(id));
        }
        if self.asked_at.parse::<Timestamp>().is_ok_and(|at| now < at) {
            return Err(VoteError::Early(id, self.asked_at.clone()));
        }
        if now >= self.expires() {
            return Err(VoteError::Expired(id, self.asked.expires_at.clone()));
        }
        Ok(())
    }
}
