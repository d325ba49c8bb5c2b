//! The answer to a call as a person reads it on a terminal: the result first, then what was made, then what was done.
//! The reason of a failure is on stderr.

use std::{io, time::Duration};

use serde_json::Value;

use crate::{
    perform::Answer,
    task::{Outcome, PlannedStep, Produced, State, Waiting, visible, visible_lines},
};

use super::{
    logs::{in_colour, in_colours},
    printing::{duration, size},
};

/// SGR's faint text.
const FAINT: u8 = 2;

pub(super) fn told(answer: &Answer, operation: &str, took: Duration) -> String {
    let outcome = answer.outcome();
    let mut lines: Vec<String> = outcome.result_data.iter().map(result).collect();
    let file = outcome.result_file.iter();
    lines.extend(file.map(|file| format!("the result is in {}", visible(file))));
    lines.extend(outcome.produced.iter().map(produced));
    let changed = outcome.changed.iter();
    lines.extend(changed.map(|path| format!("changed  {}", visible(path))));
    let calls = outcome.plan.iter().flat_map(|plan| &plan.steps);
    lines.extend(calls.map(planned));
    // The others are warnings on stderr, too.
    let notes = outcome
        .notes
        .iter()
        .filter(|note| outcome.state == State::Done && !note.starts_with("temporary_root"));
    lines.extend(notes.map(|note| format!("note: {}", visible(note))));
    lines.extend(done(outcome, operation, took));
    let ended = lines
        .iter()
        .map(|line| line.trim_end_matches('\n').to_owned() + "\n");
    ended.collect()
}

fn planned(call: &PlannedStep) -> String {
    let parameters = Value::Object(call.parameters.clone());
    let line = format!(
        "would call {} @ {} with {parameters}",
        call.tool_name, call.mcp_server
    );
    visible(&line).into_owned()
}

/// A text as it is, also if it is the only member, and any other value as JSON in several lines. What MCP wraps in
/// `result` is shown alone.
fn result(data: &Value) -> String {
    let only = data.as_object().filter(|members| members.len() == 1);
    let only = only.and_then(|members| members.iter().next());
    let only = only.filter(|(key, value)| value.is_string() || *key == "result");
    let shown = only.map_or(data, |(_, value)| value);
    match shown {
        Value::String(text) => visible_lines(text).into_owned(),
        Value::Null => "null".to_owned(),
        other => {
            let pretty = serde_json::to_string_pretty(other).unwrap_or_default();
            visible_lines(&pretty).into_owned()
        }
    }
}

/// `derived_1  audio_track  1.4 MB  /srv/app/agent_outputs/assets/…`
fn produced(made: &Produced) -> String {
    let place = made.storage_uri.as_str();
    let line = format!(
        "{}  {}  {}  {place}",
        made.ref_id,
        made.asset_type,
        size(made.bytes),
    );
    visible(&line).into_owned()
}

/// What was done, and what can be done next: `done in 0.4 s · oneact show op_01J8…`
fn done(outcome: &Outcome, operation: &str, took: Duration) -> Option<String> {
    let took = duration(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
    let record = outcome.record.as_ref();
    let reuse = record.and_then(|record| record.reuse.as_ref());
    let from = reuse
        .and_then(|reuse| reuse.operation_id.as_deref())
        .unwrap_or("an earlier call");
    let recoverable = outcome
        .failure
        .as_ref()
        .is_some_and(|failure| failure.recoverable);
    let state = match (outcome.state, &outcome.waiting) {
        (State::Rejected, _) => return None,
        (State::Pending, Some(Waiting::Approval(waiting))) => {
            format!("waiting: {}, then the same command again", waiting.approve)
        }
        (State::Pending, Some(waiting)) => format!("waiting: {}", waiting.resume()),
        (State::Pending, None) => "waiting".to_owned(),
        (State::Planned, _) => "nothing was started (--dry-run)".to_owned(),
        (State::Reused, _) => format!("reused the answer of {from}"),
        (State::Replayed, _) => format!("repeated the answer of {from}"),
        (State::Suppressed, _) => {
            format!(
                "not performed again: {from} did the same in this session (--salt TEXT performs it)"
            )
        }
        (State::Done | State::Advised, _) => format!("done in {took}"),
        (State::Partial, _) => format!("done in part, in {took}"),
        (State::RolledBack, _) => format!("undone after {took}"),
        (State::Cancelled, _) => format!("cancelled after {took}"),
        (State::Failed, _) if recoverable => format!("failed after {took}; a retry may help"),
        (State::Failed, _) => format!("failed after {took}"),
    };
    let review = outcome
        .review
        .as_ref()
        .filter(|review| review.state.is_open());
    let review = review.map(|review| format!("awaiting review: {}", review.terms.how()));
    let is_recorded = record.is_some_and(|record| record.ledger.is_some());
    let show = is_recorded.then(|| format!("oneact show {operation}"));
    let reports = outcome.reports.as_ref();
    let undo = reports.filter(|files| files.rollback_manifest.is_some());
    let undo = undo.map(|files| format!("oneact rollback {}", files.directory));
    let parts = [Some(state), review, undo, show].into_iter().flatten();
    let line = parts.collect::<Vec<_>>().join(" · ");
    let line = visible(&line);
    Some(if in_colours(&io::stdout()) {
        in_colour(&line, FAINT)
    } else {
        line.into_owned()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_is_a_text_as_it_is_or_json() {
        for (data, shown) in [
            (json!({"text": "two\nlines\u{1b}[2J"}), "two\nlines^[[2J"),
            (json!({"result": 5}), "5"),
            (json!({"n": 5}), "{\n  \"n\": 5\n}"),
            (json!({"result": null}), "null"),
            (json!([1]), "[\n  1\n]"),
        ] {
            assert_eq!(result(&data), shown, "{data}");
        }
    }
}
