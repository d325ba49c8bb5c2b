//! The review of a result after the call (specification 003, `requires_post_review`): the rule of an entry, what an
//! answer records of it, and what a repetition of the request gets (R-003-32, R-003-33).

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Failure, Fault, named::named, terms::duration_within};

/// The rule of an entry that says `requires_post_review = true`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReviewRule {
    pub blocks: Blocks,
    /// After this time, a review that is still open is shown as overdue.
    pub timeout: Duration,
}

/// Whether a result is withheld until a person accepts it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "bool", into = "bool")]
pub enum Blocks {
    #[default]
    No,
    Yes,
}

/// What an answer records of its review, as the `context` of its next action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewTerms {
    /// The operation that gave the answer.
    pub operation_id: String,
    pub blocks: Blocks,
    /// When it was answered: RFC 3339, UTC, milliseconds.
    pub since: String,
    /// When the open review becomes overdue; `None` if the entry demands no review.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

named! {
    /// The state of a review. The last decision counts.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum ReviewState {
        #[default]
        Open = "open",
        /// Open after its time. A missed review is never an approval.
        Overdue = "overdue",
        Accepted = "accepted",
        Rejected = "rejected",
    }
}

/// A person's decision in a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewDecision {
    /// [`ReviewState::Accepted`] or [`ReviewState::Rejected`].
    pub state: ReviewState,
    /// `uid:1000`
    pub by: String,
    pub at: String,
    /// The link that records it.
    pub link: u64,
}

/// The review of one answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    pub terms: ReviewTerms,
    pub state: ReviewState,
    pub decision: Option<ReviewDecision>,
}

/// What a request gets whose answer is under review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// The recorded answer, with a note that nobody has reviewed it.
    Unreviewed,
    /// The recorded answer.
    Given,
    /// The failure `review_open`. Nothing is performed.
    Withheld,
    /// Not the recorded answer: the request is performed again.
    Withdrawn,
}

/// What the first request and each repetition get, whether it is replayed, reused or suppressed.
pub const RELEASES: [(Blocks, ReviewState, Release); 8] = [
    (Blocks::No, ReviewState::Open, Release::Unreviewed),
    (Blocks::No, ReviewState::Overdue, Release::Unreviewed),
    (Blocks::No, ReviewState::Accepted, Release::Given),
    (Blocks::No, ReviewState::Rejected, Release::Withdrawn),
    (Blocks::Yes, ReviewState::Open, Release::Withheld),
    (Blocks::Yes, ReviewState::Overdue, Release::Withheld),
    (Blocks::Yes, ReviewState::Accepted, Release::Given),
    (Blocks::Yes, ReviewState::Rejected, Release::Withdrawn),
];

pub fn release(blocks: Blocks, state: ReviewState) -> Release {
    let row = RELEASES
        .iter()
        .find(|row| (row.0, row.1) == (blocks, state));
    row.map_or(Release::Withheld, |row| row.2)
}

impl From<bool> for Blocks {
    fn from(blocks: bool) -> Self {
        if blocks { Self::Yes } else { Self::No }
    }
}

impl From<Blocks> for bool {
    fn from(blocks: Blocks) -> Self {
        blocks == Blocks::Yes
    }
}

impl ReviewState {
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Open | Self::Overdue)
    }
}

impl ReviewRule {
    /// The rule for a task with several entries.
    pub fn strictest(rules: impl Iterator<Item = Self>) -> Option<Self> {
        rules.reduce(|one, other| Self {
            blocks: one.blocks.max(other.blocks),
            timeout: one.timeout.min(other.timeout),
        })
    }
}

/// The longest time for a review.
const YEAR: Duration = Duration::from_hours(365 * 24);

/// Reads the time for a review: more than 0, at most a year.
pub fn review_timeout(text: &str) -> Result<Duration, String> {
    let hours = "more than 0, at most 8760 hours, e.g. \"72h\"";
    duration_within(text, YEAR)
        .ok_or_else(|| format!("{text:?} is not a time for a review: {hours}"))
}

/// The `type` of the next action of an answer that a person has to review.
const REVIEW: &str = "review";
/// That member as it is written. The answers of tools can contain the same text.
const MARK: &str = r#""type":"review""#;

impl ReviewTerms {
    pub fn new(rule: ReviewRule, operation_id: &str, since: Timestamp) -> Self {
        let until = since.checked_add(rule.timeout).unwrap_or(Timestamp::MAX);
        Self {
            operation_id: operation_id.to_owned(),
            blocks: rule.blocks,
            since: instant(since),
            until: Some(instant(until)),
        }
    }

    /// The command for the decision.
    pub fn how(&self) -> String {
        format!("oneact review {} --accept | --reject", self.operation_id)
    }

    /// The element of `nextActions` that records the terms.
    pub fn next_action(&self) -> Value {
        let priority = match self.blocks {
            Blocks::No => "medium",
            Blocks::Yes => "high",
        };
        let description = format!("A person has to review the result: {}", self.how());
        json!({"type": REVIEW, "description": description, "priority": priority, "context": self})
    }

    /// The terms that a recorded response contains.
    pub fn recorded(response: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Response {
            #[serde(rename = "nextActions")]
            next_actions: Vec<Value>,
        }
        // Most answers need no review, and a search of their text is faster than parsing.
        if !response.contains(MARK) {
            return None;
        }
        let Response { next_actions } = serde_json::from_str(response).ok()?;
        let mut reviews = next_actions.into_iter();
        let mut review =
            reviews.find(|action| action.get("type").is_some_and(|is| is == REVIEW))?;
        serde_json::from_value(review.get_mut("context")?.take()).ok()
    }

    fn is_overdue(&self, now: Timestamp) -> bool {
        let until = self.until.as_ref().and_then(|until| until.parse().ok());
        until.is_some_and(|until: Timestamp| until < now)
    }
}

impl Review {
    /// The review of an answer, by the last decision about it.
    pub fn new(terms: ReviewTerms, decision: Option<ReviewDecision>, now: Timestamp) -> Self {
        let state = match &decision {
            Some(decision) => decision.state,
            None if terms.is_overdue(now) => ReviewState::Overdue,
            None => ReviewState::Open,
        };
        Self {
            terms,
            state,
            decision,
        }
    }

    pub fn release(&self) -> Release {
        release(self.terms.blocks, self.state)
    }

    /// The failure of a request whose answer is withheld.
    pub fn withheld(&self) -> Failure {
        let ReviewTerms {
            operation_id,
            since,
            ..
        } = &self.terms;
        let message = format!(
            "operation {operation_id} performed the request, and its result is withheld until a person has reviewed it (open since {since}). `oneact review {operation_id} --accept` releases the result, `--reject` withdraws it. After that, send the same task again"
        );
        Failure::new(Fault::ReviewOpen, message)
    }
}

/// A time as the ledger writes it.
fn instant(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

#[cfg(test)]
mod tests;
