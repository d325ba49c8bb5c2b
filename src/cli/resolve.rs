//! `oneact resolve`: did it happen? A person has looked and says it.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use crate::{
    host::Interrupts,
    perform::{self, ResolveAnswer},
};

use super::{
    evidence::{self, DecisionArgs},
    record::words,
};

/// Which operation, and what was found out.
#[derive(Debug, Args)]
pub(super) struct ResolveArgs {
    /// The operation, or the beginning of its id
    #[arg(value_name = "OPERATION")]
    operation: String,
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    decision: DecisionArgs,
}

/// One of the two has to be said.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Choice {
    /// It happened: it is recorded as done, and will not be done again
    #[arg(long)]
    happened: bool,
    /// It did not: the next run of the same may do it
    #[arg(long)]
    did_not: bool,
}

/// Settles and tells.
pub(super) fn run(args: &ResolveArgs, interrupts: Interrupts) -> ExitCode {
    let answer = if args.choice.happened {
        ResolveAnswer::Happened
    } else {
        ResolveAnswer::DidNot
    };
    evidence::decided(&args.decision.places, interrupts, |settings, host| {
        let why = args.decision.message.as_deref();
        let resolved = perform::resolve(&args.operation, answer, why, settings, host)?;
        let case = &resolved.case;
        if args.decision.json {
            return Ok(evidence::line(&json!({
                "operation_id": case.operation_id, "session_id": case.session_id,
                "task_id": case.task_id, "action": case.action, "happened": args.choice.happened,
                "claimed_at": case.claimed_at, "step_index": resolved.step_index, "by": case.by, "why": why,
                "link": resolved.link.seq, "entry_hash": resolved.link.entry_hash,
            })));
        }
        let action = case.action.as_deref().unwrap_or("What it did");
        let operation = &case.operation_id;
        let what = match resolved.step_index {
            Some(step) => format!(
                "{action} ({operation}) happened: recorded as step {step} of {}. The same request is not done again.",
                case.session_id
            ),
            None => format!(
                "{action} ({operation}) did not happen. The next run of the same request does it."
            ),
        };
        Ok(format!(
            "{}\nsaid by {}, link {}\n",
            words::line(&what),
            case.by,
            resolved.link.seq
        ))
    })
}
