//! Whether the tool succeeded, by MCP's `isError`, the entry's rules, and texts of failures.

mod reason;

use std::borrow::Cow;

use serde_json::Value;

use crate::{
    catalog::{Entry, FailureRule, OnFailure, RuleScope},
    mcp::{ToolAnswer, causes},
    task::{Failure, Fault},
};

pub(in crate::executor) use reason::is_a_reason;

use super::{document::Document, hidden::Hidden, texts::texts};

/// A failed call: the failure for the envelope's `error` block, and the tool's own words.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) failure: Failure,
    /// For `error_detail` (R-000-87).
    pub(super) detail: String,
    pub(super) open: Open,
}

/// Whether the failure leaves it open what a delivered call did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Open {
    No,
    /// The words of the failure decide.
    Maybe,
    /// A sentence says why, unless the failure itself does.
    Yes(&'static str),
}

impl Judged {
    /// An error without a reason leaves it open what the call did. A rule that knows a line of stderr changes nothing.
    pub(super) fn of_no_reason(self) -> Self {
        let open = Open::Yes(" The error gives no reason.");
        Self { open, ..self }
    }

    /// Searches everything that was said about the failure for a time-out. `told` is none if that cannot be read whole.
    pub(super) fn searched(mut self, told: Option<&str>) -> Self {
        if self.open == Open::Maybe {
            self.open = match told {
                None => Open::Yes(" The answer could not be searched for a time-out."),
                Some(told) if times_out(&told.to_lowercase()) => {
                    Open::Yes(" The answer names a time-out.")
                }
                Some(_) => Open::No,
            };
        }
        self
    }
}

/// Whether the tool succeeded (R-000-142). `stderr` is what the server wrote to it during the call.
pub(super) fn judge(
    entry: &Entry,
    (answer, stderr): (&ToolAnswer, &str),
    document: Option<&Document>,
    hidden: &Hidden,
) -> Result<(), Judged> {
    if answer.is_error {
        tracing::info!("The answer says `isError`: a failure.");
        let words = words(entry, answer, document);
        return Err(failed(entry, &words, stderr, hidden));
    }
    let mut rules = entry.failure.iter();
    if let Some(rule) = rules.find(|rule| {
        // The text may be large, so it is built only if a rule needs it.
        rule.scope == RuleScope::Any && rule.pattern.is_match(&texts(answer).join("\n"))
    }) {
        let pattern = &rule.pattern;
        tracing::info!(
            "The answer matches the failure rule {:?}: a failure.",
            pattern.as_str()
        );
        let words = words(entry, answer, document);
        return Err(judged(entry, rule.into(), &words, hidden));
    }
    for rule in &entry.success {
        // Beside the JSON, there may be other texts or other structured content.
        let at = |pointer: &String| {
            let of_document = document.and_then(|document| document.pointer(pointer));
            of_document.map(Cow::into_owned).or_else(|| {
                let first = Document::first_of(answer)?;
                first.pointer(pointer).map(Cow::into_owned)
            })
        };
        let value = at(&rule.pointer);
        if value.as_ref() == Some(&rule.equals) {
            continue;
        }
        tracing::info!(
            "The answer does not fulfil the success rule on `{}`: a failure.",
            rule.pointer
        );
        let detail = match rule.message.as_ref().and_then(at) {
            Some(Value::String(message)) => message,
            Some(other) => other.to_string(),
            None => format!("the answer has no `{}` = {}", rule.pointer, rule.equals),
        };
        let judged = judged(entry, class(entry, &detail), &detail, hidden);
        return Err(match value {
            // It may have been no number.
            None | Some(Value::Null) => Judged {
                open: Open::Yes(" The answer does not say whether it succeeded."),
                ..judged
            },
            // The tool reports the failure itself.
            Some(_) => judged,
        });
    }
    let rules = match entry.success.len() {
        0 => String::new(),
        count => format!(", and {count} success rules hold"),
    };
    tracing::info!(
        "The answer is a success: `isError` is not set, no failure rule matches{rules}."
    );
    Ok(())
}

/// The text of a failed tool, or, if that gives no reason, its structured content too.
fn words(entry: &Entry, answer: &ToolAnswer, document: Option<&Document>) -> String {
    let text = texts(answer).join("\n").trim().to_owned();
    let structured = document.filter(|_| answer.structured.is_some());
    match structured.filter(|_| !reason::is_given(&text, &entry.tool)) {
        // In a large text, escapes may hide words from the rules.
        Some(structured) => {
            let json = structured
                .value()
                .map_or_else(|_| structured.to_string(), |value| value.to_string());
            format!("{text}\n{json}").trim_start().to_owned()
        }
        None => text,
    }
}

