//! `oneact review`: what a person found of an answer.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use crate::{
    host::Interrupts,
    perform::{self, Review},
};

use super::evidence::{self, DecisionArgs, NameArgs};

/// Which answer, and what was found.
#[derive(Debug, Args)]
pub(super) struct ReviewArgs {
    #[command(flatten)]
    answer: NameArgs,
    /// It is good
    #[arg(long, conflicts_with = "reject", required_unless_present = "reject")]
    accept: bool,
    /// It is not: it is taken back as well
    #[arg(long)]
    reject: bool,
    #[command(flatten)]
    decision: DecisionArgs,
}

/// Records it and tells.
pub(super) fn run(args: &ReviewArgs, interrupts: Interrupts) -> ExitCode {
    let (review, verdict) = if args.accept {
        (Review::Accept, "accepted")
    } else {
        (Review::Reject, "rejected")
    };
    evidence::decided(&args.decision.places, interrupts, |settings, host| {
        let why = args.decision.message.as_deref();
        let reviewed = perform::review(args.answer.name(), review, why, settings, host)?;
        let link = &reviewed.link;
        if args.decision.json {
            return Ok(evidence::line(&json!({
                "reviewed": evidence::document(&reviewed.row), "verdict": verdict, "why": why,
                "revoked_by": reviewed.revoked, "link": link.seq, "entry_hash": link.entry_hash,
            })));
        }
        let back = match reviewed.revoked {
            Some(_) => ". It is never given as an answer again",
            None => "",
        };
        let named = evidence::named(&reviewed.row);
        Ok(format!("{named} was {verdict}, link {}{back}.\n", link.seq))
    })
}
