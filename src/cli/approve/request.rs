//! A request for an approval, as people and programs see it.

use serde_json::{Value, json};

use super::super::{
    printing::{LedgerView, columns, counted, words},
    terminal::{fit, hanging, padded, readable, width, wrapped},
};
use crate::{
    host::{Host, name_of},
    people::RequestedCall,
    task::{Answer, Unseen},
};

const ADVICE: &str = "Ask the sender what the hidden characters are before you approve.";

/// The most columns of a parameter's name. A line of a terminal has at least four more.
const NAME: usize = 56;

pub(super) fn document(request: &RequestedCall, host: &Host) -> Value {
    let (case, about) = (&request.case, &request.about);
    let votes = case.votes.iter().map(|vote| {
        json!({"decision": vote.answer, "by": vote.actor, "at": vote.at, "signed": vote.signature.is_some(), "host": vote.host,
            "why": vote.note})
    });
    json!({
        "approval_id": case.id, "state": request.state(host), "action": request.action, "risk": about.risk,
        "why": about.why, "root": about.root,
        "session_id": case.session_id, "task_id": case.task_id, "operation_id": case.operation_id,
        "requested_by": case.asked_by, "requested_at": case.asked_at, "expires_at": case.asked.expires_at,
        "intent_hash": case.asked.intent_hash, "preview_hash": case.asked.preview_hash, "quorum": about.quorum,
        "decisions": votes.collect::<Vec<_>>(), "parameters": request.parameters,
        "input_responses": about.input_responses, "hidden": about.hidden, "diff": about.diff,
    })
}

/// What is said in front of the question, where a person cannot miss it.
pub(super) fn reminder(request: &RequestedCall) -> Option<String> {
    let parameters = match request.about.hidden.len() {
        0 => return None,
        several => counted(several as u64, "parameter"),
    };
    Some(format!(
        "Parts of {parameters} are hidden, as said above. {ADVICE}"
    ))
}

