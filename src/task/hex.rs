//! Bytes as text: hashes in names and records.

/// Two lower-case digits a byte.
pub fn hexadecimal(bytes: &[u8]) -> String {
    let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    let mut text = String::with_capacity(bytes.len() * 2);
    text.extend(halves.filter_map(|half| char::from_digit(half.into(), 16)));
    text
}
