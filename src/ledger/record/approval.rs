//! Requests for approvals, and what people decided about them.

use serde::{Deserialize, Serialize};

use super::{
    super::store::{Record, Result, Seq, Tx, Value},
    body::{AskedApproval, Body},
    link::{Event, Link, Testified},
    spelling::word,
};
use crate::task::Answer;

/// A request for an approval.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::struct_field_names,
    reason = "the name that it has everywhere else"
)]
pub(crate) struct Request {
    /// The link that made it.
    pub(crate) seq: Seq,
    /// `apr_…`
    pub(crate) id: String,
    pub(crate) session_id: String,
    pub(crate) operation_id: String,
    pub(crate) request_hash: String,
    pub(crate) task_id: Option<String>,
    /// The name of the root in which it would be performed.
    pub(crate) root: Option<String>,
    /// The row of the answer that asked.
    pub(crate) row_id: String,
    /// Who asked: `uid:1000`.
    pub(crate) asked_by: String,
    pub(crate) asked_at: String,
    pub(crate) asked: AskedApproval,
    /// The link that used it.
    pub(crate) used: Option<Seq>,
    /// The link of the run that found it unusable, or of the request that took its place.
    pub(crate) ended: Option<Seq>,
}

impl Record for Request {
    const TABLE: [&'static str; 2] = ["approvals", "public.oneact_approvals"];
}

impl Testified for Request {
    fn made_by(link: &Link, body: &Body) -> Option<Self> {
        let row = body.row.as_ref();
        link.is(Event::ApprovalRequested).then(|| Self {
            seq: link.seq,
            id: body.approval.clone().unwrap_or_default(),
            session_id: link.session_id.clone(),
            operation_id: link.operation_id.clone(),
            request_hash: body.request_hash.clone().unwrap_or_default(),
            task_id: body.task.clone(),
            root: body.asked.as_ref().and_then(|asked| asked.root.clone()),
            row_id: row.map(|row| row.id.clone()).unwrap_or_default(),
            asked_by: link.actor.clone(),
            asked_at: link.at.clone(),
            asked: body.asked.clone().unwrap_or_default(),
            used: None,
            ended: None,
        })
    }

    fn when_made(self) -> Self {
        Self {
            used: None,
            ended: None,
            ..self
        }
    }
}

impl Request {
    /// What it is about: the session, the hash of the request, the task, and the root.
    pub(crate) fn task(&self) -> [Option<&str>; 4] {
        [
            Some(&self.session_id),
            Some(&self.request_hash),
            self.task_id.as_deref(),
            self.root.as_deref(),
        ]
    }
}

/// What a link makes of a request that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestEnd {
    Used,
    /// A step of the improvised action waits: the approval is used again when the action goes on.
    Unused,
    Ended,
}

impl Link {
    pub(crate) fn end_of_request(&self) -> Option<RequestEnd> {
        match word(&self.event) {
            Some(Event::ApprovalRequested | Event::Approved | Event::Denied) => None,
            Some(Event::Dispatched) => Some(RequestEnd::Used),
            Some(Event::Pending) => Some(RequestEnd::Unused),
            _ => Some(RequestEnd::Ended),
        }
    }
}

/// The decision of one person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Vote {
    /// The link that recorded it.
    pub(crate) seq: Seq,
    /// The row of the answer that asked.
    pub(crate) row_id: String,
    pub(crate) answer: Answer,
    /// The user whose process recorded it: `uid:1000`.
    pub(crate) actor: String,
    pub(crate) signature: Option<String>,
    /// The host that told it.
    pub(crate) host: Option<String>,
    pub(crate) at: String,
    pub(crate) note: Option<String>,
}

impl Record for Vote {
    const TABLE: [&'static str; 2] = ["votes", "public.oneact_votes"];
}

impl Testified for Vote {
    fn made_by(link: &Link, body: &Body) -> Option<Self> {
        let answer = match word(&link.event)? {
            Event::Approved => Answer::Approved,
            Event::Denied => Answer::Denied,
            _ => return None,
        };
        Some(Self {
            seq: link.seq,
            row_id: body.about.clone().unwrap_or_default(),
            answer,
            actor: link.actor.clone(),
            signature: body.signature.clone(),
            host: body.host.clone(),
            at: link.at.clone(),
            note: body.note.clone(),
        })
    }
}

impl Tx<'_> {
    /// Adds a request. It takes the place of an open one of the same task in the same root.
    pub(crate) fn put_request(&mut self, request: &Request) -> Result<()> {
        let table = self.table::<Request>();
        let text = format!("UPDATE {table} SET ended = ?5 WHERE {TASK} AND ended IS NULL");
        let mut values: Vec<Value> = request.task().map(Value::from).into();
        values.push(request.seq.into());
        self.db.add(&text, &values)?;
        self.put(request)
    }

    /// Writes what becomes of the newest request that a link names.
    pub(crate) fn settle_request(&mut self, link: &Link, body: &Body) -> Result<()> {
        let Some(id) = &body.approval else {
            return Ok(());
        };
        let (change, by) = match link.end_of_request() {
            None => return Ok(()),
            Some(RequestEnd::Used) => ("used = ?3", Some(link.seq)),
            Some(RequestEnd::Unused) => ("used = ?3", None),
            Some(RequestEnd::Ended) => ("ended = COALESCE(ended, ?3)", Some(link.seq)),
        };
        let table = self.table::<Request>();
        let text = format!(
            "UPDATE {table} SET {change} \
             WHERE seq = (SELECT max(seq) FROM {table} WHERE session_id = ?1 AND id = ?2)"
        );
        let session_id = link.session_id.as_str();
        self.db
            .add(&text, &[session_id.into(), id.as_str().into(), by.into()])
    }

    /// The newest request for a task in a root ([`Request::task`]).
    pub(crate) fn newest_request(&mut self, task: [Option<&str>; 4]) -> Result<Option<Request>> {
        let condition = format!("WHERE {TASK} ORDER BY seq DESC LIMIT 1");
        self.one(&condition, &task.map(Value::from))
    }

    /// The newest `most` requests of a user that were not ended, the newest first.
    pub(crate) fn open_requests_of(&mut self, actor: &str, most: usize) -> Result<Vec<Request>> {
        self.all(
            "WHERE asked_by = ?1 AND ended IS NULL ORDER BY seq DESC LIMIT ?2",
            &[actor.into(), Value::limit(most)],
        )
    }

    /// All requests whose ids begin with `text`, the newest first.
    pub(crate) fn requests(&mut self, text: &str) -> Result<Vec<Request>> {
        self.all(
            "WHERE id >= ?1 AND id < ?2 ORDER BY seq DESC",
            &Value::beginning(text),
        )
    }

    /// The decisions about a request, in their order.
    pub(crate) fn votes(&mut self, request: &Request) -> Result<Vec<Vote>> {
        let row_id = request.row_id.as_str().into();
        self.all("WHERE row_id = ?1 ORDER BY seq", &[row_id])
    }
}

/// The condition for a request whose [`task`](Request::task) the first values are.
const TASK: &str = "session_id = ?1 AND request_hash = ?2 AND task_id IS NOT DISTINCT FROM ?3 \
                    AND root IS NOT DISTINCT FROM ?4";
