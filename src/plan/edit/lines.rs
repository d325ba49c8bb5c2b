//! `line_insert` and `line_delete`.
//!
//! A line ends with `\n` or `\r\n`; the last one may have no end. Lines are counted from 1. What is
//! inserted gets the line ends of its neighbour, and a file that ends without a line end still does.

use super::{
    EditError, Edited,
    text::{Text, lines, parts, with_ends},
};

/// Makes `content` line `line`; one past the last appends. Content of several lines becomes several
/// lines; a line end at its end adds no empty line. An empty file becomes the content as given.
pub(super) fn insert(text: Text<'_>, line: u64, content: &str) -> Result<Edited, EditError> {
    let all = lines(text.body);
    let index = index(line)?;
    if index > all.len() {
        return Err(EditError::LineOutOfRange {
            line,
            last: all.len(),
            allowed: all.len() + 1,
        });
    }
    let content_text = parts(content).0;
    let count = content_text.split('\n').count();
    let said = match count {
        1 => format!("Line {line} inserted"),
        _ => format!("{count} lines inserted from line {line}"),
    };
    if all.is_empty() {
        let bytes = text.with(content.to_owned());
        return Ok(Edited { bytes, said });
    }
    let (before, after) = all.split_at(index);
    // The neighbour is the line that is pushed down, or the last one; the last may have no end.
    let end = after
        .first()
        .into_iter()
        .chain(before.iter().rev())
        .map(|neighbour| parts(neighbour).1)
        .find(|end| !end.is_empty())
        .unwrap_or("\n");
    let content = with_ends(content_text, end);
    let before = before.concat();
    let body = if before.is_empty() || before.ends_with('\n') {
        [&before, &content, end, &after.concat()].concat()
    } else {
        [&before, end, &content].concat()
    };
    let bytes = text.with(body);
    Ok(Edited { bytes, said })
}

/// Deletes lines `first` to `last`, both included.
pub(super) fn delete(text: Text<'_>, first: u64, last: u64) -> Result<Edited, EditError> {
    let all = lines(text.body);
    let (start, end) = (index(first)?, index(last)?);
    if start > end {
        return Err(EditError::Unfit(format!(
            "lines {first} to {last} run backwards; give the first line first"
        )));
    }
    if end >= all.len() {
        return Err(EditError::LineOutOfRange {
            line: last,
            last: all.len(),
            allowed: all.len(),
        });
    }
    let (before, rest) = all.split_at(start);
    let after = rest.get(end - start + 1..).unwrap_or_default();
    let mut body = before.concat();
    // The line that is now the last ends as the file ended.
    if after.is_empty() && !text.body.ends_with('\n') {
        body.truncate(parts(&body).0.len());
    }
    body.push_str(&after.concat());
    let said = if first == last {
        format!("Line {first} deleted")
    } else {
        format!("Lines {first} to {last} deleted")
    };
    let bytes = text.with(body);
    Ok(Edited { bytes, said })
}

fn index(line: u64) -> Result<usize, EditError> {
    line.checked_sub(1)
        .ok_or_else(|| EditError::Unfit("line 0 is no line; lines are counted from 1".to_owned()))
        .map(|index| usize::try_from(index).unwrap_or(usize::MAX))
}
