//! A request for an approval, with the decisions of people about it, as the ledger has them.

use std::ops::Deref;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::{
    evidence::{Purpose, SignatureError, Signer, check},
    host,
    ledger::{
        ApprovalNote, Ask, Asked, AskedApproval, Bound, Ledger, LedgerError, Request, Row, Running,
        StoreError, Tx, Vote, Which, Who, instant, read, sealing, sha256,
    },
    task::{Answer, Approver, Failure, Fault, Policy, Statement, hexadecimal},
};

/// What would be performed, and under which policy: an approval has to be for exactly this.
#[derive(Debug, Clone)]
pub(crate) struct Intended {
    pub(crate) policy: Policy,
    /// `sha256:…`
    pub(crate) intent_hash: String,
    /// Of a plan: the hash of its preview.
    pub(crate) preview_hash: Option<String>,
    /// Whose signatures count.
    pub(crate) signers: Vec<Signer>,
}

/// A request for an approval, and everything that happened to it since.
#[derive(Debug, Clone)]
pub(crate) struct Approval {
    pub(crate) request: Request,
    pub(crate) votes: Vec<Vote>,
}

/// What is asked of an approval is mostly about its request.
impl Deref for Approval {
    type Target = Request;

    fn deref(&self) -> &Request {
        &self.request
    }
}

/// Who gave a vote, as far as that can be proved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Person {
    Uid(u32),
    /// The fingerprint of the key, and its names in the file of allowed signers.
    Key(String, Vec<String>),
    /// The user of a host that runs as that uid, by the host's name. Only the host says that it asked somebody.
    Host(u32, String),
}

/// What a run may do.
#[derive(Debug)]
pub(crate) enum Passage {
    /// The request is dispatched: it may happen from here on.
    Dispatched,
    /// An approval must be requested.
    Ask,
    /// It is requested; people have not decided yet.
    Wait(Box<Approval>),
    Refused {
        fault: Fault,
        why: String,
        case: Box<Approval>,
    },
    /// The grant does not cover the call.
    Ungranted(Failure),
}

impl Person {
    /// Whether both have a name in common. Then they are one person, because nothing proves that they are two.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Uid(uid) | Self::Host(uid, _), Self::Uid(other) | Self::Host(other, _)) => {
                uid == other
            }
            (Self::Key(print, names), Self::Key(other, others)) => {
                print == other || names.iter().any(|name| others.contains(name))
            }
            (Self::Uid(uid) | Self::Host(uid, _), Self::Key(_, names))
            | (Self::Key(_, names), Self::Uid(uid) | Self::Host(uid, _)) => {
                names.iter().any(|name| host::is_named(*uid, name))
            }
        }
    }

    pub(super) fn is(&self, approver: &Approver) -> bool {
        match (self, approver) {
            (Self::Uid(uid), Approver::Uid(said)) => uid == said,
            (Self::Uid(uid), Approver::User(name)) => host::is_named(*uid, name),
            (Self::Uid(uid), Approver::Group(name)) => host::is_in_group(*uid, name),
            (Self::Key(print, _), Approver::Key(said)) => print == said,
            (Self::Key(_, names), Approver::User(name)) => names.contains(name),
            (Self::Uid(_), Approver::Key(_))
            | (Self::Key(..), Approver::Uid(_) | Approver::Group(_))
            | (Self::Host(..), _) => false,
        }
    }
}

impl Vote {
    /// The person, if it is certain who it is.
    pub(super) fn person(&self, case: &Approval, signers: &[Signer]) -> Option<Person> {
        let uid = || self.actor.strip_prefix("uid:")?.parse().ok();
        match (&self.signature, &self.host) {
            (None, None) => uid().map(Person::Uid),
            (None, Some(host)) => Some(Person::Host(uid()?, host.clone())),
            (Some(signature), _) => case.signed(self.answer, signature, signers).ok(),
        }
    }
}

impl Approval {
    /// The newest request for an approval of that task in that root ([`Request::task`]). Roots can share a ledger.
    pub(super) fn newest(
        tx: &mut Tx<'_>,
        task: [Option<&str>; 4],
    ) -> Result<Option<Self>, StoreError> {
        match tx.newest_request(task)? {
            Some(request) => Self::of(tx, request),
            None => Ok(None),
        }
    }

    /// The request with its decisions. A request or a decision that does not match its link does not count: it widens what
    /// may be done.
    pub(crate) fn of(tx: &mut Tx<'_>, request: Request) -> Result<Option<Self>, StoreError> {
        if !tx.is_testified(request.seq, &request)? {
            return Ok(None);
        }
        let mut votes = Vec::new();
        for vote in tx.votes(&request)? {
            if tx.is_testified(vote.seq, &vote)? {
                votes.push(vote);
            }
        }
        Ok(Some(Self { request, votes }))
    }

    pub(crate) fn statement(&self, answer: Answer) -> String {
        let asked = &self.asked;
        let statement = Statement {
            approval_id: &self.id,
            intent_hash: &asked.intent_hash,
            preview_hash: asked.preview_hash.as_deref(),
            nonce: &asked.nonce,
            decision: answer,
            at: &self.asked_at,
        };
        statement.text()
    }

