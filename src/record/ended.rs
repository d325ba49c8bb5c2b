//! Converts the end of a run into the ledger's terms: the outputs, whether inputs changed meanwhile, and the recorded
//! form of ids and answers, without secrets and signatures of links (invariant 6).
//!
//! The caller's answer may contain a signed link as its result. The ledger outlives the answer and may be passed
//! on, so it keeps no signature.

use camino::Utf8Path;
use serde_json::{Value, json};

use crate::{
    assets::{
        Fresh, Objects,
        print::{self, GoOn},
    },
    envelope::{Received, to_response},
    executor::{Context, Hidden, Work},
    ledger::{Ask, Effects, Ended, Made, RowOutcome, RowState, SeenInput, Told},
    task::{
        Admission, Assessment, Effect, Links, Outcome, Print, Sight, Stat, State, Uri, recorded_id,
        redact_presigned,
    },
};

/// The inputs, with what was seen of them before the run, and the stores of objects.
#[derive(Default)]
pub(super) struct Before {
    inputs: Vec<(Uri, SeenBefore)>,
    objects: Option<Objects>,
}

/// The file-system facts of a file, or what a store says of an object.
type SeenBefore = (Option<Stat>, Option<Sight>);

/// The inputs are moved out of `work`, because nothing else needs them.
pub(super) fn inputs_before(work: &mut Work, root: &Utf8Path) -> Before {
    let (uris, objects) = match work {
        Work::Tools(ready) => {
            let objects = ready.store.objects().clone();
            (std::mem::take(&mut ready.inputs), Some(objects))
        }
        Work::Files(_) | Work::Grant(_) | Work::Said(_) => (Vec::new(), None),
    };
    let seen = |uri: Uri| {
        let stat = print::stat(&uri, root, Links::Followed);
        let object = objects
            .as_ref()
            .and_then(|objects| objects.print(&uri, Fresh::No, &|| true));
        (uri, (stat, object.map(|print| print.sight)))
    };
    let inputs = uris.into_iter().map(seen).collect();
    Before { inputs, objects }
}

/// What is recorded of an outcome.
pub(super) fn of(
    outcome: &Outcome,
    received: &Received,
    before: Before,
    ask: &Ask<'_>,
    hidden: &Hidden,
    context: &Context<'_>,
) -> Ended {
    let root = context.desk.root;
    let go_on = || context.go_on().is_ok();
    let failure = outcome.failure.as_ref();
    let succeeded = failure.is_none();
    // Only a success can be reused, so only its files are examined.
    let (inputs, outputs) = if succeeded {
        let outputs = outputs(outcome, root, before.objects.as_ref(), &go_on);
        (inputs(before, root, &go_on), outputs)
    } else {
        (Vec::new(), Vec::new())
    };
    let elapsed = context.desk.begun.elapsed();
    let at = context.desk.host.timestamp();
    Ended {
        state: state(outcome, ask),
        outcome: if succeeded {
            RowOutcome::Success
        } else {
            RowOutcome::Error
        },
        fault: failure.map(|failure| failure.fault),
        told: Told {
            effect: outcome.effect,
            recoverable: failure.is_some_and(|failure| failure.recoverable),
        },
        response: response(hidden, received, outcome),
        inputs,
        outputs,
        began: at.checked_sub(elapsed).unwrap_or(at),
        at,
        duration_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        approval: None,
    }
}

/// Whether a once-only call may have happened, or its result cannot be used: only a person can decide.
pub(super) fn is_in_doubt(outcome: &Outcome, ask: &Ask<'_>) -> bool {
    let doubtful = outcome.effect == Effect::Unknown || outcome.spoiled.is_some();
    let failed = matches!(outcome.state, State::Failed | State::Cancelled);
    failed && doubtful && ask.effects == Effects::Once
}

fn state(outcome: &Outcome, ask: &Ask<'_>) -> RowState {
    match outcome.state {
        _ if is_in_doubt(outcome, ask) => RowState::Unknown,
        State::Done | State::Advised => RowState::Done,
        State::Partial => RowState::Partial,
        State::Pending => RowState::Pending,
        State::RolledBack => RowState::RolledBack,
        State::Cancelled => RowState::Cancelled,
        State::Rejected => RowState::Rejected,
        State::Failed | State::Planned | State::Replayed | State::Reused | State::Suppressed => {
            RowState::Failed
        }
    }
}

