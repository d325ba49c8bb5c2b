//! `oneact apply` and `oneact plan from-diff`: a diff becomes a file plan, which goes the way of `oneact run`.

use std::{
    io::{self, IsTerminal as _},
    process::ExitCode,
};

use camino::{Utf8Path, Utf8PathBuf};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::{
    envelope::MAX_BYTES,
    host::{Host, Interrupts, Moment},
    perform::{Arrived, DiffRules, Mode, Settings, from_diff, perform},
    task::{Course, Failure, Fault, visible},
};

use super::{
    Stop, help, printed,
    printing::json::line,
    run::{self, Form},
    settings::{PlaceArgs, RunArgs},
    stop, streams,
    terminal::{agreed, show_diff, tell},
};

// How a diff is read.
#[derive(Debug, Args)]
struct DiffArgs {
    /// The file with the diff [default: stdin, as with `-`]
    #[arg(value_name = "FILE")]
    file: Option<Utf8PathBuf>,
    /// Accept hunks whose counts do not fit their lines
    #[arg(long)]
    recount: bool,
    /// Refuse a file whose hash is not the one in the `index` line of the diff
    #[arg(long)]
    index: bool,
}

impl DiffArgs {
    fn rules(&self) -> DiffRules {
        DiffRules {
            recount: self.recount,
            require_index: self.index,
        }
    }

    fn named(&self) -> Option<&Utf8Path> {
        self.file.as_deref().filter(|path| *path != "-")
    }
}

#[derive(Debug, Args)]
pub(super) struct ApplyArgs {
    #[command(flatten)]
    diff: DiffArgs,
    /// Apply the diff without asking, also at a terminal
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    run: RunArgs,
}

#[derive(Debug, Args)]
pub(super) struct PlanArgs {
    #[command(subcommand)]
    verb: PlanVerb,
}

#[derive(Debug, Subcommand)]
enum PlanVerb {
    /// Make a file plan of a diff, and print it
    #[command(after_help = help::of("plan from-diff"))]
    FromDiff(FromDiffArgs),
}

#[derive(Debug, Args)]
struct FromDiffArgs {
    #[command(flatten)]
    diff: DiffArgs,
    #[command(flatten)]
    places: PlaceArgs,
}

/// Applies a diff. At a terminal, the change is shown, and a person is asked.
pub(super) fn apply(mut args: ApplyArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let form = Form::of_call(args.run.reply);
    let asks = !args.yes
        && !args.run.dry_run
        && args.run.expect.is_none()
        && io::stdin().is_terminal()
        && io::stderr().is_terminal();
    if asks && args.diff.named().is_none() {
        return Err(stop(2)(
            "give the FILE with the diff, or the diff on stdin: oneact apply change.diff",
        ));
    }
    let Some(path) = args.diff.named().filter(|_| asks) else {
        let (diff, run) = (&args.diff, &args.run);
        return Ok(run::performed(
            run,
            interrupts,
            form,
            |settings, host, begun| {
                let bytes = match diff.named() {
                    Some(path) => streams::read_file("the diff", path),
                    None => streams::read_task(host, begun, settings.limits.budget),
                };
                task(&bytes?, diff.rules(), settings)
            },
        ));
    };
    let settings = args.run.settings()?;
    let host = Host::new(args.run.clock.clone(), args.run.seed, interrupts.clone());
    let input = streams::read_file("the diff", path);
    let input = input.and_then(|bytes| task(&bytes, args.diff.rules(), &settings));
    if let Ok(task) = &input
        && let Some(hash) = shown(task, &settings, &host)
    {
        if !agreed("Apply this change? [y/N] ", &interrupts) {
            let signal = interrupts.caught();
            let code = signal.map_or(1, |signal| 128 + signal.number());
            return Ok(printed("Nothing was changed.\n", code));
        }
        args.run.expect = Some(hash);
    }
    Ok(run::performed(
        &args.run,
        interrupts,
        form,
        |_, _, _: Moment| input,
    ))
}

/// The task that applies the diff. To apply a diff by hand counts as its protocol validation.
fn task(diff: &[u8], rules: DiffRules, settings: &Settings) -> Result<Vec<u8>, Failure> {
    let plan = planned(diff, rules, settings)?;
    let task = json!({"task_plan": plan, "protocol_validation": true});
    Ok(task.to_string().into_bytes())
}

fn planned(diff: &[u8], rules: DiffRules, settings: &Settings) -> Result<Value, Failure> {
    if diff.len() > MAX_BYTES {
        let message = format!(
            "the diff has more than {} MiB; split it by files",
            MAX_BYTES >> 20
        );
        return Err(Failure::new(Fault::LimitExceeded, message));
    }
    from_diff(diff, rules, &settings.project.root)
}

/// Shows what the task would change. Returns the hash of the preview; none if the task cannot be performed.
fn shown(task: &[u8], settings: &Settings, host: &Host) -> Option<String> {
    let settings = Settings {
        mode: Mode::DryRun,
        ..settings.clone()
    };
    let arrived = Arrived::read(Ok(task.to_vec()), host.moment(), host);
    let answer = perform(&arrived, &settings, host, &Course::default(), &|_| ());
    let outcome = answer.outcome();
    let preview = outcome.preview.as_ref()?;
    show_diff(preview);
    // Such as that a run waits for an approval.
    for note in &outcome.notes {
        tell(&format!("note: {}\n", visible(note)));
    }
    Some(preview.hash.clone())
}

/// Prints the plan of a diff. It is not validated: who sends it says so.
pub(super) fn plan(args: &PlanArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let PlanVerb::FromDiff(args) = &args.verb;
    let settings = Settings::of(args.places.project()?);
    let failed = |failure: Failure| stop(2)(failure.message);
    let host = Host::new(None, None, interrupts);
    let bytes = match args.diff.named() {
        Some(path) => streams::read_file("the diff", path),
        None => streams::read_task(&host, host.moment(), None),
    };
    let plan = bytes.and_then(|bytes| planned(&bytes, args.diff.rules(), &settings));
    Ok(printed(line(&plan.map_err(failed)?), 0))
}
