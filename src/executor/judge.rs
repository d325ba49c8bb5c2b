//! Did the tool succeed? MCP's `isError`, the entry's success rules, and texts that tell of failure.

use serde_json::Value;

use crate::{
    catalog::{Entry, FailureRule, OnFailure, RuleScope},
    mcp::{Content, ToolAnswer},
    task::{Failure, Fault},
};

use super::{classify, hidden::Hidden, take};

/// A failed call: why, for the envelope's `error` block, and the tool's own words.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) failure: Failure,
    /// For `error_detail` (R-000-87).
    pub(super) detail: String,
}

/// `Ok` when the tool did what it was asked (R-000-142).
pub(super) fn judge(entry: &Entry, answer: &ToolAnswer, hidden: &Hidden) -> Result<(), Judged> {
    let text = text(answer);
    if answer.is_error {
        return Err(failed(entry, &words(&text, answer), hidden));
    }
    if let Some(rule) = entry
        .failure
        .iter()
        .find(|rule| rule.scope == RuleScope::Any && rule.pattern.is_match(&text))
    {
        return Err(judged(entry, rule.into(), &words(&text, answer), hidden));
    }
    let data = (!entry.success.is_empty())
        .then(|| take::data(answer))
        .flatten();
    for rule in &entry.success {
        let at = |pointer: &String| data.as_ref().and_then(|data| data.pointer(pointer));
        if at(&rule.pointer) != Some(&rule.equals) {
            let said = rule.message.as_ref().and_then(at);
            let detail = match said {
                Some(Value::String(message)) => message.clone(),
                Some(other) => other.to_string(),
                None => format!("the answer has no `{}` = {}", rule.pointer, rule.equals),
            };
            return Err(failed(entry, &detail, hidden));
        }
    }
    Ok(())
}

/// All text blocks of the answer.
fn text(answer: &ToolAnswer) -> String {
    let texts: Vec<&str> = answer
        .content
        .iter()
        .filter_map(|block| match block {
            Content::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    texts.join("\n")
}

/// What a failed tool said, in whatever part of its answer.
fn words(text: &str, answer: &ToolAnswer) -> String {
    match (text.trim(), &answer.structured) {
        ("", Some(structured)) => structured.to_string(),
        ("", None) => "the tool reported an error and said nothing about it".to_owned(),
        (text, _) => text.to_owned(),
    }
}

/// What kind of failure it is, and whether a retry may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Class {
    pub(super) fault: Fault,
    pub(super) recoverable: bool,
}

impl From<Fault> for Class {
    fn from(fault: Fault) -> Self {
        Self {
            fault,
            recoverable: fault.recoverable(),
        }
    }
}

impl From<&FailureRule> for Class {
    fn from(rule: &FailureRule) -> Self {
        let recoverable = rule.recoverable.unwrap_or(rule.fault.recoverable());
        Self {
            fault: rule.fault,
            recoverable,
        }
    }
}

/// The class of a failure text: the entry's rules first, then the built-in table.
pub(super) fn class(entry: &Entry, text: &str) -> Class {
    if let Some(rule) = entry
        .failure
        .iter()
        .find(|rule| rule.pattern.is_match(text))
    {
        return rule.into();
    }
    match classify::by_text(text) {
        Some(fault) => fault.into(),
        None => Class {
            fault: Fault::ToolError,
            recoverable: entry.on_failure == OnFailure::Recoverable,
        },
    }
}

/// A failure in the tool's own words.
fn failed(entry: &Entry, detail: &str, hidden: &Hidden) -> Judged {
    judged(entry, class(entry, detail), detail, hidden)
}

fn judged(entry: &Entry, class: Class, detail: &str, hidden: &Hidden) -> Judged {
    let detail = shorten(&hidden.text(detail));
    let meaning = match class.fault {
        Fault::InputCorrupt => "the input appears corrupt or incomplete",
        Fault::OutOfMemory => "it ran out of memory; smaller inputs or other parameters may help",
        Fault::RateLimited => "it was rate limited; wait before trying again",
        Fault::ToolTimeout => "it timed out, possibly for network connectivity or rate limiting",
        _ => "it reported an error",
    };
    let message = format!("{} failed: {meaning}. Error detail: {detail}", entry.tool);
    let failure = Failure {
        fault: class.fault,
        message,
        recoverable: class.recoverable,
    };
    Judged { failure, detail }
}

/// At most this many characters of a tool's words go into an envelope.
const LONGEST: usize = 2_000;

pub(super) fn shorten(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!(
            "{} … ({} bytes in all)",
            text.get(..end).unwrap_or(text),
            text.len()
        ),
        None => text.to_owned(),
    }
}
