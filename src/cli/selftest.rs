//! `oneact selftest --crash PATH`: tests whether file plans are all or nothing on that file system.

use std::process::ExitCode;

use camino::Utf8PathBuf;
use clap::Args;

use crate::{
    host::{Host, Interrupts},
    selftest::{Sweep, Unfinished, Verdict, crash},
};

use super::{Stop, print, printed, printing::json::line};

#[derive(Debug, Args)]
pub(super) struct SelftestArgs {
    /// A directory on the file system to test; the files of the test are removed
    #[arg(long, value_name = "PATH")]
    crash: Utf8PathBuf,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &SelftestArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let host = Host::new(None, None, interrupts);
    let mut told = Ok(());
    let tried = crash(&args.crash, &host, &mut |sweep| {
        if !args.json && told.is_ok() {
            told = print(swept(sweep).as_bytes());
        }
    });
    if let Err(Unfinished::Interrupted(interrupt)) = tried {
        return Ok(ExitCode::from(128 + interrupt.number()));
    }
    let verdict = tried?;
    let text = if args.json {
        line(&verdict)
    } else {
        ending(&verdict)
    };
    Ok(match told {
        Ok(()) => printed(text, u8::from(!verdict.bad.is_empty())),
        Err(_) => ExitCode::FAILURE,
    })
}

fn swept(sweep: &Sweep) -> String {
    let Sweep {
        name,
        points,
        old,
        new,
    } = sweep;
    format!("{name:<16}{points:>5} points: {old} unchanged, {new} completely changed\n")
}

fn ending(verdict: &Verdict) -> String {
    let guarantees = &verdict.guarantees;
    let mut text = format!(
        "exchange {:?}, hard links {:?}, sync {:?}, Landlock {:?}\n",
        guarantees.exchange, guarantees.hard_links, guarantees.sync, guarantees.landlock
    )
    .to_lowercase();
    text.extend(verdict.bad.iter().flat_map(|bad| ["BAD: ", bad, "\n"]));
    let level = if verdict.bad.is_empty() {
        guarantees.level()
    } else {
        "none: see above"
    };
    text + &format!("Guarantee on {}: {level}.\n", verdict.path)
}
