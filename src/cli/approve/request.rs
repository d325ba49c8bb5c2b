//! A request for an approval, as people and programs see it.

use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::super::{
    printing::{Desk, columns, words},
    terminal::{fit, hanging, padded, width, wrapped},
};
use crate::{
    host::{Host, name_of, user_id},
    people::{Approval, Row, Signer},
    task::{Answer, IMPROVISED, Unseen},
};

/// A request, with the parameters that its sealed row holds.
pub(super) struct Request {
    pub(super) case: Approval,
    pub(super) action: String,
    /// The entries whose rules say who may approve, joined by `+`.
    pub(super) entries: String,
    /// The parameters in the order in which they are shown.
    parameters: Vec<(String, Value)>,
    /// The answers to the tool's questions.
    answers: Option<Value>,
    /// The parameters in which characters are hidden, those at `secret` pointers not among them.
    unseen: Vec<Unseen>,
    pub(super) diff: Option<String>,
    /// Whether `run --approved` can perform it.
    pub(super) is_stored: bool,
    risk: String,
    /// The root in which it is performed.
    root: String,
    pub(super) why: Vec<String>,
    quorum: u64,
    /// How many persons have approved.
    persons: u32,
}

impl Request {
    /// None if the row was changed: then nobody knows what was requested.
    pub(super) fn of(case: Approval, row: Option<&Row>, signers: &[Signer]) -> Option<Self> {
        let row = row?;
        let request: Value = serde_json::from_str(row.request.as_deref()?).ok()?;
        let about = request.pointer("/context/approval")?;
        let args = request
            .get("args")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        let texts = |key: &str| -> Vec<String> {
            let list = about
                .get(key)
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            list.filter_map(|text| text.as_str().map(ToOwned::to_owned))
                .collect()
        };
        let action = row.action_type.clone().unwrap_or_default();
        let granted = args.get("entries").and_then(Value::as_array);
        let granted = granted.filter(|_| action == IMPROVISED);
        Some(Self {
            entries: granted.map_or_else(
                || action.clone(),
                |ids| ids.iter().map(words::plain).collect::<Vec<_>>().join("+"),
            ),
            action,
            parameters: ordered(args, &texts("show")),
            answers: about
                .get("input_responses")
                .filter(|answers| !answers.is_null())
                .cloned(),
            // A request of an earlier version of oneact has no such list.
            unseen: about
                .get("hidden")
                .and_then(|unseen| Vec::deserialize(unseen).ok())
                .unwrap_or_default(),
            diff: about
                .get("diff")
                .and_then(Value::as_str)
                .map(ToOwned::to_owned),
            is_stored: about.pointer("/kept/task").is_some(),
            risk: about.get("risk").map(words::plain).unwrap_or_default(),
            root: about.get("root").map(words::plain).unwrap_or_default(),
            why: texts("why"),
            quorum: about.get("quorum").and_then(Value::as_u64).unwrap_or(1),
            persons: case.persons(signers),
            case,
        })
    }

    /// Whether the user of this process has approved, without a signature and not as the user of a host.
    pub(super) fn is_approved_by_us(&self) -> bool {
        let us = format!("uid:{}", user_id());
        let mut approvals = self.case.approvals();
        approvals.any(|vote| vote.signature.is_none() && vote.host.is_none() && vote.actor == us)
    }

    pub(super) fn state(&self, host: &Host) -> &'static str {
        let case = &self.case;
        if case.used.is_some() {
            "used"
        } else if case.denial().is_some() {
            "denied"
        } else if case.ended.is_some() {
            "closed"
        } else if host.timestamp() >= case.expires() {
            "expired"
        } else if u64::from(self.persons) >= self.quorum {
            "approved"
        } else {
            "waiting"
        }
    }

    /// A line for each parameter in which characters are hidden, and what to do then.
    fn warnings(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.unseen.iter().map(warning).collect();
        if !lines.is_empty() {
            lines.push(ADVICE.to_owned());
        }
        lines
    }

    /// What is said in front of the question, where a person cannot miss it.
    pub(super) fn reminder(&self) -> Option<String> {
        let parameters = match self.unseen.len() {
            0 => return None,
            1 => "one parameter".to_owned(),
            several => format!("{several} parameters"),
        };
        Some(format!(
            "Parts of {parameters} are hidden, as said above. {ADVICE}"
        ))
    }

    pub(super) fn document(&self, host: &Host) -> Value {
        let case = &self.case;
        let votes = case.votes.iter().map(|vote| {
            json!({"decision": vote.answer, "by": vote.actor, "at": vote.at, "signed": vote.signature.is_some(), "host": vote.host,
                "why": vote.note})
        });
        let parameters: Map<String, Value> = self.parameters.iter().cloned().collect();
        json!({
            "approval_id": case.id, "state": self.state(host), "action": self.action, "risk": self.risk, "why": self.why,
            "root": self.root,
            "session_id": case.session_id, "task_id": case.task_id, "operation_id": case.operation_id,
            "requested_by": case.asked_by, "requested_at": case.asked_at, "expires_at": case.asked.expires_at,
            "intent_hash": case.asked.intent_hash, "preview_hash": case.asked.preview_hash, "quorum": self.quorum,
            "decisions": votes.collect::<Vec<_>>(), "parameters": parameters,
            "input_responses": self.answers, "hidden": self.unseen, "diff": self.diff,
        })
    }
}

/// The parameters that the entry shows first, then the others. The text of a plan comes last: its diff says more.
fn ordered(mut args: Map<String, Value>, show: &[String]) -> Vec<(String, Value)> {
    let first: Vec<_> = show
        .iter()
        .filter_map(|name| args.remove_entry(name))
        .collect();
    first.into_iter().chain(args).collect()
}