/// The fault of a failure, and whether a retry may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Class {
    pub(super) fault: Fault,
    recoverable: bool,
    open: Open,
}

impl Class {
    fn new(fault: Fault, recoverable: bool, otherwise: Open) -> Self {
        let open = match fault {
            Fault::ToolTimeout | Fault::OutcomeUnknown => Open::Yes(""),
            _ => otherwise,
        };
        Self {
            fault,
            recoverable,
            open,
        }
    }

    pub(super) fn judged(self, message: String, detail: String) -> Judged {
        let failure = Failure {
            fault: self.fault,
            message,
            recoverable: self.recoverable,
        };
        Judged {
            failure,
            detail,
            open: self.open,
        }
    }
}

impl From<Fault> for Class {
    fn from(fault: Fault) -> Self {
        Self::new(fault, fault.recoverable(), Open::Maybe)
    }
}

impl From<&FailureRule> for Class {
    fn from(rule: &FailureRule) -> Self {
        let recoverable = rule.recoverable.unwrap_or(rule.fault.recoverable());
        Self::new(rule.fault, recoverable, Open::No)
    }
}

/// The bytes at the beginning and at the end of a failure text that are searched.
const TELLING: usize = 8 << 10;

/// The class of a failure text, by the entry's rules, or else by the built-in table. The middle of a long text is not
/// searched, because it may contain any number.
pub(super) fn class(entry: &Entry, text: &str) -> Class {
    let text = &telling(text);
    if let Some(class) = by_rule(entry, text) {
        return class;
    }
    match by_text(text) {
        Some(fault) => because(fault.into(), "the built-in table of texts"),
        None => because(
            Class::new(
                Fault::ToolError,
                entry.on_failure == OnFailure::Recoverable,
                Open::Maybe,
            ),
            "`on_failure`: no rule knows its words",
        ),
    }
}

/// The parts of a failure text that are searched.
fn telling(text: &str) -> String {
    let head = text
        .get(..text.floor_char_boundary(TELLING))
        .unwrap_or(text);
    let rest = text.get(head.len()..).unwrap_or_default();
    let tail = rest.get(rest.ceil_char_boundary(rest.len().saturating_sub(TELLING))..);
    format!("{head}{}", tail.unwrap_or_default())
}

/// The class of a failure text by the entry's own rules.
pub(super) fn by_rule(entry: &Entry, text: &str) -> Option<Class> {
    let rule = rule_for(entry, text)?;
    let who = format!("the failure rule {:?}", rule.pattern.as_str());
    Some(because(rule.into(), &who))
}

fn rule_for<'e>(entry: &'e Entry, text: &str) -> Option<&'e FailureRule> {
    let mut rules = entry.failure.iter();
    rules.find(|rule| rule.pattern.is_match(text))
}

fn because(class: Class, who: &str) -> Class {
    let (name, again) = (class.fault.name(), class.recoverable);
    tracing::info!("The failure is {name}, recoverable: {again}, by {who}.");
    class
}

/// A failure in the tool's own words. If they give no reason, a line of `stderr` may give it.
fn failed(entry: &Entry, words: &str, stderr: &str, hidden: &Hidden) -> Judged {
    let class = |words: &str| judged(entry, class(entry, words), words, hidden);
    match unexplained(entry, words, words, stderr) {
        None => class(words),
        Some(words) => class(&words).of_no_reason(),
    }
}

/// The text of an error whose `words` give no reason, with the line of stderr that gives one, if there is one. None if the
/// words give a reason, or if a rule of the entry knows the text.
pub(super) fn unexplained(entry: &Entry, words: &str, text: &str, stderr: &str) -> Option<String> {
    let tool = &entry.tool;
    if reason::is_given(words, tool) || rule_for(entry, &telling(text)).is_some() {
        return None;
    }
    let text = if text.is_empty() { SILENT } else { text };
    let mut causes =
        causes(stderr).filter(|line| reason::is_given(line, tool) || by_text(line).is_some());
    Some(match causes.next() {
        Some(cause) => format!("{text} (stderr: {})", shorten(&cause)),
        None => text.to_owned(),
    })
}

