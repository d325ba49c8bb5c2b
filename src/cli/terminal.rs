//! What a person at a terminal sees on stderr in addition to the envelope: progress, and the preview of a plan. Also
//! the width of texts, and how they are made to fit.

use std::{
    io::{self, IsTerminal, Write},
    sync::OnceLock,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use unicode_width::UnicodeWidthChar;

use crate::{
    host::Interrupts,
    perform::{RunEvent, ToolProgress},
    task::{Preview, State, visible, visible_lines},
};

use super::{
    logs,
    signs::Signs,
    streams::{StdinPart, read_part, tell},
};

/// The most bytes of an answer that are read.
const ANSWER: usize = 64;

/// Asks on stderr whether something may be done. If the question cannot be shown, nobody can agree to it. A signal
/// that is caught before the answer counts as a no.
pub(super) fn agreed(question: &str, interrupts: &Interrupts) -> bool {
    // A terminal returns at most one line.
    let mut said = Vec::with_capacity(ANSWER);
    io::stderr().write_all(question.as_bytes()).is_ok()
        && matches!(
            read_part(&mut said, interrupts, || None),
            Ok(StdinPart::Read(_))
        )
        && matches!(said.trim_ascii(), b"y" | b"Y" | b"yes")
}

/// What is shown of a run while it is performed.
#[derive(Debug)]
pub(super) enum ProgressDisplay {
    /// To a person: the progress that tools report, as a bar, which appears with the first report if stderr is a terminal.
    Bar(OnceLock<ProgressBar>),
    /// To a program (`--progress`).
    Signs(Signs),
}

/// The length of the bar. Tools count in units of their own; the bar counts in thousandths.
const WHOLE: u64 = 1000;

impl ProgressDisplay {
    pub(super) const fn bar() -> Self {
        Self::Bar(OnceLock::new())
    }

    pub(super) fn show(&self, seen: RunEvent<'_>) {
        match (self, seen) {
            (Self::Signs(signs), RunEvent::Begins(activity)) => signs.begins(activity),
            (Self::Signs(signs), RunEvent::Progress(done)) => signs.progress(done),
            (Self::Bar(_), RunEvent::Begins(_)) => {}
            (Self::Bar(bar), RunEvent::Progress(done)) => advance(bar, done),
        }
    }

    /// Shows nothing more.
    pub(super) fn end(&self) {
        match self {
            Self::Bar(bar) => {
                if let Some(bar) = bar.get() {
                    bar.finish_and_clear();
                }
            }
            Self::Signs(signs) => signs.end(),
        }
    }
}

fn advance(bar: &OnceLock<ProgressBar>, seen: ToolProgress<'_>) {
    if !io::stderr().is_terminal() {
        return;
    }
    let bar = bar.get_or_init(|| {
        let bar = ProgressBar::with_draw_target(Some(WHOLE), ProgressDrawTarget::stderr());
        // A message of more than one line would move the cursor up over what stands above.
        let style = ProgressStyle::with_template("[{bar:10}] {percent:>3}% {elapsed} {wide_msg}");
        if let Ok(style) = style {
            bar.set_style(style.progress_chars("=> "));
        }
        bar
    });
    let tool = visible(seen.tool);
    if let Some(message) = seen.message {
        bar.set_message(format!("{tool}: {}", visible(message)));
    } else {
        bar.set_message(tool.into_owned());
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

/// Shows a preview on a terminal: the diff, and the hash for `--expect`. The envelope contains both anyway.
pub(super) fn show(preview: &Preview, state: State) {
    if io::stderr().is_terminal() {
        show_diff(preview);
        tell(&advice(preview, state));
    }
}

/// Shows the diff of a preview on stderr, in colours if stderr may have them.
pub(super) fn show_diff(preview: &Preview) {
    let line = if logs::in_colours(&io::stderr()) {
        in_colours
    } else {
        |line: &str| visible_lines(line).into_owned()
    };
    let lines = preview.diff.split_terminator('\n');
    tell(&lines.map(|text| line(text) + "\n").collect::<String>());
}

/// What follows the diff of a plan that was not performed.
fn advice(preview: &Preview, state: State) -> String {
    match state {
        // The reason, which is told as well, says how to approve it.
        State::Pending => "\nNothing was changed yet.\n".to_owned(),
        _ => format!(
            "\nNothing was changed. To make exactly this change, run the plan with: --expect {}\n",
            preview.hash
        ),
    }
}

fn in_colours(line: &str) -> String {
    let line = visible_lines(line).into_owned();
    match colour(&line) {
        Some(colour) => logs::in_colour(&line, colour),
        None => line,
    }
}

/// The colour of a line of a diff, as in `git diff` (ECMA-48 SGR).
fn colour(line: &str) -> Option<u8> {
    if line.starts_with("--- ") || line.starts_with("+++ ") {
        return Some(1);
    }
    match line.bytes().next() {
        Some(b'@') => Some(36),
        Some(b'+') => Some(32),
        Some(b'-') => Some(31),
        _ => None,
    }
}

/// The width of a text, in columns. Many terminals do not join characters, so each of them counts.
pub(super) fn width(text: &str) -> usize {
    text.chars().filter_map(UnicodeWidthChar::width).sum()
}

/// Shortens a text to that many columns. Its middle is left out, because ids differ at their ends.
pub(super) fn fit(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(1);
    let head = take(text.chars(), room.div_ceil(2));
    let tail = take(text.chars().rev(), room / 2);
    head.into_iter()
        .chain(['…'])
        .chain(tail.into_iter().rev())
        .collect()
}

fn take(chars: impl Iterator<Item = char>, columns: usize) -> Vec<char> {
    let mut used = 0;
    chars
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= columns
        })
        .collect()
}

/// Pads a text with spaces to that many columns.
pub(super) fn padded(text: &str, columns: usize) -> String {
    let blanks = columns.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(blanks))
}