    /// The holder of the key that signed this decision.
    pub(crate) fn signed(
        &self,
        answer: Answer,
        signature: &str,
        signers: &[Signer],
    ) -> Result<Person, String> {
        let statement = self.statement(answer);
        let keys: Vec<_> = signers.iter().map(|signer| signer.key.clone()).collect();
        let by = |message: &str| check(signature, message, &keys, Purpose::Approval);
        let key = match by(&statement) {
            // A shell adds a newline to what is printed, or removes it.
            Err(SignatureError::Wrong(_)) => by(&format!("{statement}\n")),
            key => key,
        };
        let key = key.map_err(|error| error.to_string())?;
        let holds = signers.iter().filter(|signer| signer.key == key);
        let names = holds.flat_map(|signer| signer.names.clone()).collect();
        Ok(Person::Key(key.fingerprint(), names))
    }

    pub(crate) fn expires(&self) -> Timestamp {
        self.asked.expires_at.parse().unwrap_or(Timestamp::MIN)
    }

    pub(crate) fn approvals(&self) -> impl Iterator<Item = &Vote> {
        self.votes
            .iter()
            .filter(|vote| vote.answer == Answer::Approved)
    }

    /// The approval that this person gave before.
    pub(crate) fn approved_by(&self, person: &Person, signers: &[Signer]) -> Option<&Vote> {
        self.approvals().find(|vote| {
            let known = vote.person(self, signers);
            known.is_some_and(|known| known.is_same(person))
        })
    }

    pub(crate) fn denial(&self) -> Option<&Vote> {
        self.votes.iter().find(|vote| vote.answer == Answer::Denied)
    }
}

impl ApprovalNote {
    /// A request for an approval, made now by that caller.
    pub(crate) fn request(
        who: &Who<'_>,
        intended: &Intended,
        now: Timestamp,
        nonce: [u8; 16],
    ) -> Self {
        let operation_id = who.operation_id;
        let random = operation_id
            .get(operation_id.len().saturating_sub(8)..)
            .unwrap_or_default();
        let expires = SignedDuration::try_from(intended.policy.expires).unwrap_or_default();
        Self::Requests {
            id: format!("apr_{}", random.to_lowercase()),
            asked: AskedApproval {
                bound: who.bound,
                whole: who.part.map(|part| part.run.whole.clone()),
                expires_at: instant(now.checked_add(expires).unwrap_or(now)),
                intent_hash: intended.intent_hash.clone(),
                nonce: hexadecimal(&nonce),
                policy: policy(intended),
                preview_hash: intended.preview_hash.clone(),
                root: intended.policy.root.clone(),
            },
        }
    }
}

/// The hash of the policy, as a request states it.
pub(super) fn policy(intended: &Intended) -> String {
    sha256(intended.policy.terms())
}

impl Ledger<'_> {
    /// The hash of the effective call (`intent_hash`), and what is hashed. The parameters of `effective` are those that the
    /// tools would get; `inputs` are the contents of their assets, one object for each step.
    pub(crate) fn intent(
        &mut self,
        ask: &Ask<'_>,
        effective: Asked,
        inputs: &[Value],
    ) -> Result<(String, Value), LedgerError> {
        let ask = Ask {
            asked: effective,
            ..ask.clone()
        };
        let key = self.key(&ask)?;
        let (session, task) = match ask.who.bound {
            Bound::Task => (Some(ask.who.session_id), ask.who.task_id),
            Bound::Session => (Some(ask.who.session_id), None),
            Bound::Call => (None, None),
        };
        let around = json!({
            "entry_digest": ask.entry_digest, "pin": ask.tool_pin, "session": session, "task": task,
        });
        Ok(ask.asked.intent(&key, around, inputs))
    }

    /// The newest request for an approval of this request in this root, whether it can still be used or not.
    pub(crate) fn case(
        &mut self,
        ask: &Ask<'_>,
        running: &Running,
        root: Option<&str>,
    ) -> Result<Option<Approval>, LedgerError> {
        let (session, request) = (ask.who.session_id, &running.hashes.request_hash);
        let task = [Some(session), Some(request), ask.who.task_id, root];
        Ok(read(&mut *self.store, |tx| Approval::newest(tx, task))?)
    }

    /// The newest request of that id.
    pub(crate) fn case_named(&mut self, id: &str) -> Result<Option<Approval>, LedgerError> {
        Ok(read::<_, StoreError>(&mut *self.store, |tx| {
            let requests = tx.requests(id)?.into_iter();
            for request in requests.filter(|request| request.id == id) {
                if let Some(case) = Approval::of(tx, request)? {
                    return Ok(Some(case));
                }
            }
            Ok(None)
        })?)
    }
}

/// The row of the answer that asked, if it matches its link. People see the parameters in its request.
pub(crate) fn row_of(tx: &mut Tx<'_>, case: &Approval) -> Result<Option<Row>, StoreError> {
    let row = tx.row(&Which::link(case.seq))?;
    let Some(row) = row.filter(|row| row.id == case.row_id && row.request.is_some()) else {
        return Ok(None);
    };
    Ok(sealing(tx, &row)?.map(|_| row))
}
