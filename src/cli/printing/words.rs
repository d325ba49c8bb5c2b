//! The words for a recorded step: its state, its results, and why it ran or did not.

use serde_json::{Map, Value};

use crate::{
    envelope::read_response,
    people::{AnswerDifference, Decision, Fact, Reason, Row, RowOutcome, RowState, SessionStep},
    task::{Fault, IMPROVISED, Review, ReviewState, ReviewTerms, Sight, visible},
};

use super::units::{duration, size};

/// Foreign text in one line.
pub(crate) fn line(text: &str) -> String {
    visible(text).into_owned()
}

pub(crate) fn state(row: &Row) -> String {
    let outcome = || row.outcome.name().to_owned();
    row.state.map_or_else(outcome, RowState::name)
}

pub(crate) fn action(row: &Row) -> &str {
    row.action_type.as_deref().unwrap_or("–")
}

/// The task's id, with the number of an attempt after the first: `task_2²`.
pub(crate) fn task(row: &Row) -> String {
    let mut name = row.task_id.clone().unwrap_or_else(|| "–".to_owned());
    if row.attempt > 1 {
        let raised = |digit: char| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(digit.to_digit(10)? as usize);
        name.extend(row.attempt.to_string().chars().filter_map(raised));
    }
    name
}

/// Whether the same task may be sent again; `None` if nothing failed or this is not recorded.
pub(crate) fn recoverable(row: &Row) -> Option<bool> {
    if row.outcome == RowOutcome::Success {
        return None;
    }
    let answer = row.response.as_deref().and_then(read_response)?;
    Some(answer.failure?.recoverable)
}

/// Whether the answer came from the ledger.
pub(crate) fn is_old_answer(row: &Row) -> bool {
    matches!(
        row.state,
        Some(RowState::Reused | RowState::Replayed | RowState::Suppressed)
    )
}

/// Whether request and response were removed.
pub(crate) fn pruned(row: &Row) -> bool {
    row.state.is_some() && row.request.is_none() && row.response.is_none()
}

/// `date` prints a recorded time.
pub(crate) fn note(step: &SessionStep, date: impl Fn(&str) -> String) -> String {
    let row = &step.row;
    let fault = row.fault.as_ref().map(|fault| match recoverable(row) {
        Some(true) => format!("{fault}, recoverable"),
        Some(false) | None => fault.clone(),
    });
    let made = row.made().into_iter().filter(|_| step.from.is_none());
    let made: Vec<String> = made.map(|made| made.ref_id).collect();
    let reason = row.reason.as_deref().filter(|reason| {
        let is_usual = matches!(*reason, "new" | "retry");
        row.state.is_some() && !is_old_answer(row) && !is_usual
    });
    let review = step.review.as_ref().filter(|_| step.from.is_none());
    let is = |holds: bool, what: &str| holds.then(|| what.to_owned());
    let notes = [
        is(row.state.is_none(), "before oneact"),
        row.position
            .map(|position| format!("step {position} of a task")),
        step.from.map(|from| format!("from #{from}")),
        step.under.map(|under| format!("under #{under}")),
        if step.waits() {
            Some(waits(row))
        } else {
            fault
        },
        adjusted(row),
        is(!made.is_empty(), &format!("→ {}", made.join(", "))),
        reason.map(|reason| format!("again: {reason}")),
        is(row.state == Some(RowState::Unknown), "may have happened"),
        match row.revoked_by {
            Some(_) if is_grant(row) => Some("closed".to_owned()),
            Some(_) => Some("revoked".to_owned()),
            None => review.map(|review| self::review(review, date)),
        },
        is(pruned(row), "pruned"),
    ];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    line(&notes.join("; "))
}

/// What a step waits for.
pub(crate) fn waits(row: &Row) -> String {
    let fault = row.fault.as_deref().and_then(Fault::named);
    let what = match fault {
        Some(Fault::ApprovalRequired) => "an approval",
        Some(Fault::ReviewOpen) => "a review",
        Some(Fault::InputRequired) => "answers",
        Some(Fault::ClarificationRequired) => "a clarification",
        _ => return "waits".to_owned(),
    };
    format!("waits for {what}")
}

/// Whether the request is for a grant. An improvised action with declared steps has no limit of calls.
fn is_grant(row: &Row) -> bool {
    let text = row.request.as_deref().unwrap_or_default();
    let request: Value = serde_json::from_str(text).unwrap_or_default();
    row.action_type.as_deref() == Some(IMPROVISED) && request.pointer("/args/max_calls").is_some()
}

/// `awaiting review since 2026-02-24 10:01:35`
pub(crate) fn review(review: &Review, date: impl Fn(&str) -> String) -> String {
    let ReviewTerms { since, until, .. } = &review.terms;
    let until = until.as_deref().unwrap_or_default();
    match review.state {
        ReviewState::Open => format!("awaiting review since {}", date(since)),
        ReviewState::Overdue => format!("awaiting review, overdue since {}", date(until)),
        ReviewState::Accepted | ReviewState::Rejected => review.state.name().to_owned(),
    }
}

