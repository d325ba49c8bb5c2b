//! Recognises the dialect of an input and reads its task.
//!
//! Every input gives a [`Received`], also if it contains no task: an answer is always needed.

use jiff::Timestamp;
use serde_json::Value;

use crate::task::{
    Failure, Fault, Found, Identity, NamedSession, ProposalKind, Resources, SessionFrom, Task,
    Trace,
};

use super::{
    dispatch,
    fields::shape,
    find::{Sent, Shape, find, is_proposal, is_request, said, take},
    plans, proposal, protocol, strangers, strict,
};

/// A received input: the caller, what to echo, and the task or why there is none.
#[derive(Debug, Clone, PartialEq)]
pub struct Received {
    pub identity: Identity,
    /// The task as received, for `input.content` (R-000-18); null if nothing could be read.
    pub echo: Value,
    pub resources: Resources,
    /// As received; `unknown` if it is missing or longer than 512 bytes.
    pub task_id: String,
    pub kind: ProposalKind,
    /// Whether the delivery has a name, by which it is recognised if it is repeated.
    pub delivery: Delivery,
    /// None if oneact counts: a delivery after a failure is the next attempt.
    pub attempt: Option<u32>,
    pub notes: Vec<String>,
    pub task: Result<Task, Failure>,
    /// The task must not be performed after this time.
    pub expires_at: Option<Timestamp>,
    /// The trace to which the task belongs: `metadata.traceparent`, `metadata.tracestate`.
    pub trace: Option<Trace>,
    pub source: Source,
}

/// The text of an input, by which the same task can be read again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Source {
    Text(String),
    /// More than [`MOST_KEPT`] bytes.
    TooLarge,
    /// The task did not come as a text.
    #[default]
    Unknown,
}

/// The longest text of an input that is kept, in bytes.
const MOST_KEPT: usize = 512 << 10;

impl Source {
    fn of(bytes: &[u8]) -> Self {
        match str::from_utf8(bytes) {
            Ok(text) if text.len() <= MOST_KEPT => Self::Text(text.to_owned()),
            Ok(_) => Self::TooLarge,
            Err(_) => Self::Unknown,
        }
    }
}

/// Whether a repeated delivery can be recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// By session, request and task.
    Named,
    /// By a number that `oneact serve catalog` or `oneact call` gives to each call, because the caller gave no name.
    Numbered,
    Nameless,
}

/// Reads the bytes of stdin. `other` is the session if the input names none.
pub fn read<S: Into<NamedSession>>(bytes: &[u8], other: impl FnOnce() -> S) -> Received {
    let other = || other().into();
    let document = match strict::parse(bytes) {
        Ok(document) => document,
        Err(error) => {
            let failure = Failure::new(error.fault(), error.to_string());
            return Received::nobody(other(), failure);
        }
    };
    let mut notes = Vec::new();
    let around = around(&document, &mut notes, other);
    let trace = trace(&document, &mut notes);
    let sent = find(&document);
    let shown = sent.as_ref().map_or(&document, |sent| sent.task.value);
    let called = task_id(shown);
    let own = |key: &str| said(shown, key).is_some_and(|id| id.name().is_ok());
    let kind = match &sent {
        Ok(sent) if sent.shape == Shape::Proposal => proposal::kind(sent.object),
        _ => Ok(ProposalKind::Standard),
    };
    let task = sent.as_ref().map_err(Clone::clone).and_then(|sent| {
        let Sent { task, object, .. } = sent;
        let kind = kind.clone()?;
        strangers::check(&document, sent, &mut notes)?;
        // Both may be missing, but must be valid if they are given.
        task.optional("task_id", Found::name)?;
        task.optional("attempt", dispatch::number)?;
        let capabilities = |task| Task::Capabilities(Box::new(task));
        let task = match sent.shape {
            Shape::Dispatch => capabilities(dispatch::read(task, &mut notes)?),
            Shape::Request => capabilities(dispatch::read_request(task, &mut notes)?),
            Shape::Plan => Task::Plan(plans::read(task, &mut notes)?),
            Shape::Protocol => protocol::read(&document, task, &mut notes)?,
            Shape::Proposal => proposal::read(kind, object, &mut notes)?,
        };
        around.problem.map_or(Ok(task), Err)
    });
    let task = task.and_then(|task| names_fit(&around.identity, called).map(|()| task));
    let (expires_at, task) = match (protocol::expires_at(&document), task) {
        (Err(failure), Ok(_)) => (None, Err(failure)),
        (expires_at, task) => (expires_at.ok().flatten(), task),
    };
    let is = |shape| sent.as_ref().is_ok_and(|sent| sent.shape == shape);
    let attempt = if is(Shape::Protocol) {
        protocol::attempt(&document)
    } else {
        said(shown, "attempt").and_then(|attempt| dispatch::number(&attempt).ok())
    };
    let path = sent.as_ref().map_or("", |sent| sent.path);
    let task_id = called
        .filter(|id| id.len() <= LONGEST_NAME)
        .unwrap_or("unknown")
        .to_owned();
    let has = |key: &str| shown.get(key).is_some();
    let of_action = is(Shape::Proposal) || has("actionId") || has("action");
    // The id of an action is the same in every request, so it names no delivery.
    let delivery = match called {
        Some(_) if !of_action || own("taskId") || own("task_id") => Delivery::Named,
        _ => Delivery::Nameless,
    };
    Received {
        identity: around.identity,
        resources: around.resources,
        task_id,
        kind: kind.unwrap_or_default(),
        delivery,
        attempt,
        echo: take(document, path),
        notes,
        task,
        expires_at,
        trace,
        source: Source::of(bytes),
    }
}

