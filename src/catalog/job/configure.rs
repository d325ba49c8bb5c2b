//! The parameters of a call: defaults, the action text, the task's own parameters, and the changes that the entry
//! makes on a retry (000 §Step 4).

use std::time::Duration;

use serde_json::{Map, Number, Value};

use crate::task::{CapabilityTask, Failure, Fault, decided};

use crate::catalog::entry::tool::Entry;

/// The parameters before binding, and the time that the call may take.
#[derive(Debug)]
pub(crate) struct Configured {
    pub(crate) parameters: Map<String, Value>,
    /// The parameters before the changes of a retry.
    pub(crate) asked: Map<String, Value>,
    pub(crate) timeout: Duration,
    pub(crate) reasoning: Vec<String>,
}

/// Merges the parameters: the task overrides the action text, which overrides the defaults (R-000-63, C-09).
pub(crate) fn configure(
    entry: &Entry,
    task: &CapabilityTask,
    said: &Map<String, Value>,
    last: Option<Fault>,
) -> Result<Configured, Failure> {
    let mut bound = entry.bind.iter();
    if let Some(bound) = bound.find(|bound| said.contains_key(&bound.parameter)) {
        let message = format!(
            "the parameter `{}` of {} cannot be set, because oneact fills it from {}",
            bound.parameter, entry.id, bound.text
        );
        return Err(Failure::new(Fault::ParamsInvalid, message));
    }
    let mut reasoning = Vec::new();
    let mut parameters = entry.defaults.clone();
    for (name, value) in extracted(entry, &task.action)? {
        if !said.contains_key(&name) {
            let shown = entry.shown(&name, &value);
            let sentence = format!("Took {name} = {shown} from the action text.");
            reasoning.push(decided(sentence));
        }
        parameters.insert(name, value);
    }
    tell(entry, said, &parameters);
    parameters.extend(said.clone());
    let mut configured = Configured {
        asked: parameters.clone(),
        parameters,
        timeout: entry.timeout,
        reasoning,
    };
    if task.attempt > 1 {
        adjust(&mut configured, entry, task.attempt, last);
    }
    Ok(configured)
}

/// Logs which parameters come from the task and which from the entry's defaults. Only names, because a value may
/// be secret.
fn tell(entry: &Entry, said: &Map<String, Value>, before: &Map<String, Value>) {
    let told = |names: &[&str], whence: &str| {
        if !names.is_empty() {
            tracing::info!("{} takes from {whence}: {}.", entry.id, names.join(", "));
        }
    };
    let names: Vec<&str> = said.keys().map(String::as_str).collect();
    told(&names, "the task");
    let defaults = entry
        .defaults
        .iter()
        .filter(|(name, value)| !said.contains_key(*name) && before.get(*name) == Some(*value));
    let names: Vec<&str> = defaults.map(|(name, _)| name.as_str()).collect();
    told(&names, "its defaults");
}

/// The named captures of the entry's patterns. Free text decides nothing else (C-09).
fn extracted(entry: &Entry, action: &str) -> Result<Vec<(String, Value)>, Failure> {
    let mut found = Vec::new();
    for pattern in &entry.extract {
        let Some(captures) = pattern.captures(action) else {
            continue;
        };
        for name in pattern.capture_names().flatten() {
            if let Some(text) = captures.name(name) {
                found.push((name.to_owned(), typed(entry, name, text.as_str())?));
            }
        }
    }
    Ok(found)
}

/// Converts a captured text to the type that the schema declares for the parameter. If the schema lists the
/// values, case is ignored: `as FLAC` gives `flac`.
fn typed(entry: &Entry, name: &str, text: &str) -> Result<Value, Failure> {
    let same = |value: &&Value| {
        let value = value.as_str();
        value.is_some_and(|value| value.eq_ignore_ascii_case(text))
    };
    let listed = declared(entry, name, "enum").and_then(Value::as_array);
    if let Some(value) = listed.and_then(|values| values.iter().find(same)) {
        return Ok(value.clone());
    }
    let declared = declared(entry, name, "type").and_then(Value::as_str);
    let value = match declared {
        Some("integer") => text.parse::<i64>().ok().map(Value::from),
        Some("number") => text
            .parse::<f64>()
            .ok()
            .and_then(Number::from_f64)
            .map(Value::Number),
        Some("boolean") => text.parse::<bool>().ok().map(Value::Bool),
        _ => Some(Value::from(text)),
    };
    value.ok_or_else(|| {
        let declared = declared.unwrap_or("string");
        let shown = entry.shown(name, &Value::from(text));
        let message =
            format!("the action text says {name} = {shown}, which is not of the type {declared}");
        Failure::new(Fault::ParamsInvalid, message)
    })
}

/// The value of that keyword in the schema of a parameter.
fn declared<'a>(entry: &'a Entry, name: &str, keyword: &str) -> Option<&'a Value> {
    entry.schema.as_ref()?.property(name)?.get(keyword)
}

/// Applies the retry rules for the failure of the last attempt (R-000-64 … R-000-66). If that failure is unknown,
/// a rule with `after` only lengthens the timeout: parameters change only for a known reason.
fn adjust(configured: &mut Configured, entry: &Entry, attempt: u32, last: Option<Fault>) {
    let retries = i32::try_from(attempt - 1).unwrap_or(i32::MAX);
    for rule in &entry.retry {
        let answers = match last {
            Some(fault) => rule.after.is_empty() || rule.after.contains(&fault),
            None => true,
        };
        if !answers {
            continue;
        }
        if let Some(factor) = rule.timeout_factor {
            let before = configured.timeout;
            let longer = before.as_secs_f64() * factor.powi(retries);
            configured.timeout = Duration::try_from_secs_f64(longer)
                .unwrap_or(entry.timeout_max)
                .min(entry.timeout_max);
            if configured.timeout != before {
                configured.reasoning.push(decided(format!(
                    "Raised the timeout from {before:?} to {:?} for attempt {attempt}.",
                    configured.timeout
                )));
            }
        }
        if last.is_none() && !rule.after.is_empty() {
            tracing::info!(
                "A retry rule with `after` changes no parameter, because the failure of the last attempt is not known."
            );
            continue;
        }
        for (name, value) in &rule.set {
            configured.parameters.insert(name.clone(), value.clone());
            configured.reasoning.push(decided(format!(
                "Set {name} to {} for attempt {attempt}.",
                entry.shown(name, value)
            )));
        }
        for (name, factor) in &rule.multiply {
            let start = configured.parameters.get(name).or(rule.start.get(name));
            let Some(start) = start.and_then(Value::as_f64) else {
                continue;
            };
            if let Some(value) = scaled(entry, name, start * factor.powi(retries)) {
                configured.reasoning.push(decided(format!(
                    "Set {name} to {} for attempt {attempt}.",
                    entry.shown(name, &value)
                )));
                configured.parameters.insert(name.clone(), value);
            }
        }
    }
}

/// The scaled parameter: an integer if the schema says so, and never below the schema's minimum.
fn scaled(entry: &Entry, name: &str, value: f64) -> Option<Value> {
    let minimum = declared(entry, name, "minimum").and_then(Value::as_f64);
    let value = value.max(minimum.unwrap_or(f64::MIN));
    if declared(entry, name, "type").and_then(Value::as_str) == Some("integer") {
        // Without a fraction, the text parses as the integer that the schema requires.
        return serde_json::from_str(&format!("{:.0}", value.floor())).ok();
    }
    Number::from_f64(value).map(Value::Number)
}
