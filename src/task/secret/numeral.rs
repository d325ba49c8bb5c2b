//! Compares numbers by their value: `4821`, `4821.0` and `4.821e+03` are equal.

use std::{iter, ops::Range};

use super::forms::SHORTEST;

/// A decimal number without its sign: its digits without leading and trailing zeros, and the power of ten of the
/// last.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Numeral {
    digits: String,
    power: i64,
}

impl Numeral {
    /// Reads a whole text as a number; `None` if it is zero or not a number.
    pub(super) fn read(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches(['-', '+']);
        let (decimal, power) = match text.split_once(['e', 'E']) {
            Some((decimal, power)) => (decimal, i64::from(power.parse::<i32>().ok()?)),
            None => (text, 0),
        };
        let (whole, fraction) = decimal.split_once('.').unwrap_or((decimal, ""));
        let all = format!("{whole}{fraction}");
        if !all.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let kept = all.trim_end_matches('0');
        let digits = kept.trim_start_matches('0').to_owned();
        let last =
            i64::try_from(fraction.len() + kept.len()).ok()? - i64::try_from(all.len()).ok()?;
        (!digits.is_empty()).then_some(Self {
            digits,
            power: power - last,
        })
    }

    /// Whether one number reveals the other: they have the same value or, if these are long enough, the same
    /// digits.
    pub(super) fn tells(&self, other: &Self) -> bool {
        self.digits == other.digits && (self.power == other.power || self.is_long())
    }

    /// Whether it has so many digits that they do not occur by chance.
    pub(super) fn is_long(&self) -> bool {
        self.digits.len() >= SHORTEST
    }
}

/// The numbers in a text: from the beginning of each group of digits, as far as one number reaches. Anything can stand
/// beside them: `v6e+09`, `1-6e+09`, `0.6.5`.
pub(super) fn within(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let digits = |from: usize| {
        let rest = text.get(from..).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let mut next = 0;
    iter::from_fn(move || {
        let start = next + text.get(next..)?.iter().position(u8::is_ascii_digit)?;
        next = start + digits(start);
        let fraction = match text.get(next) {
            Some(b'.') => 1 + digits(next + 1),
            _ => 0,
        };
        let mark = next + fraction;
        let sign = usize::from(matches!(text.get(mark + 1), Some(b'+' | b'-')));
        let power = match (text.get(mark), digits(mark + 1 + sign)) {
            (Some(b'e' | b'E'), count @ 1..) => 1 + sign + count,
            _ => 0,
        };
        // A full stop is no part of a number.
        let end = if fraction == 1 && power == 0 {
            next
        } else {
            mark + power
        };
        Some(start..end)
    })
}
