//! What the commands about the record share: where it is, how a decision is told, how they end.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use crate::{
    host::{Host, Interrupts},
    perform::{Alone, EvidenceError, Name, Settings, Told},
};

use super::{flags::PlaceArgs, print, record::words, settings};

/// The answer that is meant.
#[derive(Debug, Args)]
pub(super) struct NameArgs {
    /// An operation or a row, or the beginning of its id; or a step, with --session
    #[arg(value_name = "STEP|ID")]
    name: String,
    /// The session of the answer
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

impl NameArgs {
    pub(super) fn name(&self) -> Name<'_> {
        Name {
            text: &self.name,
            session: self.session.as_deref(),
            alone: Alone::Refused,
        }
    }
}

/// What every decision is given with.
#[derive(Debug, Args)]
pub(super) struct DecisionArgs {
    /// Why, or how that is known
    #[arg(short, long, value_name = "WHY")]
    pub(super) message: Option<String>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) places: PlaceArgs,
}

/// Does `work` and prints what it gives: text, or one line of JSON.
pub(super) fn decided(
    places: &PlaceArgs,
    interrupts: Interrupts,
    work: impl FnOnce(&Settings, &Host) -> Result<String, EvidenceError>,
) -> ExitCode {
    let host = Host::new(None, None, interrupts);
    let done = match settings::places(places) {
        Ok(settings) => work(&settings, &host).map_err(|error| error.to_string()),
        Err(problem) => Err(problem),
    };
    match done {
        Ok(text) => match print(text.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Err(problem) => {
            tracing::error!("{problem}");
            ExitCode::from(2)
        }
    }
}

/// For people: `CAP-PRE-002, step 3 of sess-1 (op_…)`.
pub(super) fn named(told: &Told) -> String {
    let action = match told.action.as_str() {
        "" => "an answer",
        action => action,
    };
    words::line(&format!(
        "{action}, step {} of {} ({})",
        told.step_index, told.session_id, told.operation_id
    ))
}

/// For programs.
pub(super) fn document(told: &Told) -> Value {
    json!({
        "row": told.id, "operation_id": told.operation_id, "session_id": told.session_id,
        "step_index": told.step_index, "action": told.action, "state": told.state,
    })
}

/// On one line.
pub(super) fn line(document: &Value) -> String {
    format!("{document}\n")
}

/// `1284` as `1 284`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0    done
  2    refused, or there is no ledger that can be used: nothing was changed";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_steers_no_terminal() {
        let told = Told {
            id: "row".to_owned(),
            operation_id: "op_\x1b[2J".to_owned(),
            session_id: "s\u{202e}".to_owned(),
            step_index: 3,
            action: "CAP\n".to_owned(),
            state: "done",
        };
        assert_eq!(named(&told), "CAP^J, step 3 of s<U+202E> (op_^[[2J)");
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let all = [0, 999, 1000, 1284, 1_234_567].map(grouped);
        assert_eq!(all, ["0", "999", "1 000", "1 284", "1 234 567"]);
    }
}
