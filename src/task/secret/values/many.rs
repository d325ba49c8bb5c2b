//! Many or long values, in memory and time that grow with their length alone: of each form only checksums
//! are kept, of its beginning and of its end, which together are all of it.
//!
//! More may be found than the values: half of a form is taken for the form.

use std::{collections::BTreeMap, ops::Range};

use super::forms::{self, is_base64};

/// Forms up to this length are found as a whole.
const WHOLE: usize = 32;

/// Of a longer form its beginning of this length is found, too: only that much of it may be in sight.
const BEGINNING: usize = 1024;

pub(super) struct Many(Vec<Pieces>);

/// The checksums of all pieces of one length, in order.
struct Pieces {
    length: usize,
    sums: Vec<u64>,
}

impl Many {
    pub(super) fn of(values: &[String]) -> Self {
        let mut sums: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for value in values {
            forms::each(value, |form, _| {
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
        let pieces = sums.into_iter().map(|(length, mut sums)| {
            sums.sort_unstable();
            sums.dedup();
            sums.shrink_to_fit();
            Pieces { length, sums }
        });
        Self(pieces.collect())
    }

    #[cfg(test)]
    pub(super) fn sums(&self) -> usize {
        self.0.iter().map(|pieces| pieces.sums.len()).sum()
    }

    pub(super) fn find(&self, text: &[u8], found: &mut Vec<Range<usize>>) {
        for pieces in &self.0 {
            pieces.find(text, found);
        }
    }
}

impl Pieces {
    /// One pass: the sum of each stretch of the text is made from that of the one before.
    fn find(&self, text: &[u8], found: &mut Vec<Range<usize>>) {
        let Some((first, rest)) = text.split_at_checked(self.length) else {
            return;
        };
        let mut here = sum(first);
        self.judge(here, 0, text, found);
        let weight = power(self.length - 1);
        for (start, (gone, new)) in text.iter().zip(rest).enumerate() {
            let gone = times(digit(*gone), weight);
            here = plus(times(plus(here, PRIME - gone), BASE), digit(*new));
            self.judge(here, start + 1, text, found);
        }
    }

    fn judge(&self, sum: u64, start: usize, text: &[u8], found: &mut Vec<Range<usize>>) {
        if self.sums.binary_search(&sum).is_err() {
            return;
        }
        // In base64 a letter at each side may hold a part of it.
        let beside = |at: usize| usize::from(text.get(at).copied().is_some_and(is_base64));
        let before = start.checked_sub(1).map_or(0, beside);
        let end = start + self.length;
        let range = start - before..end + beside(end);
        match found.last_mut() {
            Some(last) if range.start >= last.start && range.start < last.end => {
                last.end = last.end.max(range.end);
            }
            _ => found.push(range),
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
