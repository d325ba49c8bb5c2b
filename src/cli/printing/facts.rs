//! Everything about one answer, in lines for a terminal and for a page: `oneact show` prints them, and the page of
//! `oneact replay --html` lists them.

use serde_json::{Map, Value};

use super::{LedgerView, size, words};
use crate::{
    cli::terminal::{fit, padded, width},
    envelope::OldAnswer,
    people::{Row, RowState, WholeAnswer},
    task::Sight,
};

/// The widest text for a value, in columns; the middle of a longer one is left out.
const VALUE: usize = 200;

/// The widest name of a parameter behind which values are aligned, in columns.
const NAME: usize = 24;

/// `op_01J8…  CAP-PRE-002  audio_extractor @ media-processing   done in 3.4 s`
pub(crate) fn title(row: &Row, answer: Option<&OldAnswer>) -> String {
    let id = match row.operation_id.as_str() {
        "" => &row.id,
        operation => operation,
    };
    let calls = answer.map(|answer| answer.invocations.as_slice());
    let calls = calls.unwrap_or_default().iter();
    let calls = calls.map(|call| format!("{} @ {}", call.tool_name, call.mcp_server));
    let calls: Vec<String> = calls.collect();
    let title = format!("{id}  {}  {}", words::action(row), calls.join(", "));
    let took = words::took(row).filter(|_| !words::is_old_answer(row));
    let took = took.map(|took| format!(" in {took}")).unwrap_or_default();
    let title = words::line(title.trim_end());
    format!("{title}   {}{took}", words::state(row))
}

/// The facts, each with its label. One that is not known has no lines.
pub(crate) fn facts(
    whole: &WholeAnswer,
    answer: Option<&OldAnswer>,
    view: &LedgerView,
) -> Vec<(&'static str, Vec<String>)> {
    let row = &whole.step.row;
    let waits = row.state == Some(RowState::Pending);
    let again: Vec<String> = whole.again.iter().map(|step| format!("#{step}")).collect();
    let again = (!again.is_empty()).then(|| format!("returned as {}", again.join(", ")));
    let under = whole.step.under.map(|step| format!("the grant of #{step}"));
    let part = row.position.zip(row.parent.as_deref());
    let part = part.map(|(position, parent)| format!("{position} of {}", words::line(parent)));
    let pruned = "the request and the answer were removed; their hashes remain";
    let pruned = words::pruned(row).then(|| pruned.to_owned());
    let session = format!("{} #{}", words::line(&row.session_id), row.step_index);
    vec![
        ("asked", vec![asked(whole, view)]),
        ("session", vec![session]),
        ("request", request(whole)),
        ("step", Vec::from_iter(part)),
        ("steps", steps(whole)),
        ("under", Vec::from_iter(under)),
        ("params", parameters(row)),
        ("made", made(row)),
        (
            "checks",
            answer.iter().map(|answer| checks(answer)).collect(),
        ),
        (if waits { "waits" } else { "failed" }, failed(row, answer)),
        ("grant", grant(whole, view)),
        ("review", Vec::from_iter(review(whole, view))),
        ("ledger", ledger(whole)),
        ("pruned", Vec::from_iter(pruned)),
        ("again", Vec::from_iter(again)),
    ]
}

fn asked(whole: &WholeAnswer, view: &LedgerView) -> String {
    let row = &whole.step.row;
    let profile = whole.opened.as_ref().map(|session| &session.profile);
    let names = [profile, row.task_id.as_ref()].into_iter().flatten();
    let mut parts: Vec<String> = names.map(|name| words::line(name)).collect();
    parts.push(format!("attempt {}", row.attempt));
    parts.push(view.date(&row.timestamp));
    parts.extend(
        row.confidence_score
            .map(|score| format!("confidence {score}")),
    );
    parts.join(", ")
}

fn request(whole: &WholeAnswer) -> Vec<String> {
    let row = &whole.step.row;
    let hash = match row.request_hash.as_str() {
        "" => "no hash".to_owned(),
        // A row that oneact did not write may hold any text here.
        hash => words::line(&hash.chars().take(19).chain(['…']).collect::<String>()),
    };
    let decision = &whole.decision;
    let before = decision.about.as_ref();
    let before = before.map(|row| format!(" (#{})", row.step_index));
    let before = before.unwrap_or_default();
    let decided = format!("{hash}   {}{before}", words::reason(decision));
    let differences = words::differences(decision);
    let differences = differences.map(|(what, said)| format!("{what}   {said}"));
    [decided].into_iter().chain(differences).collect()
}

