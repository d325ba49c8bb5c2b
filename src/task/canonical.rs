//! JSON in one spelling, to be hashed: RFC 8785. What is recorded is hashed six times over, so this is ours;
//! the tests hold it against a library's.

use serde::ser::Error as _;
use serde_json::{Number, Result, Value};

/// The canonical text of a value; an error where a number is one that no double can hold.
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
        // It escapes what section 3.2.2.2 has escaped, in the same way.
        Value::String(string) => serde_json::to_writer(text, string)?,
        Value::Array(items) => {
            text.push(b'[');
            for (item, at) in items.iter().zip(0..) {
                separate(at, text);
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
            for ((name, value), at) in members.into_iter().zip(0..) {
                separate(at, text);
                serde_json::to_writer(&mut *text, name)?;
                text.push(b':');
                write(value, text)?;
            }
            text.push(b'}');
        }
    }
    Ok(())
}

fn separate(at: usize, text: &mut Vec<u8>) {
    if at > 0 {
        text.push(b',');
    }
}

/// As ECMAScript writes the double (section 3.2.2.3).
fn write_number(number: &Number, text: &mut Vec<u8>) -> Result<()> {
    let written = number.as_str();
    if is_small_integer(written) {
        text.extend(written.bytes());
        return Ok(());
    }
    let double: f64 = written.parse().map_err(serde_json::Error::custom)?;
    if !double.is_finite() {
        return Err(serde_json::Error::custom(format!(
            "no double holds {written}"
        )));
    }
    text.extend(ryu_js::Buffer::new().format_finite(double).bytes());
    Ok(())
}

/// Whether it is an integer that its double is written as, digit for digit.
fn is_small_integer(written: &str) -> bool {
    let digits = written.strip_prefix('-').unwrap_or(written);
    // 2^53 has sixteen digits. JSON has no zeros before others; "-0" is not written so.
    digits.len() <= 15 && written != "-0" && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;

    fn value(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
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
        assert_eq!(none, "no double holds 1e+400");
    }
}
