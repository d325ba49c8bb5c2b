//! `oneact show`: everything about one answer, on one screen.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Map, Value};

use crate::{
    envelope::{OldAnswer, read_response},
    host::Interrupts,
    perform::{Decision, Made, Row, RowState, Whole},
    task::Sight,
};

use super::{
    record::{Desk, LookArgs, LookFailure, columns, duration, json, size, told, words},
    tame::{fit, hanging, padded, width},
};

/// Which answer.
#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// The number of a step, or the beginning of an operation's or a row's id
    #[arg(value_name = "STEP|ID")]
    id: String,
    #[command(flatten)]
    look: LookArgs,
}

/// Tells.
pub(super) fn run(args: &ShowArgs, interrupts: Interrupts) -> ExitCode {
    told(&args.look, interrupts, |desk| {
        let row = desk.reading.find(&args.id, args.look.session.as_deref())?;
        let whole = desk.reading.whole_of(row)?;
        if args.look.json {
            return Ok(json::line(&json::whole_step(&whole)));
        }
        shown(&whole, desk)
    })
}

/// How wide the column of labels is.
const LABEL: usize = 7;

/// The longest that a value is before its middle is left out, in columns.
const VALUE: usize = 200;

fn shown(whole: &Whole, desk: &mut Desk) -> Result<String, LookFailure> {
    let row = &whole.step.row;
    let answer = row.response.as_deref().and_then(read_response);
    let opened = desk.reading.opened(&row.session_id)?;
    let columns = columns();
    let mut told = vec![hanging(&title(row, answer.as_ref()), columns, 2) + "\n"];
    let mut say = |label: &str, lines: Vec<String>| {
        for (at, line) in lines.iter().enumerate() {
            let label = if at == 0 { label } else { "" };
            let line = hanging(line, columns, 2 + LABEL + 2);
            told.push(format!("  {}  {line}\n", padded(label, LABEL)));
        }
    };
    say(
        "asked",
        vec![asked(
            row,
            opened.as_ref().map(|session| session.profile.as_str()),
            desk,
        )],
    );
    say(
        "session",
        vec![format!(
            "{} #{}",
            words::line(&row.session_id),
            row.step_index
        )],
    );
    say("request", request(whole));
    say("params", parameters(row));
    say("made", made(row));
    if let Some(answer) = &answer {
        say("checks", vec![checks(answer)]);
        say("failed", failed(answer));
    } else if let Some(fault) = &row.fault {
        say("failed", vec![words::line(fault)]);
    }
    say("ledger", ledger(whole));
    if words::pruned(row) {
        say(
            "pruned",
            vec!["request and answer were removed; their hashes stay".to_owned()],
        );
    }
    if !whole.again.is_empty() {
        let again: Vec<String> = whole.again.iter().map(|step| format!("#{step}")).collect();
        say("given", vec![format!("again to {}", again.join(", "))]);
    }
    Ok(told.concat())
}

/// `op_01J8…  CAP-PRE-002 audio_extractor @ media-processing   done in 3.4 s`
fn title(row: &Row, answer: Option<&OldAnswer>) -> String {
    let id = match row.operation_id.as_str() {
        "" => &row.id,
        operation => operation,
    };
    let action = row.action_type.as_deref().unwrap_or("–");
    let calls = answer.map(|answer| answer.invocations.as_slice());
    let tools: Vec<String> = calls
        .unwrap_or_default()
        .iter()
        .map(|call| format!("{} @ {}", call.tool_name, call.mcp_server))
        .collect();
    let took = match row.state {
        None
        | Some(RowState::Pending | RowState::Reused | RowState::Replayed | RowState::Suppressed) => {
            String::new()
        }
        Some(_) => format!(" in {}", duration(row.duration_ms)),
    };
    let tools = tools.join(", ");
    let parts = [id, action, &tools];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    format!(
        "{}   {}{took}",
        words::line(&parts.join("  ")),
        words::state(row)
    )
}

fn asked(row: &Row, profile: Option<&str>, desk: &Desk) -> String {
    let mut parts = Vec::new();
    parts.extend(profile.map(words::line));
    parts.extend(row.task_id.as_deref().map(words::line));
    parts.push(format!("attempt {}", row.attempt));
    parts.push(desk.date(&row.timestamp));
    if let Some(confidence) = row.confidence_score {
        parts.push(format!("confidence {confidence}"));
    }
    parts.join(", ")
}

