//! The proposal of an improvised action: its steps, or the limits of a grant (R-003-06, C-31).

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Map, Value};

use crate::task::{Failure, Fault, Grant, Improvised, Risk, Wish, cut_links, duration};

use super::super::fields::{optional, optional_text, required_text, shape};

pub(super) fn read(proposal: &Map<String, Value>, stated: Risk) -> Result<Improvised, Failure> {
    let objects = |value: &Value| value.as_array()?.iter().all(Value::is_object).then_some(());
    let steps = optional(proposal, "steps", "an array of objects", objects)?;
    let limits = optional(proposal, "grant", "an object", Value::as_object)?;
    let wish = match (steps, limits) {
        (_, None) => Wish::Steps,
        (None, Some(limits)) => Wish::Grant(grant(limits)?),
        (Some(()), Some(_)) => {
            let message = "the proposal has `steps` and a `grant`; leave one of the two out";
            return Err(Failure::new(Fault::KindRule, message));
        }
    };
    let mut summary = required_text(proposal, "plan_summary")?;
    cut_links(&mut summary);
    Ok(Improvised {
        name: optional_text(proposal, "name")?,
        summary,
        stated,
        salt: optional_text(proposal, "salt")?,
        wish,
    })
}

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

    fn told(change: impl FnOnce(&mut Value)) -> Result<Improvised, Failure> {
        let mut proposal = json!({
            "plan_summary": "Tidy up", "grant": {"entries": ["b", "a", "b"], "max_calls": 5, "for": "60m"},
        });
        change(&mut proposal);
        read(proposal.as_object().unwrap(), Risk::Low)
    }

    #[test]
    fn a_grant_names_entries_a_number_of_calls_and_a_time_r_003_06() {
        let read = told(|_| ()).unwrap();
        let Wish::Grant(grant) = read.wish else {
            panic!("{read:?}");
        };
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

    #[test]
    fn the_summary_that_a_person_reads_shows_no_signature_of_a_link() {
        let link = "See https://h/a?X-Amz-Signature=5ecret";
        let read = told(|proposal| proposal["plan_summary"] = json!(link)).unwrap();
        assert!(!read.summary.contains("5ecret"), "{}", read.summary);
    }
}
