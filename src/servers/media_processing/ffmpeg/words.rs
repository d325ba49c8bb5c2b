//! What FFmpeg's words mean: they come on stderr, line by line, with addresses of its own.

use super::process::Ended;
use crate::servers::tool::ToolError;

/// Characters of a line that are shown, at most.
const SHOWN: usize = 300;

/// Texts of an input that is damaged, in whatever way the program ended: it goes on where it can.
const DAMAGE: &[&str] = &[
    "ended prematurely",
    "partial file",
    "corrupt",
    "truncat",
    "moov atom not found",
    "invalid data found when processing input",
    "error while decoding",
];

/// Lines that only say that it failed.
const EMPTY: &[&str] = &[
    "conversion failed",
    "invalid argument",
    "error while processing the decoded data",
    "error opening output file",
    "nothing was written into output file",
];

/// Why a program failed.
#[derive(Debug)]
pub(super) enum Cause {
    /// Something that is no matter of the input.
    Known(ToolError),
    /// The input is damaged.
    Input(String),
    /// One or the other.
    Unclear(String),
}

/// What the end of a program that failed means.
pub(super) fn cause(program: &str, ended: &Ended) -> Cause {
    let failed = |text: String| Cause::Known(ToolError::Failed(text));
    if let Some(signal) = ended.signal {
        let hint = match signal {
            9 => ": the machine may be out of memory",
            _ => "",
        };
        return failed(format!("{program} was ended by signal {signal}{hint}"));
    }
    let lines: Vec<String> = lines(&ended.stderr).collect();
    let with = |text: &str| lines.iter().find(|line| line.to_lowercase().contains(text));
    if let Some(line) = with("no space left") {
        return failed(format!("{program} cannot write: {line}"));
    }
    if with("cannot allocate memory").is_some() {
        return failed(format!("{program} ran out of memory"));
    }
    if let Some(line) = with("unknown encoder").or_else(|| with("unrecognized option")) {
        return failed(format!(
            "this {program} lacks what is needed ({line}); install a complete FFmpeg"
        ));
    }
    let telling = lines.iter().find(|line| !is_empty(line)).or(lines.first());
    let telling = telling.map_or("it does not say why", String::as_str);
    match damage(&ended.stderr) {
        Some(line) => Cause::Input(line),
        None => Cause::Unclear(telling.to_owned()),
    }
}

/// The first line that tells of a damaged input.
pub(super) fn damage(stderr: &str) -> Option<String> {
    let tells = |line: &String| {
        let line = line.to_lowercase();
        DAMAGE.iter().any(|text| line.contains(text))
    };
    lines(stderr).find(tells)
}

/// Whether the input is of a format that is not read.
pub(super) fn is_foreign(stderr: &str) -> bool {
    stderr.contains("not on whitelist")
}

fn is_empty(line: &str) -> bool {
    let line = line.to_lowercase();
    EMPTY.iter().any(|text| line.contains(text))
}

/// The lines that say something, without the part of the program that says it and without the
/// input's name.
fn lines(stderr: &str) -> impl Iterator<Item = String> {
    let said = |line: &str| {
        let line = line.trim();
        let line = match line
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("] "))
        {
            Some((_, rest)) => rest,
            None => line,
        };
        let line = line.strip_prefix(super::INPUT).unwrap_or(line);
        let line = line.trim_start_matches([':', ' ']);
        line.chars().take(SHOWN).collect::<String>()
    };
    stderr.lines().map(said).filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(stderr: &str) -> Ended {
        Ended {
            succeeded: false,
            signal: None,
            stdout: String::new(),
            stderr: stderr.to_owned(),
        }
    }

    #[test]
    fn addresses_and_the_inputs_name_are_left_out() {
        let said = "[mov,mp4 @ 0x56] moov atom not found\nfile:/proc/self/fd/0: Invalid data found when processing input\n";
        assert_eq!(
            lines(said).collect::<Vec<_>>(),
            [
                "moov atom not found",
                "Invalid data found when processing input"
            ]
        );
        assert_eq!(damage(said).as_deref(), Some("moov atom not found"));
    }

    #[test]
    fn a_full_disk_and_a_missing_encoder_are_not_the_inputs_fault() {
        for (said, shown) in [
            (
                "Error writing trailer of file:/x: No space left on device",
                "No space left on device",
            ),
            ("Unknown encoder 'libx265'", "install a complete FFmpeg"),
            ("x: Cannot allocate memory", "out of memory"),
        ] {
            let Cause::Known(error) = cause("ffmpeg", &ended(said)) else {
                panic!("{said} is known");
            };
            assert!(error.to_string().contains(shown), "{error}");
        }
    }

    #[test]
    fn the_line_that_tells_most_is_shown() {
        let said = "[aac @ 0x1] Number of bands (43) exceeds limit (35).\nConversion failed!";
        let Cause::Unclear(line) = cause("ffmpeg", &ended(said)) else {
            panic!("nobody knows whose fault it is");
        };
        assert_eq!(line, "Number of bands (43) exceeds limit (35).");
    }
}
