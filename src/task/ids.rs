//! The names of things. Each kind of name has its own type, which is made in one place.

use std::{
    collections::{HashMap, HashSet},
    fmt,
};

use jiff::{Timestamp, Zoned};

/// Crockford's base 32, as ULIDs use it.
const BASE32: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// The id of a run: `op_` and a ULID (48 bits of milliseconds, 80 random bits).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationId(String);

impl OperationId {
    pub fn new(at: Timestamp, random: [u8; 16]) -> Self {
        let millis = u128::try_from(at.as_millisecond()).unwrap_or_default();
        let bits = (millis << 80) | (u128::from_be_bytes(random) >> 48);
        let digit = |place: u32| {
            let five = usize::try_from((bits >> (5 * place)) & 31).unwrap_or_default();
            char::from(BASE32.get(five).copied().unwrap_or(b'0'))
        };
        Self(format!(
            "op_{}",
            (0..26).rev().map(digit).collect::<String>()
        ))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The id of the answer of that run: `msg-act-YYYYMMDD-HHMMSS-xxxxxx` (R-000-15, R-000-38, C-01). Its date and time
/// are those of `executed_at` (C-12). The last six characters are random and distinguish messages of one second.
pub fn message_id(executed_at: &Zoned, OperationId(operation): &OperationId) -> String {
    let suffix = operation.get(operation.len().saturating_sub(6)..);
    let suffix = suffix.unwrap_or_default().to_lowercase();
    format!("msg-act-{}-{suffix}", executed_at.strftime("%Y%m%d-%H%M%S"))
}

/// The name of a resource in a session: `src_1`, `store_1`, `derived_3`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RefId(String);

impl RefId {
    /// Checks a ref id: its characters must be allowed in a file name and in a `bind`. The error says what is
    /// wrong.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Err("a ref id must not be empty");
        }
        if text.len() > 128 {
            return Err("a ref id must have at most 128 bytes");
        }
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if !text.chars().all(fits) || text.starts_with('.') {
            return Err(
                "a ref id must consist of letters, digits, `_`, `-` and `.`, and must not start with `.`",
            );
        }
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RefId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The names in their order, made unique: the second `NAME` becomes `NAME#2`.
pub fn numbered<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    unique(names, |name, number| format!("{name}#{number}"))
}

/// The names in their order, made unique: `form` makes the second and later names that are equal.
pub(super) fn unique<'a>(
    names: impl IntoIterator<Item = &'a str>,
    form: impl Fn(&str, usize) -> String,
) -> Vec<String> {
    let mut taken: HashSet<String> = HashSet::new();
    // The last number given to each name.
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let own = |name: &'a str| {
        let number = numbers.entry(name).or_insert(1);
        let mut own = name.to_owned();
        while !taken.insert(own.clone()) {
            *number += 1;
            own = form(name, *number);
        }
        own
    };
    names.into_iter().map(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zoned(text: &str) -> Zoned {
        text.parse().unwrap()
    }

    #[test]
    fn a_message_id_carries_the_second_and_six_characters_c_01() {
        let at = zoned("2026-02-24T10:00:00+08:00[Asia/Singapore]");
        let id = message_id(&at, &OperationId::new(at.timestamp(), [255; 16]));
        assert_eq!(id, "msg-act-20260224-100000-zzzzzz");
    }

    #[test]
    fn operation_ids_sort_by_time() {
        let early = OperationId::new("2026-02-24T10:00:00Z".parse().unwrap(), [255; 16]);
        let late = OperationId::new("2026-02-24T10:00:01Z".parse().unwrap(), [0; 16]);
        assert!(early.as_str() < late.as_str());
        assert_eq!(early.as_str().len(), 29);
    }

    #[test]
    fn a_ref_id_cannot_leave_its_directory() {
        for bad in ["", "..", "a/b", "a\0", ".hidden", "ref id"] {
            assert!(RefId::parse(bad).is_err(), "{bad:?}");
        }
        assert!(RefId::parse("derived_1").is_ok());
    }

    #[test]
    fn no_two_have_the_same_name() {
        let names = numbered(["A", "B", "A", "A", "A#2"]);
        assert_eq!(names, ["A", "B", "A#2", "A#3", "A#2#2"]);
    }

    /// Compared one by one, these would be 10^14 comparisons.
    #[test]
    fn a_hundred_thousand_equal_names_are_numbered_in_one_pass() {
        let names = numbered(std::iter::repeat_n("A", 100_000));
        assert_eq!(names.last().map(String::as_str), Some("A#100000"));
    }
}
