//! `oneact rollback`: a person undoes a finished plan (001 §6.2, manual rollback request).

use std::process::ExitCode;

use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use serde_json::json;

use crate::{
    host::{self, Host, Interrupts},
    perform::{Answer, Settings, perform_own},
    task::{Asker, PlanName, RollbackOrder, State, Task, visible},
};

use super::{
    ended::{Stop, printed},
    settings::FormArgs,
};

#[derive(Debug, Args)]
pub(super) struct RollbackArgs {
    /// The plan's report directory, the manifest in it, or the id of the plan
    #[arg(value_name = "REPORT_DIR|MANIFEST|PLAN_ID")]
    plan: Utf8PathBuf,
    /// Undo only this checkpoint and the changes that depend on it; can be given several times
    #[arg(long = "checkpoint", value_name = "ID")]
    checkpoints: Vec<String>,
    /// Undo the plan even if its journal was not written at its present place, because the report directory was
    /// copied, cloned or unpacked
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    form: FormArgs,
}

pub(super) fn run(args: &RollbackArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let host = Host::new(None, None, interrupts);
    let settings = Settings::of(args.form.places.project()?);
    let plan = plan_named(&settings.project.root, &args.plan);
    let (PlanName::Path(name)
    | PlanName::ManifestId(name)
    | PlanName::PlanId(name)
    | PlanName::TaskId(name)) = &plan;
    let echo = json!({"rollback": name, "checkpoints": args.checkpoints});
    let order = RollbackOrder {
        plan,
        checkpoints: args.checkpoints.clone(),
        by: if args.yes {
            Asker::Confirmed
        } else {
            Asker::Person
        },
    };
    let answer = perform_own("rollback", echo, Task::Rollback(order), &settings, &host);
    host.interrupts().stand_down();
    let code = answer.exit_code(host.interrupts().caught());
    // The document is the envelope.
    Ok(if args.form.json {
        printed(&answer.line, code)
    } else {
        printed(told(&answer), code)
    })
}

/// The plan that a person names: by a path, or by its id, if there is no such file.
pub(super) fn plan_named(root: &Utf8Path, typed: &Utf8Path) -> PlanName {
    let path = below(root, typed);
    let is_path = typed.as_str().contains('/') || root.join(&path).exists();
    if is_path {
        PlanName::Path(path)
    } else {
        PlanName::PlanId(path)
    }
}

/// Resolves a typed path from the working directory; if nothing exists there, from the root.
pub(super) fn below(root: &Utf8Path, typed: &Utf8Path) -> String {
    let here = host::working_directory().map(|here| here.join(typed));
    let found = here.ok().and_then(|path| path.canonicalize_utf8().ok());
    let within = found
        .as_deref()
        .map(|found| found.strip_prefix(root).unwrap_or(found));
    within.unwrap_or(typed).to_string()
}

fn told(answer: &Answer) -> String {
    let outcome = answer.outcome();
    let mut lines = vec![match (&outcome.failure, outcome.state) {
        (None, _) => "Undone.".to_owned(),
        // The plan may have been undone before.
        (Some(failure), State::Rejected) => {
            format!("The rollback changed nothing. {}", failure.message)
        }
        (Some(failure), _) => format!("The plan was not undone. {}", failure.message),
    }];
    lines.extend(outcome.reasoning.iter().chain(&outcome.notes).cloned());
    if let Some(reports) = &outcome.reports {
        lines.push(format!("Reports: {}", reports.directory));
    }
    let lines = lines.iter().map(|line| visible(line) + "\n");
    lines.collect()
}