const SILENT: &str = "the tool reported an error and said nothing about it";

fn judged(entry: &Entry, class: Class, detail: &str, hidden: &Hidden) -> Judged {
    let detail = shorten(&hidden.text(detail));
    let known = PHRASES.iter().find(|(fault, ..)| *fault == class.fault);
    let meaning = known.map_or("it reported an error", |(_, meaning, _)| meaning);
    let message = format!("{} failed: {meaning}. Error detail: {detail}", entry.tool);
    class.judged(message, detail)
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

/// The phrases of a time-out. A text is searched for them with one blank in place of blanks, line breaks and `-_:="`.
const TIME_OUT: &str = "timed out;timedout;time out;timeout;deadline exceeded;deadlineexceeded;deadline has elapsed;\
    error 32001;status 408;code 408;http 408;error 408;status 504;code 504;http 504;error 504;504 gateway;curl (28);\
    curl error 28";

/// What the message says of each class that has a text of its own, and phrases of the class, in lower case; the first
/// class that matches wins.
const PHRASES: [(Fault, &str, &str); 4] = [
    (
        Fault::RateLimited,
        "it was rate limited; wait before trying again",
        "too many requests;rate limit;rate-limit;ratelimit",
    ),
    (
        Fault::OutOfMemory,
        "it ran out of memory; smaller inputs or other parameters may help",
        "out of memory;out-of-memory;outofmemory;cannot allocate memory;memoryerror;bad_alloc;oom-kill",
    ),
    (
        Fault::InputCorrupt,
        "the input appears corrupt or incomplete",
        "corrupt;incomplete;truncated;moov atom not found;invalid data found when processing input",
    ),
    (
        Fault::ToolTimeout,
        "it timed out, possibly for network connectivity or rate limiting",
        TIME_OUT,
    ),
];

/// The codes of JSON-RPC errors that mean a time-out: that of the SDKs of MCP, and those of HTTP and of Cloudflare.
pub(super) const TIME_OUT_CODES: [i64; 4] = [-32001, 408, 504, 524];

fn by_text(text: &str) -> Option<Fault> {
    let lower = text.to_lowercase();
    if names(&lower, "429") {
        return Some(Fault::RateLimited);
    }
    let mut classes = PHRASES.iter();
    let found = classes.find(|(fault, _, phrases)| match fault {
        Fault::ToolTimeout => times_out(&lower),
        _ => has_one(&lower, phrases),
    });
    found.map(|(fault, ..)| *fault)
}

fn times_out(text: &str) -> bool {
    let between = |c: char| c.is_whitespace() || matches!(c, '-' | '_' | ':' | '=' | '"');
    let text = text.replace(r"\n", " ");
    let words = text.split(between).filter(|word| !word.is_empty());
    has_one(&words.collect::<Vec<_>>().join(" "), TIME_OUT)
}

fn has_one(text: &str, phrases: &str) -> bool {
    phrases.split(';').any(|phrase| text.contains(phrase))
}

/// Whether a text contains a number by itself, not as a part of another one.
fn names(text: &str, number: &str) -> bool {
    text.match_indices(number).any(|(at, found)| {
        let before = text.get(..at).and_then(|head| head.chars().next_back());
        let after = text
            .get(at + found.len()..)
            .and_then(|tail| tail.chars().next());
        let apart = |c: Option<char>| {
            c.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '.' | ',' | '_' | '-'))
        };
        apart(before) && after.is_none_or(|c| !c.is_alphanumeric() && c != '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_the_recoverability_table_are_recognised_r_000_96_to_99() {
        for (text, fault) in [
            ("HTTP 429 Too Many Requests", Fault::RateLimited),
            (
                "CUDA out of memory. Tried to allocate 2 GiB",
                Fault::OutOfMemory,
            ),
            (
                "Tool exited with code 1: Input file is corrupt or incomplete",
                Fault::InputCorrupt,
            ),
            ("Connection timeout after 30s", Fault::ToolTimeout),
        ] {
            assert_eq!(by_text(text), Some(fault), "{text}");
        }
    }

    #[test]
    fn a_429_inside_another_number_is_no_rate_limit() {
        assert_eq!(by_text("wrote 14290 bytes, 0.429 s"), None);
        assert_eq!(by_text("status=429"), Some(Fault::RateLimited));
    }
}
