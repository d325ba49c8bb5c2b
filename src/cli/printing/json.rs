//! The ledger as JSON, described by `schemas/ledger.schema.json`. It contains requests and answers byte for byte
//! as they were recorded.

use serde::{Serialize, Serializer};
use serde_json::{Value, json, value::RawValue};

use crate::{
    people::{
        Across, Decision, Fact, How, Made, Open, Page, Reason, Row, RowState, Step, Summary, Whole,
    },
    task::{Review, Sight},
};

use super::words;

/// Everything that is recorded about a session: requests, decisions and answers (R-004-59).
#[derive(Serialize)]
pub(in crate::cli) struct Document<'a> {
    oneact: &'static str,
    session: Value,
    steps: Vec<WholeStep<'a>>,
    open: Vec<Value>,
}

#[derive(Serialize)]
pub(in crate::cli) struct WholeStep<'a> {
    step: Value,
    decision: Value,
    links: Vec<Value>,
    given_again: &'a [u64],
    grant: Option<Value>,
    entry: Value,
    inputs: Text<'a>,
    request: Text<'a>,
    request_sha256: &'a str,
    response: Text<'a>,
    response_sha256: &'a str,
}

/// A recorded text: JSON is inserted unchanged, anything else as a string.
struct Text<'a>(Option<&'a str>);

impl Serialize for Text<'_> {
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

pub(in crate::cli) fn line(document: &impl Serialize) -> String {
    // Texts, numbers and lists always serialize.
    serde_json::to_string(document).unwrap_or_default() + "\n"
}

pub(in crate::cli) fn history(page: &Page) -> Value {
    json!({
        "session": session(page),
        "steps": page.steps.iter().map(summary).collect::<Vec<_>>(),
        "open": page.open.iter().map(open).collect::<Vec<_>>(),
    })
}

/// The answers of all sessions.
pub(in crate::cli) fn across(found: &Across) -> Value {
    json!({
        "session": null,
        "steps": found.steps.iter().map(summary).collect::<Vec<_>>(),
        "open": found.open.iter().map(open).collect::<Vec<_>>(),
    })
}

/// The list of `oneact sessions`.
pub(in crate::cli) fn sessions(all: &[Summary]) -> Value {
    let one = |summary: &Summary| {
        let (counts, opened) = (&summary.counts, summary.opened.as_ref());
        json!({
            "session_id": counts.session_id,
            "context": opened.map(|session| &session.context),
            "profile": opened.map(|session| &session.profile),
            "principal": opened.map(|session| &session.principal),
            "first_at": summary.first, "last_at": summary.last,
            "steps": counts.steps, "failed": counts.failed, "waiting": counts.waiting,
            "last_failure": summary.last_failure.as_ref().map(|row| json!({
                "operation_id": row.operation_id, "action_type": row.action_type, "fault": row.fault,
                "timestamp": row.timestamp,
            })),
        })
    };
    json!({"sessions": all.iter().map(one).collect::<Vec<_>>()})
}

pub(in crate::cli) fn document<'a>(page: &'a Page, whole: &'a [Whole]) -> Document<'a> {
    Document {
        oneact: env!("CARGO_PKG_VERSION"),
        session: session(page),
        steps: whole.iter().map(whole_step).collect(),
        open: page.open.iter().map(open).collect(),
    }
}

fn session(page: &Page) -> Value {
    let opened = page.opened.as_ref();
    json!({
        "session_id": page.session_id,
        "context": opened.map(|session| &session.context),
        "profile": opened.map(|session| &session.profile),
        "principal": opened.map(|session| &session.principal),
        "opened_at": opened.map(|session| &session.opened_at),
        "steps": page.count,
        "awaiting_review": page.open_reviews().count(),
    })
}

fn open(open: &Open) -> Value {
    let state = match open.how {
        How::AtWork => "at_work",
        How::Died => "died",
        How::Unknown => "unknown",
    };
    json!({"operation_id": open.operation_id, "since": open.since, "state": state})
}

/// A step without its request and its answer.
fn summary(step: &Step) -> Value {
    let row = &step.row;
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
        "made": made(row),
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
    json!({
        "state": state, "blocks": terms.blocks, "since": terms.since, "until": terms.until,
        "decision": decision.as_ref().map(|decision| {
            json!({"at": decision.at, "by": decision.by, "link": decision.link})
        }),
    })
}

/// Parses a text that oneact wrote as JSON. Any other text stays a string.
fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

fn made(row: &Row) -> Vec<Value> {
    let part = |made: &Made| {
        let (bytes, blake3) = match &made.print.sight {
            Sight::Content(content) => (Some(content.bytes), Some(&content.blake3)),
            Sight::Object(object) => (Some(object.bytes), None),
            Sight::Absent | Sight::Unknown => (None, None),
        };
        json!({
            "ref_id": made.ref_id, "asset_type": made.asset_type, "storage_uri": made.storage_uri,
            "bytes": bytes, "blake3": blake3,
        })
    };
    row.made().iter().map(part).collect()
}

pub(in crate::cli) fn whole_step(whole: &Whole) -> WholeStep<'_> {
    let row = &whole.step.row;
    let links = whole.links.iter().map(|link| {
        json!({
            "seq": link.seq, "event": link.event, "at": link.at, "actor": link.actor,
            "body": read(&link.body), "entry_hash": link.entry_hash,
        })
    });
    WholeStep {
        step: summary(&whole.step),
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
        inputs: Text(row.input_ids.as_deref()),
        request: Text(row.request.as_deref()),
        request_sha256: &row.request_sha256,
        response: Text(row.response.as_deref()),
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
        Fact::Seen(Sight::Absent) => json!("absent"),
        Fact::Seen(Sight::Unknown) => json!("unknown"),
        Fact::Seen(Sight::Object(object)) => json!(object),
        Fact::Seen(Sight::Content(content)) => {
            json!({"bytes": content.bytes, "blake3": content.blake3})
        }
    };
    let differences = decision.differences.iter().map(|difference| {
        json!({
            "what": difference.what, "then": fact(&difference.then),
            "now": difference.now.as_ref().map(fact),
        })
    });
    json!({
        "kind": kind,
        "reason": decision.reason.name(),
        "sentence": words::reason(decision),
        "about": decision.about.as_ref().map(|row| {
            json!({"step_index": row.step_index, "operation_id": row.operation_id})
        }),
        "differences": differences.collect::<Vec<_>>(),
    })
}