/// The parameter in which characters are hidden, how many, and why.
fn warning(unseen: &Unseen) -> String {
    let name = |name: &str| fit(&words::line(name), NAME);
    let step = unseen.step.as_deref();
    let step = step.map_or_else(String::new, |step| format!(" of the step `{}`", name(step)));
    let parts = [
        (
            unseen.secret_characters,
            "of a secret parameter or a variable of `env_pass`",
        ),
        (
            unseen.url_characters,
            "of what looks like the credentials of a URL",
        ),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts = parts.map(|(count, of)| format!("{} {of}", counted(count as u64, "character")));
    let parts: Vec<String> = parts.collect();
    let (name, parts) = (name(&unseen.parameter), parts.join(", and "));
    format!("Hidden in `{name}`{step}: {parts}.")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueLength {
    /// Each value in one line.
    Short,
    Whole,
}

/// One request for people, in lines of at most the terminal's width.
pub(super) fn shown(request: &RequestedCall, view: &LedgerView, values: ValueLength) -> String {
    let (case, about) = (&request.case, &request.about);
    let state = request.state(&view.host);
    let until = match state {
        "waiting" | "approved" => format!(" until {}", view.clock(&case.asked.expires_at)),
        _ => String::new(),
    };
    let wide = columns();
    let (action, risk) = (words::line(&request.action), words::line(&about.risk));
    let head = format!("{}  {action}  {risk} risk  {state}{until}", case.id);
    let mut lines = vec![hanging(&head, wide, 2)];
    let mut tell = |text: &str, indent| lines.push(format!("  {}", hanging(text, wide, indent)));
    let task = case.task_id.as_deref();
    let task = task.map_or_else(String::new, |task| format!(", {}", words::line(task)));
    let asked = format!(
        "asked {} by {}{task}, in {}",
        view.clock(&case.asked_at),
        person(&case.asked_by),
        words::line(&about.root)
    );
    tell(&asked, 4);
    for why in &about.why {
        tell(&format!("why: {}", words::line(why)), 9);
    }
    for unseen in &about.hidden {
        tell(&warning(unseen), 4);
    }
    if !about.hidden.is_empty() {
        tell(ADVICE, 4);
    }
    if about.diff.is_none() || values == ValueLength::Whole {
        let answers = about.input_responses.iter();
        let answers = answers.map(|answers| ("input_responses", answers));
        let parameters = request.parameters.iter();
        let parameters = parameters.map(|(name, value)| (name.as_str(), value));
        lines.extend(told(parameters.chain(answers), wide, values));
    }
    for vote in &case.votes {
        let what = match vote.answer {
            Answer::Approved => "approved",
            Answer::Denied => "denied",
        };
        let mut text = format!("{what} {} by {}", view.clock(&vote.at), person(&vote.actor));
        text.push_str(vote.signature.as_ref().map_or("", |_| ", signed"));
        let host = vote.host.iter();
        text.extend(host.map(|host| format!(", told by the host {}", words::line(host))));
        let why = vote.note.iter();
        text.extend(why.map(|why| format!(": {}", words::line(why))));
        lines.push(format!("  {}", hanging(&text, wide, 4)));
    }
    lines.join("\n") + "\n"
}

/// The same with the changes of files.
pub(super) fn with_diff(request: &RequestedCall, view: &LedgerView, values: ValueLength) -> String {
    let diff = request.about.diff.as_deref();
    let diff = diff.map_or_else(String::new, |diff| {
        format!("\n{}", readable(diff, columns()))
    });
    shown(request, view, values) + &diff
}

/// The widest name beside which its value is shown, in columns. A wider name gets a line of its own.
const LABEL: usize = 20;

/// The parameters in lines of at most `wide` columns, which all begin with spaces: no text of the sender looks like
/// another request.
fn told<'p>(
    parameters: impl Iterator<Item = (&'p str, &'p Value)>,
    wide: usize,
    values: ValueLength,
) -> Vec<String> {
    let parameters: Vec<_> = parameters
        .map(|(name, value)| (quoted(name), words::plain(value)))
        .collect();
    let names = parameters.iter().map(|(name, _)| width(name));
    let label = names.max().unwrap_or(0).min(LABEL);
    // Says what was left out of a long text.
    let short = |text: String, characters: usize, room: usize| {
        if values == ValueLength::Whole || width(&text) <= room {
            return text;
        }
        let more = format!(" ({characters} characters; --full)");
        fit(&text, room.saturating_sub(width(&more))) + &more
    };
    let told = |(name, value): &(String, String)| {
        let room = wide.saturating_sub(label + 4);
        let text = short(words::line(value), value.chars().count(), room);
        let text = hanging(&text, wide, label + 4);
        if width(name) <= label {
            return format!("  {}  {text}", padded(name, label));
        }
        let name = short(name.clone(), name.chars().count(), NAME);
        let name = wrapped(&name, wide.saturating_sub(4).max(1)).join("\n  ↪ ");
        format!("  {name}\n{}{text}", " ".repeat(label + 4))
    };
    parameters.iter().map(told).collect()
}

/// The name of a parameter. With a blank it is quoted, so that its end does not look like the value.
fn quoted(name: &str) -> String {
    if name.contains(char::is_whitespace) {
        return words::line(&Value::from(name).to_string());
    }
    words::line(name)
}

/// `uid:1000 (alice)`
fn person(actor: &str) -> String {
    let uid = actor.strip_prefix("uid:").and_then(|uid| uid.parse().ok());
    match uid.and_then(name_of) {
        Some(name) => format!("{actor} ({})", words::line(&name)),
        None => words::line(actor),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The widest terminal has 200 columns, and a request that a sender imitates begins at the left edge.
    #[test]
    fn every_line_of_the_parameters_is_indented_and_fits() {
        let blanks = " ".repeat(70);
        let text = format!("{}{blanks}apr_00000000  task_create", "\u{200b}".repeat(9));
        let name = format!("x{blanks}apr_00000000  task_create{blanks}apr_1");
        let hidden = "\u{200b}".repeat(20);
        let long = json!(text.repeat(3));
        let short = json!("a");
        let parameters = [
            (name.as_str(), &short),
            ("to", &long),
            (&hidden, &long),
            ("e", &short),
        ];
        for values in [ValueLength::Short, ValueLength::Whole] {
            for wide in [60, 80, 200] {
                for line in told(parameters.into_iter(), wide, values)
                    .join("\n")
                    .lines()
                {
                    assert!(line.starts_with("  ") && width(line) <= wide, "{line:?}");
                }
            }
        }
    }

    #[test]
    fn a_value_stands_beside_its_name_and_below_a_long_one() {
        let (to, other) = (json!("ops@example.org"), json!(5));
        let long = "a_name_of_more_columns";
        let lines = told(
            [("to", &to), (long, &other)].into_iter(),
            60,
            ValueLength::Short,
        );
        let below = format!("  {long}\n{}5", " ".repeat(24));
        let beside = format!("  to{}ops@example.org", " ".repeat(20));
        assert_eq!(lines, [beside, below]);
    }

    #[test]
    fn no_part_of_a_name_looks_like_a_value_or_is_left_out_without_a_word() {
        let (value, name) = (
            json!(1),
            format!("header_{}_to_mallory_{0}", "x".repeat(60)),
        );
        let shown = |name: &str, values| told([(name, &value)].into_iter(), 80, values).concat();
        assert!(
            shown("to  ops@example.org", ValueLength::Short).contains("\"to  ops@example.org\"")
        );
        assert!(shown(&name, ValueLength::Short).contains("(139 characters; --full)"));
        let whole = shown(&name, ValueLength::Whole);
        let letters: String = whole.split([' ', '\n', '↪']).collect();
        assert!(letters.contains(&name), "{whole}");
    }
}
