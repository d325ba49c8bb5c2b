//! The lines of a text, for many questions about one large text.

use std::sync::OnceLock;

/// The number of line ends before each block of the text. They are counted at the first question.
#[derive(Debug, Default)]
pub(super) struct Lines(OnceLock<Vec<usize>>);

const BLOCK: usize = 4096;

impl Lines {
    /// The number of the line in which this byte of the text is, counted from 1.
    pub(super) fn of(&self, text: &[u8], at: usize) -> usize {
        let counted = || {
            let ends = text.chunks(BLOCK).scan(0, |before, block| {
                Some(std::mem::replace(before, *before + ends(block)))
            });
            ends.collect()
        };
        let before = self.0.get_or_init(counted);
        let at = at.min(text.len());
        let block = (at / BLOCK).min(before.len().saturating_sub(1));
        let rest = text.get(block * BLOCK..at).unwrap_or_default();
        before.get(block).unwrap_or(&0) + ends(rest) + 1
    }
}

/// The number of line ends. A sum of 255 bytes fits into one byte, so the compiler can count many at once.
fn ends(text: &[u8]) -> usize {
    let some = |some: &[u8]| some.iter().map(|byte| u8::from(*byte == b'\n')).sum::<u8>();
    text.chunks(255).map(|each| usize::from(some(each))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_counted_from_the_start_of_the_text() {
        let text: Vec<u8> = (0..3 * BLOCK).map(|at| b"ab\ncd\n\n"[at % 7]).collect();
        let lines = Lines::default();
        for at in (0..text.len())
            .step_by(97)
            .chain([BLOCK, 2 * BLOCK, text.len(), text.len() + 9])
        {
            let before = &text[..at.min(text.len())];
            let expected = before.split(|byte| *byte == b'\n').count();
            assert_eq!(lines.of(&text, at), expected, "{at}");
        }
        assert_eq!(Lines::default().of(b"", 0), 1);
    }
}