/// The parameters that a retry changed: `adjusted sample_rate 8000`.
pub(crate) fn adjusted(row: &Row) -> Option<String> {
    let changed: Map<String, Value> = serde_json::from_str(row.adjusted.as_deref()?).ok()?;
    let each = changed
        .values()
        .filter_map(Value::as_object)
        .flatten()
        .map(|(name, value)| format!("{name} {}", plain(value)));
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| format!("adjusted {}", each.join(", ")))
}

/// A value as people write it: texts without quotes.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Why the step ran or did not, as a sentence without a full stop.
pub(crate) fn reason(decision: &Decision) -> String {
    let waited = |before: &Row| before.state == Some(RowState::Pending);
    match &decision.reason {
        Reason::Ran(why)
            if why.name() == "retry" && decision.about.as_ref().is_some_and(waited) =>
        {
            "the previous attempt had waited for something that was missing".to_owned()
        }
        Reason::Ran(why) => why.sentence().to_owned(),
        Reason::Answered(how) => how.sentence().to_owned(),
        Reason::History => {
            "the step was recorded before oneact, and its reason is not known".to_owned()
        }
        Reason::Other(name) => format!(
            "the ledger gives the reason `{}`, which this version of oneact does not know",
            line(name)
        ),
    }
}

/// The duration; `None` for a pending step and for a row that oneact did not write.
pub(crate) fn took(row: &Row) -> Option<String> {
    match row.state {
        None | Some(RowState::Pending) => None,
        Some(_) => Some(duration(row.duration_ms)),
    }
}

/// What has changed since the earlier answer, and how: `file:///…`, `1.4 MB 9b2c… then, missing now`.
pub(crate) fn differences(decision: &Decision) -> impl Iterator<Item = (String, String)> {
    decision.differences.iter().map(|difference| {
        let AnswerDifference { what, then, now } = difference;
        let then = fact(then);
        let said = match now {
            Some(now) => format!("{then} then, {} now", fact(now)),
            None => then,
        };
        (line(what), said)
    })
}

fn short(text: &str) -> String {
    let digits = text.strip_prefix("sha256:").unwrap_or(text);
    let is_hash = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hash {
        return text.to_owned();
    }
    let kept = text.len() - digits.len() + 12;
    text.chars().take(kept).chain(['…']).collect()
}

fn fact(fact: &Fact) -> String {
    match fact {
        Fact::Said(text) => line(&short(text)),
        Fact::Seen(Sight::Absent) => "missing".to_owned(),
        Fact::Seen(Sight::Unknown) => "not checked".to_owned(),
        Fact::Seen(Sight::Object(object)) => {
            let etag = object.etag.as_deref().unwrap_or_default();
            line(&format!(
                "{} {etag} of {}",
                size(object.bytes),
                object.modified
            ))
        }
        Fact::Seen(Sight::Content(content)) => {
            let begin: String = content.blake3.chars().take(8).collect();
            format!("{} {begin}…", size(content.bytes))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_says_what_a_person_has_to_know_of_a_step() {
        let step = |row: Row| SessionStep {
            row,
            from: Some(2),
            under: None,
            review: None,
        };
        let reused = Row {
            state: Some(RowState::Reused),
            reason: Some("expired".to_owned()),
            fault: Some("timeout".to_owned()),
            ..Row::default()
        };
        let told = |row| note(&step(row), str::to_owned);
        assert_eq!(told(reused), "from #2; timeout; pruned");
        let lost = Row {
            state: Some(RowState::Unknown),
            reason: Some("expired".to_owned()),
            request: Some("{}".to_owned()),
            revoked_by: Some(7),
            ..Row::default()
        };
        let expected = "from #2; again: expired; may have happened; revoked";
        assert_eq!(told(lost), expected);
        assert_eq!(told(Row::default()), "before oneact; from #2");
    }

    #[test]
    fn an_attempt_after_the_first_is_a_raised_number() {
        let row = |attempt| Row {
            task_id: Some("t".to_owned()),
            attempt,
            ..Row::default()
        };
        assert_eq!(
            [0, 1, 2, 10].map(|attempt| task(&row(attempt))),
            ["t", "t", "t²", "t¹⁰"]
        );
        assert_eq!(task(&Row::default()), "–");
    }

    #[test]
    fn only_a_request_with_a_limit_of_calls_is_for_a_grant() {
        let row = |request: &str| Row {
            action_type: Some(IMPROVISED.to_owned()),
            request: Some(request.to_owned()),
            ..Row::default()
        };
        assert!(is_grant(&row(
            r#"{"args": {"entries": ["a"], "max_calls": 5}}"#
        )));
        let steps = r#"{"args": {"steps": [{"run": "a", "parameters": {"max_calls": 5}}]}}"#;
        assert!(!is_grant(&row(steps)));
        assert!(!is_grant(&row("")));
    }
}
