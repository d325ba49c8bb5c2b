//! Approvals. There is no table of them: the links of the chain are their record. A run that must wait records its
//! answer under a link `approval_requested`; people decide with `approved` and `denied`; the link `dispatched` of the
//! run that uses the approval names it, and so does the link of a run that finds it unusable. The link of an improvised
//! action that waits for one of its steps gives the approval back.

mod checks;
mod dispatch;
mod join;
mod vote;

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

use serde_json::{Value, json};

use crate::{
    host,
    task::{Answer, Approver, Failure, Fault, Policy, Statement, hexadecimal},
};

use super::{
    Ledger,
    canonical::sha256,
    chain::{AskedApproval, Body, Bound, instant},
    claims::must_have,
    past::examined,
    record::{Event, Link, Row, Seq, word},
    request::Asked,
    signature::{Purpose, Signer, check},
    store::{StoreError, Tx, Which, read},
    validity::{is_complete, sealed},
    words::{Ask, LedgerError, Note, Running, Who},
};
pub(crate) use vote::{Gesture, VoteError, Voted};

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
pub(crate) struct Case {
    /// `apr_…`
    pub(crate) id: String,
    pub(crate) asked: AskedApproval,
    /// Who asked: `uid:1000`.
    pub(crate) by: String,
    pub(crate) at: String,
    pub(crate) session_id: String,
    pub(crate) operation_id: String,
    pub(crate) request_hash: String,
    pub(crate) task: Option<String>,
    /// The row of the answer that asked.
    row_id: String,
    pub(crate) link: Seq,
    pub(crate) votes: Vec<Vote>,
    /// The link that used it.
    pub(crate) used: Option<Seq>,
    /// The link of the run that found it unusable.
    pub(crate) ended: Option<Seq>,
}

/// The decision of one person.
#[derive(Debug, Clone)]
pub(crate) struct Vote {
    pub(crate) answer: Answer,
    /// The user whose process recorded it: `uid:1000`.
    pub(crate) actor: String,
    pub(crate) signature: Option<String>,
    /// The host that told it.
    pub(crate) host: Option<String>,
    pub(crate) at: String,
    pub(crate) note: Option<String>,
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
    Wait(Box<Case>),
    Refused {
        fault: Fault,
        why: String,
        case: Box<Case>,
    },
    /// The grant does not cover the call.
    Ungranted(Failure),
}

