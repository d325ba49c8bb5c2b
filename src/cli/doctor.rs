//! `oneact doctor`: whether everything that runs need is there, for people and for machines.

use std::process::ExitCode;

use clap::Args;

use crate::{
    doctor::{Diagnosis, Finding, Level, Setup, examine},
    host::{Host, Interrupts},
    perform::recordable,
};

use super::{checkup, flags::PlaceArgs, print, report::Report, settings};

/// What to examine, and for whom.
#[derive(Debug, Args)]
pub(super) struct DoctorArgs {
    /// Examine these capabilities and what they need [default: all of the catalog]
    #[arg(value_name = "CAPABILITY")]
    capabilities: Vec<String>,
    /// Print one JSON document (`oneact schema doctor`) instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    places: PlaceArgs,
}

pub(super) const EXIT_CODES: &str = "\
Servers are started one after the other, greeted, asked for their tools, and ended.
No tool is called.

Exit codes:
  0    all is well; warnings may have been given
  1    something is wrong: some tasks are bound to fail
  128 + n   interrupted by signal n (SIGINT: 130, SIGTERM: 143)";

/// Examines, tells, and answers with what it came to.
pub(super) fn run(args: &DoctorArgs, interrupts: Interrupts) -> ExitCode {
    let host = Host::new(None, None, interrupts);
    let places = match settings::places(&args.places) {
        Ok(places) => places,
        Err(problem) => {
            tracing::error!("{problem}");
            return ExitCode::FAILURE;
        }
    };
    let setup = Setup {
        ledger: recordable(&places),
        root: places.root,
        catalog: places.catalog,
        state_dir: places.state_dir,
        capabilities: args.capabilities.clone(),
    };
    let mut printed = Ok(());
    let diagnosis = if args.json {
        let diagnosis = examine(&setup, &host, &mut |_| ());
        printed = print(&Report::new(&setup, &diagnosis).to_json());
        diagnosis
    } else {
        let look = checkup::Look::of_stdout();
        let mut tell = |text: String| {
            if printed.is_ok() {
                printed = print(text.as_bytes());
            }
        };
        let diagnosis = examine(&setup, &host, &mut |finding: &Finding| {
            tell(look.finding(finding));
        });
        tell(checkup::verdict(&diagnosis));
        diagnosis
    };
    match printed {
        Ok(()) => exit_code(&diagnosis),
        Err(_) => ExitCode::FAILURE,
    }
}

fn exit_code(diagnosis: &Diagnosis) -> ExitCode {
    match diagnosis.interrupted {
        Some(signal) => ExitCode::from(128 + signal.number()),
        None if diagnosis.count(Level::Problem) > 0 => ExitCode::FAILURE,
        None => ExitCode::SUCCESS,
    }
}
