//! The forms in which a value may be written, apart from escapes, and the search for them in a text.

use std::{collections::BTreeMap, ops::Range};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use base64::{
    Engine,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};

use super::decoded;
use crate::task::hexadecimal;

/// The shortest secret, in bytes. Shorter values are flags, and cutting them would garble every text.
pub(super) const SHORTEST: usize = 4;

/// Values with more bytes than this together are found by checksums. The exact search takes some hundred times
/// their length in memory.
pub(super) const MANY: usize = 16 * 1024;

/// The shortest line of a value that is searched for on its own. Shorter lines are punctuation.
const SHORTEST_LINE: usize = 8;

/// The longest form that one checksum covers as a whole.
const WHOLE: usize = 32;

/// The length of the beginning of a longer form that is found on its own, because a window may show no more of it.
const BEGINNING: usize = 1024;

pub(super) enum Forms {
    Few(AhoCorasick, Vec<Edges>),
    /// For many values. Memory and time grow only with the length of the values: of each form, only the checksums
    /// of its beginning and its end are kept, which together cover it. Half of a form counts as the form, so too
    /// much may be found. The keys are the lengths of the pieces; the checksums are sorted.
    Many(BTreeMap<usize, Vec<u64>>),
}

/// How many characters beside a form hold bits of the value too.
#[derive(Clone, Copy, Default)]
pub(super) struct Edges {
    before: usize,
    after: usize,
}

const BOTH: Edges = Edges {
    before: 1,
    after: 1,
};

impl Forms {
    /// Builds the search; `None` if that fails.
    pub(super) fn of(values: &[String]) -> Option<Self> {
        let length: usize = values.iter().map(String::len).sum();
        if length > MANY {
            return Some(Self::many(values));
        }
        let (mut patterns, mut all_edges) = (Vec::new(), Vec::new());
        for value in values {
            each(value, |form, edges| {
                patterns.push(form.to_vec());
                all_edges.push(edges);
            });
        }
        let kind = Some(AhoCorasickKind::ContiguousNFA);
        let finder = AhoCorasick::builder().kind(kind).build(patterns).ok()?;
        Some(Self::Few(finder, all_edges))
    }

    fn many(values: &[String]) -> Self {
        let mut sums: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for value in values {
            each(value, |form, _| {
                let mut keep = |piece: Option<&[u8]>| {
                    let piece = piece.unwrap_or_default();
                    sums.entry(piece.len()).or_default().push(sum(piece));
                };
                if form.len() <= WHOLE {
                    return keep(Some(form));
                }
                // A power of two, more than half of the form.
                let length = 1 << form.len().ilog2();
                keep(form.get(..length));
                keep(form.get(form.len() - length..));
                keep(form.get(..BEGINNING.min(length)));
            });
        }
        for sums in sums.values_mut() {
            sums.sort_unstable();
            sums.dedup();
            sums.shrink_to_fit();
        }
        Self::Many(sums)
    }

    pub(super) fn find(&self, text: &[u8], found: &mut Vec<Range<usize>>) {
        match self {
            Self::Few(finder, edges) => {
                for form in finder.find_overlapping_iter(text) {
                    let edges = edges.get(form.pattern().as_usize());
                    add(
                        text,
                        form.range(),
                        edges.copied().unwrap_or_default(),
                        found,
                    );
                }
            }
            Self::Many(pieces) => {
                for (length, sums) in pieces {
                    find_pieces(text, *length, sums, found);
                }
            }
        }
    }
}

/// Adds a form, with the base64 characters beside it that hold bits of the value.
fn add(text: &[u8], form: Range<usize>, edges: Edges, found: &mut Vec<Range<usize>>) {
    let of_base64 =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
    let beside = |at: usize| usize::from(text.get(at).is_some_and(of_base64));
    let before = form.start.checked_sub(1).map_or(0, beside);
    let after = beside(form.end);
    let range = form.start - before.min(edges.before)..form.end + after.min(edges.after);
    match found.last_mut() {
        Some(last) if range.start >= last.start && range.start < last.end => {
            last.end = last.end.max(range.end);
        }
        _ => found.push(range),
    }
}

/// Finds pieces of one length by their checksums, in one pass: each checksum is computed from the one before it (a
/// rolling hash).
fn find_pieces(text: &[u8], length: usize, sums: &[u64], found: &mut Vec<Range<usize>>) {
    let Some((first, rest)) = text.split_at_checked(length) else {
        return;
    };
    let mut judge = |sum: u64, start: usize| {
        if sums.binary_search(&sum).is_ok() {
            add(text, start..start + length, BOTH, found);
        }
    };
    let mut here = sum(first);
    judge(here, 0);
    let weight = power(length - 1);
    for (start, (gone, new)) in text.iter().zip(rest).enumerate() {
        let gone = times(digit(*gone), weight);
        here = plus(times(plus(here, PRIME - gone), BASE), digit(*new));
        judge(here, start + 1);
    }
}

/// Calls `show` with each form of the value in turn, so that a large value is never held in all forms at once.
fn each(value: &str, mut show: impl FnMut(&[u8], Edges)) {
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

/// The parts of a value that are searched for: the value, the value without blanks around it, and its lines.
fn words(value: &str) -> impl Iterator<Item = &str> {
    let trimmed = value.trim();
    let lines = trimmed.lines().map(str::trim);
    let lines = lines.filter(move |line| line.len() >= SHORTEST_LINE && *line != trimmed);
    let whole = (value != trimmed).then_some(value);
    whole.into_iter().chain([trimmed]).chain(lines)
}

/// The plain forms: as written, decoded, with `+` for spaces as HTML forms send it, and in hexadecimal.
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

/// The base64 forms, for each position of the value in the encoded bytes: the characters that depend only on the
/// value, and at each side the one that also holds bits of the value.
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

/// The modulus of the checksums. It is large, so few pieces have the same checksum.
const PRIME: u64 = (1 << 61) - 1;

/// The base of the checksums; any large number works.
const BASE: u64 = 0x009e_3779_b97f_4a7c;

fn sum(piece: &[u8]) -> u64 {
    let next = |sum, byte: &u8| plus(times(sum, BASE), digit(*byte));
    piece.iter().fold(0, next)
}

/// Never 0, so that leading zero bytes change the checksum.
fn digit(byte: u8) -> u64 {
    u64::from(byte) + 1
}

fn plus(a: u64, b: u64) -> u64 {
    let sum = a + b;
    if sum >= PRIME { sum - PRIME } else { sum }
}

fn times(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    let low = u64::try_from(product & u128::from(PRIME)).unwrap_or_default();
    let high = u64::try_from(product >> 61).unwrap_or_default();
    plus(low, high)
}

fn power(exponent: usize) -> u64 {
    (0..usize::BITS).rev().fold(1, |power, bit| {
        let square = times(power, power);
        if exponent >> bit & 1 == 1 {
            times(square, BASE)
        } else {
            square
        }
    })
}
