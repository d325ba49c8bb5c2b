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

/// The numbers with an exponent in a text, with their ranges. Anything can stand beside them: `v6e+09`, `1-6e+09`.
pub(super) fn with_exponent(text: &[u8]) -> impl Iterator<Item = (Range<usize>, Numeral)> {
    let letters = text.iter().enumerate();
    let letters = letters.filter(|(_, byte)| matches!(byte, b'e' | b'E'));
    letters.filter_map(|(at, _)| {
        let (before, after) = (text.get(..at)?, text.get(at + 1..)?);
        let last = trailing_digits(before);
        let start = match before.get(..last)? {
            [whole @ .., b'.'] => trailing_digits(whole),
            _ => last,
        };
        let sign = usize::from(matches!(after.first(), Some(b'+' | b'-')));
        let power = after.iter().skip(sign);
        let power = power.take_while(|byte| byte.is_ascii_digit()).count();
        let range = start..at + 1 + sign + power;
        let number = str::from_utf8(text.get(range.clone())?).ok()?;
        Some((range, Numeral::read(number)?))
    })
}

/// Where the digits at the end of a text begin.
fn trailing_digits(text: &[u8]) -> usize {
    let others = text.iter().rposition(|byte| !byte.is_ascii_digit());
    others.map_or(0, |at| at + 1)
}
