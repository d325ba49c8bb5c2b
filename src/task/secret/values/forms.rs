//! The forms in which a value may be written, but for escapes, which are undone.

use base64::{
    Engine,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};

use super::decoded;
use crate::task::hexadecimal;

/// What is shorter is a flag, not a secret, and cutting it out would garble every text.
pub(super) const SHORTEST: usize = 4;

/// Lines of a value are looked for by themselves from this length on: shorter ones are punctuation.
const SHORTEST_LINE: usize = 8;

/// How many letters beside a form hold a part of the value, too.
#[derive(Clone, Copy, Default)]
pub(super) struct Edges {
    pub(super) before: usize,
    pub(super) after: usize,
}

/// Shows each form of the value, one at a time: a large value is never held in all of them.
pub(super) fn each(value: &str, mut show: impl FnMut(&[u8], Edges)) {
    let mut long = |form: &[u8], edges| {
        if form.len() >= SHORTEST {
            show(form, edges);
        }
    };
    for word in words(value) {
        plain(word, &mut long);
        base64(word.as_bytes(), &mut long);
    }
}

/// What is looked for of a value: itself, without blanks around it, and its lines.
fn words(value: &str) -> impl Iterator<Item = &str> {
    let trimmed = value.trim();
    let lines = trimmed.lines().map(str::trim);
    let lines = lines.filter(move |line| line.len() >= SHORTEST_LINE && *line != trimmed);
    let whole = (value != trimmed).then_some(value);
    whole.into_iter().chain([trimmed]).chain(lines)
}

/// As it is, with its own escapes undone, as a form of a page sends its blanks, and in hexadecimal.
fn plain(word: &str, show: &mut impl FnMut(&[u8], Edges)) {
    let edges = Edges::default();
    show(word.as_bytes(), edges);
    let meant = decoded::meant(word.as_bytes());
    if meant != word.as_bytes() {
        show(&meant, edges);
    }
    drop(meant);
    if word.contains(' ') {
        show(word.replace(' ', "+").as_bytes(), edges);
    }
    let mut digits = hexadecimal(word.as_bytes());
    show(digits.as_bytes(), edges);
    digits.make_ascii_uppercase();
    show(digits.as_bytes(), edges);
}

/// In base64, wherever the value stands in what was encoded: the letters that depend on nothing else, and
/// beside them one at each side that holds the rest of its bits.
fn base64(word: &[u8], show: &mut impl FnMut(&[u8], Edges)) {
    for before in 0..3 {
        let mut bytes = vec![0; before];
        bytes.extend_from_slice(word);
        let bits = bytes.len() * 8;
        let from = (before * 8).div_ceil(6);
        let whole = from..bits / 6;
        let edges = Edges {
            before: usize::from(before > 0),
            after: usize::from(bits % 6 > 0),
        };
        let encoded = STANDARD_NO_PAD.encode(&bytes);
        let form = encoded.get(whole.clone()).unwrap_or_default();
        show(form.as_bytes(), edges);
        if form.contains(['+', '/']) {
            drop(encoded);
            let encoded = URL_SAFE_NO_PAD.encode(&bytes);
            show(encoded.get(whole).unwrap_or_default().as_bytes(), edges);
        }
    }
}

pub(super) fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}
