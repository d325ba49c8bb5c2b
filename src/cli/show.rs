//! `oneact show`: prints everything about one answer.

use std::process::ExitCode;

use camino::Utf8PathBuf;
use clap::Args;
use serde_json::{Map, Value};

use crate::{
    envelope::{OldAnswer, read_response},
    host::Interrupts,
    people::{Made, OpenError, Row, RowState, Whole, read_anchors},
    task::Sight,
};

use super::{
    Stop, printed,
    printing::{Desk, ReadArgs, columns, json, size, words},
    terminal::{fit, hanging, padded, width},
};

#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// The number of a step, or the beginning of an operation's or a row's id
    #[arg(value_name = "STEP|ID")]
    id: String,
    /// Print a receipt of the answer, which can be checked without the ledger, as a Statement of in-toto
    #[arg(long, conflicts_with = "json")]
    receipt: bool,
    /// A file with anchors; the receipt leads to the first one that vouches for the answer
    #[arg(long, value_name = "FILE", requires = "receipt")]
    anchor: Option<Utf8PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
}

pub(super) fn run(args: &ShowArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let mut desk = Desk::open(&args.read, interrupts)?;
    let row = desk.find(&args.id)?;
    if args.receipt {
        let anchors = args.anchor.as_deref().map_or(Ok(Vec::new()), read_anchors);
        let anchors = anchors.map_err(OpenError::from)?;
        let receipt = desk.reading.receipt(&row, &anchors)?;
        return Ok(printed(json::line(&receipt), 0));
    }
    let whole = desk.reading.whole_of(row)?;
    let text = if args.read.json {
        json::line(&json::whole_step(&whole))
    } else {
        shown(&whole, &mut desk)?
    };
    Ok(printed(text, 0))
}

const LABEL: usize = 7;

/// The widest text for a value, in columns; the middle of a longer one is left out.
const VALUE: usize = 200;

fn shown(whole: &Whole, desk: &mut Desk) -> Result<String, Stop> {
    let row = &whole.step.row;
    let answer = row.response.as_deref().and_then(read_response);
    let opened = desk.reading.opened(&row.session_id)?;
    let profile = opened.as_ref().map(|session| session.profile.as_str());
    let again: Vec<String> = whole.again.iter().map(|step| format!("#{step}")).collect();
    let again = (!again.is_empty()).then(|| format!("returned as {}", again.join(", ")));
    let session = format!("{} #{}", words::line(&row.session_id), row.step_index);
    let failed = match &answer {
        Some(answer) if row.state == Some(RowState::Pending) => {
            let said = answer
                .failure
                .iter()
                .map(|failure| words::line(&failure.message));
            [words::waits(row)].into_iter().chain(said).collect()
        }
        Some(answer) => failed(answer),
        None => row.fault.iter().map(|fault| words::line(fault)).collect(),
    };
    let pruned = "the request and the answer were removed; their hashes remain";
    let pruned = words::pruned(row).then(|| pruned.to_owned());
    let facts = [
        ("asked", vec![asked(row, profile, desk)]),
        ("session", vec![session]),
        ("request", request(whole)),
        ("step", Vec::from_iter(part(row))),
        ("steps", steps(whole)),
        (
            "under",
            Vec::from_iter(whole.step.under.map(|step| format!("the grant of #{step}"))),
        ),
        ("params", parameters(row)),
        ("made", made(row)),
        ("checks", answer.iter().map(checks).collect()),
        (
            if row.state == Some(RowState::Pending) {
                "waits"
            } else {
                "failed"
            },
            failed,
        ),
        ("grant", grant(whole, desk)),
        ("review", Vec::from_iter(review(whole, desk))),
        ("ledger", ledger(whole)),
        ("pruned", Vec::from_iter(pruned)),
        ("again", Vec::from_iter(again)),
    ];
    let columns = columns();
    let mut text = hanging(&title(row, answer.as_ref()), columns, 2) + "\n";
    for (label, lines) in facts {
        for (at, line) in lines.iter().enumerate() {
            let label = if at == 0 { label } else { "" };
            let line = hanging(line, columns, 2 + LABEL + 2);
            text.extend(["  ", &padded(label, LABEL), "  ", &line, "\n"]);
        }
    }
    Ok(text)
}

