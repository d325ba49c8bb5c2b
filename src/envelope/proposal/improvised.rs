//! The proposal of an improvised action: its steps, or the limits of a grant (R-003-06, C-31).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::task::{
    CapabilityTask, Declared, DeclaredStep, Failure, Fault, Found, Grant, IMPROVISED, Improvised,
    NamedAs, Risk, Task, duration,
};

use crate::envelope::dispatch::of_one;

pub(super) fn read(
    proposal: &Found<'_>,
    stated: Risk,
    notes: &mut Vec<String>,
) -> Result<Task, Failure> {
    let name = proposal.optional("name", Found::owned)?;
    let summary = proposal.required("plan_summary", Found::name)?.to_owned();
    let steps = proposal.optional("steps", declared)?;
    let steps = match (steps, proposal.optional("grant", grant)?) {
        (Some(steps), None) => steps,
        (Some(_), Some(_)) => {
            let message = "the proposal has `steps` and a `grant`; leave one of the two out";
            return Err(Failure::new(Fault::KindRule, message));
        }
        (None, _) => {
            return Ok(Task::Improvised(Improvised {
                name,
                summary,
                stated,
                salt: proposal.optional("salt", Found::owned)?,
                grant: proposal.required("grant", grant)?,
            }));
        }
    };
    let told = steps
        .iter()
        .map(|step| json!({"id": step.id, "name": step.entry, "parameters": step.parameters}));
    let parameters = json!({"plan_summary": summary, "steps": told.collect::<Value>()});
    let called = name.as_deref().unwrap_or(IMPROVISED);
    let task = of_one(proposal, called, IMPROVISED, parameters, notes)?;
    Ok(Task::Capabilities(Box::new(CapabilityTask {
        named_as: NamedAs::Declared(Declared { name, steps }),
        stated,
        ..task
    })))
}

/// The declared steps. A step without an `id` is called by its position: `step_1`.
fn declared(found: &Found<'_>) -> Result<Vec<DeclaredStep>, Failure> {
    let steps = found.list()?;
    let (count, most) = (steps.len(), Declared::MOST);
    if count > most {
        let message = format!("`steps` has {count} steps, but can have at most {most}");
        return Err(Failure::new(Fault::LimitExceeded, message));
    }
    let step = |(at, step): (usize, &Found<'_>)| {
        step.only(&["id", "name", "parameters"])?;
        let id = step.optional("id", Found::owned)?;
        let parameters = step.optional("parameters", Found::object)?;
        Ok(DeclaredStep {
            id: id.unwrap_or_else(|| format!("step_{}", at + 1)),
            entry: step.required("name", Found::name)?.to_owned(),
            parameters: parameters.cloned().unwrap_or_default(),
        })
    };
    steps.iter().enumerate().map(step).collect()
}

fn grant(limits: &Found<'_>) -> Result<Grant, Failure> {
    limits.only(&["entries", "max_calls", "for"])?;
    let limit = |what: String| Failure::new(Fault::LimitExceeded, format!("`grant.{what}"));
    let entries = limits.required("entries", |found| {
        let ids = found.each(|id| id.name().map(str::to_owned))?;
        let ids: BTreeSet<String> = ids.into_iter().collect();
        let wrong = || found.must_be("an array of ids of the catalog");
        (!ids.is_empty()).then_some(ids).ok_or_else(wrong)
    })?;
    let bytes: usize = entries.iter().map(String::len).sum();
    if entries.len() > Grant::MOST_ENTRIES || bytes > Grant::MOST_BYTES {
        return Err(limit(format!(
            "entries` has {} ids with {bytes} bytes, but can have at most {} ids with {} bytes",
            entries.len(),
            Grant::MOST_ENTRIES,
            Grant::MOST_BYTES
        )));
    }
    let calls = limits.required("max_calls", Found::whole)?;
    let max_calls = u32::try_from(calls).unwrap_or(u32::MAX);
    if max_calls > Grant::MOST_CALLS {
        let most = Grant::MOST_CALLS;
        return Err(limit(format!(
            "max_calls` is {calls}, but can be at most {most}"
        )));
    }
    let lasts = limits.required("for", |found| {
        let text = found.value.as_str();
        let text = text.ok_or_else(|| found.must_be("a duration, e.g. \"30m\""))?;
        match found.fits(duration(text))? {
            lasts if lasts <= Grant::LONGEST => Ok(lasts),
            _ => Err(limit(format!(
                "for` is {text:?}, but can be at most one hour (\"1h\")"
            ))),
        }
    })?;
    Ok(Grant {
        entries,
        max_calls,
        lasts,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::envelope::fields::found;

    fn told(change: impl FnOnce(&mut Value)) -> Result<Task, Failure> {
        let mut proposal = json!({
            "plan_summary": "Tidy up", "grant": {"entries": ["b", "a", "b"], "max_calls": 5, "for": "60m"},
        });
        change(&mut proposal);
        let proposal = found("", &proposal);
        read(&proposal, Risk::Low, &mut Vec::new())
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
                "`steps[0].name` must be a non-empty text",
            ),
            (
                json!([{"id": "x"}]),
                Fault::InvalidShape,
                "`steps[0].name` is missing",
            ),
            (
                json!([{"name": "a"}, {"name": "b", "parameters": []}]),
                Fault::InvalidShape,
                "`steps[1].parameters` must be an object",
            ),
            (
                json!([{"name": "a", "id": 1}]),
                Fault::InvalidShape,
                "`steps[0].id`",
            ),
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
