//! The record as JSON, described by `schemas/ledger.schema.json`. Requests and answers stand in it as they
//! were recorded, byte for byte.

use serde::{Serialize, Serializer};
use serde_json::{Value, json, value::RawValue};

use crate::{
    perform::{Decision, Fact, How, Open, Page, Row, RowState, Step, Whole},
    task::Sight,
};

use super::words;

/// A session, or part of it.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct History<'a> {
    session: SessionPart<'a>,
    steps: Vec<Summary<'a>>,
    open: Vec<OpenPart<'a>>,
}

/// All that is known of a session: what was asked, what was decided, what was answered (R-004-59).
#[derive(Debug, Serialize)]
pub(in crate::cli) struct Document<'a> {
    oneact: &'static str,
    session: SessionPart<'a>,
    steps: Vec<WholeStep<'a>>,
    open: Vec<OpenPart<'a>>,
}

#[derive(Debug, Serialize)]
struct SessionPart<'a> {
    session_id: &'a str,
    context: Option<&'a str>,
    profile: Option<&'a str>,
    principal: Option<&'a str>,
    opened_at: Option<&'a str>,
    steps: u64,
}

#[derive(Debug, Serialize)]
struct OpenPart<'a> {
    operation_id: &'a str,
    since: &'a str,
    state: &'static str,
}

/// A step without its request and its answer.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct Summary<'a> {
    step_index: u64,
    id: &'a str,
    operation_id: &'a str,
    request_id: Option<&'a str>,
    task_id: Option<&'a str>,
    attempt: u32,
    action_type: Option<&'a str>,
    state: Option<&'static str>,
    outcome: &'static str,
    started_at: &'a str,
    timestamp: &'a str,
    duration_ms: u64,
    fault: Option<&'a str>,
    recoverable: Option<bool>,
    reason: Option<&'a str>,
    answered_from: Option<u64>,
    adjusted: Text<'a>,
    made: Vec<MadePart>,
    request_hash: &'a str,
    seq: Option<u64>,
    revoked_by: Option<u64>,
    pruned: bool,
}

#[derive(Debug, Serialize)]
struct MadePart {
    ref_id: String,
    asset_type: String,
    storage_uri: String,
    bytes: Option<u64>,
    blake3: Option<String>,
}

/// A step with everything.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct WholeStep<'a> {
    step: Summary<'a>,
    decision: DecisionPart<'a>,
    links: Vec<LinkPart<'a>>,
    given_again: &'a [u64],
    entry: EntryPart<'a>,
    inputs: Text<'a>,
    request: Text<'a>,
    request_sha256: &'a str,
    response: Text<'a>,
    response_sha256: &'a str,
}

#[derive(Debug, Serialize)]
struct EntryPart<'a> {
    version: Option<&'a str>,
    digest: Option<&'a str>,
    tool_pin: Option<&'a str>,
    oneact: &'a str,
}

#[derive(Debug, Serialize)]
struct DecisionPart<'a> {
    kind: &'static str,
    reason: Option<&'a str>,
    sentence: String,
    about: Option<AboutPart<'a>>,
    differences: Vec<Value>,
}

#[derive(Debug, Serialize)]
struct AboutPart<'a> {
    step_index: u64,
    operation_id: &'a str,
}

#[derive(Debug, Serialize)]
struct LinkPart<'a> {
    seq: u64,
    event: &'a str,
    at: &'a str,
    actor: &'a str,
    body: Text<'a>,
    entry_hash: &'a str,
}

/// A text of the record: JSON as it is, anything else as a string.
#[derive(Debug)]
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

/// One line.
pub(in crate::cli) fn line(document: &impl Serialize) -> String {
    // Texts, numbers and lists always serialize.
    serde_json::to_string(document).unwrap_or_default() + "\n"
}

pub(in crate::cli) fn history(page: &Page) -> History<'_> {
    History {
        session: session(page),
        steps: page.steps.iter().map(summary).collect(),
        open: page.open.iter().map(open).collect(),
    }
}

pub(in crate::cli) fn document<'a>(page: &'a Page, whole: &'a [Whole]) -> Document<'a> {
    Document {
        oneact: env!("CARGO_PKG_VERSION"),
        session: session(page),
        steps: whole.iter().map(whole_step).collect(),
        open: page.open.iter().map(open).collect(),
    }
}