/// `op_01J8…  CAP-PRE-002 audio_extractor @ media-processing   done in 3.4 s`
fn title(row: &Row, answer: Option<&OldAnswer>) -> String {
    let id = match row.operation_id.as_str() {
        "" => &row.id,
        operation => operation,
    };
    let action = row.action_type.as_deref().unwrap_or("–");
    let took = words::took(row).filter(|_| !words::is_old_answer(row));
    let took = took.map(|took| format!(" in {took}")).unwrap_or_default();
    let tools = words::calls(answer).join(", ");
    let parts = [id, action, &tools];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    format!(
        "{}   {}{took}",
        words::line(&parts.join("  ")),
        words::state(row)
    )
}

fn part(row: &Row) -> Option<String> {
    let (position, parent) = (row.position?, row.parent.as_deref()?);
    Some(format!("{position} of {}", words::line(parent)))
}

/// The answers of the steps of a task.
fn steps(whole: &Whole) -> Vec<String> {
    let told = |row: &Row| {
        let action = row.action_type.as_deref().unwrap_or("–");
        let revoked = row.revoked_by.map_or("", |_| ", revoked");
        let state = words::state(row);
        format!(
            "{} #{}  {}  {state}{revoked}",
            row.position.unwrap_or_default(),
            row.step_index,
            words::line(action)
        )
    };
    whole.parts.iter().map(told).collect()
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
        // A row that oneact did not write may hold any text here.
        hash => words::line(&hash.chars().take(19).chain(['…']).collect::<String>()),
    };
    let decision = &whole.decision;
    let before = decision.about.as_ref();
    let before = before.map(|row| format!(" (#{})", row.step_index));
    let before = before.unwrap_or_default();
    let decided = format!("{hash}   {}{before}", words::reason(decision));
    let differences = decision.differences.iter();
    let differences = differences.map(|difference| {
        let what = words::line(&difference.what);
        format!("{what}   {}", words::difference(difference))
    });
    [decided].into_iter().chain(differences).collect()
}

/// The parameters, each with its origin if that is recorded.
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
        .map(|(name, _)| width(&words::line(name)))
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
            Sight::Object(object) => format!("  {}", size(object.bytes)),
            Sight::Absent => "  deleted".to_owned(),
            Sight::Unknown => String::new(),
        };
        let (id, uri) = (words::line(&made.ref_id), words::line(&made.storage_uri));
        if id == uri {
            return format!("{id}{of}");
        }
        format!("{id}  {}  {uri}{of}", words::line(&made.asset_type))
    };
    row.made().into_iter().map(told).collect()
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

/// The limits of the grant that it opened, and its calls.
fn grant(whole: &Whole, desk: &Desk) -> Vec<String> {
    let Some(grant) = &whole.grant else {
        return Vec::new();
    };
    let granted = &grant.granted;
    let until = desk.date(&granted.until);
    let (made, most) = (grant.calls.len(), granted.max_calls);
    let state = match grant.closed {
        Some(link) => format!("closed by link {link}"),
        None if desk
            .moment(&granted.until)
            .is_none_or(|until| until.timestamp() <= desk.host.timestamp()) =>
        {
            format!("expired at {until}")
        }
        None => format!("open until {until}"),
    };
    let entries: Vec<String> = granted.entries.keys().map(|id| words::line(id)).collect();
    let limits = format!("{made} of {most} calls, {state}: {}", entries.join(", "));
    let calls = grant
        .calls
        .iter()
        .map(|call| format!("call {}", words::line(call)));
    [limits].into_iter().chain(calls).collect()
}

/// The state of the review, and the command or the decision.
fn review(whole: &Whole, desk: &Desk) -> Option<String> {
    let review = whole.step.review.as_ref()?;
    let state = words::review(review, |at| desk.date(at));
    Some(match &review.decision {
        None => format!("{state}: {}", words::line(&review.terms.how())),
        Some(decision) => {
            let (by, at) = (words::line(&decision.by), desk.date(&decision.at));
            format!("{state} by {by} at {at}, link {}", decision.link)
        }
    })
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
    // The notes of people about the answer.
    for link in &whole.links {
        let body: Option<Value> = serde_json::from_str(&link.body).ok();
        if let Some(note) = body.as_ref().and_then(|body| body.get("note")?.as_str()) {
            // The verdict of a review, and the closing of a grant, is the reason in its link.
            let decided = matches!(link.event.as_str(), "reviewed" | "revoked");
            let verdict = body.as_ref().filter(|_| decided);
            let verdict = verdict.and_then(|body| body.get("reason")?.as_str());
            let what = words::line(verdict.unwrap_or(&link.event));
            let actor = words::line(&link.actor);
            lines.push(format!("{what} by {actor}: {}", words::line(note)));
        }
    }
    lines
}
