//! Tables in lines of at most the terminal's width.

use std::io;

use rustix::termios::tcgetwinsize;

use crate::cli::terminal::{fit, padded, width, wrapped};

/// The narrowest column of a text that is shortened.
const LEAST: usize = 8;

/// The narrowest last column in which a text is wrapped, unless the text is shorter.
const LAST: usize = 16;

/// The width of tables: that of the terminal, otherwise 80 columns.
pub(crate) fn columns() -> usize {
    let terminal = tcgetwinsize(io::stdout()).ok();
    usable(terminal.map(|size| size.ws_col))
}

fn usable(columns: Option<u16>) -> usize {
    // A terminal without a known width reports 0.
    let columns = columns.filter(|columns| *columns > 0);
    usize::from(columns.unwrap_or(80)).clamp(60, 200)
}

/// A table. The text of the last column is wrapped, after each `; ` first.
#[derive(Default)]
pub(crate) struct Table<'a, const N: usize> {
    pub(crate) rows: Vec<[String; N]>,
    /// The columns that are shortened if the table is too wide, in this order.
    pub(crate) shortened: &'a [usize],
    /// The columns that are aligned to the right.
    pub(crate) right: &'a [usize],
}

impl<const N: usize> Table<'_, N> {
    pub(crate) fn text(&self, columns: usize) -> String {
        let mut widths = [0; N];
        for row in &self.rows {
            for (widest, cell) in widths.iter_mut().zip(row) {
                *widest = width(cell).max(*widest);
            }
        }
        if let [others @ .., last] = widths.as_mut_slice() {
            let used = |others: &[usize]| others.iter().sum::<usize>() + 2 * others.len();
            let mut missing = (used(others) + LAST.min(*last)).saturating_sub(columns);
            for at in self.shortened {
                if let Some(wide) = others.get_mut(*at) {
                    let cut = missing.min(wide.saturating_sub(LEAST));
                    (*wide, missing) = (*wide - cut, missing - cut);
                }
            }
            *last = columns.saturating_sub(used(others)).max(LEAST);
        }
        self.rows.iter().map(|row| self.line(row, widths)).collect()
    }

    /// One row, in several lines if its last text is long.
    fn line(&self, cells: &[String; N], widths: [usize; N]) -> String {
        let mut text = String::new();
        let mut indent = 0;
        for (at, (cell, wide)) in cells.iter().zip(widths).enumerate() {
            if at + 1 == N {
                let parts = cell.split("; ");
                let lines: Vec<String> = if width(cell) <= wide {
                    vec![cell.clone()]
                } else {
                    parts.flat_map(|part| wrapped(part, wide)).collect()
                };
                text += &lines.join(&format!("\n{}", " ".repeat(indent)));
            } else {
                let cell = fit(cell, wide);
                if self.right.contains(&at) {
                    text.push_str(&" ".repeat(wide.saturating_sub(width(&cell))));
                    text.push_str(&cell);
                } else {
                    text.push_str(&padded(&cell, wide));
                }
                text.push_str("  ");
                indent += wide + 2;
            }
        }
        text.truncate(text.trim_end().len());
        text + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_that_does_not_know_its_width_has_80_columns() {
        let all = [None, Some(0), Some(1), Some(132), Some(9999)].map(usable);
        assert_eq!(all, [80, 80, 60, 132, 200]);
    }

    #[test]
    fn a_table_fits_and_wraps_its_last_column() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned);
        let table = Table {
            rows: vec![
                row(["1", "name", "note"]),
                row(["10", "a-long-name-of-20-ch", "one two; three"]),
            ],
            shortened: &[1],
            right: &[0],
        };
        let shown = " 1  name      note\n10  a-lo…-ch  one two\n              three\n";
        assert_eq!(table.text(24), shown);
        let wide = " 1  name                  note\n10  a-long-name-of-20-ch  one two; three\n";
        assert_eq!(table.text(80), wide);
    }
}
