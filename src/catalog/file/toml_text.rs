//! Values as they are written into a catalog.

use std::borrow::Cow;

use serde_json::Value;

use crate::task::visible;

/// A value in the notation of TOML, on one line.
pub(crate) fn toml(value: &Value) -> String {
    match value {
        Value::Object(table) if table.is_empty() => "{}".to_owned(),
        Value::Object(table) => {
            let pairs: Vec<String> = table
                .iter()
                .map(|(name, value)| format!("{} = {}", key(name), toml(value)))
                .collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(toml).collect();
            format!("[{}]", items.join(", "))
        }
        // JSON's escapes are also TOML's. A character that an editor would not show is escaped, too: TOML wants that for DEL.
        value => {
            let escaped = |c: char| match visible(&c.to_string()) {
                Cow::Borrowed(_) => c.to_string(),
                Cow::Owned(_) => format!("\\U{:08x}", u32::from(c)),
            };
            value.to_string().chars().map(escaped).collect()
        }
    }
}

pub(crate) fn key(name: &str) -> String {
    if is_bare(name) {
        name.to_owned()
    } else {
        toml(&name.into())
    }
}

/// Whether a key is one without quotes: letters, digits, `_` and `-`.
pub(crate) fn is_bare(key: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !key.is_empty() && key.bytes().all(plain)
}
