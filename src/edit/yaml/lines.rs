//! The lines of a YAML text. A carriage return alone ends a line, too (YAML 1.2.2, rule 28).

const ENDS: [char; 2] = ['\n', '\r'];

/// Where the line that holds this byte starts.
pub(super) fn line_start(body: &str, at: usize) -> usize {
    let before = body.get(..at).unwrap_or_default();
    before.rfind(ENDS).map_or(0, |end| end + 1)
}

/// Where the line that holds this byte ends, without its line end.
pub(super) fn line_end(body: &str, at: usize) -> usize {
    let rest = body.get(at..).unwrap_or_default();
    rest.find(ENDS).map_or(body.len(), |end| at + end)
}

/// What is before this byte in its line.
pub(super) fn line_before(body: &str, at: usize) -> &str {
    body.get(line_start(body, at)..at).unwrap_or_default()
}

/// How many characters are before this byte in its line.
pub(super) fn column(body: &str, at: usize) -> usize {
    line_before(body, at).chars().count()
}

/// Whether only blanks are before this byte in its line.
pub(super) fn starts_line(body: &str, at: usize) -> bool {
    line_before(body, at).trim().is_empty()
}