/// The answers of the steps of a task.
fn steps(whole: &WholeAnswer) -> Vec<String> {
    let told = |row: &Row| {
        format!(
            "{} #{}  {}  {}{}",
            row.position.unwrap_or_default(),
            row.step_index,
            words::line(words::action(row)),
            words::state(row),
            row.revoked_by.map_or("", |_| ", revoked")
        )
    };
    whole.parts.iter().map(told).collect()
}

/// The parameters, each with its origin if that is recorded.
fn parameters(row: &Row) -> Vec<String> {
    let request = row.request.as_deref();
    let request: Value = request.and_then(json).unwrap_or_default();
    let several = words::action(row).contains('+');
    let args = request.get("args").and_then(Value::as_object);
    let mut named: Vec<(String, &Value)> = Vec::new();
    for (name, value) in args.into_iter().flatten() {
        match value {
            Value::Object(own) if several => {
                let of = |(parameter, value)| (format!("{name}.{parameter}"), value);
                named.extend(own.iter().map(of));
            }
            value => named.push((name.clone(), value)),
        }
    }
    let adjusted: Map<_, _> = row.adjusted.as_deref().and_then(json).unwrap_or_default();
    let widths = named.iter().map(|(name, _)| width(&words::line(name)));
    let room = widths.max().unwrap_or(0).min(NAME);
    let told = |(name, value): &(String, &Value)| {
        let shown = fit(&words::line(&words::plain(value)), VALUE);
        let origin = origin(name, value, &request, &adjusted);
        let origin = origin.map_or_else(String::new, |origin| format!("   {origin}"));
        format!("{}  {shown}{origin}", padded(&words::line(name), room))
    };
    named.iter().map(told).collect()
}

fn json<T: serde::de::DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_str(text).ok()
}

fn origin(
    name: &str,
    value: &Value,
    request: &Value,
    adjusted: &Map<String, Value>,
) -> Option<String> {
    let name = name.rsplit('.').next().unwrap_or(name);
    if adjusted.values().any(|of| of.get(name) == Some(value)) {
        return Some("changed by this attempt".to_owned());
    }
    let text = value.as_str().filter(|text| !text.is_empty())?;
    let inputs = request.pointer("/context/inputs")?.as_array()?;
    let from = inputs.iter().find(|input| {
        let uri = input.get("storage_uri").and_then(Value::as_str);
        uri.is_some_and(|uri| text == uri || uri.strip_prefix("file://") == Some(text))
    });
    let id = from?.get("ref_id")?.as_str()?;
    Some(format!("from {}", words::line(id)))
}

fn made(row: &Row) -> Vec<String> {
    let told = row.made().into_iter().map(|made| {
        let of = match (&made.print.sight, made.print.sight.bytes()) {
            (_, Some(bytes)) => format!("  {}", size(bytes)),
            (Sight::Absent, None) => "  deleted".to_owned(),
            (_, None) => String::new(),
        };
        let (id, uri) = (words::line(&made.ref_id), words::line(&made.storage_uri));
        if id == uri {
            return format!("{id}{of}");
        }
        format!("{id}  {}  {uri}{of}", words::line(&made.asset_type))
    });
    told.collect()
}

fn checks(answer: &OldAnswer) -> String {
    let checks = serde_json::to_value(answer.checks).unwrap_or_default();
    let each = checks.as_object().into_iter().flatten();
    let each = each.map(|(name, held)| format!("{name} {}", if *held == true { '✓' } else { '✗' }));
    each.collect::<Vec<_>>().join("  ")
}

/// Why it failed, or what it waits for.
fn failed(row: &Row, answer: Option<&OldAnswer>) -> Vec<String> {
    let Some(answer) = answer else {
        return row.fault.iter().map(|fault| words::line(fault)).collect();
    };
    let failure = answer.failure.iter();
    let message = failure.clone().map(|failure| words::line(&failure.message));
    if row.state == Some(RowState::Pending) {
        return [words::waits(row)].into_iter().chain(message).collect();
    }
    let class = failure.map(|failure| {
        let again = if failure.recoverable {
            "recoverable"
        } else {
            "not recoverable"
        };
        format!("{}, {again}", failure.fault.name())
    });
    class.chain(message).collect()
}

