//! Performs a recorded step again in a session of its own, and compares the results. Once-only calls are never
//! repeated.

use camino::Utf8Path;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::naming::SCRATCH;
use crate::{
    assets::print::{GoOn, print},
    catalog::{Catalog, Nature, ROLLBACK, nature},
    envelope::read_response,
    host::{Host, Interrupt},
    ledger::{Effects, Row, same_json},
    record::{Project, worst},
    task::{
        BLOB, Blocks, CUT, Content, Failure, Fault, Links, Need, OperationId, Outcome, Sight,
        State, Uri, each_text, redact_value,
    },
};

pub(crate) struct Ran {
    pub(crate) operation: OperationId,
    pub(crate) outcome: Outcome,
}

/// The result of a replay.
#[derive(Debug)]
pub(crate) enum Repeated {
    /// Nothing ran, for this reason.
    Refused(String),
    /// A signal ended it before there was anything to compare.
    Cancelled(Interrupt),
    Compared(Comparison),
}

/// A comparison of the old answer with the new one.
#[derive(Debug)]
pub(crate) struct Comparison {
    /// What performing the step twice means.
    pub(crate) effects: Effects,
    pub(crate) session_id: String,
    pub(crate) same: Vec<String>,
    pub(crate) differs: Vec<Differing>,
}

/// A difference between the two answers.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Differing {
    pub(crate) what: String,
    pub(crate) then: String,
    pub(crate) now: String,
}

/// Performs the step of a row again: `run` performs a task without reuse.
pub(crate) fn repeat(
    row: &Row,
    project: &Project,
    host: &Host,
    run: impl FnOnce(Vec<u8>) -> Ran,
) -> Repeated {
    repeated(row, project, host, run).unwrap_or_else(Repeated::Refused)
}

fn repeated(
    row: &Row,
    project: &Project,
    host: &Host,
    run: impl FnOnce(Vec<u8>) -> Ran,
) -> Result<Repeated, String> {
    let operation = OperationId::new(host.timestamp(), host.random_bytes());
    let session_id = format!("{SCRATCH}{}", operation.as_str().trim_start_matches("op_"));
    let (task, effects) = again(row, &session_id, project)?;
    tracing::info!("The step is performed again in the session {session_id}.");
    let Ran { operation, outcome } = run(task.to_string().into_bytes());
    if outcome.state == State::Cancelled {
        let interrupt = host.interrupts().caught();
        return Ok(Repeated::Cancelled(
            interrupt.unwrap_or(Interrupt::TERMINATE),
        ));
    }
    if let Some(Failure { fault, message, .. }) = &outcome.failure
        && (outcome.state == State::Rejected
            || matches!(fault, Fault::LedgerUnavailable | Fault::RequestInFlight))
    {
        return Err(format!("the step cannot be performed again: {message}"));
    }
    let ids = [
        (session_id.as_str(), row.session_id.as_str()),
        (operation.as_str(), &row.operation_id),
    ];
    let mut found = Comparison {
        effects,
        session_id: session_id.clone(),
        same: Vec::new(),
        differs: Vec::new(),
    };
    let go_on = || host.interrupts().caught().is_none();
    found.compare(row, &outcome, &ids, (&project.root, &go_on));
    Ok(match host.interrupts().caught() {
        // A file may not have been read to its end.
        Some(interrupt) => Repeated::Cancelled(interrupt),
        None => Repeated::Compared(found),
    })
}

/// The task of a row in that session with what performing it twice means, or why the step must not or cannot be performed
/// again.
fn again(row: &Row, session_id: &str, project: &Project) -> Result<(Value, Effects), String> {
    let action = row.action_type.as_deref().unwrap_or_default();
    if row.state.is_none() {
        return Err(
            "the step was recorded before oneact, so it is not known how it was performed"
                .to_owned(),
        );
    }
    if let (Some(parent), Some(position)) = (&row.parent, row.position) {
        return Err(format!(
            "it is step {position} of {parent}, and its input may come from another step; replay {parent}, which performs all of them"
        ));
    }
    let text = row.request.as_deref();
    let text = text.ok_or("the request was pruned; only its hash remains")?;
    let unreadable =
        |_| "the request cannot be read; `oneact verify` checks whether it was changed";
    let request: Value = serde_json::from_str(text).map_err(unreadable)?;
    let each = match action {
        // A rollback is no capability, and must not happen twice.
        ROLLBACK => Vec::new(),
        ids => natures(ids, project).map_err(|failure| failure.message)?,
    };
    let effects = repeatable(action, &each)?;
    let said = Value::Object(parameters(request.get("args"), &each)?);
    let context = request.get("context").unwrap_or(&Value::Null);
    if holds_cut(&said) || holds_cut(context) {
        let what = "a secret, a signed link, answers to a tool's questions or a long value, which the ledger does not keep";
        return Err(format!("the request contained {what}"));
    }
    let inputs = context.get("inputs").and_then(Value::as_array);
    let inputs: Vec<Value> = inputs.into_iter().flatten().map(input).collect();
    let outputs = context.get("outputs").filter(|outputs| outputs.is_array());
    let outputs = outputs.cloned().unwrap_or_else(|| json!([]));
    let task_id = row.task_id.as_deref().unwrap_or("replay");
    // Only an `MCPRequest` has a context of its own.
    if let Some(own) = context.get("request_context") {
        let task = json!({
            "actionId": action, "args": said, "context": own, "taskId": task_id, "attempt": 1,
            "input_refs_resolved": inputs, "output_refs_expected": outputs, "sessionId": session_id,
        });
        return Ok((task, effects));
    }
    let ids: Vec<&str> = action.split('+').collect();
    let mut dispatch = json!({
        "task_id": task_id, "capability_ids": ids, "attempt": 1, "parameters": said,
        "input_refs_resolved": inputs, "output_refs_expected": outputs,
    });
    let words = context.get("action").filter(|words| words.is_string());
    if let Some(dispatch) = dispatch.as_object_mut() {
        dispatch.extend(words.map(|words| ("action".to_owned(), words.clone())));
    }
    let task = json!({"dispatch": dispatch, "metadata": {"session_id": session_id}});
    Ok((task, effects))
}

