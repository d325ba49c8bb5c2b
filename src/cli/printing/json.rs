//! The ledger as JSON, described by `schemas/ledger.schema.json`. It contains requests and answers byte for byte
//! as they were recorded.

use serde::{Serialize, Serializer};
use serde_json::{Value, json, value::RawValue};

use super::words;
use crate::{
    people::{
        Answers, Decision, Fact, Made, Reason, RowState, SessionStep, SessionSummary,
        UnansweredState, WholeAnswer,
    },
    task::{Review, Sight},
};

/// Everything that is recorded about a session: requests, decisions and answers (R-004-59).
#[derive(Serialize)]
pub(crate) struct SessionDocument<'a> {
    oneact: &'static str,
    session: Value,
    steps: Vec<StepDocument<'a>>,
    open: Value,
}

#[derive(Serialize)]
pub(crate) struct StepDocument<'a> {
    step: Value,
    decision: Value,
    links: Vec<Value>,
    given_again: &'a [u64],
    grant: Option<Value>,
    entry: Value,
    inputs: Recorded<'a>,
    request: Recorded<'a>,
    request_sha256: &'a str,
    response: Recorded<'a>,
    response_sha256: &'a str,
}

/// A recorded text: JSON is inserted unchanged, anything else as a string.
struct Recorded<'a>(Option<&'a str>);

impl Serialize for Recorded<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(text) = self.0 else {
            return serializer.serialize_none();
        };
        match serde_json::from_str::<&RawValue>(text) {
            Ok(raw) => raw.serialize(serializer),
            Err(_) => serializer.serialize_str(text),
        }
    }
}

/// The steps of a session or of all sessions, without their requests and answers.
pub(crate) fn history(answers: &Answers) -> Value {
    let steps: Vec<Value> = answers.steps.iter().map(step).collect();
    json!({"session": session(answers), "steps": steps, "open": open(answers)})
}

/// The list of `oneact sessions`.
pub(crate) fn sessions(all: &[SessionSummary]) -> Value {
    let one = |summary: &SessionSummary| {
        let (counts, opened) = (&summary.counts, summary.opened.as_ref());
        let failure = summary.last_failure.as_ref().map(|row| {
            json!({"operation_id": row.operation_id, "action_type": row.action_type, "fault": row.fault,
                "timestamp": row.timestamp})
        });
        json!({
            "session_id": counts.session_id,
            "context": opened.map(|session| &session.context),
            "profile": opened.map(|session| &session.profile),
            "principal": opened.map(|session| &session.principal),
            "first_at": summary.first, "last_at": summary.last,
            "steps": counts.steps, "failed": counts.failed, "waiting": counts.waiting,
            "last_failure": failure,
        })
    };
    json!({"sessions": all.iter().map(one).collect::<Vec<_>>()})
}

pub(crate) fn document<'a>(answers: &Answers, whole: &'a [WholeAnswer]) -> SessionDocument<'a> {
    SessionDocument {
        oneact: env!("CARGO_PKG_VERSION"),
        session: session(answers),
        steps: whole.iter().map(whole_step).collect(),
        open: open(answers),
    }
}

fn session(answers: &Answers) -> Value {
    let Some(session) = &answers.session else {
        return Value::Null;
    };
    let opened = session.opened.as_ref();
    json!({
        "session_id": session.session_id,
        "context": opened.map(|session| &session.context),
        "profile": opened.map(|session| &session.profile),
        "principal": opened.map(|session| &session.principal),
        "opened_at": opened.map(|session| &session.opened_at),
        "steps": session.count,
        "awaiting_review": answers.open_reviews().count(),
    })
}

/// The operations without an answer.
fn open(answers: &Answers) -> Value {
    let each = answers.open.iter().map(|open| {
        let state = match open.state {
            UnansweredState::AtWork => "at_work",
            UnansweredState::Died => "died",
            UnansweredState::Unknown => "unknown",
        };
        json!({"operation_id": open.operation_id, "since": open.since, "state": state})
    });
    each.collect()
}

