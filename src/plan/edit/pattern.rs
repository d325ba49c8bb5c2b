//! `text_replace`: what is looked for, how often it may be there, and what it becomes.

use regex::bytes::{Captures, Regex, RegexBuilder};

use super::{
    super::model::Count,
    EditError, Edited,
    text::{Position, Text, with_ends},
};

/// What `text_replace` looks for, byte by byte, in a text without its byte order mark.
///
/// - A literal is found as it is written; its replacement is taken as it is written too. If it has
///   line ends and is nowhere to be found, it is looked for once more without regard to `\n` and
///   `\r\n`; each replacement then gets the line ends of what it replaces, and the answer says so.
/// - A regular expression has the `regex` crate's syntax; `$1` and `${name}` in the replacement stand
///   for its groups, `$$` for a dollar. A group that the expression does not have is an error.
/// - Matches do not overlap and are counted from the start of the file.
/// - A match of no length is refused: it would insert, which `line_insert` says better.
#[derive(Debug, Clone)]
pub(crate) enum Pattern {
    Literal(String),
    Regex(Regex),
}

/// Why a pattern cannot be looked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PatternError {
    #[error("the pattern is empty; say what to replace")]
    Empty,
    #[error("the pattern is no regular expression: {0}")]
    Syntax(String),
    #[error(
        "the pattern becomes larger than {} KiB when compiled; use smaller repetitions",
        MAX_COMPILED >> 10
    )]
    TooLarge,
}

/// Bytes of a compiled expression, and of what matching may remember.
const MAX_COMPILED: usize = 1 << 20;

impl Pattern {
    /// A text that is looked for as it is.
    pub(crate) fn literal(text: impl Into<String>) -> Result<Self, PatternError> {
        let text = text.into();
        if text.is_empty() {
            Err(PatternError::Empty)
        } else {
            Ok(Self::Literal(text))
        }
    }

    /// A regular expression.
    pub(crate) fn regex(text: &str) -> Result<Self, PatternError> {
        if text.is_empty() {
            return Err(PatternError::Empty);
        }
        RegexBuilder::new(text)
            .size_limit(MAX_COMPILED)
            .dfa_size_limit(MAX_COMPILED)
            .build()
            .map(Self::Regex)
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => PatternError::TooLarge,
                other => PatternError::Syntax(other.to_string()),
            })
    }
}

/// Replaces every match, if there are as many as `count` says.
pub(super) fn replace(
    text: Text<'_>,
    pattern: &Pattern,
    replacement: &str,
    count: Count,
) -> Result<Edited, EditError> {
    let body = text.body.as_bytes();
    let found = match pattern {
        Pattern::Literal(literal) => literally(text.body, literal, replacement)?,
        Pattern::Regex(regex) => by_expression(body, regex, replacement)?,
    };
    let number = found.places.len();
    let wanted = match count {
        Count::All => number.max(1),
        Count::Exactly(0) => {
            return Err(EditError::Unfit(
                "a count of 0 replaces nothing; leave the edit out".to_owned(),
            ));
        }
        Count::Exactly(wanted) => usize::try_from(wanted).unwrap_or(usize::MAX),
    };
    if number == 0 {
        return Err(EditError::PatternNotFound);
    }
    if number != wanted {
        let lines = found.places.iter().take(LINES_TOLD);
        return Err(EditError::PatternAmbiguous {
            found: number,
            wanted,
            lines: lines
                .map(|place| Position::of(text.body, place.start).line.to_string())
                .collect::<Vec<_>>()
                .join(", "),
        });
    }
    let mut after = Vec::with_capacity(body.len());
    let mut done = 0;
    for place in &found.places {
        after.extend_from_slice(body.get(done..place.start).unwrap_or_default());
        after.extend_from_slice(&place.text);
        done = place.end;
    }
    after.extend_from_slice(body.get(done..).unwrap_or_default());
    let after = String::from_utf8(after).map_err(|_| {
        EditError::Refused("the replacement would leave bytes that are not UTF-8".to_owned())
    })?;
    let times = match number {
        1 => "1 occurrence".to_owned(),
        number => format!("{number} occurrences"),
    };
    let how = match found.ends {
        Ends::AsWritten => "",
        Ends::Folded => {
            " (matched without regard to line ends; the replacement has those of the file)"
        }
    };
    Ok(Edited {
        bytes: text.with(after),
        said: format!("{times} replaced{how}"),
    })
}