/// Breaks a text into lines of at most that many columns. A longer word is cut, a path after a `/` if possible.
pub(super) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        for (at, piece) in cut(word, columns).into_iter().enumerate() {
            match lines.last_mut() {
                Some(line) if at == 0 && width(line) + 1 + width(piece) <= columns => {
                    line.extend([" ", piece]);
                }
                _ => lines.push(piece.to_owned()),
            }
        }
    }
    lines
}

/// The same as one text. All lines but the first begin with that many spaces.
pub(super) fn hanging(text: &str, columns: usize, blanks: usize) -> String {
    let room = columns.saturating_sub(blanks).max(1);
    wrapped(text, room).join(&format!("\n{}", " ".repeat(blanks)))
}

/// A text of several lines, such as a diff, in lines of at most that many columns, which all begin with spaces. A mark
/// shows where a line goes on, so that its rest does not look like another line.
pub(super) fn readable(text: &str, columns: usize) -> String {
    // A carriage return at the end of a line is shown, too.
    let lines = text.split_terminator('\n').map(|line| {
        // The width of a tab depends on its place, and is at most this.
        let line = visible_lines(line).replace('\t', "        ");
        let parts = wrapped(&line, columns.saturating_sub(4).max(1));
        format!("  {}\n", parts.join("\n  ↪ "))
    });
    lines.collect()
}

/// The parts of a word, each of at most that many columns.
fn cut(word: &str, columns: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut from, mut used, mut part) = (0, 0, 0);
    for (at, c) in word.char_indices() {
        let wide = c.width().unwrap_or(0);
        if used + wide > columns && used > 0 {
            let to = if part > from { part } else { at };
            pieces.push(word.get(from..to).unwrap_or_default());
            from = to;
            used = width(word.get(from..at).unwrap_or_default());
        }
        used += wide;
        if c == '/' {
            part = at + 1;
        }
    }
    pieces.push(word.get(from..).unwrap_or_default());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_is_coloured_as_git_does_and_does_not_steer_the_terminal() {
        for (line, shown) in [
            ("--- a/x", "\x1b[1m--- a/x\x1b[0m"),
            ("@@ -1 +1 @@", "\x1b[36m@@ -1 +1 @@\x1b[0m"),
            ("-old", "\x1b[31m-old\x1b[0m"),
            ("+new\x1b[2J", "\x1b[32m+new^[[2J\x1b[0m"),
            (" same", " same"),
        ] {
            assert_eq!(in_colours(line), shown);
        }
    }

    #[test]
    fn only_a_plan_that_does_not_wait_is_to_be_run_under_its_hash() {
        let preview = Preview {
            hash: "sha256:12".to_owned(),
            diff: String::new(),
        };
        assert!(advice(&preview, State::Planned).ends_with("with: --expect sha256:12\n"));
        assert!(!advice(&preview, State::Pending).contains("--expect"));
    }

    #[test]
    fn wide_characters_count_as_two() {
        assert_eq!(padded("音声", 6), "音声  ");
        assert_eq!(fit("音声認識タスク", 7), "音…ク");
        assert!(width(&fit("音声認識タスク", 7)) <= 7);
        assert_eq!(fit("task_123456789", 9), "task…6789");
        assert_eq!(fit("short", 9), "short");
        assert_eq!(width("👍🏽"), 4);
    }

    #[test]
    fn notes_are_broken_between_words_and_lose_none() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("an unbreakable", 5), ["an", "unbre", "akabl", "e"]);
        assert_eq!(wrapped("/one/two/three", 10), ["/one/two/", "three"]);
        assert_eq!(wrapped("a 音声認識", 5), ["a", "音声", "認識"]);
        assert_eq!(wrapped("", 5), [""]);
        assert_eq!(hanging("one two three", 9, 2), "one two\n  three");
    }

    #[test]
    fn all_lines_of_a_diff_are_indented() {
        let diff = "+one two three\n-four\r\n+\ta|five\n";
        let shown = "  +one two\n  ↪ three\n  -four^M\n  +       \n  ↪ a|five\n";
        assert_eq!(readable(diff, 14), shown);
    }
}