/// A step without its request and its answer.
fn step(step: &SessionStep) -> Value {
    let row = &step.row;
    let made = |made: Made| {
        let blake3 = match &made.print.sight {
            Sight::Content(content) => Some(&content.blake3),
            Sight::Object(_) | Sight::Absent | Sight::Unknown => None,
        };
        json!({
            "ref_id": made.ref_id, "asset_type": made.asset_type, "storage_uri": made.storage_uri,
            "bytes": made.print.sight.bytes(), "blake3": blake3,
        })
    };
    json!({
        "session_id": row.session_id,
        "step_index": row.step_index,
        "id": row.id,
        "operation_id": row.operation_id,
        "request_id": row.request_id,
        "task_id": row.task_id,
        "attempt": row.attempt,
        "action_type": row.action_type,
        "state": row.state.map(RowState::name),
        "outcome": row.outcome.name(),
        "started_at": row.started_at,
        "timestamp": row.timestamp,
        "duration_ms": row.duration_ms,
        "fault": row.fault,
        "recoverable": words::recoverable(row),
        "reason": row.reason,
        "answered_from": step.from,
        "under": step.under,
        "adjusted": row.adjusted.as_deref().map(read),
        "made": row.made().into_iter().map(made).collect::<Vec<_>>(),
        "request_hash": row.request_hash,
        "seq": row.seq,
        "revoked_by": row.revoked_by,
        "parent": row.parent,
        "position": row.position,
        "review": step.review.as_ref().map(review),
        "pruned": words::pruned(row),
    })
}

fn review(review: &Review) -> Value {
    let Review {
        terms,
        state,
        decision,
    } = review;
    let decision = decision.as_ref();
    let decision = decision.map(|made| json!({"at": made.at, "by": made.by, "link": made.link}));
    json!({
        "state": state, "blocks": terms.blocks, "since": terms.since, "until": terms.until,
        "decision": decision,
    })
}

/// Parses a text that oneact wrote as JSON. Any other text stays a string.
fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

pub(crate) fn whole_step(whole: &WholeAnswer) -> StepDocument<'_> {
    let row = &whole.step.row;
    let links = whole.links.iter().map(|link| {
        json!({
            "seq": link.seq, "event": link.event, "at": link.at, "actor": link.actor,
            "body": read(&link.body), "entry_hash": link.entry_hash,
        })
    });
    StepDocument {
        step: step(&whole.step),
        decision: decision(&whole.decision),
        links: links.collect(),
        given_again: &whole.again,
        grant: whole.grant.as_ref().map(|grant| {
            let granted = &grant.granted;
            json!({
                "entries": granted.entries.keys().collect::<Vec<_>>(), "max_calls": granted.max_calls,
                "until": granted.until, "calls": grant.calls, "closed_by": grant.closed,
            })
        }),
        entry: json!({
            "version": row.entry_version, "digest": row.entry_digest, "tool_pin": row.tool_pin,
            "oneact": row.oneact_version,
        }),
        inputs: Recorded(row.input_ids.as_deref()),
        request: Recorded(row.request.as_deref()),
        request_sha256: &row.request_sha256,
        response: Recorded(row.response.as_deref()),
        response_sha256: &row.response_sha256,
    }
}

fn decision(decision: &Decision) -> Value {
    let kind = match decision.reason {
        Reason::Ran(_) | Reason::Other(_) => "ran",
        Reason::Answered(_) => "answered",
        Reason::History => "history",
    };
    let fact = |fact: &Fact| match fact {
        Fact::Said(text) => json!(text),
        Fact::Seen(Sight::Object(object)) => json!(object),
        Fact::Seen(Sight::Content(content)) => {
            json!({"bytes": content.bytes, "blake3": content.blake3})
        }
        Fact::Seen(sight) => json!(sight),
    };
    let differences = decision.differences.iter().map(|difference| {
        let now = difference.now.as_ref().map(fact);
        json!({"what": difference.what, "then": fact(&difference.then), "now": now})
    });
    let about = decision.about.as_ref();
    let about =
        about.map(|row| json!({"step_index": row.step_index, "operation_id": row.operation_id}));
    json!({
        "kind": kind,
        "reason": decision.reason.name(),
        "sentence": words::reason(decision),
        "about": about,
        "differences": differences.collect::<Vec<_>>(),
    })
}
