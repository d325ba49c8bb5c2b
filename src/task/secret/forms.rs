//! The forms in which values may be written, but for escapes, which are undone; and where in a text they are.

use std::{collections::BTreeMap, ops::Range};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use base64::{
    Engine,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};

use super::decoded;
use crate::task::hexadecimal;

/// What is shorter is a flag, not a secret, and cutting it out would garble every text.
pub(super) const SHORTEST: usize = 4;

/// Values that are longer than this together are found by checksums: what finds each form exactly takes some hundred
/// times their length.
pub(super) const MANY: usize = 16 * 1024;

/// Lines of a value are looked for by themselves from this length on: shorter ones are punctuation.
const SHORTEST_LINE: usize = 8;

/// Forms up to this length are found as a whole by checksums.
const WHOLE: usize = 32;

/// Of a longer form its beginning of this length is found, too: only that much of it may be in sight.
const BEGINNING: usize = 1024;

pub(super) enum Forms {
    Few(AhoCorasick, Vec<Edges>),
    /// In memory and time that grow with the length of the values alone: of each form only checksums are kept, of its
    /// beginning and of its end, which together are all of it. More may be found than the values, since half of a form
    /// is taken for the form. By the length of the pieces; their checksums are in order.
    Many(BTreeMap<usize, Vec<u64>>),
}

/// How many letters beside a form hold a part of the value, too.
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
    /// None where it cannot be built.
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
                // At least a half of the form.
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

/// Adds a form, with the letters of base64 beside it that hold a part of the value.
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

/// Finds pieces of one length by their checksums. One pass: the sum of each stretch of the text is made from that of the
/// one before.
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

/// Shows each form of the value, one at a time: a large value is never held in all of them.
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

/// Sums are numbers below it, so that few pieces have the same one.
const PRIME: u64 = (1 << 61) - 1;

/// Any number of that size does.
const BASE: u64 = 0x009e_3779_b97f_4a7c;

fn sum(piece: &[u8]) -> u64 {
    let next = |sum, byte: &u8| plus(times(sum, BASE), digit(*byte));
    piece.iter().fold(0, next)
}

/// Never 0: a piece and the same one with zeros before it differ.
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
