//! Texts that name a failure of 000's recoverability table, classed without a rule in the catalog.

use crate::task::Fault;

/// Phrases of each class, in lower case; the first class that matches wins.
const PHRASES: [(Fault, &[&str]); 4] = [
    (
        Fault::RateLimited,
        &["too many requests", "rate limit", "rate-limit", "ratelimit"],
    ),
    (
        Fault::OutOfMemory,
        &[
            "out of memory",
            "out-of-memory",
            "outofmemory",
            "cannot allocate memory",
            "memoryerror",
            "bad_alloc",
            "oom-kill",
        ],
    ),
    (
        Fault::InputCorrupt,
        &[
            "corrupt",
            "incomplete",
            "truncated",
            "moov atom not found",
            "invalid data found when processing input",
        ],
    ),
    (
        Fault::ToolTimeout,
        &["timed out", "timeout", "time-out", "deadline exceeded"],
    ),
];

/// The class a text names, if it names one.
pub(super) fn by_text(text: &str) -> Option<Fault> {
    let text = text.to_lowercase();
    if names_429(&text) {
        return Some(Fault::RateLimited);
    }
    PHRASES
        .iter()
        .find(|(_, phrases)| phrases.iter().any(|phrase| text.contains(phrase)))
        .map(|(fault, _)| *fault)
}

/// `429` as a number of its own, not as a part of another.
fn names_429(text: &str) -> bool {
    text.match_indices("429").any(|(at, found)| {
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
