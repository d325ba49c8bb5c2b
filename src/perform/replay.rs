//! Doing a recorded step again, to see whether it comes out the same: in a session of its own, and never
//! what happens in the world.

use serde_json::{Map, Value, json};

use crate::{
    assets::print,
    catalog::{Acts, Catalog, Nature, nature},
    envelope::read_response,
    host::{Host, Interrupt},
    ledger::{Made, Row, SCRATCH, same_json},
    task::{
        BLOB, CUT, Content, Course, Failure, Fault, Links, OperationId, Outcome, Reuse, Sight,
        State, Uri, redact_value,
    },
};

use super::{Arrived, Mode, Reply, Settings, perform};

/// What came of it.
#[derive(Debug)]
pub(crate) enum Repeated {
    /// Nothing ran, for this reason.
    Refused(String),
    /// A signal ended it before there was anything to compare.
    Cancelled(Interrupt),
    Compared(Comparison),
}

/// The old answer beside the new one.
#[derive(Debug)]
pub(crate) struct Comparison {
    pub(crate) acts: Acts,
    /// The session it was done in.
    pub(crate) session_id: String,
    pub(crate) same: Vec<String>,
    pub(crate) differs: Vec<Differing>,
}

/// Something that came out otherwise.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Differing {
    pub(crate) what: String,
    pub(crate) then: String,
    pub(crate) now: String,
}

/// Does the step of a row again.
pub(crate) fn repeat(row: &Row, settings: &Settings, host: &Host) -> Repeated {
    let again = match again(row, settings, host) {
        Ok(again) => again,
        Err(why) => return Repeated::Refused(why),
    };
    let settings = Settings {
        mode: Mode::Run,
        reuse: Reuse::Off,
        reply: Reply::Adl,
        expect: None,
        ..settings.clone()
    };
    tracing::info!("It is done again in the session {}.", again.session_id);
    let input = Ok(again.task.to_string().into_bytes());
    let arrived = Arrived::read(input, host.moment(), host);
    let answer = perform(&arrived, &settings, host, &Course::default(), &|_| ());
    let outcome = answer.outcome();
    if outcome.state == State::Cancelled {
        let interrupt = host.interrupts().caught();
        return Repeated::Cancelled(interrupt.unwrap_or(Interrupt::TERMINATE));
    }
    let nothing_ran = |failure: &&Failure| {
        outcome.state == State::Rejected
            || matches!(
                failure.fault,
                Fault::LedgerUnavailable | Fault::RequestInFlight
            )
    };
    if let Some(failure) = outcome.failure.as_ref().filter(nothing_ran) {
        return Repeated::Refused(format!("it cannot be done again: {}", failure.message));
    }
    let envelope: Value = serde_json::from_slice(&answer.line).unwrap_or_default();
    let operation = envelope.pointer("/output/content/oneact/operation_id");
    let names = Names {
        new: [
            &again.session_id,
            operation
                .and_then(Value::as_str)
                .unwrap_or(&again.session_id),
        ],
        old: [&row.session_id, &row.operation_id],
    };
    Repeated::Compared(compare(
        row,
        outcome,
        &names,
        again.acts,
        settings.root.as_path(),
    ))
}

/// What is to be sent.
struct Once {
    task: Value,
    session_id: String,
    acts: Acts,
}

