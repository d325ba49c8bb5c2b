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
    perform::{DiffRules, Mode, Settings, from_diff},
    task::{Failure, Fault, visible},
};

use super::{
    ended::{Stop, code_or_signal, json_line, printed, stop},
    help, run,
    settings::{PlaceArgs, RunArgs},
    streams::{self, tell},
    terminal::{agreed, show_diff},
    watched::AnswerForm,
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
    fn named(&self) -> Option<&Utf8Path> {
        self.file.as_deref().filter(|path| *path != "-")
    }

    fn read(&self, host: &Host, begun: Moment, settings: &Settings) -> Result<Vec<u8>, Failure> {
        match self.named() {
            Some(path) => streams::read_file("the diff", path),
            None => streams::read_task(host, begun, settings.budget),
        }
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
    let form = AnswerForm::of_call(args.run.reply);
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
    let (diff, run) = (&args.diff, &mut args.run);
    if !asks {
        let read = |settings: &mut Settings, host: &Host, begun| {
            task(&diff.read(host, begun, settings)?, diff, settings)
        };
        return Ok(run::performed(run, interrupts, form, read));
    }
    let settings = run.settings()?;
    let host = Host::new(run.clock.clone(), run.seed, interrupts.clone());
    let input = diff.read(&host, host.moment(), &settings);
    let input = input.and_then(|bytes| task(&bytes, diff, &settings));
    if let Ok(task) = &input
        && let Some(hash) = shown(task, &settings, &host)
    {
        if !agreed("Apply this change? [y/N] ", &interrupts) {
            let code = code_or_signal(1, &interrupts);
            return Ok(printed("Nothing was changed.\n", code));
        }
        run.expect = Some(hash);
    }
    Ok(run::performed(run, interrupts, form, |_, _, _| input))
}

/// The task that applies the diff. To apply a diff by hand counts as its protocol validation.
fn task(bytes: &[u8], diff: &DiffArgs, settings: &Settings) -> Result<Vec<u8>, Failure> {
    let plan = planned(bytes, diff, settings)?;
    let task = json!({"task_plan": plan, "protocol_validation": true});
    Ok(task.to_string().into_bytes())
}

fn planned(bytes: &[u8], diff: &DiffArgs, settings: &Settings) -> Result<Value, Failure> {
    if bytes.len() > MAX_BYTES {
        let message = format!(
            "the diff has more than {} MiB; split it by files",
            MAX_BYTES >> 20
        );
        return Err(Failure::new(Fault::LimitExceeded, message));
    }
    let rules = DiffRules {
        recount: diff.recount,
        require_index: diff.index,
    };
    from_diff(bytes, rules, &settings.project.root)
}

/// Shows what the task would change. Returns the hash of the preview; none if the task cannot be performed.
fn shown(task: &[u8], settings: &Settings, host: &Host) -> Option<String> {
    let settings = Settings {
        mode: Mode::DryRun,
        ..settings.clone()
    };
    let (answer, _) = run::unwatched(task.to_vec(), &settings, host);
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
    let host = Host::new(None, None, interrupts);
    let bytes = args.diff.read(&host, host.moment(), &settings);
    let plan = bytes.and_then(|bytes| planned(&bytes, &args.diff, &settings));
    let plan = plan.map_err(|failure| stop(2)(failure.message))?;
    Ok(printed(json_line(&plan), 0))
}
