//! `oneact recover`: settle what a crash interrupted, without a task. Every run does it first.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use crate::{
    host::{Host, Interrupts},
    perform,
    task::visible,
};

use super::{flags::PlaceArgs, print, settings};

/// Where, and for whom.
#[derive(Debug, Args)]
pub(super) struct RecoverArgs {
    /// Print one JSON document, `{"settled": […]}`, instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    places: PlaceArgs,
}

/// Settles and tells.
pub(super) fn run(args: &RecoverArgs, interrupts: Interrupts) -> ExitCode {
    let host = Host::new(None, None, interrupts);
    let settings = match settings::places(&args.places) {
        Ok(places) => places,
        Err(problem) => {
            tracing::error!("{problem}");
            return ExitCode::from(2);
        }
    };
    let settled = perform::recover(&settings, &host);
    let text = if args.json {
        json!({ "settled": settled }).to_string() + "\n"
    } else if settled.is_empty() {
        "Nothing was left unfinished.\n".to_owned()
    } else {
        let lines = settled.iter().map(|line| visible(line) + "\n");
        lines.collect()
    };
    match print(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
