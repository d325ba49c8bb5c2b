//! What stands between the nodes: line ends, indentation, comments, `:` and `-`.

/// Where the line that holds this byte starts.
pub(super) fn line_start(body: &str, at: usize) -> usize {
    let before = body.get(..at).unwrap_or_default();
    before.rfind('\n').map_or(0, |newline| newline + 1)
}

/// Where the line that holds this byte ends, without its line end.
pub(super) fn line_end(body: &str, at: usize) -> usize {
    let rest = body.get(at..).unwrap_or_default();
    match rest.find('\n') {
        Some(newline) if rest.get(..newline).is_some_and(|line| line.ends_with('\r')) => {
            at + newline - 1
        }
        Some(newline) => at + newline,
        None => body.len(),
    }
}

/// How many characters are before this byte in its line.
pub(super) fn column(body: &str, at: usize) -> usize {
    let line = body.get(line_start(body, at)..at).unwrap_or_default();
    line.chars().count()
}

/// Whether only blanks are before this byte in its line.
pub(super) fn starts_line(body: &str, at: usize) -> bool {
    let line = body.get(line_start(body, at)..at).unwrap_or_default();
    line.trim().is_empty()
}

/// The end of the last line before this byte that is not empty. A line that only begins before it is
/// not looked at, if it begins with blanks.
pub(super) fn end_of_lines(body: &str, at: usize) -> usize {
    let text = body.get(..at).unwrap_or_default();
    let last = line_start(body, at);
    let text = match text.get(last..) {
        Some(line) if line.trim_matches(' ').is_empty() => text.get(..last).unwrap_or_default(),
        _ => text,
    };
    text.trim_end_matches(['\n', '\r']).len()
}

/// The next byte that is neither blank nor in a comment.
pub(super) fn skip(body: &str, mut at: usize) -> usize {
    loop {
        let rest = body.get(at..).unwrap_or_default();
        let blank = rest.len() - rest.trim_start().len();
        at += blank;
        if !body.get(at..).is_some_and(|rest| rest.starts_with('#')) {
            return at;
        }
        at = line_end(body, at);
    }
}

/// The byte after this indicator, if it comes next.
pub(super) fn after(body: &str, at: usize, indicator: char) -> Option<usize> {
    let at = skip(body, at);
    let rest = body.get(at..)?;
    rest.starts_with(indicator)
        .then_some(at + indicator.len_utf8())
}

/// The byte after so many anchors and tags that come next.
pub(super) fn after_properties(body: &str, mut at: usize, count: usize) -> Option<usize> {
    for _ in 0..count {
        at = skip(body, at);
        let rest = body.get(at..)?.strip_prefix(['&', '!'])?;
        let ends = |c: char| c.is_whitespace() || matches!(c, ',' | '[' | ']' | '{' | '}');
        at += 1 + match rest.strip_prefix('<') {
            Some(_) => rest.find('>')? + 1,
            None => rest.find(ends).unwrap_or(rest.len()),
        };
    }
    Some(at)
}
