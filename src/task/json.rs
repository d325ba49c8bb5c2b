//! JSON helpers: the canonical text of a value, the abridged form of long values, and the check for the keys that
//! `serde_json` reserves.

use serde::ser::Error as _;
use serde_json::{Map, Number, Result, Value, json};
use sha2::{Digest, Sha256};

/// Two lower-case hexadecimal digits per byte.
pub fn hexadecimal(bytes: &[u8]) -> String {
    let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    let mut text = String::with_capacity(bytes.len() * 2);
    text.extend(halves.filter_map(|half| char::from_digit(half.into(), 16)));
    text
}

/// Changes every text of a value, except the names of members.
pub(crate) fn each_text(value: &mut Value, change: &mut impl FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_text(item, change)),
        Value::Object(members) => members
            .values_mut()
            .for_each(|item| each_text(item, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether a value that was read from a text has all of its members. Of two members with one name, it has only the last.
pub fn has_all_members(value: &Value, text: &str) -> bool {
    // Written out, the value has as many values as the text, unless a member was lost.
    values(&value.to_string()) == values(text)
}

/// An upper bound for the number of values in a JSON text.
pub fn values(json: &str) -> usize {
    let (mut quoted, mut escaped) = (false, false);
    let begins = json.bytes().filter(|byte| {
        if quoted {
            quoted = escaped || *byte != b'"';
            escaped = !escaped && *byte == b'\\';
            return false;
        }
        quoted = *byte == b'"';
        matches!(byte, b',' | b'[' | b'{')
    });
    begins.count() + 1
}

/// The canonical text of a value (RFC 8785), for hashing. An error if a number is too large for a double.
/// A record is hashed six times, so speed matters here. The tests compare the text with that of a library.
pub fn canonical(value: &Value) -> Result<String> {
    let mut text = Vec::with_capacity(1024);
    write(value, &mut text)?;
    String::from_utf8(text).map_err(serde_json::Error::custom)
}

fn write(value: &Value, text: &mut Vec<u8>) -> Result<()> {
    match value {
        Value::Null => text.extend(b"null"),
        Value::Bool(true) => text.extend(b"true"),
        Value::Bool(false) => text.extend(b"false"),
        Value::Number(number) => write_number(number, text)?,
        // serde_json escapes the same characters as section 3.2.2.2, in the same way.
        Value::String(string) => serde_json::to_writer(text, string)?,
        Value::Array(items) => {
            text.push(b'[');
            for item in items {
                separate(text);
                write(item, text)?;
            }
            text.push(b']');
        }
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_unstable_by(|(one, _), (other, _)| {
                one.encode_utf16().cmp(other.encode_utf16())
            });
            text.push(b'{');
            for (name, value) in members {
                separate(text);
                serde_json::to_writer(&mut *text, name)?;
                text.push(b':');
                write(value, text)?;
            }
            text.push(b'}');
        }
    }
    Ok(())
}

fn separate(text: &mut Vec<u8>) {
    if !text.ends_with(b"[") && !text.ends_with(b"{") {
        text.push(b',');
    }
}

/// Writes the double as ECMAScript does (section 3.2.2.3).
fn write_number(number: &Number, text: &mut Vec<u8>) -> Result<()> {
    let written = number.as_str();
    if is_small_integer(written) {
        text.extend(written.bytes());
        return Ok(());
    }
    let double: f64 = written.parse().map_err(serde_json::Error::custom)?;
    if !double.is_finite() {
        return Err(serde_json::Error::custom(format!(
            "the number {written} is too large for a double"
        )));
    }
    text.extend(ryu_js::Buffer::new().format_finite(double).bytes());
    Ok(())
}

/// Whether the number is an integer whose double is written with the same digits.
fn is_small_integer(written: &str) -> bool {
    let digits = written.strip_prefix('-').unwrap_or(written);
    // 2^53 has sixteen digits. JSON has no leading zeros. The canonical text of "-0" is "0".
    digits.len() <= 15 && written != "-0" && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether arrays and objects are nested deeper than that in a value. A number has no level.
pub(crate) fn is_deeper(value: &Value, levels: usize) -> bool {
    let inside = |value| match levels.checked_sub(1) {
        Some(left) => is_deeper(value, left),
        None => true,
    };
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(inside),
        Value::Object(members) => levels == 0 || members.values().any(inside),
        _ => false,
    }
}

/// The longest JSON text, in bytes, that records and answers show in full.
const LONGEST: usize = 256 * 1024;

/// The key under which the hash of a value replaces the value.
pub const BLOB: &str = "$blob";

/// The form in which records and answers show an object with long values. The task itself contains them in full.
///
/// Every value whose JSON text is longer than 256 KiB becomes `{"$blob": {"bytes": …, "sha256": …}}`, inner
/// values first. The hash is that of the compact text.
#[must_use]
pub fn abridged(object: Map<String, Value>) -> Map<String, Value> {
    let mut value = Value::Object(object);
    abridge(&mut value);
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// Abridges a value, and returns the approximate length of its JSON text afterwards, in bytes.
pub fn abridge(value: &mut Value) -> usize {
    abridge_to(value, LONGEST)
}

/// The same for values whose JSON text is longer than `most`.
pub(super) fn abridge_to(value: &mut Value, most: usize) -> usize {
    let bytes = length(value, most);
    if bytes <= most {
        return bytes;
    }
    *value = blob(value);
    length(value, most)
}

/// What replaces a long value: the length and the hash of its compact text.
pub(super) fn blob(value: &Value) -> Value {
    let text = value.to_string();
    let sha256 = hexadecimal(&Sha256::digest(&text));
    json!({BLOB: {"bytes": text.len(), "sha256": sha256}})
}

fn length(value: &mut Value, most: usize) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 4,
        Value::Number(number) => number.as_str().len(),
        Value::String(text) => text.len() + 2,
        Value::Array(items) => {
            2 + items
                .iter_mut()
                .map(|item| abridge_to(item, most) + 1)
                .sum::<usize>()
        }
        Value::Object(members) => {
            let each =
                |(name, value): (&String, &mut Value)| name.len() + 4 + abridge_to(value, most);
            2 + members.iter_mut().map(each).sum::<usize>()
        }
    }
}