/// The task of a row, in a session of its own; or why it must not or cannot be done again.
fn again(row: &Row, settings: &Settings, host: &Host) -> Result<Once, String> {
    let action = row.action_type.as_deref().unwrap_or_default();
    if row.state.is_none() {
        return Err("it was recorded before oneact, and how it was done is not known".to_owned());
    }
    let text = row.request.as_deref();
    let text = text.ok_or("its request was pruned; only the hash is left")?;
    let unreadable = |_| "its request cannot be read; `oneact verify` says whether it was changed";
    let request: Value = serde_json::from_str(text).map_err(unreadable)?;
    let acts = acts(action, settings)?;
    if let Acts::Once = acts.worst {
        return Err(format!(
            "{action} happens in the world; replay never repeats it."
        ));
    }
    let around = |name: &str| request.pointer(&format!("/context/{name}")).cloned();
    let said = parameters(request.get("args"), &acts.each)?;
    let inputs = around("inputs").and_then(|inputs| inputs.as_array().cloned());
    let inputs: Vec<Value> = inputs.unwrap_or_default().iter().map(input).collect();
    let said = Value::Object(said);
    let context = request.get("context").unwrap_or(&Value::Null);
    if [&said, context].into_iter().chain(&inputs).any(holds_cut) {
        let what = "a secret, a signed link or a long value, which the record does not keep";
        return Err(format!("it was done with {what}"));
    }
    let operation = OperationId::new(host.timestamp(), host.random_bytes());
    let session_id = format!("{SCRATCH}{}", operation.as_str().trim_start_matches("op_"));
    let ids: Vec<&str> = action.split('+').collect();
    let task = json!({
        "dispatch": {
            "task_id": row.task_id.as_deref().unwrap_or("replay"),
            "action": around("action").filter(Value::is_string).unwrap_or_default(),
            "capability_ids": ids, "attempt": 1, "parameters": said,
            "input_refs_resolved": inputs,
            "output_refs_expected": around("outputs").filter(Value::is_array).unwrap_or(json!([])),
        },
        "metadata": {"session_id": session_id},
    });
    Ok(Once {
        task: without_null_action(task),
        session_id,
        acts: acts.worst,
    })
}

/// `action` must be a string where it is said.
fn without_null_action(mut task: Value) -> Value {
    if let Some(dispatch) = task.get_mut("dispatch").and_then(Value::as_object_mut)
        && dispatch.get("action").is_some_and(Value::is_null)
    {
        dispatch.remove("action");
    }
    task
}

/// What the capabilities of a row do by today's catalog.
struct All {
    each: Vec<(String, Nature)>,
    worst: Acts,
}

fn acts(action: &str, settings: &Settings) -> Result<All, String> {
    // Undoing is no capability, and happens in the world.
    if action == "rollback" {
        return Ok(All {
            each: Vec::new(),
            worst: Acts::Once,
        });
    }
    let catalog = Catalog::load(&settings.catalog).map_err(|error| error.to_string())?;
    let tables = catalog.tables().map_err(|error| error.to_string())?;
    let mut each = Vec::new();
    for id in action.split('+') {
        let nature = nature(&tables, id).map_err(|failure| failure.message)?;
        each.push((id.to_owned(), nature));
    }
    let worst = each.iter().map(|(_, nature)| nature.acts).max();
    Ok(All {
        worst: worst.unwrap_or(Acts::Once),
        each,
    })
}