fn request(whole: &Whole) -> Vec<String> {
    let row = &whole.step.row;
    let hash = match row.request_hash.as_str() {
        "" => "no hash".to_owned(),
        // Of before oneact it may be any text.
        hash => words::line(&hash.chars().take(19).chain(['…']).collect::<String>()),
    };
    let before = words::about(&whole.decision)
        .map(|row| format!(" (#{})", row.step_index))
        .unwrap_or_default();
    let mut lines = vec![format!(
        "{hash}   {}{before}",
        words::reason(&whole.decision)
    )];
    if let Decision::Ran { differences, .. } = &whole.decision {
        lines.extend(differences.iter().map(|difference| {
            format!(
                "{}   {}",
                words::line(&difference.what),
                words::difference(difference)
            )
        }));
    }
    lines
}

/// Each with where it came from, as far as that is recorded.
fn parameters(row: &Row) -> Vec<String> {
    let request = row.request.as_deref().map(serde_json::from_str::<Value>);
    let Some(Ok(request)) = request else {
        return Vec::new();
    };
    let several = row
        .action_type
        .as_deref()
        .is_some_and(|id| id.contains('+'));
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
    let adjusted = row
        .adjusted
        .as_deref()
        .map(serde_json::from_str::<Map<_, _>>);
    let adjusted = adjusted.and_then(Result::ok).unwrap_or_default();
    let room = named
        .iter()
        .map(|(name, _)| width(name))
        .max()
        .unwrap_or(0)
        .min(24);
    let told = |(name, value): &(String, &Value)| {
        let shown = fit(&words::line(&words::plain(value)), VALUE);
        let origin = origin(name, value, &request, &adjusted);
        format!("{}  {shown}{origin}", padded(&words::line(name), room))
    };
    named.iter().map(told).collect()
}

fn origin(name: &str, value: &Value, request: &Value, adjusted: &Map<String, Value>) -> String {
    let name = name.rsplit('.').next().unwrap_or(name);
    let changed = adjusted
        .values()
        .any(|of| of.get(name).is_some_and(|to| to == value));
    if changed {
        return "   changed by this attempt".to_owned();
    }
    let inputs = request.pointer("/context/inputs").and_then(Value::as_array);
    let from = inputs.into_iter().flatten().find(|input| {
        let uri = input.get("storage_uri").and_then(Value::as_str);
        let text = value.as_str().filter(|text| !text.is_empty());
        text.zip(uri)
            .is_some_and(|(text, uri)| text == uri || uri.strip_prefix("file://") == Some(text))
    });
    match from.and_then(|input| input.get("ref_id")?.as_str()) {
        Some(id) => format!("   from {}", words::line(id)),
        None => String::new(),
    }
}

fn made(row: &Row) -> Vec<String> {
    let told = |made: Made| {
        let of = match made.print.sight {
            Sight::Content(content) => format!("  {}", size(content.bytes)),
            Sight::Absent => "  deleted".to_owned(),
            Sight::Unknown => String::new(),
        };
        let (id, uri) = (words::line(&made.ref_id), words::line(&made.storage_uri));
        if id == uri {
            return format!("{id}{of}");
        }
        format!("{id}  {}  {uri}{of}", words::line(&made.asset_type))
    };
    words::made(row).into_iter().map(told).collect()
}

fn checks(answer: &OldAnswer) -> String {
    let checks = &answer.checks;
    let all = [
        ("output_exists", Some(checks.output_exists)),
        ("output_non_empty", Some(checks.output_non_empty)),
        ("format_valid", Some(checks.format_valid)),
        ("result_complete", checks.result_complete),
    ];
    let told = all
        .into_iter()
        .filter_map(|(name, held)| Some(format!("{name} {}", if held? { '✓' } else { '✗' })));
    told.collect::<Vec<_>>().join("  ")
}

fn failed(answer: &OldAnswer) -> Vec<String> {
    let Some(failure) = &answer.failure else {
        return Vec::new();
    };
    let again = if failure.recoverable {
        "recoverable"
    } else {
        "not recoverable"
    };
    vec![
        format!("{}, {again}", failure.fault.name()),
        words::line(&failure.message),
    ]
}

fn ledger(whole: &Whole) -> Vec<String> {
    if whole.links.is_empty() {
        return vec!["no link: recorded before oneact".to_owned()];
    }
    let told: Vec<String> = whole
        .links
        .iter()
        .map(|link| format!("{} {}", words::line(&link.event), link.seq))
        .collect();
    let mut lines = vec![told.join(" · ")];
    // What people said of it.
    for link in &whole.links {
        let body: Option<Value> = serde_json::from_str(&link.body).ok();
        if let Some(note) = body.as_ref().and_then(|body| body.get("note")?.as_str()) {
            let (event, actor) = (words::line(&link.event), words::line(&link.actor));
            lines.push(format!("{event} by {actor}: {}", words::line(note)));
        }
    }
    lines
}
