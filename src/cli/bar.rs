//! Progress for a person: a bar on stderr when it is a terminal, else nothing.

use std::{cell::OnceCell, io::IsTerminal};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{perform::Seen, task::visible};

/// A bar that appears with the first progress a tool reports.
pub(super) struct Bar(OnceCell<ProgressBar>);

/// Tools count in units of their own; the bar counts in thousandths.
const WHOLE: u64 = 1000;

impl Bar {
    pub(super) fn new() -> Self {
        Self(OnceCell::new())
    }

    /// Shows how far the tool is.
    pub(super) fn show(&self, seen: Seen<'_>) {
        if !std::io::stderr().is_terminal() {
            return;
        }
        let bar = self.0.get_or_init(|| {
            let bar = ProgressBar::with_draw_target(Some(WHOLE), ProgressDrawTarget::stderr());
            let style =
                ProgressStyle::with_template("{prefix} [{bar:30}] {percent:>3}% {elapsed} {msg}");
            if let Ok(style) = style {
                bar.set_style(style.progress_chars("=> "));
            }
            bar
        });
        bar.set_prefix(visible(seen.tool).into_owned());
        if let Some(message) = seen.message {
            bar.set_message(visible(message).into_owned());
        }
        match seen.total.filter(|total| *total > 0.0) {
            Some(total) => {
                let share = (seen.done / total).clamp(0.0, 1.0);
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "between 0 and WHOLE"
                )]
                bar.set_position((share * 1000.0) as u64);
            }
            None => bar.tick(),
        }
    }

    /// Takes the bar away.
    pub(super) fn clear(&self) {
        if let Some(bar) = self.0.get() {
            bar.finish_and_clear();
        }
    }
}
