//! Requests for approvals, and what people decided about them.

use super::{Event, Link, Seq, Word};
use crate::{
    evidence::{AskedApproval, Body},
    ledger::store::{
        StoreError, Tx,
        columns::{Column, Kind, Record, SEQ, column},
        sql::{Engine, Field, Value, Writer, text},
    },
    task::Answer,
};

/// A request for an approval.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
    const COLUMNS: &'static [Column<Self>] = &[
        column(SEQ, Kind::Count, |r| &mut r.seq),
        column("id", Kind::Text, |r| &mut r.id),
        column("session_id", Kind::Text, |r| &mut r.session_id),
        column("operation_id", Kind::Text, |r| &mut r.operation_id),
        column("request_hash", Kind::Text, |r| &mut r.request_hash),
        column("task_id", Kind::Text, |r| &mut r.task_id),
        column("root", Kind::Text, |r| &mut r.root),
        column("row_id", Kind::Text, |r| &mut r.row_id),
        column("asked_by", Kind::Text, |r| &mut r.asked_by),
        column("asked_at", Kind::Text, |r| &mut r.asked_at),
        column("asked", Kind::Text, |r| &mut r.asked),
        column("used", Kind::Count, |r| &mut r.used),
        column("ended", Kind::Count, |r| &mut r.ended),
    ];

    fn table(engine: Engine) -> &'static str {
        engine.choose(["approvals", "public.oneact_approvals"])
    }
}

impl Request {
    /// The request that a link makes.
    pub(crate) fn made_by(link: &Link, body: &Body) -> Self {
        let row = body.row.as_ref();
        Self {
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
        }
    }

    /// What it is about: the session, the hash of the request, the task, and the root.
    pub(crate) fn task(&self) -> [Option<&str>; 4] {
        [
            Some(&self.session_id),
            Some(&self.request_hash),
            self.task_id.as_deref(),
            self.root.as_deref(),
        ]
    }

    /// The same request, whatever became of it.
    pub(crate) fn as_made(&self) -> Self {
        Self {
            used: None,
            ended: None,
            ..self.clone()
        }
    }
}

/// The decision of one person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Vote {
    /// The link that recorded it.
    pub(crate) seq: Seq,
    /// The link of the request.
    pub(crate) request: Seq,
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
    const COLUMNS: &'static [Column<Self>] = &[
        column(SEQ, Kind::Count, |r| &mut r.seq),
        column("request", Kind::Count, |r| &mut r.request),
        column("answer", Kind::Text, |r| &mut r.answer),
        column("actor", Kind::Text, |r| &mut r.actor),
        column("signature", Kind::Text, |r| &mut r.signature),
        column("host", Kind::Text, |r| &mut r.host),
        column("at", Kind::Text, |r| &mut r.at),
        column("note", Kind::Text, |r| &mut r.note),
    ];

    fn table(engine: Engine) -> &'static str {
        engine.choose(["votes", "public.oneact_votes"])
    }
}

impl Vote {
    /// The decision about the request of the link `request` that a link records.
    pub(crate) fn made_by(link: &Link, body: &Body, request: Seq) -> Self {
        Self {
            seq: link.seq,
            request,
            answer: if link.is(Event::Approved) {
                Answer::Approved
            } else {
                Answer::Denied
            },
            actor: link.actor.clone(),
            signature: body.signature.clone(),
            host: body.host.clone(),
            at: link.at.clone(),
            note: body.note.clone(),
        }
    }
}

impl Word for Answer {}

/// It is stored as JSON.
impl Field for AskedApproval {
    fn put(&mut self, value: Value, _: Writer) -> Result<(), String> {
        let json = text(value)?.unwrap_or_default();
        *self = serde_json::from_str(&json).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn take(&mut self) -> Value {
        Value::Text(serde_json::to_string(self).unwrap_or_default())
    }
}

impl Tx<'_> {
    /// Adds a request. It takes the place of an open one of the same task in the same root.
    pub(crate) fn put_request(&mut self, request: &Request) -> Result<(), StoreError> {
        let table = Request::table(self.engine);
        let text = format!("UPDATE {table} SET ended = ?5 WHERE {TASK} AND ended IS NULL");
        let mut values: Vec<Value> = request.task().map(Value::from).into();
        values.push(request.seq.into());
        self.db.add(&text, &values)?;
        self.insert_record(request)
    }

    /// Writes what became of a request.
    pub(crate) fn settle_request(&mut self, request: &Request) -> Result<(), StoreError> {
        let table = Request::table(self.engine);
        let text = format!("UPDATE {table} SET used = ?2, ended = ?3 WHERE seq = ?1");
        let values = [
            request.seq.into(),
            request.used.into(),
            request.ended.into(),
        ];
        self.db.add(&text, &values)
    }

    /// The newest request for a task in a root ([`Request::task`]).
    pub(crate) fn newest_request(
        &mut self,
        task: [Option<&str>; 4],
    ) -> Result<Option<Request>, StoreError> {
        let condition = format!("WHERE {TASK} ORDER BY seq DESC LIMIT 1");
        self.one(&condition, &task.map(Value::from))
    }

    /// The newest request with that id in a session.
    pub(crate) fn request_named(
        &mut self,
        session_id: &str,
        id: &str,
    ) -> Result<Option<Request>, StoreError> {
        self.one(
            "WHERE session_id = ?1 AND id = ?2 ORDER BY seq DESC LIMIT 1",
            &[session_id.into(), id.into()],
        )
    }

    /// The newest `most` requests of a user that were not ended, the newest first.
    pub(crate) fn open_requests_of(
        &mut self,
        actor: &str,
        most: usize,
    ) -> Result<Vec<Request>, StoreError> {
        self.all(
            "WHERE asked_by = ?1 AND ended IS NULL ORDER BY seq DESC LIMIT ?2",
            &[actor.into(), Value::limit(most)],
        )
    }

    /// All requests whose ids begin with `text`, the newest first.
    pub(crate) fn requests(&mut self, text: &str) -> Result<Vec<Request>, StoreError> {
        let last = self.engine.choose(["char(1114111)", "chr(1114111)"]);
        self.all(
            &format!("WHERE id >= ?1 AND id < ?1 || {last} ORDER BY seq DESC"),
            &[text.into()],
        )
    }

    /// The decisions about a request, in their order.
    pub(crate) fn votes(&mut self, request: Seq) -> Result<Vec<Vote>, StoreError> {
        self.all("WHERE request = ?1 ORDER BY seq", &[request.into()])
    }
}

/// The condition for a request whose [`task`](Request::task) the first values are.
const TASK: &str = "session_id = ?1 AND request_hash = ?2 AND task_id IS NOT DISTINCT FROM ?3 \
                    AND root IS NOT DISTINCT FROM ?4";
