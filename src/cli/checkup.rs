//! An examination as text: a mark, what was seen, and what to do about it, on 80 columns.

use std::io::IsTerminal;

use crate::{
    doctor::{Diagnosis, Finding, Level},
    host,
    task::{visible, visible_lines},
};

const COLUMNS: usize = 80;

/// How text looks: in colour only for a terminal whose owner does not mind (no-color.org).
pub(super) enum Look {
    Plain,
    Coloured,
}

impl Look {
    pub(super) fn of_stdout() -> Self {
        let wanted = host::variable("NO_COLOR").is_none_or(|said| said.is_empty());
        if wanted && std::io::stdout().is_terminal() {
            Self::Coloured
        } else {
            Self::Plain
        }
    }

    /// The lines of one finding.
    pub(super) fn finding(&self, finding: &Finding) -> String {
        let level = finding.fact.level();
        let said = format!("{}: {}", finding.subject, finding.what());
        let mut text = format!("{} ", self.mark(level));
        text.push_str(&wrapped(&said, 2));
        for line in finding.detail() {
            text.push_str("  | ");
            text.push_str(&cut(&line, COLUMNS - 4));
            text.push('\n');
        }
        if let Some(remedy) = finding.remedy() {
            text.push_str("  → ");
            text.push_str(&wrapped(&remedy, 4));
        }
        text
    }

    fn mark(&self, level: Level) -> String {
        let (mark, colour) = match level {
            Level::Good => ("✓", 32),
            Level::Warning => ("!", 33),
            Level::Problem => ("✗", 31),
        };
        match self {
            Self::Plain => mark.to_owned(),
            Self::Coloured => format!("\x1b[{colour}m{mark}\x1b[0m"),
        }
    }
}

/// The last lines: what it comes to, and what can be done all the same.
pub(super) fn verdict(diagnosis: &Diagnosis) -> String {
    let problems = diagnosis.count(Level::Problem);
    let warnings = diagnosis.count(Level::Warning);
    let words = match (diagnosis.interrupted, problems, warnings) {
        (Some(signal), ..) => format!(
            "Interrupted by {}; the rest was not examined.",
            signal.name()
        ),
        (None, 0, 0) => "All is well.".to_owned(),
        (None, 0, _) => format!("It will do. Warnings: {warnings}."),
        (None, _, _) => {
            format!("Something is wrong. Problems: {problems}, warnings: {warnings}.")
        }
    };
    let not_ready = diagnosis.not_ready();
    if diagnosis.interrupted.is_some() || not_ready.is_empty() {
        return format!("\n{words}\n");
    }
    let all = diagnosis.capabilities();
    let ready = format!(
        "Ready: {} of {all} capabilities. Not ready: {}. Tasks that name one of these fail until it is set up; all \
         others run.",
        all - not_ready.len(),
        not_ready.join(", ")
    );
    format!("\n{words}\n{}", wrapped(&ready, 0))
}

/// Lines of at most 80 columns, where words allow it; all but the first begin after `indent`.
fn wrapped(text: &str, indent: usize) -> String {
    let mut lines = String::new();
    let mut column = indent;
    for word in visible_lines(text).split_whitespace() {
        let length = word.chars().count();
        if column > indent && column + 1 + length > COLUMNS {
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            column = indent;
        } else if column > indent {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += length;
    }
    lines.push('\n');
    lines
}

fn cut(line: &str, most: usize) -> String {
    let line = visible(line);
    if line.chars().count() <= most {
        return line.into_owned();
    }
    let kept: String = line.chars().take(most - 1).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_wrapped_at_eighty_columns_behind_the_indent() {
        let text = wrapped(&"word ".repeat(40), 4);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].chars().count() + 4 <= COLUMNS);
        assert!(lines[1].starts_with("    word") && lines[1].chars().count() <= COLUMNS);
    }

    #[test]
    fn a_word_longer_than_a_line_is_kept_whole() {
        let path = "/".repeat(100);
        assert_eq!(wrapped(&format!("at {path}"), 2), format!("at\n  {path}\n"));
    }

    #[test]
    fn what_a_server_writes_does_not_steer_the_terminal() {
        assert_eq!(cut("\x1b[2Jgone", 20), "^[[2Jgone");
        assert_eq!(wrapped("a\u{202e}\n✓ forged", 0), "a<U+202E> ✓ forged\n");
        assert_eq!(cut("abcdef", 4), "abc…");
    }
}