/// The recorded arguments without those that oneact fills itself.
fn parameters(
    args: Option<&Value>,
    each: &[(String, Nature)],
) -> Result<Map<String, Value>, String> {
    let own = |args: Option<&Value>, nature: &Nature| {
        let args = args.and_then(Value::as_object);
        let mut args = args.ok_or("its request holds no parameters")?.clone();
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

/// An input as a task names it.
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

/// Names that differ between any two runs: of a session and of an operation.
struct Names<'a> {
    new: [&'a str; 2],
    old: [&'a str; 2],
}

impl Names<'_> {
    /// A value of the new run, with the names of the old one.
    fn of_old(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => {
                let mut text = text.clone();
                for (new, old) in self.new.iter().zip(self.old) {
                    text = text.replace(new, old);
                }
                Value::String(text)
            }
            Value::Array(items) => items.iter().map(|item| self.of_old(item)).collect(),
            Value::Object(object) => {
                let each = |(key, value): (&String, &Value)| (key.clone(), self.of_old(value));
                Value::Object(object.iter().map(each).collect())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}

fn compare(
    row: &Row,
    outcome: &Outcome,
    names: &Names<'_>,
    acts: Acts,
    root: &camino::Utf8Path,
) -> Comparison {
    let mut found = Comparison {
        acts,
        session_id: names.new.first().copied().unwrap_or_default().to_owned(),
        same: Vec::new(),
        differs: Vec::new(),
    };
    let old = row.response.as_deref().and_then(read_response);
    let ended = |fault: Option<&str>| match fault {
        Some(fault) => format!("failed: {fault}"),
        None => "succeeded".to_owned(),
    };
    let now = outcome.failure.as_ref().map(|failure| failure.fault.name());
    found.add("how it ended", &ended(row.fault.as_deref()), &ended(now));
    let made = |text: &str| serde_json::from_str::<Vec<Made>>(text).ok();
    let made = row.output_ids.as_deref().and_then(made).unwrap_or_default();
    // The file of a large result is compared as the result.
    for made in made.iter().filter(|made| made.is_asset()) {
        let now = outcome
            .produced
            .iter()
            .find(|produced| produced.ref_id.as_str() == made.ref_id);
        let now = now.and_then(|produced| Uri::parse(&produced.storage_uri).ok());
        let now = now.map_or(Sight::Absent, |uri| {
            print::print(&uri, root, Links::Refused, &|| true).sight
        });
        found.add(&made.ref_id, &sight(&made.print.sight), &sight(&now));
    }
    let is_new = |id: &str| !made.iter().any(|made| made.ref_id == id);
    for produced in &outcome.produced {
        if is_new(produced.ref_id.as_str()) {
            found.add(produced.ref_id.as_str(), "not made", "made");
        }
    }
    let then = old.and_then(|old| old.result_data).unwrap_or_default();
    let now = outcome.result_data.as_ref();
    let mut now = now.map(|data| names.of_old(data)).unwrap_or_default();
    // The record keeps no signature of a link.
    redact_value(&mut now);
    found.results(&then, &now);
    found
}

fn sight(sight: &Sight) -> String {
    match sight {
        Sight::Content(Content { bytes, blake3, .. }) => format!("blake3 {blake3}, {bytes} bytes"),
        Sight::Absent => "not there".to_owned(),
        Sight::Unknown => "not known".to_owned(),
    }
}

impl Comparison {
    fn add(&mut self, what: &str, then: &str, now: &str) {
        if then == now {
            self.same.push(format!("{what}: {now}"));
        } else {
            self.differs.push(Differing {
                what: what.to_owned(),
                then: then.to_owned(),
                now: now.to_owned(),
            });
        }
    }

    /// Results by canonical JSON: of objects each key for itself.
    fn results(&mut self, then: &Value, now: &Value) {
        let (Value::Object(old), Value::Object(new)) = (then, now) else {
            if !(then.is_null() && now.is_null()) {
                self.value("result_data", then, now);
            }
            return;
        };
        let null = Value::Null;
        let added = new.keys().filter(|key| !old.contains_key(*key));
        for key in old.keys().chain(added) {
            let what = format!("result_data.{key}");
            self.value(
                &what,
                old.get(key).unwrap_or(&null),
                new.get(key).unwrap_or(&null),
            );
        }
    }

    fn value(&mut self, what: &str, then: &Value, now: &Value) {
        if same_json(then, now) {
            self.same.push(what.to_owned());
        } else {
            let text = |value: &Value| value.to_string();
            self.differs.push(Differing {
                what: what.to_owned(),
                then: text(then),
                now: text(now),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: Names<'static> = Names {
        new: ["replay-2", "op_2"],
        old: ["sess-1", "op_1"],
    };

    fn comparison() -> Comparison {
        Comparison {
            acts: Acts::Idempotent,
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
        assert_eq!(NAMES.of_old(&now), then);
    }

    #[test]
    fn what_oneact_fills_itself_is_not_sent_and_secrets_are_not_known() {
        let nature = Nature {
            acts: Acts::ReadOnly,
            bound: vec!["input_uri".to_owned()],
        };
        let args = json!({"input_uri": "file:///a", "rate": 8000});
        let said = parameters(Some(&args), &[("CAP".to_owned(), nature)]).unwrap();
        assert_eq!(Value::Object(said), json!({"rate": 8000}));
        assert!(holds_cut(&json!({"headers": ["Bearer ***"]})));
        assert!(!holds_cut(&json!({"headers": ["Bearer"], "n": 3})));
    }
}