/// The keys of the steps of a task begin so.
const OF_STEPS: &str = "step:";

/// The longest name, in bytes.
const LONGEST_NAME: usize = 512;

/// Refuses long names, because the ledger indexes them, and keys that could name a step of a task.
fn names_fit(identity: &Identity, task_id: Option<&str>) -> Result<(), Failure> {
    if let Some(key) = &identity.idempotency_key
        && key.starts_with(OF_STEPS)
    {
        return Err(shape(format!(
            "`idempotency_key` begins with `{OF_STEPS}`, which the keys of steps begin with; send another key"
        )));
    }
    let names = [
        ("task_id", task_id),
        ("request_id", identity.request_id.as_deref()),
        ("idempotency_key", identity.idempotency_key.as_deref()),
    ];
    for (key, name) in names {
        let bytes = name.map_or(0, str::len);
        if bytes > LONGEST_NAME {
            return Err(shape(format!(
                "`{key}` has {bytes} bytes, but can have at most {LONGEST_NAME}"
            )));
        }
    }
    Ok(())
}

/// The id of the task; without one, the id of the action or of the plan.
fn task_id(shown: &Value) -> Option<&str> {
    let own = shown.get("task_id").and_then(Value::as_str);
    own.filter(|id| !id.is_empty()).or_else(|| {
        let object = shown.as_object()?;
        if is_proposal(object) {
            let name = object.get("name").and_then(Value::as_str);
            return name.filter(|name| !name.is_empty());
        }
        if is_request(object) {
            return dispatch::request_task_id(object).or(dispatch::action_id(object));
        }
        let content = shown.get("content").and_then(Value::as_object);
        plans::plan_id(content.or(shown.as_object())?)
    })
}

impl Received {
    /// The same at that time: a message that has expired has no task.
    #[must_use]
    pub fn at(self, now: Timestamp) -> Self {
        let Some(end) = self.expires_at.filter(|end| *end < now) else {
            return self;
        };
        let expired = || {
            let message = format!(
                "the message has expired: according to `created_at` and `ttl_seconds` of its envelope, it \
                 was valid until {end}; send a new message"
            );
            Failure::new(Fault::NotValidated, message)
        };
        Self {
            task: self.task.and_then(|_| Err(expired())),
            ..self
        }
    }

    pub fn typed(session: impl Into<NamedSession>, task_id: &str, echo: Value, task: Task) -> Self {
        Self {
            echo,
            task_id: task_id.to_owned(),
            ..Self::alone(session, Ok(task))
        }
    }

    /// The input could not be read, or nothing was read.
    pub fn nobody(session: impl Into<NamedSession>, failure: Failure) -> Self {
        Self::alone(session, Err(failure))
    }

