//! Compares numbers by their value: `4821`, `4821.0` and `4.821e+03` are equal.

use std::ops::Range;

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
        self.digits == other.digits && (self.power == other.power || self.digits.len() >= SHORTEST)
    }
}

/// The numbers with an exponent in a text, with their ranges.
pub(super) fn with_exponent(text: &[u8]) -> impl Iterator<Item = (Range<usize>, Numeral)> {
    let is_part = |byte: &u8| byte.is_ascii_digit() || b".eE+-".contains(byte);
    let runs = text.chunk_by(move |a, b| is_part(a) == is_part(b));
    let places = runs.scan(0, |end, run| {
        let start = *end;
        *end += run.len();
        Some((start, run))
    });
    places.filter_map(|(start, run)| {
        let run = str::from_utf8(run).ok()?.trim_end_matches(['.', '-', '+']);
        let number = Numeral::read(run).filter(|_| run.contains(['e', 'E']))?;
        Some((start..start + run.len(), number))
    })
}