/// What performing a step of these capabilities twice means, or why that must not be done.
fn repeatable(action: &str, each: &[(String, Nature)]) -> Result<Effects, String> {
    if each.iter().any(|(_, nature)| nature.blocks == Blocks::Yes) {
        return Err(format!(
            "the result of {action} would be withheld until its own review, so it cannot be compared"
        ));
    }
    if each.iter().any(|(_, nature)| nature.need == Need::Approval) {
        return Err(format!(
            "{action} waits for an approval of each call, and replay asks nobody for one"
        ));
    }
    let effects = worst(each.iter().map(|(_, nature)| nature.effects));
    if each.is_empty() || effects == Effects::Once {
        return Err(format!(
            "{action} has effects and is not idempotent, so replay never performs it again."
        ));
    }
    Ok(effects)
}

/// The nature of a row's capabilities in the present catalog.
fn natures(ids: &str, project: &Project) -> Result<Vec<(String, Nature)>, Failure> {
    let catalog = Catalog::load(&project.catalog)?;
    let tables = catalog.tables()?;
    let known = |id: &str| Ok((id.to_owned(), nature(&tables, id)?));
    ids.split('+').map(known).collect()
}

/// The recorded arguments without those that oneact fills in.
fn parameters(
    args: Option<&Value>,
    each: &[(String, Nature)],
) -> Result<Map<String, Value>, String> {
    let own = |args: Option<&Value>, nature: &Nature| {
        let args = args.and_then(Value::as_object);
        let mut args = args.ok_or("the request contains no parameters")?.clone();
        args.retain(|name, _| !nature.bound.contains(name));
        Ok::<_, String>(args)
    };
    if let [(_, nature)] = each {
        return own(args, nature);
    }
    let mut all = Map::new();
    for (id, nature) in each {
        let of = args.and_then(|args| args.get(id));
        all.insert(id.clone(), Value::Object(own(of, nature)?));
    }
    Ok(all)
}

fn input(recorded: &Value) -> Value {
    let id = recorded.get("ref_id").and_then(Value::as_str);
    let status = match id {
        Some(id) if id.starts_with("src_") => "reference",
        _ => "stored",
    };
    json!({"ref_id": id, "storage_uri": recorded.get("storage_uri"), "status": status})
}