const LINES_TOLD: usize = 10;

/// Where a match is, in bytes, and what takes its place.
struct Place {
    start: usize,
    end: usize,
    text: Vec<u8>,
}

struct Found {
    places: Vec<Place>,
    ends: Ends,
}

enum Ends {
    AsWritten,
    Folded,
}

fn literally(body: &str, literal: &str, replacement: &str) -> Result<Found, EditError> {
    if literal.is_empty() {
        return Err(EditError::Unfit(PatternError::Empty.to_string()));
    }
    let places: Vec<_> = body
        .match_indices(literal)
        .map(|(start, found)| Place {
            start,
            end: start + found.len(),
            text: replacement.as_bytes().to_vec(),
        })
        .collect();
    if !places.is_empty() || !literal.contains('\n') {
        let ends = Ends::AsWritten;
        return Ok(Found { places, ends });
    }
    let pieces = literal.replace("\r\n", "\n");
    let pieces: Vec<_> = pieces.split('\n').map(regex::escape).collect();
    let folded = regex::Regex::new(&pieces.join(r"\r?\n"))
        .map_err(|_| EditError::Unfit(PatternError::TooLarge.to_string()))?;
    let places = folded
        .find_iter(body)
        .map(|found| Place {
            start: found.start(),
            end: found.end(),
            text: with_ends(replacement, first_end(found.as_str())).into_bytes(),
        })
        .collect();
    let ends = Ends::Folded;
    Ok(Found { places, ends })
}

fn first_end(text: &str) -> &'static str {
    match text.split_once('\n') {
        Some((line, _)) if line.ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

fn by_expression(body: &[u8], regex: &Regex, replacement: &str) -> Result<Found, EditError> {
    if let Some(group) = unknown_group(regex, replacement) {
        return Err(EditError::Unfit(format!(
            "the replacement uses `${{{group}}}`, but the pattern has no such group; write `$$` for \
             a dollar, and braces where a name ends"
        )));
    }
    let place = |groups: Captures<'_>| {
        let (start, end) = groups.get(0).map_or((0, 0), |all| (all.start(), all.end()));
        if start == end {
            return Err(EditError::Unfit(
                "the pattern matches the empty text; let it match at least one character"
                    .to_owned(),
            ));
        }
        let mut text = Vec::new();
        groups.expand(replacement.as_bytes(), &mut text);
        Ok(Place { start, end, text })
    };
    let places = regex
        .captures_iter(body)
        .map(place)
        .collect::<Result<_, _>>()?;
    let ends = Ends::AsWritten;
    Ok(Found { places, ends })
}

/// The first group that the replacement names and the expression lacks: the library would take
/// nothing for it. Names are read as the library reads them.
fn unknown_group(regex: &Regex, replacement: &str) -> Option<String> {
    let mut rest = replacement;
    while let Some((_, after)) = rest.split_once('$') {
        if let Some(after) = after.strip_prefix('$') {
            rest = after;
            continue;
        }
        let name = if let Some(braced) = after.strip_prefix('{') {
            braced.split_once('}').map_or("", |(name, _)| name)
        } else {
            let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            end.map_or(after, |end| after.get(..end).unwrap_or_default())
        };
        rest = after;
        let known = match name.parse::<usize>() {
            Ok(number) => number < regex.captures_len(),
            Err(_) => regex.capture_names().flatten().any(|known| known == name),
        };
        if !name.is_empty() && !known {
            return Some(name.to_owned());
        }
    }
    None
}