fn inputs(before: Before, root: &Utf8Path, go_on: GoOn<'_>) -> Vec<SeenInput> {
    let objects = before.objects.as_ref();
    let seen = |(uri, then): (Uri, SeenBefore)| {
        let stat = print::stat(&uri, root, Links::Followed);
        let object = objects.and_then(|objects| objects.print(&uri, Fresh::Yes, go_on));
        let now = (stat, object.as_ref().map(|print| print.sight.clone()));
        SeenInput {
            print: object.unwrap_or_else(|| print::print(&uri, root, Links::Followed, go_on)),
            changed_meanwhile: then != now,
        }
    };
    before.inputs.into_iter().map(seen).collect()
}

fn outputs(
    outcome: &Outcome,
    root: &Utf8Path,
    objects: Option<&Objects>,
    go_on: GoOn<'_>,
) -> Vec<Made> {
    let read = |uri: &str, go_on: GoOn<'_>| match Uri::parse(uri) {
        // Of an object, what the store said when it was written.
        Ok(uri) => objects
            .and_then(|objects| objects.print(&uri, Fresh::No, go_on))
            .unwrap_or_else(|| print::print(&uri, root, Links::Refused, go_on)),
        Err(_) => Print {
            uri: uri.to_owned(),
            sight: Sight::Unknown,
        },
    };
    let look = |uri: &str| read(uri, go_on);
    // The limits of plans bound these files. Their content decides later whether the plan is performed again, so they
    // are read even after a signal.
    let look_at_file = |uri: &str| read(uri, &|| true);
    let assets = outcome
        .produced
        .iter()
        .map(|produced| Made::of(produced, look(&produced.storage_uri)));
    let files = outcome.changed.iter();
    let files = files.map(|path| Made::file(path, "file", "apply_file_plan", look_at_file(path)));
    let capability = outcome.executed.last().map_or("", String::as_str);
    let result = outcome
        .result_file
        .iter()
        .map(|place| Made::file(place, "application/json", capability, look(place)));
    assets.chain(result).chain(files).collect()
}

/// The same request with the risk that the hints of a server have raised.
pub(super) fn raised(request: String, admission: Admission, risk: Assessment) -> String {
    let Ok(mut all) = serde_json::from_str::<Value>(&request) else {
        return request;
    };
    if let Some(gate) = all.pointer_mut("/context/gate") {
        *gate = json!(admission.with(risk));
    }
    all.to_string()
}

#[derive(Clone)]
pub(super) struct Ids {
    pub(super) task: String,
    pub(super) request: Option<String>,
    pub(super) idempotency_key: Option<String>,
}

impl Ids {
    pub(super) fn of(received: &Received) -> Self {
        let identity = &received.identity;
        Self {
            task: recorded_id(&received.task_id),
            request: identity.request_id.as_deref().map(recorded_id),
            idempotency_key: identity.idempotency_key.as_deref().map(recorded_id),
        }
    }
}

/// The `MCPResponse` of an outcome as it is recorded (R-004-16).
fn response(hidden: &Hidden, received: &Received, outcome: &Outcome) -> String {
    let response = to_response(received, outcome);
    let cut = hidden.secrets().cut(&response);
    if cut == response && redact_presigned(&response) == response {
        return response;
    }
    // A cut in the JSON text could damage a number or an escape sequence, so the values are cut.
    match serde_json::from_str(&response) {
        Ok(mut value) => {
            cut_values(&mut value, hidden);
            value.to_string()
        }
        Err(_) => hidden.secrets().shown(&response),
    }
}

/// Cuts a response, but for its own words: a secret may be equal to one of them, and the response is read again later.
fn cut_values(value: &mut Value, hidden: &Hidden) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match name.as_str() {
                    "status"
                    | "type"
                    | "details"
                    | "result"
                    | "reason"
                    | "nextActions"
                    | "capability_ids_executed" => {}
                    "result_data" | "execution_report" | "suggestion" | "parameters" | "inputs" => {
                        *member = hidden.value(member.take());
                    }
                    _ => cut_values(member, hidden),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| cut_values(item, hidden)),
        Value::String(_) => *value = hidden.value(value.take()),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
