//! `oneact revoke`: an answer is taken back and never given again.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use crate::{
    host::Interrupts,
    perform::{self, Dependants, Revoked},
};

use super::{
    evidence::{self, DecisionArgs, NameArgs},
    record::words,
};

/// Which answer, and why.
#[derive(Debug, Args)]
pub(super) struct RevokeArgs {
    #[command(flatten)]
    answer: NameArgs,
    /// Take back what was answered from it as well
    #[arg(long)]
    dependants: bool,
    #[command(flatten)]
    decision: DecisionArgs,
}

/// Takes it back and tells.
pub(super) fn run(args: &RevokeArgs, interrupts: Interrupts) -> ExitCode {
    let dependants = if args.dependants {
        Dependants::Revoked
    } else {
        Dependants::Listed
    };
    evidence::decided(&args.decision.places, interrupts, |settings, host| {
        let why = args.decision.message.as_deref();
        let revoked = perform::revoke(args.answer.name(), dependants, why, settings, host)?;
        Ok(if args.decision.json {
            document(&revoked, why)
        } else {
            told(&revoked)
        })
    })
}

fn document(revoked: &Revoked, why: Option<&str>) -> String {
    let along: Vec<Value> = revoked.along.iter().map(evidence::document).collect();
    let left: Vec<Value> = revoked.left.iter().map(evidence::document).collect();
    evidence::line(&json!({
        "revoked": evidence::document(&revoked.row), "along": along, "left": left,
        "source": revoked.source, "why": why, "link": revoked.link.seq,
        "entry_hash": revoked.link.entry_hash,
    }))
}

fn told(revoked: &Revoked) -> String {
    let mut lines = vec![format!(
        "{} was taken back, link {}. It is never given as an answer again.",
        evidence::named(&revoked.row),
        revoked.link.seq
    )];
    if let Some(source) = &revoked.source {
        lines.push(format!(
            "It was itself given from the answer {}, which still stands.",
            words::line(source)
        ));
    }
    lines.extend(
        revoked
            .along
            .iter()
            .map(|row| format!("  with it: {}", evidence::named(row))),
    );
    if !revoked.left.is_empty() {
        lines.push(format!(
            "{} given from it, and not taken back (--dependants does that):",
            match revoked.left.len() {
                1 => "One answer was".to_owned(),
                more => format!("{more} answers were"),
            }
        ));
        let left = revoked.left.iter();
        lines.extend(left.map(|row| format!("  {}", evidence::named(row))));
    }
    lines.join("\n") + "\n"
}
