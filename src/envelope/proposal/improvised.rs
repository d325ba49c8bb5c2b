//! The proposal of an improvised action: its steps, or the limits of a grant (R-003-06, C-31).

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Map, Value, json};

use crate::task::{
    CapabilityTask, Declared, DeclaredStep, Failure, Fault, Grant, IMPROVISED, Improvised, NamedAs,
    Risk, Task, duration,
};

use super::{
    super::fields::{optional, optional_text, required_text, shape},
    of_one,
};

pub(super) fn read(
    proposal: &Map<String, Value>,
    stated: Risk,
    notes: &mut Vec<String>,
) -> Result<Task, Failure> {
    let objects = |value: &'_ Value| {
        let objects = value
            .as_array()?
            .iter()
            .map(|each| each.as_object().cloned());
        objects.collect::<Option<Vec<_>>>()
    };
    let steps = optional(proposal, "steps", "an array of objects", objects)?;
    let limits = optional(proposal, "grant", "an object", Value::as_object)?;
    let name = optional_text(proposal, "name")?;
    let summary = required_text(proposal, "plan_summary")?;
    match (steps, limits) {
        (Some(_), Some(_)) => {
            let message = "the proposal has `steps` and a `grant`; leave one of the two out";
            Err(Failure::new(Fault::KindRule, message))
        }
        (None, limits) => Ok(Task::Improvised(Improvised {
            name,
            summary,
            stated,
            salt: optional_text(proposal, "salt")?,
            grant: grant(limits.unwrap_or(&Map::new()))?,
        })),
        (Some(steps), None) => {
            let steps = declared(&steps)?;
            let told = steps.iter().map(
                |step| json!({"id": step.id, "name": step.entry, "parameters": step.parameters}),
            );
            let parameters = json!({"plan_summary": summary, "steps": told.collect::<Value>()});
            let called = name.as_deref().unwrap_or(IMPROVISED);
            let task = of_one(proposal, called, IMPROVISED, parameters, notes)?;
            Ok(Task::Capabilities(Box::new(CapabilityTask {
                named_as: NamedAs::Declared(Declared { name, steps }),
                stated,
                ..task
            })))
        }
    }
}

/// The declared steps. A step without an `id` is called by its position: `step_1`.
fn declared(steps: &[Map<String, Value>]) -> Result<Vec<DeclaredStep>, Failure> {
    if steps.len() > Declared::MOST {
        let message = format!(
            "`steps` has {} steps, but can have at most {}",
            steps.len(),
            Declared::MOST
        );
        return Err(Failure::new(Fault::LimitExceeded, message));
    }
    let step = |(at, step): (usize, &Map<String, Value>)| {
        let within = |failure: Failure| shape(format!("`steps[{at}]`: {}", failure.message));
        if let Some(key) = step.keys().find(|key| !OF_STEP.contains(&key.as_str())) {
            return Err(shape(format!(
                "`steps[{at}]` has the unknown key `{key}`; its keys are `id`, `name` and `parameters`"
            )));
        }
        let parameters = optional(step, "parameters", "an object", Value::as_object);
        Ok(DeclaredStep {
            id: optional_text(step, "id")
                .map_err(within)?
                .unwrap_or_else(|| format!("step_{}", at + 1)),
            entry: required_text(step, "name").map_err(within)?,
            parameters: parameters.map_err(within)?.cloned().unwrap_or_default(),
        })
    };
    steps.iter().enumerate().map(step).collect()
}

const OF_STEP: [&str; 3] = ["id", "name", "parameters"];

const KEYS: [&str; 3] = ["entries", "max_calls", "for"];

