//! The lines of a YAML text, and the signs between its nodes. A carriage return alone ends a line, too (YAML 1.2.2,
//! rule 28).

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

/// Where the line starts that follows the line end at this byte.
pub(super) fn next_line(body: &str, end: usize) -> usize {
    let rest = body.get(end..).unwrap_or_default();
    end + if rest.starts_with("\r\n") {
        2
    } else {
        rest.len().min(1)
    }
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

/// The next byte that is neither blank nor in a comment.
pub(super) fn skip(body: &str, mut at: usize) -> usize {
    loop {
        let rest = body.get(at..).unwrap_or_default();
        at += rest.len() - rest.trim_start().len();
        if !body.get(at..).is_some_and(|rest| rest.starts_with('#')) {
            return at;
        }
        at = line_end(body, at);
    }
}

/// The byte after this sign if it comes next, else the same byte.
pub(super) fn after(body: &str, at: usize, sign: char) -> usize {
    let next = skip(body, at);
    let rest = body.get(next..).unwrap_or_default();
    if rest.starts_with(sign) {
        next + sign.len_utf8()
    } else {
        at
    }
}

/// The byte after so many anchors and tags that come next.
pub(super) fn after_properties(body: &str, at: usize, count: usize) -> usize {
    (0..count).fold(at, |at, _| {
        let at = skip(body, at);
        let rest = body.get(at..).unwrap_or_default();
        let ends = |c: char| c.is_whitespace() || ",[]{}".contains(c);
        at + rest.find(ends).unwrap_or(rest.len())
    })
}