fn session(page: &Page) -> SessionPart<'_> {
    let opened = page.opened.as_ref();
    SessionPart {
        session_id: &page.session_id,
        context: opened.map(|session| session.context.as_str()),
        profile: opened.map(|session| session.profile.as_str()),
        principal: opened.map(|session| session.principal.as_str()),
        opened_at: opened.map(|session| session.opened_at.as_str()),
        steps: page.count,
    }
}

fn open(open: &Open) -> OpenPart<'_> {
    OpenPart {
        operation_id: &open.operation_id,
        since: &open.since,
        state: match open.how {
            How::AtWork => "at_work",
            How::Died => "died",
            How::Unknown => "unknown",
        },
    }
}

fn summary(step: &Step) -> Summary<'_> {
    let row = &step.row;
    Summary {
        step_index: row.step_index,
        id: &row.id,
        operation_id: &row.operation_id,
        request_id: row.request_id.as_deref(),
        task_id: row.task_id.as_deref(),
        attempt: row.attempt,
        action_type: row.action_type.as_deref(),
        state: row.state.map(RowState::name),
        outcome: row.outcome.name(),
        started_at: &row.started_at,
        timestamp: &row.timestamp,
        duration_ms: row.duration_ms,
        fault: row.fault.as_deref(),
        recoverable: words::recoverable(row),
        reason: row.reason.as_deref(),
        answered_from: step.from,
        adjusted: Text(row.adjusted.as_deref()),
        made: made(row),
        request_hash: &row.request_hash,
        seq: row.seq,
        revoked_by: row.revoked_by,
        pruned: words::pruned(row),
    }
}

fn made(row: &Row) -> Vec<MadePart> {
    let part = |made: crate::perform::Made| {
        let (bytes, blake3) = match made.print.sight {
            Sight::Content(content) => (Some(content.bytes), Some(content.blake3)),
            Sight::Absent | Sight::Unknown => (None, None),
        };
        MadePart {
            ref_id: made.ref_id,
            asset_type: made.asset_type,
            storage_uri: made.storage_uri,
            bytes,
            blake3,
        }
    };
    words::made(row).into_iter().map(part).collect()
}

pub(in crate::cli) fn whole_step(whole: &Whole) -> WholeStep<'_> {
    let row = &whole.step.row;
    WholeStep {
        step: summary(&whole.step),
        decision: decision(&whole.decision),
        links: whole
            .links
            .iter()
            .map(|link| LinkPart {
                seq: link.seq,
                event: &link.event,
                at: &link.at,
                actor: &link.actor,
                body: Text(Some(&link.body)),
                entry_hash: &link.entry_hash,
            })
            .collect(),
        given_again: &whole.again,
        entry: EntryPart {
            version: row.entry_version.as_deref(),
            digest: row.entry_digest.as_deref(),
            tool_pin: row.tool_pin.as_deref(),
            oneact: &row.oneact_version,
        },
        inputs: Text(row.input_ids.as_deref()),
        request: Text(row.request.as_deref()),
        request_sha256: &row.request_sha256,
        response: Text(row.response.as_deref()),
        response_sha256: &row.response_sha256,
    }
}

fn decision(decision: &Decision) -> DecisionPart<'_> {
    let (kind, differences) = match decision {
        Decision::Ran { differences, .. } => ("ran", differences.as_slice()),
        Decision::Answered { .. } => ("answered", [].as_slice()),
        Decision::History => ("history", [].as_slice()),
        Decision::Other(_) => ("ran", [].as_slice()),
    };
    let fact = |fact: &Fact| match fact {
        Fact::Said(text) => json!(text),
        Fact::Seen(Sight::Absent) => json!("absent"),
        Fact::Seen(Sight::Unknown) => json!("unknown"),
        Fact::Seen(Sight::Content(content)) => {
            json!({"bytes": content.bytes, "blake3": content.blake3})
        }
    };
    DecisionPart {
        kind,
        reason: words::reason_name(decision),
        sentence: words::reason(decision),
        about: words::about(decision).map(|row| AboutPart {
            step_index: row.step_index,
            operation_id: &row.operation_id,
        }),
        differences: differences
            .iter()
            .map(|difference| {
                json!({
                    "what": difference.what, "then": fact(&difference.then),
                    "now": difference.now.as_ref().map(fact),
                })
            })
            .collect(),
    }
}
