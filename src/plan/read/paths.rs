//! Paths as a plan spells them (R-001-24, R-001-157).

use serde_json::Value;

use crate::task::{Fault, RelPath};

use super::{
    fields::{quoted, text},
    findings::Findings,
};

/// A path below the root: `./a//b.txt` is `a/b.txt`.
pub(super) fn read(place: &str, value: &Value, findings: &mut Findings) -> Option<RelPath> {
    let path = text(place, value, findings)?;
    RelPath::parse(&plain(path))
        .map_err(|problem| {
            let fault = if leads_out(path) {
                "Path traversal attempt detected: "
            } else {
                ""
            };
            findings.problem(
                Fault::PathOutside,
                format!("{fault}`{place}` is {}: {problem}", quoted(path)),
            );
        })
        .ok()
}

/// The path without the components that lead nowhere, `.` and empty ones. The first component tells an
/// absolute path and the last one a directory: an empty first one stays, and so do `.` and empty last ones.
fn plain(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').collect();
    let last = parts.len() - 1;
    let kept = parts.iter().enumerate().filter(|(at, part)| match **part {
        "" => *at == 0 || *at == last,
        "." => *at == last,
        _ => true,
    });
    kept.map(|(_, part)| *part).collect::<Vec<_>>().join("/")
}

/// Whether a path that was refused would leave the root where it is taken at its word, on this system or
/// on another.
fn leads_out(path: &str) -> bool {
    let drive = matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    drive || path.starts_with(['/', '\\']) || path.split(['/', '\\']).any(|part| part == "..")
}
