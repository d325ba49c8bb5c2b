//! What a person at a terminal sees on stderr in addition to the envelope: progress, and the preview of a plan.

use std::{
    cell::OnceCell,
    io::{self, IsTerminal, Write},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;

use crate::{
    host,
    perform::Seen,
    task::{Preview, visible, visible_json, visible_lines},
};

use super::streams::Stderr;

/// Whether to print in colours: only on a terminal, and not if `NO_COLOR` is set (no-color.org).
pub(super) fn coloured(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && host::variable("NO_COLOR").is_none_or(|said| said.is_empty())
}

/// A text in a colour (ECMA-48 SGR).
pub(super) fn in_colour(text: &str, colour: u8) -> String {
    format!("\x1b[{colour}m{text}\x1b[0m")
}

/// Asks on stderr whether something may be done. If the question cannot be shown, nobody can agree to it.
pub(super) fn agreed(question: &str) -> bool {
    let mut said = String::new();
    io::stderr().write_all(question.as_bytes()).is_ok()
        && io::stdin().read_line(&mut said).is_ok()
        && matches!(said.trim(), "y" | "Y" | "yes")
}

/// The progress that tools report: a bar, which appears with the first report, or lines.
pub(super) struct Bar {
    shows: Shows,
    bar: OnceCell<ProgressBar>,
}

/// How progress is shown on stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shows {
    /// As a bar, if stderr is a terminal.
    Bar,
    /// As one JSON object per line, for a program (`--progress`).
    Lines,
}

/// The length of the bar. Tools count in units of their own; the bar counts in thousandths.
const WHOLE: u64 = 1000;

impl Bar {
    pub(super) fn new(shows: Shows) -> Self {
        Self {
            shows,
            bar: OnceCell::new(),
        }
    }

    pub(super) fn show(&self, seen: Seen<'_>) {
        if self.shows == Shows::Lines {
            let Seen {
                tool,
                done,
                total,
                message,
            } = seen;
            let line = json!({"progress": {"tool": tool, "done": done, "total": total, "message": message}});
            // If stderr is gone, nothing can be done.
            let _ = Stderr.write_all(format!("{}\n", visible_json(&line.to_string())).as_bytes());
            return;
        }
        if !io::stderr().is_terminal() {
            return;
        }
        let bar = self.bar.get_or_init(|| {
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

    pub(super) fn clear(&self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

/// Shows a preview on a terminal: the diff, in colours, and the hash for `--expect`. The envelope contains both
/// anyway.
pub(super) fn show(preview: &Preview) {
    let stderr = io::stderr();
    if !stderr.is_terminal() {
        return;
    }
    let line: fn(&str) -> String = if coloured(&stderr) { in_colours } else { plain };
    // If stderr is gone, nothing can be done.
    let _ = Stderr.write_all(text(preview, line).as_bytes());
}

fn text(preview: &Preview, line: impl FnMut(&str) -> String) -> String {
    let mut lines: Vec<String> = preview.diff.lines().map(line).collect();
    lines.push(String::new());
    lines.push(format!(
        "Nothing was changed. To make exactly this change: oneact --expect {}\n",
        preview.hash
    ));
    lines.join("\n")
}

fn plain(line: &str) -> String {
    visible_lines(line).into_owned()
}

fn in_colours(line: &str) -> String {
    let line = plain(line);
    match colour(&line) {
        Some(colour) => in_colour(&line, colour),
        None => line,
    }
}

/// The colour of a line as in `git diff` (ECMA-48 SGR).
fn colour(line: &str) -> Option<u8> {
    let headers = [
        "diff ",
        "index ",
        "--- ",
        "+++ ",
        "new file ",
        "deleted file ",
        "old mode ",
        "new mode ",
        "rename ",
        "similarity ",
    ];
    if headers.iter().any(|header| line.starts_with(header)) {
        return Some(1);
    }
    match line.bytes().next() {
        Some(b'@') => Some(36),
        Some(b'+') => Some(32),
        Some(b'-') => Some(31),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preview() -> Preview {
        Preview {
            hash: "sha256:12".to_owned(),
            diff: "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\x1b[2J\n same\n".to_owned(),
        }
    }

    #[test]
    fn a_diff_is_coloured_as_git_does_and_names_the_hash_to_run_it_under() {
        let text = text(&preview(), in_colours);
        for part in [
            "\x1b[1m--- a/x\x1b[0m\n",
            "\x1b[36m@@ -1 +1 @@\x1b[0m\n",
            "\x1b[31m-old\x1b[0m\n",
            "\n same\n",
            "oneact --expect sha256:12\n",
        ] {
            assert!(text.contains(part), "{text:?}");
        }
    }

    #[test]
    fn what_a_file_holds_does_not_steer_the_terminal() {
        assert!(!text(&preview(), plain).contains('\x1b'));
        assert!(text(&preview(), in_colours).contains("+new^[[2J"));
    }
}