fn holds_cut(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(CUT),
        Value::Array(items) => items.iter().any(holds_cut),
        Value::Object(object) => object.contains_key(BLOB) || object.values().any(holds_cut),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The ids of the session and of the operation, which differ between any two runs: the new ones with the old ones.
type Ids<'a> = [(&'a str, &'a str); 2];

/// A value of the new run, with the ids of the old one.
fn of_old(value: &Value, ids: &Ids<'_>) -> Value {
    let mut value = value.clone();
    each_text(&mut value, &mut |text| {
        for (new, old) in ids {
            *text = text.replace(new, old);
        }
    });
    value
}

fn sight(sight: &Sight) -> String {
    match sight {
        Sight::Content(Content { bytes, blake3, .. }) => format!("blake3 {blake3}, {bytes} bytes"),
        Sight::Object(object) => {
            let etag = object.etag.as_deref().unwrap_or("none");
            format!("etag {etag}, {} bytes", object.bytes)
        }
        Sight::Absent => "missing".to_owned(),
        Sight::Unknown => "unknown".to_owned(),
    }
}

impl Comparison {
    /// Compares everything. Assets lie below the root, and are read while the run may go on.
    fn compare(
        &mut self,
        row: &Row,
        outcome: &Outcome,
        ids: &Ids<'_>,
        (root, go_on): (&Utf8Path, GoOn<'_>),
    ) {
        let ended = |fault: Option<&str>| match fault {
            Some(fault) => format!("failed: {fault}"),
            None => "succeeded".to_owned(),
        };
        let now = outcome.failure.as_ref().map(|failure| failure.fault.name());
        self.add("outcome", &ended(row.fault.as_deref()), &ended(now));
        let made = row.made();
        // A large result in a file is compared as the result, not as a file.
        for made in made.iter().filter(|made| made.is_asset()) {
            let mut produced = outcome.produced.iter();
            let now = produced.find(|produced| produced.ref_id.as_str() == made.ref_id);
            let now = now.and_then(|produced| Uri::parse(&produced.storage_uri).ok());
            let now = now.map_or(Sight::Absent, |uri| {
                print(&uri, root, Links::Refused, go_on).sight
            });
            self.add(&made.ref_id, &sight(&made.print.sight), &sight(&now));
        }
        let is_new = |id: &str| !made.iter().any(|made| made.ref_id == id);
        let produced = outcome.produced.iter().map(|made| made.ref_id.as_str());
        for id in produced.filter(|id| is_new(id)) {
            self.add(id, "not made", "made");
        }
        let old = row.response.as_deref().and_then(read_response);
        let then = old.and_then(|old| old.result_data).unwrap_or_default();
        let now = outcome.result_data.as_ref();
        let mut now = now.map(|data| of_old(data, ids)).unwrap_or_default();
        // The ledger keeps no signature of a link.
        redact_value(&mut now);
        self.results(&then, &now);
    }

    fn add(&mut self, what: &str, then: &str, now: &str) {
        if then == now {
            return self.same.push(format!("{what}: {now}"));
        }
        let [what, then, now] = [what, then, now].map(str::to_owned);
        self.differs.push(Differing { what, then, now });
    }

    /// Compares results as canonical JSON, and objects key by key.
    fn results(&mut self, then: &Value, now: &Value) {
        let mut compare = |what: String, then: &Value, now: &Value| {
            if same_json(then, now) {
                self.same.push(what);
            } else {
                let (then, now) = (then.to_string(), now.to_string());
                self.differs.push(Differing { what, then, now });
            }
        };
        match (then, now) {
            (Value::Null, Value::Null) => {}
            (Value::Object(old), Value::Object(new)) => {
                let added = new.keys().filter(|key| !old.contains_key(*key));
                for key in old.keys().chain(added) {
                    let [then, now] = [old, new].map(|of| of.get(key).unwrap_or(&Value::Null));
                    compare(format!("result_data.{key}"), then, now);
                }
            }
            (then, now) => compare("result_data".to_owned(), then, now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task;

    const IDS: Ids<'static> = [("replay-2", "sess-1"), ("op_2", "op_1")];

    fn comparison() -> Comparison {
        Comparison {
            effects: Effects::Idempotent,
            session_id: String::new(),
            same: Vec::new(),
            differs: Vec::new(),
        }
    }

    #[test]
    fn results_are_compared_as_canonical_json_key_by_key() {
        let mut found = comparison();
        let then = json!({"a": {"x": 1.0, "y": [2]}, "b": "old", "gone": true});
        let now = json!({"b": "new", "a": {"y": [2], "x": 1}, "more": 1});
        found.results(&then, &now);
        assert_eq!(found.same, ["result_data.a"]);
        let differs: Vec<&str> = found
            .differs
            .iter()
            .map(|differing| differing.what.as_str())
            .collect();
        assert_eq!(
            differs,
            ["result_data.b", "result_data.gone", "result_data.more"]
        );
    }

    #[test]
    fn names_of_sessions_and_operations_are_no_difference() {
        let now = json!({"uri": ["file:///a/replay-2/x.wav", {"scratch": "/s/op_2/x"}], "n": 1});
        let then = json!({"uri": ["file:///a/sess-1/x.wav", {"scratch": "/s/op_1/x"}], "n": 1});
        assert_eq!(of_old(&now, &IDS), then);
    }

    #[test]
    fn what_oneact_fills_itself_is_not_sent_and_secrets_are_not_known() {
        let nature = Nature {
            effects: task::Effects::default(),
            bound: vec!["input_uri".to_owned()],
            blocks: Blocks::No,
            need: Need::None,
        };
        let args = json!({"input_uri": "file:///a", "rate": 8000});
        let said = parameters(Some(&args), &[("CAP".to_owned(), nature)]).unwrap();
        assert_eq!(Value::Object(said), json!({"rate": 8000}));
        assert!(holds_cut(&json!({"headers": ["Bearer ***"]})));
        assert!(!holds_cut(&json!({"headers": ["Bearer"], "n": 3})));
    }
}
