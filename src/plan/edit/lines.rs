//! `line_insert` and `line_delete`.
//!
//! A line ends with `\n` or `\r\n`; the last one may have no end. Lines are counted from 1. What is
//! inserted gets the line ends of its neighbour, and a file that ends without a line end still does.

use super::{
    EditError, Edited,
    text::{Text, parts, with_ends},
};

/// Makes `content` line `line`; one past the last appends. Content of several lines becomes several
/// lines; a line end at its end adds no empty line. An empty file becomes the content as given.
pub(super) fn insert(text: Text<'_>, line: u64, content: &str) -> Result<Edited, EditError> {
    let start = start(text.body, index(line)?).map_err(|last| EditError::LineOutOfRange {
        line,
        last,
        allowed: last + 1,
    })?;
    let content_text = parts(content).0;
    let count = content_text.split('\n').count();
    let said = match count {
        1 => format!("Line {line} inserted"),
        _ => format!("{count} lines inserted from line {line}"),
    };
    if text.body.is_empty() {
        let bytes = text.with(content.to_owned());
        return Ok(Edited::whole(bytes, said));
    }
    let (before, after) = text.body.split_at(start);
    // The neighbour is the line that is pushed down, or the last one; the last may have no end.
    let end = after
        .split_inclusive('\n')
        .take(1)
        .chain(before.split_inclusive('\n').rev())
        .map(|neighbour| parts(neighbour).1)
        .find(|end| !end.is_empty())
        .unwrap_or("\n");
    let content = with_ends(content_text, end);
    let body = if before.is_empty() || before.ends_with('\n') {
        [before, &content, end, after].concat()
    } else {
        [before, end, &content].concat()
    };
    let bytes = text.with(body);
    Ok(Edited::whole(bytes, said))
}

/// Deletes lines `first` to `last`, both included.
pub(super) fn delete(text: Text<'_>, first: u64, last: u64) -> Result<Edited, EditError> {
    let (from, to) = (index(first)?, index(last)?);
    if from > to {
        return Err(EditError::Unfit(format!(
            "lines {first} to {last} run backwards; give the first line first"
        )));
    }
    let missing = |count| EditError::LineOutOfRange {
        line: last,
        last: count,
        allowed: count,
    };
    let end = start(text.body, to.saturating_add(1)).map_err(missing)?;
    let from = start(text.body, from).map_err(missing)?;
    let (mut before, after) = (
        text.body.get(..from).unwrap_or_default(),
        text.body.get(end..).unwrap_or_default(),
    );
    // The line that is now the last ends as the file ended.
    if after.is_empty() && !text.body.ends_with('\n') {
        before = parts(before).0;
    }
    let said = if first == last {
        format!("Line {first} deleted")
    } else {
        format!("Lines {first} to {last} deleted")
    };
    let bytes = text.with([before, after].concat());
    Ok(Edited::whole(bytes, said))
}

/// The byte at which this line starts, counted from 0; of one past the last, the end of the text.
/// `Err`: how many lines there are.
fn start(body: &str, index: usize) -> Result<usize, usize> {
    let mut lines = body.split_inclusive('\n');
    let mut at = 0;
    for before in 0..index {
        at += lines.next().ok_or(before)?.len();
    }
    Ok(at)
}

fn index(line: u64) -> Result<usize, EditError> {
    line.checked_sub(1)
        .ok_or_else(|| EditError::Unfit("line 0 is no line; lines are counted from 1".to_owned()))
        .map(|index| usize::try_from(index).unwrap_or(usize::MAX))
}