impl Person {
    /// Whether both have a name in common. Then they are one person, because nothing proves that they are two.
    fn is_same(&self, other: &Self) -> bool {
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

    fn is(&self, approver: &Approver) -> bool {
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
    fn person(&self, case: &Case, signers: &[Signer]) -> Option<Person> {
        let uid = || self.actor.strip_prefix("uid:")?.parse().ok();
        match (&self.signature, &self.host) {
            (None, None) => uid().map(Person::Uid),
            (None, Some(host)) => Some(Person::Host(uid()?, host.clone())),
            (Some(signature), _) => case.signed(self.answer, signature, signers).ok(),
        }
    }
}

impl Case {
    /// The newest request for an approval of this task's request in this root. Roots can share a ledger.
    fn newest(
        tx: &mut Tx<'_>,
        session_id: &str,
        request_hash: &str,
        (task, root): (Option<&str>, Option<&str>),
    ) -> Result<Option<Self>, StoreError> {
        let cases = Self::all(tx, session_id, request_hash)?;
        let is_wanted =
            |case: &Self| case.task.as_deref() == task && case.asked.root.as_deref() == root;
        Ok(cases.into_iter().rfind(is_wanted))
    }

    /// All requests for approvals of a task's request, in the order in which they were made.
    fn all(tx: &mut Tx<'_>, session_id: &str, request_hash: &str) -> Result<Vec<Self>, StoreError> {
        let links = tx.links_about(session_id, request_hash, 0, usize::MAX)?;
        // Without the link that used an approval, it would count again.
        let newest = examined(tx, session_id)?;
        must_have(tx, &links, &newest, |link| link.tells_of(request_hash))?;
        Ok(Self::of(&links))
    }

    fn of(links: &[Link]) -> Vec<Self> {
        let mut cases: Vec<Self> = Vec::new();
        // The places of the newest request with an id, and of the newest one of a task in a root.
        let mut named: HashMap<String, usize> = HashMap::new();
        let mut asking: HashMap<_, usize> = HashMap::new();
        for link in links {
            let Some(body) = link.body() else {
                // The link may end any of the requests before it.
                (cases, named, asking) = Default::default();
                continue;
            };
            let at = body.approval.as_ref().and_then(|id| named.get(id));
            if let Some(case) = at.and_then(|at| cases.get_mut(*at)) {
                case.follow(link, &body);
            }
            if let Some(case) = Self::made(link, body) {
                let about = (case.task.clone(), case.asked.root.clone());
                // The request takes the place of the one before.
                let before = asking.insert(about, cases.len());
                if let Some(before) = before.and_then(|at| cases.get_mut(at)) {
                    before.ended.get_or_insert(link.seq);
                }
                named.insert(case.id.clone(), cases.len());
                cases.push(case);
            }
        }
        cases
    }

    /// The request that this link makes; none if it makes none.
    fn made(link: &Link, body: Body) -> Option<Self> {
        link.is(Event::ApprovalRequested).then_some(Self {
            id: body.approval?,
            asked: body.asked?,
            by: link.actor.clone(),
            at: link.at.clone(),
            session_id: link.session_id.clone(),
            operation_id: link.operation_id.clone(),
            request_hash: body.request_hash?,
            task: body.task,
            row_id: body.row?.id,
            link: link.seq,
            votes: Vec::new(),
            used: None,
            ended: None,
        })
    }

    /// Follows a later link that names the request.
    fn follow(&mut self, link: &Link, body: &Body) {
        let answer = match word(&link.event) {
            Some(Event::Approved) => Answer::Approved,
            Some(Event::Denied) => Answer::Denied,
            Some(Event::Dispatched) => {
                self.used.get_or_insert(link.seq);
                return;
            }
            // The run that used it was stopped by a step that waits.
            Some(Event::Pending) => {
                self.used = None;
                return;
            }
            _ => {
                self.ended.get_or_insert(link.seq);
                return;
            }
        };
        self.votes.push(Vote {
            answer,
            actor: link.actor.clone(),
            signature: body.signature.clone(),
            host: body.host.clone(),
            at: link.at.clone(),
            note: body.note.clone(),
        });
    }

    pub(crate) fn statement(&self, answer: Answer) -> String {
        let asked = &self.asked;
        let statement = Statement {
            approval_id: &self.id,
            intent_hash: &asked.intent_hash,
            preview_hash: asked.preview_hash.as_deref(),
            nonce: &asked.nonce,
            decision: answer,
            at: &self.at,
        };
        statement.text()
    }

    /// The holder of the key that signed this decision.
    fn signed(
        &self,
        answer: Answer,
        signature: &str,
        signers: &[Signer],
    ) -> Result<Person, String> {
        let statement = self.statement(answer);
        let keys: Vec<_> = signers.iter().map(|signer| signer.key.clone()).collect();
        let by = |message: &str| check(signature, message, &keys, Purpose::Approval);
        // A shell adds a newline to what is printed, or removes it.
        let key = by(&statement).or_else(|_| by(&format!("{statement}\n")));
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

impl Note {
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
fn policy(intended: &Intended) -> String {
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
    ) -> Result<Option<Case>, LedgerError> {
        let (session, request) = (ask.who.session_id, &running.hashes.request_hash);
        Ok(read::<_, StoreError>(&mut *self.store, |tx| {
            Case::newest(tx, session, request, (ask.who.task_id, root))
        })?)
    }
}

/// The row of the answer that asked, if its link seals it.
fn row_of(tx: &mut Tx<'_>, case: &Case) -> Result<Option<Row>, StoreError> {
    let mut rows = tx.rows(&Which::link(case.link), 1)?;
    // The parameters that people see are in the request, so it must be the recorded one, too.
    rows.retain(|row| {
        let request = row.request.as_ref().map(sha256);
        row.id == case.row_id && request.as_ref() == Some(&row.request_sha256)
    });
    let (Some(row), Some(link)) = (rows.pop(), tx.link(case.link)?) else {
        return Ok(None);
    };
    let is_believed = is_complete(tx, &row)? && sealed(&row, &link);
    Ok(is_believed.then_some(row))
}
