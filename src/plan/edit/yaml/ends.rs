//! Line ends: the editor works with `\n`; every line that it left alone gets its own end back.

use super::{model::Style, place::Place};
use crate::plan::edit::text::{lines, parts};

/// The text, ending with or without a line end as the other does.
pub(super) fn finish_like(mut text: String, other: &str) -> String {
    match (text.ends_with('\n'), other.ends_with('\n')) {
        (true, false) => text.truncate(text.len() - 1),
        (false, true) => text.push('\n'),
        _ => {}
    }
    text
}

/// Puts back the blank lines after a block scalar, which the editor takes for its own.
pub(super) fn keep_blank_lines(after: String, before: &str, place: &Place<'_>) -> String {
    let Place::There { node, span, .. } = place else {
        return after;
    };
    let old = before.get(..span.end).unwrap_or_default().trim_end().len();
    let gap = before.get(old..).unwrap_or_default();
    let gap = gap.len() - gap.trim_start().len();
    let gap = before.get(old..old + gap).unwrap_or_default();
    let gap = gap
        .rfind('\n')
        .map_or("", |last| gap.get(..=last).unwrap_or(gap));
    let rest = before.get(old + gap.len()..).unwrap_or_default();
    match after.strip_suffix(rest) {
        Some(head) if node.style == Style::BlockScalar && !rest.is_empty() => {
            [head.trim_end_matches('\n'), gap, rest].concat()
        }
        _ => after,
    }
}

/// `after` with the line ends of `before`: lines that are the same at the start and at the end have
/// theirs, those between get the one of the first line that they replace, or of the line before.
pub(super) fn restore(before: &str, after: &str) -> String {
    let (old, new) = (lines(before), lines(after));
    let text = |line: &&str| parts(line).0.to_owned();
    let same = |(a, b): &(&&str, &&str)| text(a) == text(b);
    let first = old.iter().zip(&new).take_while(same).count();
    let rest = old.len().min(new.len()) - first;
    let pairs = old.iter().rev().zip(new.iter().rev()).take(rest);
    let last = pairs.take_while(same).count();
    let near = old.iter().skip(first).take(1);
    let near = near.chain(old.iter().take(first).rev());
    let end = near
        .map(|line| parts(line).1)
        .find(|end| !end.is_empty())
        .unwrap_or("\n");
    let mut body = String::with_capacity(before.len() + after.len());
    for (index, line) in new.iter().enumerate() {
        let (text, written) = parts(line);
        let twin = match index {
            _ if index < first => old.get(index),
            _ if index >= new.len() - last => old.get(index + old.len() - new.len()),
            _ => None,
        };
        body.push_str(text);
        body.push_str(match twin.map(|line| parts(line).1) {
            _ if written.is_empty() => "",
            Some(own) if !own.is_empty() => own,
            _ => end,
        });
    }
    body
}