/// The prefix of the keys that `serde_json` uses internally. It would read a document with such a key as something
/// else, so tasks and answers of servers with such a key are refused.
pub const RESERVED: &str = "$serde_json::private::";

/// Whether a JSON document has a key with the prefix [`RESERVED`], also if it is written with escapes. The result
/// means nothing if the document is not JSON.
pub fn has_reserved_key(document: &str) -> bool {
    // A key without an escape of an ASCII character appears literally.
    if !document.contains(RESERVED) && !document.contains("\\u00") {
        return false;
    }
    let mut rest = document;
    while let Some((string, after)) = next_string(rest) {
        rest = after;
        if rest.trim_ascii_start().starts_with(':') && is_reserved(string) {
            return true;
        }
    }
    false
}

/// The next string of a document, with its quotes, and what comes after it.
pub(super) fn next_string(document: &str) -> Option<(&str, &str)> {
    let start = document.find('"')?;
    let (_, string) = document.split_at_checked(start)?;
    let mut from = 1;
    loop {
        let at = from + string.get(from..)?.find(['"', '\\'])?;
        // An escape has at least one more character, and that character is ASCII.
        match string.as_bytes().get(at) {
            Some(b'\\') => from = at + 2,
            _ => return string.split_at_checked(at + 1),
        }
    }
}

fn is_reserved(string: &str) -> bool {
    let text = serde_json::from_str::<String>(string);
    text.is_ok_and(|text| text.starts_with(RESERVED))
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;

    fn value(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn values_are_counted_outside_of_strings() {
        for (json, count) in [
            ("0", 1),
            ("[]", 2),
            ("[1,2,3]", 4),
            (r#"{"a":"x,y,[{","b":["\",",",2]}"#, 5),
        ] {
            assert_eq!(values(json), count, "{json}");
        }
    }

    fn random(rng: &mut Rng, depth: usize) -> Value {
        let text = |rng: &mut Rng| -> String {
            let chars = [
                'a', 'b', '"', '\\', '/', '\u{8}', '\u{1f}', '\u{7f}', 'é', '\u{fb33}', '😀',
            ];
            (0..rng.usize(..6))
                .filter_map(|_| rng.choice(chars))
                .collect()
        };
        match rng.u8(..if depth == 0 { 5 } else { 7 }) {
            0 => Value::Null,
            1 => Value::Bool(rng.bool()),
            2 => Value::from(rng.i64(..) >> rng.u8(..64)),
            3 => Value::from(f64::from_bits(rng.u64(..))),
            4 => Value::String(text(rng)),
            5 => (0..rng.usize(..4))
                .map(|_| random(rng, depth - 1))
                .collect(),
            _ => Value::Object(
                (0..rng.usize(..6))
                    .map(|_| (text(rng), random(rng, depth - 1)))
                    .collect(),
            ),
        }
    }

    #[test]
    fn it_is_what_a_library_of_others_writes() {
        let mut rng = Rng::with_seed(8785);
        for _ in 0..20_000 {
            let value = random(&mut rng, 3);
            let theirs = serde_json_canonicalizer::to_string(&value).unwrap();
            assert_eq!(canonical(&value).unwrap(), theirs, "{value}");
        }
    }

    #[test]
    fn numbers_are_written_as_doubles_are() {
        for (number, text) in [
            ("0", "0"),
            ("-0", "0"),
            ("-0.0", "0"),
            ("1.0", "1"),
            ("1e1", "10"),
            ("999999999999999", "999999999999999"),
            ("-999999999999999", "-999999999999999"),
            ("9007199254740993", "9007199254740992"),
            ("1e21", "1e+21"),
            ("1e-7", "1e-7"),
        ] {
            assert_eq!(canonical(&value(number)).unwrap(), text, "{number}");
        }
        let none = canonical(&value("[1e400]")).unwrap_err().to_string();
        assert_eq!(none, "the number 1e+400 is too large for a double");
    }

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

    #[test]
    fn a_reserved_key_is_found_however_it_is_written() {
        for document in [
            r#"{"$serde_json::private::Number":"1"}"#,
            r#"{"a":[{"b":1,"$serde_json::private::RawValue" : "{}"}]}"#,
            r#"{"a\"":"\\","\u0024serde_json::private::RawValue":1}"#,
            r#"{"$serde_json::private::Numbe\u0072":"1"}"#,
            r#"{"$serd\u0065_json::private::Anything":"1"}"#,
        ] {
            assert!(has_reserved_key(document), "{document}");
        }
    }

    #[test]
    fn what_only_speaks_of_one_is_let_in() {
        for document in [
            r#"{"text":"$serde_json::private::Number"}"#,
            r#"{"text":"the key \"$serde_json::private::Number\": it is reserved"}"#,
            r#"{"x$serde_json::private::Number":1}"#,
            r#"{"caf\u00e9":"\u0024"}"#,
            r#"{"ä\\":"\u0022","b":"ü"}"#,
            "",
            r#"{"torn\"#,
            r#"{"torn\ü"#,
        ] {
            assert!(!has_reserved_key(document), "{document}");
        }
    }
}
