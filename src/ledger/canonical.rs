//! Canonical JSON for hashing: RFC 8785, with exact numbers where a double cannot hold them.

use serde_json::{Map, Number, Value};
use sha2::{Digest, Sha256};

use crate::task::{self, hexadecimal};

/// The largest integer up to which every integer is a double (RFC 8785, section 3.2.2.3).
const MOST_EXACT: u128 = (1 << 53) - 1;

/// The keys of objects that stand for values which canonical JSON cannot hold.
const MARKS: [&str; 3] = ["int", "number", "mac"];

/// A value as it is hashed. Integers outside ±(2^53−1) become `{"$int": "…"}`, and other numbers that are no
/// double `{"$number": "…"}`. Keys that look like these get one more `$`.
pub(crate) fn exact(mut value: Value) -> Value {
    make_exact(&mut value);
    value
}

fn make_exact(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(marked) = beyond_doubles(number) {
                *value = marked;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(make_exact),
        Value::Object(members) => {
            members.values_mut().for_each(make_exact);
            if members.keys().any(|key| looks_marked(key)) {
                let all = std::mem::take(members).into_iter();
                members.extend(all.map(|(key, value)| (escaped(&key), value)));
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// The object that stands for a number, if no double can hold it.
fn beyond_doubles(number: &Number) -> Option<Value> {
    let text = number.as_str();
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let exact = digits
            .parse::<u128>()
            .is_ok_and(|number| number <= MOST_EXACT);
        return (!exact).then(|| marked("int", text.to_owned()));
    }
    match number.as_f64().filter(|double| double.is_finite()) {
        Some(_) => None,
        None => Some(marked("number", text.to_owned())),
    }
}

/// A value under a mark: `{"$mark": text}`.
pub(crate) fn marked(mark: &str, text: String) -> Value {
    Value::Object(Map::from_iter([(format!("${mark}"), Value::String(text))]))
}

pub(crate) fn escaped(key: &str) -> String {
    if looks_marked(key) {
        format!("${key}")
    } else {
        key.to_owned()
    }
}

fn looks_marked(key: &str) -> bool {
    let name = key.trim_start_matches('$');
    name.len() < key.len() && MARKS.contains(&name)
}

/// The canonical text of a value in which every number is a double, as [`exact`] returns it.
pub(crate) fn canonical(value: &Value) -> String {
    // Only numbers that are no double have no canonical form.
    task::canonical(value).unwrap_or_else(|_| value.to_string())
}

/// Whether two values are the same JSON, in any notation.
pub(crate) fn same_json(one: &Value, other: &Value) -> bool {
    canonical(&exact(one.clone())) == canonical(&exact(other.clone()))
}

/// SHA-256 in lower-case hexadecimal.
pub(crate) fn sha256(bytes: impl AsRef<[u8]>) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(text: &str) -> String {
        sha256(canonical(&exact(serde_json::from_str(text).unwrap())))
    }

    #[test]
    fn numbers_strings_and_the_order_of_keys_are_as_in_rfc_8785() {
        for (text, expected) in [
            (
                r#"{"b":1,"a":{"d":1,"c":2}}"#,
                "b6cb1b7b79793877cd08cdf90d45801fe9e7b1deb2e0738b2b72024e339a277c",
            ),
            (
                r#"{"n":1.0}"#,
                "2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd",
            ),
            (
                r#"{"n":1000000000000000000000.0}"#,
                "f1ee2b60ee95a3170fdc07a577e5f3514ced26867443d69da265acadead81007",
            ),
            (
                r#"{"n":-0.0}"#,
                "f3013f933b9fb80ab6d995e7ad9da36f683837ba1d81e950c943d40111eac2f0",
            ),
            (
                r#"{"n":0.0000001}"#,
                "747d6d23b64d1b2d579adb832b44de31c91c875bbef7a8e397f5d183a746b54b",
            ),
            (
                "{\"\u{fb33}\":2,\"\u{1f600}\":1}",
                "2aa3f5086e32bb90ce39c508a6f40fd72e792684f130d0f3b896ea191368f1e3",
            ),
            (
                "{\"s\":\"\\u000f\u{2028}\\/\"}",
                "8456a13ac6a791b913fe081ceb39b5291e553a6a3a3958cb0b8f46cd3f40564d",
            ),
            (
                r#"{"i":9007199254740993}"#,
                "35a064a86ba658956d9dd71af666685b346413009836fb121f813809b814e149",
            ),
        ] {
            assert_eq!(hash(text), expected, "{text}");
        }
    }

    #[test]
    fn doubles_are_written_as_in_appendix_b_of_rfc_8785() {
        for (bits, text) in [
            (0x0000_0000_0000_0000, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0x41b3_de43_5555_5556, "333333333.3333334"),
            (0x41b3_de43_5555_5557, "333333333.33333343"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ] {
            let double = f64::from_bits(bits);
            assert_eq!(canonical(&Value::from(double)), text, "{double:e}");
        }
    }

    #[test]
    fn integers_beyond_two_to_the_53_differ_if_they_differ() {
        assert_ne!(hash("9007199254740992"), hash("9007199254740993"));
        assert_ne!(hash("-9007199254740992"), hash("9007199254740992"));
        assert_eq!(hash("9007199254740991"), hash("9007199254740991.0"));
    }

    #[test]
    fn an_object_that_looks_like_a_large_number_is_another_request() {
        assert_ne!(
            hash("9007199254740993"),
            hash(r#"{"$int":"9007199254740993"}"#)
        );
        assert_ne!(hash(r#"{"$int":"1"}"#), hash(r#"{"$$int":"1"}"#));
    }

    #[test]
    fn numbers_that_are_no_double_are_kept_apart() {
        assert_ne!(hash("1e400"), hash("1e401"));
    }
}
