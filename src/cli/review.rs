//! `oneact review`: what a person found of an answer.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use crate::{
    host::Interrupts,
    perform::{self, Name, Review},
};

use super::{evidence, flags::PlaceArgs};

/// Which answer, and what was found.
#[derive(Debug, Args)]
pub(super) struct ReviewArgs {
    /// An operation or a row, or the beginning of its id; or a step, with --session
    #[arg(value_name = "STEP|ID")]
    name: String,
    /// The session of the step
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// It is good
    #[arg(long, conflicts_with = "reject", required_unless_present = "reject")]
    accept: bool,
    /// It is not: it is taken back as well
    #[arg(long)]
    reject: bool,
    /// What was found
    #[arg(short, long, value_name = "WHY")]
    message: Option<String>,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    places: PlaceArgs,
}

/// Records it and tells.
pub(super) fn run(args: &ReviewArgs, interrupts: Interrupts) -> ExitCode {
    let name = Name {
        text: &args.name,
        session: args.session.as_deref(),
    };
    let (review, verdict) = if args.accept {
        (Review::Accept, "accepted")
    } else {
        (Review::Reject, "rejected")
    };
    evidence::decided(&args.places, interrupts, |settings, host| {
        let why = args.message.as_deref();
        let reviewed = perform::review(name, review, why, settings, host)?;
        let link = &reviewed.link;
        if args.json {
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
