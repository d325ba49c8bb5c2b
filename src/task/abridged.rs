//! What records and answers show of a long value: how long it is, and its hash. The value itself stands in the
//! task, which is answered in full; each further copy of it would cost its size once more.

use std::io;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::hexadecimal;

/// The longest JSON text that a value is shown in, in bytes.
const LONGEST: usize = 256 * 1024;

/// The key under which the hash of a value stands in its place.
pub const BLOB: &str = "$blob";

/// The object, with `{"$blob": {"bytes": …, "sha256": …}}` in the place of every value in it whose JSON text is
/// longer than 256 KiB, the inner ones first. Hashed is the compact text.
#[must_use]
pub fn abridged(object: Map<String, Value>) -> Map<String, Value> {
    let mut value = Value::Object(object);
    abridge(&mut value);
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// Abridges a value, and answers how long its JSON text is now, or nearly.
pub fn abridge(value: &mut Value) -> usize {
    let bytes = length(value);
    if bytes <= LONGEST {
        return bytes;
    }
    let mut hash = Hash(Sha256::new());
    // Hashing cannot fail, and the values were read from JSON.
    let _ = serde_json::to_writer(&mut hash, value);
    *value = json!({BLOB: {"bytes": bytes, "sha256": hexadecimal(&hash.0.finalize())}});
    length(value)
}

/// The length once the inner values are abridged.
fn length(value: &mut Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 4,
        Value::Number(number) => number.as_str().len(),
        Value::String(text) => text.len() + 2,
        Value::Array(items) => {
            2 + items
                .iter_mut()
                .map(|item| abridge(item) + 1)
                .sum::<usize>()
        }
        Value::Object(members) => {
            let each = |(name, value): (&String, &mut Value)| name.len() + 4 + abridge(value);
            2 + members.iter_mut().map(each).sum::<usize>()
        }
    }
}

struct Hash(Sha256);

impl io::Write for Hash {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(value: Value) -> Value {
        let object = Map::from_iter([("a".to_owned(), value)]);
        abridged(object).remove("a").unwrap_or_default()
    }

    #[test]
    fn what_is_not_long_is_shown_in_full() {
        let value = json!({"text": "x".repeat(200_000), "list": [1, 2.50, null, true]});
        assert_eq!(shown(value.clone()), value);
    }

    #[test]
    fn a_long_text_is_shown_by_its_hash_and_what_stands_beside_it_in_full() {
        let value = shown(json!({"long": "x".repeat(300_000), "short": "y"}));
        // printf '"%s"' "$(head -c 300000 /dev/zero | tr '\\0' x)" | sha256sum
        let hash = hexadecimal(&Sha256::digest(format!("\"{}\"", "x".repeat(300_000))));
        assert_eq!(
            value["long"],
            json!({BLOB: {"bytes": 300_002, "sha256": hash}})
        );
        assert_eq!(value["short"], "y");
    }

    #[test]
    fn many_short_values_are_long_together() {
        for value in [
            json!(vec!["x".repeat(1000); 1000]),
            (0..20_000)
                .map(|n| (format!("a key of its own {n}"), json!(n)))
                .collect(),
        ] {
            assert!(shown(value)[BLOB]["bytes"].as_u64() > Some(256 * 1024));
        }
    }
}