const ADVICE: &str = "Ask the sender what the hidden characters are before you approve.";

/// The most columns of a parameter's name. A line of a terminal has at least four more.
const NAME: usize = 56;

fn warning(unseen: &Unseen) -> String {
    let name = |name: &str| fit(&words::line(name), NAME);
    let step = unseen.step.as_deref();
    let step = step.map_or_else(String::new, |step| format!(" of the step `{}`", name(step)));
    let mut parts = Vec::new();
    for (count, verb, what) in [
        (
            unseen.secret_characters,
            "equal",
            "a secret parameter or a variable of `env_pass`",
        ),
        (
            unseen.url_characters,
            "look",
            "like the credentials of a URL",
        ),
    ] {
        match count {
            0 => {}
            1 => parts.push(format!("1 character that {verb}s {what}")),
            several => parts.push(format!("{several} characters that {verb} {what}")),
        }
    }
    let parts = parts.join(", and ");
    format!("Hidden in `{}`{step}: {parts}.", name(&unseen.parameter))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
    /// Each value in one line.
    Short,
    Whole,
}

/// One request for people, in lines of at most the terminal's width.
pub(super) fn shown(request: &Request, desk: &Desk, values: Values) -> String {
    let case = &request.case;
    let state = request.state(&desk.host);
    let until = match state {
        "waiting" | "approved" => format!("until {}", desk.clock(&case.asked.expires_at)),
        _ => String::new(),
    };
    let head = format!(
        "{}  {}  {} risk  {state} {until}",
        case.id,
        words::line(&request.action),
        request.risk
    );
    let task = case
        .task_id
        .as_deref()
        .map_or_else(String::new, |task| format!(", {}", words::line(task)));
    let asked = format!(
        "asked {} by {}{task}, in {}",
        desk.clock(&case.asked_at),
        person(&case.asked_by),
        words::line(&request.root)
    );
    let wide = columns();
    let mut lines = vec![
        hanging(head.trim_end(), wide, 2),
        format!("  {}", hanging(&asked, wide, 4)),
    ];
    for why in &request.why {
        lines.push(format!("  why: {}", hanging(&words::line(why), wide, 9)));
    }
    let warnings = request.warnings();
    lines.extend(
        warnings
            .iter()
            .map(|text| format!("  {}", hanging(text, wide, 4))),
    );
    if request.diff.is_none() || values == Values::Whole {
        let answers = request.answers.iter();
        let answers = answers.map(|answers| ("input_responses", answers));
        let parameters = request.parameters.iter();
        let parameters = parameters.map(|(name, value)| (name.as_str(), value));
        lines.extend(told(parameters.chain(answers), wide, values));
    }
    for vote in &case.votes {
        let (what, why) = match vote.answer {
            Answer::Approved => ("approved", &vote.note),
            Answer::Denied => ("denied", &vote.note),
        };
        let why = why
            .as_deref()
            .map_or_else(String::new, |why| format!(": {}", words::line(why)));
        let signed = vote.signature.as_ref().map_or("", |_| ", signed");
        let told = vote.host.as_ref().map_or_else(String::new, |host| {
            format!(", told by the host {}", words::line(host))
        });
        let text = format!(
            "{what} {} by {}{signed}{told}{why}",
            desk.clock(&vote.at),
            person(&vote.actor)
        );
        lines.push(format!("  {}", hanging(&text, wide, 4)));
    }
    lines.join("\n") + "\n"
}

/// The widest name beside which its value is shown, in columns. A wider name gets a line of its own.
const LABEL: usize = 20;

/// The parameters in lines of at most `wide` columns, which all begin with spaces: no text of the sender looks like
/// another request.
fn told<'p>(
    parameters: impl Iterator<Item = (&'p str, &'p Value)>,
    wide: usize,
    values: Values,
) -> Vec<String> {
    let parameters: Vec<_> = parameters
        .map(|(name, value)| (quoted(name), words::plain(value)))
        .collect();
    let names = parameters.iter().map(|(name, _)| width(name));
    let label = names.max().unwrap_or(0).min(LABEL);
    let told = |(name, value): &(String, String)| {
        let room = wide.saturating_sub(label + 4);
        let text = words::line(value);
        let text = match values {
            Values::Short if width(&text) > room => {
                let more = format!(" ({} characters; --full)", value.chars().count());
                fit(&text, room.saturating_sub(width(&more))) + &more
            }
            Values::Short | Values::Whole => text,
        };
        let text = hanging(&text, wide, label + 4);
        if width(name) <= label {
            format!("  {}  {text}", padded(name, label))
        } else {
            let blanks = " ".repeat(label + 4);
            let name = match values {
                Values::Short if width(name) > NAME => {
                    let more = format!(" ({} characters; --full)", name.chars().count());
                    fit(name, NAME.saturating_sub(width(&more))) + &more
                }
                Values::Short | Values::Whole => {
                    wrapped(name, wide.saturating_sub(4).max(1)).join("\n  ↪ ")
                }
            };
            format!("  {name}\n{blanks}{text}")
        }
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
        for values in [Values::Short, Values::Whole] {
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
        let lines = told([("to", &to), (long, &other)].into_iter(), 60, Values::Short);
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
        assert!(shown("to  ops@example.org", Values::Short).contains("\"to  ops@example.org\""));
        assert!(shown(&name, Values::Short).contains("(139 characters; --full)"));
        let whole = shown(&name, Values::Whole);
        let letters: String = whole.split([' ', '\n', '↪']).collect();
        assert!(letters.contains(&name), "{whole}");
    }
}
