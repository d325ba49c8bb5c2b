//! The work of file plans, and what of the command line is for them alone.

use camino::Utf8Path;
use serde_json::Value;

use super::inputs;
use crate::{
    catalog::{FilePlan, PlanJob, PlanSource},
    envelope::{MAX_BYTES, read_plan},
    executor::{FileOrder, FileWork, Rejection, Work},
    perform::settings::{Mode, Reply, Settings},
    task::{Failure, Fault, Phase, PlanOrder, Risk, Sanction},
};

/// The work of a plan, which is in the task or in the file that the task refers to.
pub(super) fn planned(
    job: PlanJob,
    root: &Utf8Path,
) -> Result<(PlanOrder, FilePlan, Vec<String>), Failure> {
    let PlanJob {
        entry,
        plan: source,
        system_config,
        validation,
        salt,
        reasoning,
    } = job;
    let order = match source {
        PlanSource::Inline(plan) => PlanOrder {
            plan,
            system_config,
            validation,
            salt,
        },
        PlanSource::Ref(input) => {
            let order = read_plan(&inputs::plan(&input, root, MAX_BYTES)?)?;
            if order.system_config.is_some() && system_config.is_some() {
                let message = format!(
                    "the task and the file of `{}` both contain a `system_config`; remove one of the two",
                    input.ref_id
                );
                return Err(Failure::new(Fault::InvalidShape, message));
            }
            PlanOrder {
                system_config: order.system_config.or(system_config),
                validation: order.validation.and(validation),
                salt: salt.or(order.salt),
                plan: order.plan,
            }
        }
    };
    Ok((order, entry, reasoning))
}

pub(super) fn plan(
    plan: PlanOrder,
    entry: FilePlan,
    reasoning: Vec<String>,
    settings: &Settings,
) -> Work {
    let order = FileOrder::Plan {
        plan,
        entry: Box::new(entry),
        expect: settings.expect.clone(),
        sanction: Sanction::None,
    };
    Work::Files(Box::new(FileWork { order, reasoning }))
}

pub(super) fn no_plan(settings: &Settings, order: FileOrder) -> Result<Work, Rejection> {
    let problem = match (&order, settings.mode) {
        (FileOrder::Status(_), _) | (_, Mode::Run) => None,
        (_, Mode::DryRun) => {
            Some("--dry-run previews a plan or a tool call, but this task is neither")
        }
    };
    let problem = problem.or(settings.expect.as_ref().map(|_| EXPECT));
    match problem {
        Some(problem) => Err(usage(problem)),
        None => Ok(Work::Files(Box::new(FileWork {
            order,
            reasoning: Vec::new(),
        }))),
    }
}

/// The highest risk that the plan states. What is not a risk level is refused when the plan is read.
pub(super) fn stated_risk(plan: &Value) -> Risk {
    let actions = plan.get("action_plan").and_then(Value::as_array);
    let levels = actions.into_iter().flatten();
    let levels = levels.filter_map(|action| action.get("risk_level"));
    let levels = levels.chain(plan.pointer("/risk_assessment/overall_risk"));
    let risk = |level: &Value| {
        let word = level.as_str()?;
        let mut all = Risk::ALL.into_iter();
        all.find(|risk| risk.name().eq_ignore_ascii_case(word))
    };
    levels.filter_map(risk).max().unwrap_or_default()
}

const EXPECT: &str = "--expect binds a file plan to its preview, but this task is not a file plan";

pub(super) fn only_of_plans(settings: &Settings) -> Result<(), Rejection> {
    match (&settings.expect, settings.reply) {
        (Some(_), _) => Err(usage(EXPECT)),
        (None, Reply::Report) => Err(usage(
            "--reply report prints the report of a file plan, but this task is not a file plan",
        )),
        (None, Reply::Adl | Reply::Mcp | Reply::Result) => Ok(()),
    }
}

pub(super) fn usage(problem: &str) -> Rejection {
    let failure = Failure::new(
        Fault::InvalidUsage,
        format!("the command line does not fit the task: {problem}"),
    );
    Rejection::at(Phase::Read)(failure)
}
