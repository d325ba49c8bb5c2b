//! `text_replace`: the pattern, the number of its occurrences, and the replacement.

mod expression;
mod rewriting;
mod sought;

use super::{
    Budget, EditError, Edited,
    error::Position,
    nearest::{Edges, nearest},
    text::{Text, end_near, with_ends},
};
use crate::task::Hiding;
use expression::Expression;
use rewriting::{Replacement, Rewriting};
pub(crate) use sought::{Count, PatternError, Sought};

/// What `text_replace` looks for, byte by byte, in a text without its byte order mark.
///
/// - A literal is found as it is written. If it has line ends and is nowhere to be found, it is looked
///   for once more without regard to `\n` and `\r\n`, and the answer says so.
/// - The line ends of a replacement become those of the line in which the match starts, unless they are
///   all that is changed, or the literal has `\r\n` and is found as it is written.
/// - A regular expression has the `regex` crate's syntax; `$1` and `${name}` in the replacement stand
///   for its groups, `$$` for a dollar. A group that the expression does not have is an error.
/// - Matches are counted from the start of the file. If two of them overlap, it is not clear which is meant, whatever
///   the count is. Of a regular expression, a match counts that starts within another one and ends beyond it.
/// - A match of no length is refused: it would insert, which `line_insert` says better.
#[derive(Debug, Clone)]
pub(crate) enum Pattern {
    Literal(String),
    Regex(Expression),
}

impl Pattern {
    pub(crate) fn literal(text: &str) -> Result<Self, PatternError> {
        not_empty(text).map(|text| Self::Literal(text.to_owned()))
    }

    pub(crate) fn regex(text: &str) -> Result<Self, PatternError> {
        Expression::read(not_empty(text)?).map(Self::Regex)
    }
}

fn not_empty(text: &str) -> Result<&str, PatternError> {
    let text = Some(text).filter(|text| !text.is_empty());
    text.ok_or(PatternError::Empty)
}

/// Replaces every match, if there are as many as `count` says.
pub(super) fn replace(
    text: Text<'_>,
    (pattern, sought): (&Pattern, Sought),
    replacement: &str,
    count: Count,
    budget: &Budget<'_>,
) -> Result<Edited, EditError> {
    let mut rewriting = Rewriting::new(text.body, count, sought, budget)?;
    let how = match pattern {
        Pattern::Literal(literal) => literally(&mut rewriting, text.body, literal, replacement)?,
        Pattern::Regex(expression) => {
            expression.replace(text.body, replacement, &mut rewriting)?;
            ""
        }
    };
    let number = rewriting.number;
    if number == 0 {
        let hint = match pattern {
            Pattern::Literal(literal) => literal_hint(text.body, (literal, sought), replacement),
            Pattern::Regex(expression) => expression.hint(text.body, budget)?,
        };
        let hint = hint.unwrap_or_else(|| "compare it with the file as it is now".to_owned());
        let said = format!("{sought} is nowhere in the file; {hint}");
        return Err(EditError::NotFound(said));
    }
    let after = rewriting.finish()?;
    let times = match number {
        1 => "1 occurrence".to_owned(),
        number => format!("{number} occurrences"),
    };
    let said = format!("{times} replaced{how}");
    Ok(Edited::whole(text.with(after), said))
}

/// Replaces a literal. Returns the remark about how it was found.
fn literally(
    rewriting: &mut Rewriting<'_>,
    body: &str,
    literal: &str,
    replacement: &str,
) -> Result<&'static str, EditError> {
    let is_end = |c: char| matches!(c, '\r' | '\n');
    let about_ends = with_ends(literal, "\n") == with_ends(replacement, "\n")
        || literal.chars().all(|c| c == '\r') && replacement.chars().all(is_end);
    let of = |as_written| Replacement {
        text: replacement.replace('$', "$$"),
        groups: None,
        as_written,
    };
    // Whoever writes the line ends of the file knows them, and means those of the replacement.
    let exact = of(about_ends || literal.contains("\r\n"));
    for (start, found) in body.match_indices(literal) {
        let found = start..start + found.len();
        rewriting.replace(&[found], &exact)?;
        rewriting.apart(body, start, again(body, literal, start))?;
    }
    if rewriting.number > 0 || !literal.contains('\n') {
        return Ok("");
    }
    let (folded, literal) = (with_ends(body, "\n"), with_ends(literal, "\n"));
    let ends = body.match_indices("\r\n").enumerate();
    // Where the folded text has a line feed for two bytes of the text.
    let ends: Vec<usize> = ends.map(|(before, (at, _))| at - before).collect();
    let unfolded = |place: usize| place + ends.partition_point(|end| *end < place);
    let fitted = of(about_ends);
    for (start, found) in folded.match_indices(&literal) {
        let found = unfolded(start)..unfolded(start + found.len());
        rewriting.replace(&[found], &fitted)?;
        rewriting.apart(&folded, start, again(&folded, &literal, start))?;
    }
    Ok(" (matched without regard to line ends; the replacement has those of the file)")
}

/// Where the literal occurs again before this occurrence ends.
fn again(body: &str, literal: &str, start: usize) -> Option<usize> {
    let from = start + literal.chars().next().map_or(1, char::len_utf8);
    let to = body.floor_char_boundary(start + 2 * literal.len() - 1);
    let at = body.get(from..to)?.find(literal)?;
    Some(from + at)
}

/// Where something like the literal is, or that the replacement is there already.
fn literal_hint(
    body: &str,
    (literal, sought): (&str, Sought),
    replacement: &str,
) -> Option<String> {
    let lines: Vec<_> = body.split_inclusive('\n').collect();
    let old: Vec<_> = literal.split_inclusive('\n').collect();
    let near = nearest(&old, &lines, None, Edges::Partial);
    let (first, last) = near.map_or((1, lines.len()), |it| (it.first, it.last));
    let start = lines.iter().take(first - 1).map(|line| line.len()).sum();
    let rest = body.get(start..).unwrap_or_default();
    let made = with_ends(replacement, end_near(body, start));
    // A short text, and one that is part of the pattern, may be there for another reason.
    let is_telling = made.trim().len() > 2 && !literal.contains(replacement);
    let is_whole = made.contains('\n') || lines.iter().any(|line| line.trim() == made.trim());
    let made = rest.find(&made).filter(|_| is_telling && is_whole);
    let line = made.map(|at| Position::of(body, start + at).line);
    if let Some(line) = line.filter(|line| *line <= last) {
        return Some(format!(
            "the replacement is there already, in line {line}: the edit may have been made before"
        ));
    }
    let hiding = Hiding::of(body, literal);
    near.map(|near| near.told(sought, hiding))
}
