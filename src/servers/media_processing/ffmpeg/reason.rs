//! Translates the messages of FFmpeg to errors.

use std::path::Path;

use super::process::{DEMUXERS, Ended, INPUT};
use crate::{servers::tool::ToolError, task::Format};

/// The longest part of a line of stderr that is shown, in characters.
const SHOWN: usize = 300;

/// Texts that report a damaged input. ffmpeg may report damage and still succeed.
const DAMAGE: &[&str] = &[
    "ended prematurely",
    "partial file",
    "corrupt",
    "truncat",
    "moov atom not found",
    "invalid data found when processing input",
    "error while decoding",
    // Of FLV, of ASF and of GIF.
    "packet mismatch",
    "packet_obj_size",
    "invalid block label",
];

/// Texts that only report that ffmpeg failed.
const EMPTY: &[&str] = &[
    "conversion failed",
    "invalid argument",
    "error while processing the decoded data",
    "error opening output file",
    "nothing was written into output file",
];

/// Translates the failure of a program to an error. If it is not clear whether the input is damaged, the result is
/// the line of stderr that explains most.
pub(super) fn unclear(program: &str, path: &Path, ended: &Ended) -> Result<String, ToolError> {
    let failed = |text: String| Err(ToolError::Failed(text));
    if let Some(signal) = ended.signal {
        let hint = match signal {
            9 => ": the machine may be out of memory",
            _ => "",
        };
        return failed(format!("{program} was terminated by signal {signal}{hint}"));
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
            "this {program} lacks a required part ({line}); install a complete FFmpeg"
        ));
    }
    let is_empty = |line: &str| EMPTY.iter().any(|text| line.to_lowercase().contains(text));
    let telling = lines.iter().find(|line| !is_empty(line)).or(lines.first());
    let telling = telling.map_or("it does not state a reason", String::as_str);
    match damage(&ended.stderr) {
        Some(line) => Err(corrupt(path, &line)),
        None => Ok(telling.to_owned()),
    }
}

/// The error of a file that ffprobe cannot read.
pub(super) fn refused(program: &str, path: &Path, ended: &Ended) -> ToolError {
    if ended.stderr.contains("not on whitelist") {
        let (path, media) = (path.display(), Format::readable());
        let others = DEMUXERS.to_uppercase().replace(',', ", ");
        let problem = format!(
            "{path} has a format that this tool does not read; it reads {media}, and also {others}"
        );
        return ToolError::argument("input_uri", problem);
    }
    unclear(program, path, ended).map_or_else(|error| error, |line| corrupt(path, &line))
}

pub(super) fn corrupt(path: &Path, line: &str) -> ToolError {
    ToolError::Corrupt(format!("{}: {line}", path.display()))
}

/// The first line that reports a damaged input.
pub(super) fn damage(stderr: &str) -> Option<String> {
    let tells = |line: &String| {
        let line = line.to_lowercase();
        DAMAGE.iter().any(|text| line.contains(text))
    };
    lines(stderr).find(tells)
}

/// The lines of stderr without the name of the component and without the name of the input.
pub(super) fn lines(stderr: &str) -> impl Iterator<Item = String> {
    let said = |line: &str| {
        let line = line.trim();
        let named = line
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("] "));
        let line = named.map_or(line, |(_, rest)| rest);
        let line = line.strip_prefix(INPUT).unwrap_or(line);
        let line = line.trim_start_matches([':', ' ']);
        line.chars().take(SHOWN).collect::<String>()
    };
    stderr.lines().map(said).filter(|line| !line.is_empty())
}
