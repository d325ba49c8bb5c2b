//! Redacts a plan for the ledger: values that its diff would hide are replaced (R-001-161, invariant 6).

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};

use crate::task::{CUT, hidden};

/// The plan, or any part of it, with `***` for values that look like credentials.
pub(super) fn redacted(plan: &Value) -> Value {
    match plan {
        Value::String(text) => Value::String(hidden(text).into_owned()),
        Value::Array(items) => items.iter().map(redacted).collect(),
        Value::Object(object) => {
            let each = |(name, value): (&String, &Value)| {
                let value = if is_secret(object, name, value) {
                    Value::from(CUT)
                } else {
                    redacted(value)
                };
                (name.clone(), value)
            };
            Value::Object(object.iter().map(each).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => plan.clone(),
    }
}

/// Whether the value is a secret because of its name or of the fields beside it.
fn is_secret(object: &Map<String, Value>, name: &str, value: &Value) -> bool {
    let text = |key: &str| object.get(key).and_then(Value::as_str);
    match value {
        Value::Object(_) | Value::Array(_) | Value::Null => false,
        Value::String(content) if name == "content" && text("encoding") == Some("base64") => {
            let bytes = STANDARD.decode(content).unwrap_or_default();
            std::str::from_utf8(&bytes).is_ok_and(hides)
        }
        // The value of an edit of JSON or YAML: its name is in the path or the key.
        _ if name == "value" => ["path", "key"]
            .into_iter()
            .filter_map(text)
            .any(names_secret),
        _ => names_secret(name),
    }
}

/// Whether a value with this name is redacted. For a path such as `$['db']['password']`, the last name counts.
fn names_secret(name: &str) -> bool {
    let name = name.trim_end_matches([']', '\'', '"']);
    hides(&format!("{name}: \"x\""))
}

fn hides(text: &str) -> bool {
    hidden(text) != text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_credential_that_a_plan_writes_is_kept_r_001_161() {
        let plan = json!({"plan_id": "p", "action_plan": [
            {"target": ".env", "operation": {"type": "create", "content": "HOST=h\nDB_PASSWORD=hunter2\n"}},
            {"target": "b", "operation": {"type": "create", "encoding": "base64", "content": STANDARD.encode("TOKEN=hunter2")}},
            {"target": "c.json", "operation": {"type": "json_update_value", "path": "$['db']['password']", "value": "hunter2"}},
            {"target": "c.json", "operation": {"type": "json_add_property", "path": "$", "key": "api_key", "value": "hunter2"}},
            {"target": "c.json", "operation": {"type": "json_add_property", "path": "$", "key": "db", "value": {"password": "hunter2"}}},
            {"target": "d", "operation": {"type": "create", "content": "https://b/a?X-Amz-Signature=hunter2"}},
        ]});
        let kept = redacted(&plan).to_string();
        assert!(!kept.contains("hunter2"), "{kept}");
        assert!(!kept.contains(&STANDARD.encode("TOKEN=hunter2")), "{kept}");
        assert!(kept.contains("HOST=h\\nDB_PASSWORD=***\\n"), "{kept}");
    }

    #[test]
    fn all_else_of_a_plan_is_kept_as_it_is() {
        let plan = json!({"plan_id": "p", "action_plan": [
            {"target": "a", "operation": {"type": "line_insert", "line_number": 3, "content": "max_tokens = 4096"}},
            {"target": "b", "operation": {"type": "create", "encoding": "base64", "content": "AAEC"}},
            {"target": "c.json", "operation": {"type": "json_update_value", "path": "$.a", "value": 1.50}},
        ]});
        assert_eq!(redacted(&plan), plan);
    }
}
