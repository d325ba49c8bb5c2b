//! What a plan would do, for a person at a terminal: the diff in colours, and the hash to run it under.

use std::io::{self, IsTerminal, Write};

use crate::{
    host,
    task::{Preview, visible_lines},
};

use super::stderr::Stderr;

/// Shows it on stderr if a person is there; the envelope has it anyway.
pub(super) fn show(preview: &Preview) {
    if !io::stderr().is_terminal() {
        return;
    }
    let colours = host::variable("NO_COLOR").is_none_or(|said| said.is_empty());
    // If stderr is gone, nothing can be done.
    let _ = Stderr
        .write_all(text(preview, if colours { Look::Coloured } else { Look::Plain }).as_bytes());
}

#[derive(Clone, Copy)]
enum Look {
    Plain,
    Coloured,
}

fn text(preview: &Preview, look: Look) -> String {
    let mut lines: Vec<String> = preview.diff.lines().map(|line| look.line(line)).collect();
    lines.push(String::new());
    lines.push(format!(
        "Nothing was changed. To do exactly this: oneact --expect {}\n",
        preview.hash
    ));
    lines.join("\n")
}

impl Look {
    fn line(self, line: &str) -> String {
        let line = visible_lines(line);
        match (self, colour(&line)) {
            (Self::Coloured, Some(colour)) => format!("\x1b[{colour}m{line}\x1b[0m"),
            _ => line.into_owned(),
        }
    }
}

/// As `git diff` colours them (ECMA-48 SGR).
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
        let text = text(&preview(), Look::Coloured);
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
        assert!(!text(&preview(), Look::Plain).contains('\x1b'));
        assert!(text(&preview(), Look::Coloured).contains("+new^[[2J"));
    }
}