fn grant(limits: &Map<String, Value>) -> Result<Grant, Failure> {
    if let Some(key) = limits.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let message = format!(
            "`grant` has the unknown key `{key}`; its keys are `entries`, `max_calls` and `for`"
        );
        return Err(shape(message));
    }
    let wrong = |key: &str, what: &str| shape(format!("`grant.{key}` must be {what}"));
    let limit = |what: String| Failure::new(Fault::LimitExceeded, format!("`grant.{what}"));
    let ids = |value: &Value| -> Option<BTreeSet<String>> {
        let ids = value.as_array()?.iter();
        ids.map(|id| id.as_str().filter(|id| !id.is_empty()).map(str::to_owned))
            .collect()
    };
    let entries = limits
        .get("entries")
        .and_then(ids)
        .filter(|ids| !ids.is_empty());
    let entries = entries.ok_or_else(|| wrong("entries", "an array of ids of the catalog"))?;
    let bytes: usize = entries.iter().map(String::len).sum();
    if entries.len() > Grant::MOST_ENTRIES || bytes > Grant::MOST_BYTES {
        return Err(limit(format!(
            "entries` has {} ids with {bytes} bytes, but can have at most {} ids with {} bytes",
            entries.len(),
            Grant::MOST_ENTRIES,
            Grant::MOST_BYTES
        )));
    }
    let calls = limits.get("max_calls").and_then(Value::as_u64);
    let calls = calls.filter(|calls| *calls > 0);
    let calls = calls.ok_or_else(|| wrong("max_calls", "a whole number of 1 or more"))?;
    let max_calls = u32::try_from(calls).unwrap_or(u32::MAX);
    if max_calls > Grant::MOST_CALLS {
        let most = Grant::MOST_CALLS;
        return Err(limit(format!(
            "max_calls` is {calls}, but can be at most {most}"
        )));
    }
    let text = limits.get("for").and_then(Value::as_str);
    let text = text.ok_or_else(|| wrong("for", "a duration, e.g. \"30m\""))?;
    let lasts: Duration = duration(text).map_err(|why| shape(format!("`grant.for`: {why}")))?;
    if lasts > Grant::LONGEST {
        return Err(limit(format!(
            "for` is {text:?}, but can be at most one hour (\"1h\")"
        )));
    }
    Ok(Grant {
        entries,
        max_calls,
        lasts,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(change: impl FnOnce(&mut Value)) -> Result<Task, Failure> {
        let mut proposal = json!({
            "plan_summary": "Tidy up", "grant": {"entries": ["b", "a", "b"], "max_calls": 5, "for": "60m"},
        });
        change(&mut proposal);
        read(proposal.as_object().unwrap(), Risk::Low, &mut Vec::new())
    }

    fn improvised(task: Task) -> Improvised {
        match task {
            Task::Improvised(improvised) => improvised,
            other => panic!("{other:?}"),
        }
    }

    fn of_steps(steps: &Value) -> Result<Task, Failure> {
        told(|proposal| {
            proposal["grant"] = json!(null);
            proposal["steps"] = steps.clone();
        })
    }

    #[test]
    fn declared_steps_are_a_task_of_one_capability_that_is_no_entry_r_003_06() {
        let steps = json!([{"name": "a", "parameters": {"x": 1}}, {"name": "a", "id": "last"}]);
        let Ok(Task::Capabilities(task)) = of_steps(&steps) else {
            panic!("{steps}");
        };
        assert_eq!(
            (task.capability_ids.as_slice(), task.task_id.as_str()),
            (["improvised".to_owned()].as_slice(), "improvised")
        );
        assert_eq!(task.parameters[0]["steps"][0]["id"], "step_1");
        let NamedAs::Declared(declared) = &task.named_as else {
            panic!("{task:?}");
        };
        assert_eq!(declared.steps[1].id, "last");
        assert_eq!(declared.steps[0].parameters["x"], 1);
    }

    #[test]
    fn declared_steps_of_another_shape_are_refused() {
        let many: Vec<Value> = (0..17).map(|_| json!({"name": "a"})).collect();
        for (steps, fault, why) in [
            (
                json!([{"name": ""}]),
                Fault::InvalidShape,
                "`steps[0]`: `name`",
            ),
            (
                json!([{"id": "x"}]),
                Fault::InvalidShape,
                "`name` is missing",
            ),
            (
                json!([{"name": "a"}, {"name": "b", "parameters": []}]),
                Fault::InvalidShape,
                "`steps[1]`: `parameters`",
            ),
            (json!([{"name": "a", "id": 1}]), Fault::InvalidShape, "`id`"),
            (
                json!([{"name": "a", "depends_on": []}]),
                Fault::InvalidShape,
                "unknown key `depends_on`",
            ),
            (json!(many), Fault::LimitExceeded, "at most 16"),
        ] {
            let refused = of_steps(&steps).unwrap_err();
            assert_eq!(refused.fault, fault, "{steps}: {}", refused.message);
            assert!(refused.message.contains(why), "{}", refused.message);
        }
    }

    #[test]
    fn a_grant_names_entries_a_number_of_calls_and_a_time_r_003_06() {
        let grant = improvised(told(|_| ()).unwrap()).grant;
        assert_eq!(grant.entries.into_iter().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((grant.max_calls, grant.lasts), (5, Duration::from_hours(1)));
    }

    #[test]
    fn a_grant_without_limits_or_with_larger_ones_is_refused() {
        let many: Vec<String> = (0..33).map(|n| format!("a{n}")).collect();
        for (key, value, fault) in [
            ("entries", json!(null), Fault::InvalidShape),
            ("entries", json!([]), Fault::InvalidShape),
            ("entries", json!([""]), Fault::InvalidShape),
            ("entries", json!(["a", 1]), Fault::InvalidShape),
            ("entries", json!("a"), Fault::InvalidShape),
            ("entries", json!(many), Fault::LimitExceeded),
            ("entries", json!(["a".repeat(2049)]), Fault::LimitExceeded),
            ("max_calls", json!(null), Fault::InvalidShape),
            ("max_calls", json!(0), Fault::InvalidShape),
            ("max_calls", json!(-1), Fault::InvalidShape),
            ("max_calls", json!(1.5), Fault::InvalidShape),
            ("max_calls", json!(51), Fault::LimitExceeded),
            ("max_calls", json!(1_u64 << 40), Fault::LimitExceeded),
            ("for", json!(null), Fault::InvalidShape),
            ("for", json!(60), Fault::InvalidShape),
            ("for", json!("0s"), Fault::InvalidShape),
            ("for", json!("61m"), Fault::LimitExceeded),
            ("forever", json!(true), Fault::InvalidShape),
        ] {
            let refused = told(|proposal| proposal["grant"][key] = value.clone()).unwrap_err();
            assert_eq!(refused.fault, fault, "{key} {value}: {}", refused.message);
            assert!(refused.message.contains(key), "{}", refused.message);
        }
        let both = told(|proposal| proposal["steps"] = json!([{"name": "a"}])).unwrap_err();
        assert_eq!(both.fault, Fault::KindRule);
    }
}