    fn alone(session: impl Into<NamedSession>, task: Result<Task, Failure>) -> Self {
        let session = session.into();
        Self {
            identity: Identity {
                session_id: session.id,
                session_from: session.from,
                request_id: None,
                sequence_number: 1,
                parent_message_id: None,
                idempotency_key: None,
            },
            echo: Value::Null,
            resources: Resources::default(),
            task_id: "unknown".to_owned(),
            kind: ProposalKind::Standard,
            delivery: Delivery::Nameless,
            attempt: None,
            notes: Vec::new(),
            task,
            expires_at: None,
            trace: None,
            source: Source::Unknown,
        }
    }
}

struct Around {
    identity: Identity,
    resources: Resources,
    /// An error that makes the message unusable, if there is one.
    problem: Option<Failure>,
}

/// The trace to which the task belongs. An invalid one is ignored, because it changes nothing that is performed.
fn trace(document: &Value, notes: &mut Vec<String>) -> Option<Trace> {
    let [parent, state] = ["metadata/traceparent", "metadata/tracestate"].map(|path| {
        let said = said(document, path)?;
        Some(said.value.as_str().unwrap_or_default())
    });
    Trace::read(parent?, state, notes)
}

/// Reads the metadata and the inherited resources. Missing parts get defaults.
fn around(
    document: &Value,
    notes: &mut Vec<String>,
    other: impl FnOnce() -> NamedSession,
) -> Around {
    let mut problem = None;
    let mut text = |path: &str| {
        let text = said(document, path).map(|said| said.owned());
        or_problem(text, &mut problem)
    };
    // Specification 001's name for the same thing is second.
    let request_id = text("metadata/request_id")
        .or(text("metadata/correlation_id"))
        .or(text("requestId"));
    let idempotency_key = text("metadata/idempotency_key")
        .or(text("output/content/dispatch/idempotency_key"))
        .or(text("dispatch/idempotency_key"))
        .or(text("idempotency_key"));
    let parent_message_id = text("message_id").or(text("envelope/envelope_id"));
    let sequence = said(document, "metadata/sequence_number").map(|said| {
        let number = said.value.as_u64().filter(|number| *number < u64::MAX);
        number.ok_or_else(|| said.must_be("a whole number of 0 or more"))
    });
    let sequence = or_problem(sequence, &mut problem);
    let named = said(document, "metadata/session_id").or_else(|| said(document, "sessionId"));
    let is_named = named.is_some();
    let named = named.map(|said| {
        let id = said.text()?;
        NamedSession::unusable(id).map_or(Ok(id.to_owned()), |why| Err(said.wrong(why)))
    });
    let session = match or_problem(named, &mut problem) {
        Some(id) => NamedSession {
            id,
            from: SessionFrom::Caller,
        },
        None => other(),
    };
    if !is_named && session.from == SessionFrom::Run {
        notes.push("The message names no session; oneact created one for this answer.".to_owned());
        if idempotency_key.is_some() {
            notes.push(
                "The idempotency key has no effect, because it holds within a session.".to_owned(),
            );
        }
    }
    let identity = Identity {
        session_id: session.id,
        session_from: session.from,
        request_id,
        sequence_number: sequence.map_or(1, |n| n + 1),
        parent_message_id,
        idempotency_key,
    };
    // A list that cannot be echoed makes the message unusable, because resources are never dropped (R-000-33).
    let mut list = |key: &str| {
        let list = said(document, &format!("resources/{key}")).map(|said| {
            let list = said.value.as_array().cloned();
            list.ok_or_else(|| said.must_be("an array"))
        });
        or_problem(list, &mut problem).unwrap_or_default()
    };
    let resources = Resources {
        source_refs: list("source_refs"),
        storage_refs: list("storage_refs"),
        derived_refs: list("derived_refs"),
    };
    Around {
        identity,
        resources,
        problem,
    }
}

/// What was read, if anything was. What is wrong with it becomes the problem of the message.
fn or_problem<T>(read: Option<Result<T, Failure>>, problem: &mut Option<Failure>) -> Option<T> {
    read?.map_err(|failure| *problem = Some(failure)).ok()
}