/// The limits of the grant that it opened, and its calls.
fn grant(whole: &WholeAnswer, view: &LedgerView) -> Vec<String> {
    let Some(grant) = &whole.grant else {
        return Vec::new();
    };
    let granted = &grant.granted;
    let until = view.date(&granted.until);
    let expired = |until: jiff::Zoned| until.timestamp() <= view.host.timestamp();
    let state = match grant.closed {
        Some(link) => format!("closed by link {link}"),
        None if view.moment(&granted.until).is_none_or(expired) => format!("expired at {until}"),
        None => format!("open until {until}"),
    };
    let entries: Vec<String> = granted.entries.keys().map(|id| words::line(id)).collect();
    let (made, most) = (grant.calls.len(), granted.max_calls);
    let limits = format!("{made} of {most} calls, {state}: {}", entries.join(", "));
    let calls = grant.calls.iter();
    let calls = calls.map(|call| format!("call {}", words::line(call)));
    [limits].into_iter().chain(calls).collect()
}

/// The state of the review, and the command or the decision.
fn review(whole: &WholeAnswer, view: &LedgerView) -> Option<String> {
    let review = whole.step.review.as_ref()?;
    let state = words::review(review, |at| view.date(at));
    Some(match &review.decision {
        None => format!("{state}: {}", words::line(&review.terms.how())),
        Some(decision) => {
            let (by, at) = (words::line(&decision.by), view.date(&decision.at));
            format!("{state} by {by} at {at}, link {}", decision.link)
        }
    })
}

/// The links, and the notes of people about the answer.
fn ledger(whole: &WholeAnswer) -> Vec<String> {
    if whole.links.is_empty() {
        return vec!["no link: recorded before oneact".to_owned()];
    }
    let links = whole.links.iter();
    let told = links.map(|link| format!("{} {}", words::line(&link.event), link.seq));
    let mut lines = vec![told.collect::<Vec<_>>().join(" · ")];
    for link in &whole.links {
        let body: Value = json(&link.body).unwrap_or_default();
        let text = |key: &str| body.get(key).and_then(Value::as_str);
        if let Some(note) = text("note") {
            // The verdict of a review, and the closing of a grant, is the reason in its link.
            let decided = matches!(link.event.as_str(), "reviewed" | "revoked");
            let verdict = text("reason").filter(|_| decided);
            let what = words::line(verdict.unwrap_or(&link.event));
            let actor = words::line(&link.actor);
            lines.push(format!("{what} by {actor}: {}", words::line(note)));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(request: &Value) -> Row {
        Row {
            action_type: Some("CAP".to_owned()),
            request: Some(request.to_string()),
            ..Row::default()
        }
    }

    #[test]
    fn a_parameter_is_shown_with_its_origin() {
        let request = json!({
            "args": {"input_uri": "/a/x.wav", "rate": 8000, "note": "a\u{1b}b"},
            "context": {"inputs": [{"ref_id": "store_1", "storage_uri": "file:///a/x.wav"}]},
        });
        let adjusted = Some(r#"{"CAP": {"rate": 8000}}"#.to_owned());
        let row = Row {
            adjusted,
            ..row(&request)
        };
        let expected = [
            "input_uri  /a/x.wav   from store_1",
            "rate       8000   changed by this attempt",
            "note       a^[b",
        ];
        assert_eq!(parameters(&row), expected);
    }

    #[test]
    fn the_parameters_of_several_capabilities_are_named_by_them() {
        let request = json!({"args": {"A": {"x": 1}, "B": {"x": "2"}}});
        let row = Row {
            action_type: Some("A+B".to_owned()),
            ..row(&request)
        };
        assert_eq!(parameters(&row), ["A.x  1", "B.x  2"]);
        assert_eq!(parameters(&Row::default()), [""; 0]);
    }

    #[test]
    fn a_title_leaves_out_what_is_not_known() {
        assert_eq!(title(&row(&Value::Null), None), "  CAP   error");
        let known = Row {
            operation_id: "op_1".to_owned(),
            state: Some(RowState::Done),
            duration_ms: 3400,
            ..row(&Value::Null)
        };
        assert_eq!(title(&known, None), "op_1  CAP   done in 3.4 s");
    }
}
