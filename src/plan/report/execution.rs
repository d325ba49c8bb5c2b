//! `execution_report.json` (001 §4.1, §8.2).

use std::collections::HashSet;

use serde::Serialize;
use uuid::Uuid;

use crate::{
    plan::{
        model::ActionId,
        record::{
            ActionEnd, Atomicity, Capture, Durability, Jail, Rollback, Status, Story, Verdict,
        },
    },
    task::{ActionType, Category, Failure, Fault},
};

use super::{At, CHANGE_LOG, MANIFEST, PreviewHash};

/// Every field of 001 §4.1 in its order, then ours from `task_id` on.
#[derive(Debug, Serialize)]
pub(crate) struct ExecutionReport {
    pub(crate) report_id: Uuid,
    pub(crate) plan_id: String,
    pub(crate) executor_version: &'static str,
    pub(crate) status: Status,
    pub(crate) started_at: At,
    pub(crate) completed_at: At,
    pub(crate) duration_ms: u64,
    pub(crate) actions_summary: Summary,
    pub(crate) actions_completed: Vec<Completed>,
    pub(crate) actions_failed: Vec<Failed>,
    pub(crate) actions_skipped: Vec<Skipped>,
    pub(crate) rollback_performed: bool,
    /// None where nothing can be, or could have been, rolled back.
    pub(crate) rollback_manifest_id: Option<Uuid>,
    pub(crate) task_id: String,
    pub(crate) errors: Vec<ErrorObject>,
    pub(crate) warnings: Vec<String>,
    pub(crate) guarantees: Guarantees,
    /// Paths from the root.
    pub(crate) change_log: String,
    pub(crate) rollback_manifest: Option<String>,
    /// What `--dry-run` showed of the same change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) preview_hash: Option<PreviewHash>,
}

/// Counts of actions (R-001-47). `completed` counts what had completed before a rollback (C-26).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Summary {
    pub(crate) total: usize,
    pub(crate) completed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
}

/// R-001-48.
#[derive(Debug, Serialize)]
pub(crate) struct Completed {
    pub(crate) action_id: ActionId,
    pub(crate) status: &'static str,
    pub(crate) started_at: At,
    #[serde(rename = "completed_at")]
    pub(crate) ended: At,
    pub(crate) output: String,
}

/// R-001-49, without a stack trace: there is none.
#[derive(Debug, Serialize)]
pub(crate) struct Failed {
    pub(crate) action_id: ActionId,
    pub(crate) status: &'static str,
    /// An integer (C-19).
    pub(crate) error_code: u16,
    pub(crate) error_message: String,
}

/// R-001-50.
#[derive(Debug, Serialize)]
pub(crate) struct Skipped {
    pub(crate) action_id: ActionId,
    pub(crate) reason: String,
}

/// An error (R-001-145).
#[derive(Debug, Serialize)]
pub(crate) struct ErrorObject {
    pub(crate) error_id: Uuid,
    pub(crate) error_code: u16,
    pub(crate) error_category: Category,
    pub(crate) error_type: String,
    pub(crate) message: String,
    pub(crate) details: Details,
    pub(crate) recovery_action: Recovery,
    pub(crate) timestamp: At,
}

/// Where it happened; all null for what belongs to no single action.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Details {
    pub(crate) action_id: Option<ActionId>,
    pub(crate) target: Option<String>,
    pub(crate) operation: Option<ActionType>,
}

/// What was done about an error (R-001-146).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum Recovery {
    /// The action was left out.
    Skipped,
    RolledBack,
    /// The rollback did not finish, or a change was kept that breaks its rule.
    ManualRequired,
}

/// What the run as a whole can promise: of several files, what the worst of them can.
#[derive(Debug, Serialize)]
pub(crate) struct Guarantees {
    pub(crate) atomicity: Atomicity,
    pub(crate) capture: Capture,
    pub(crate) durability: Durability,
    pub(crate) jail: Jail,
    /// What of which file was not kept: `src/x: owner: Operation not permitted`.
    pub(crate) degraded: Vec<String>,
}

impl ExecutionReport {
    pub(crate) fn of(story: &Story, report_id: Uuid, ids: &mut dyn FnMut() -> Uuid) -> Self {
        let run = &story.run;
        let actions = Actions::of(&story.verdicts);
        Self {
            report_id,
            plan_id: run.plan_id.clone(),
            executor_version: env!("CARGO_PKG_VERSION"),
            status: story.status(),
            started_at: At::from(&run.began),
            completed_at: At::from(&story.ended),
            duration_ms: story.duration_ms,
            actions_summary: actions.summary(),
            actions_completed: actions.completed,
            actions_failed: actions.failed,
            actions_skipped: actions.skipped,
            rollback_performed: matches!(story.rollback, Rollback::Done { .. }),
            rollback_manifest_id: story.undo.as_ref().map(|undo| undo.id),
            task_id: run.task_id.clone(),
            errors: errors(story, ids),
            warnings: story.warnings.clone(),
            guarantees: Guarantees::of(story),
            change_log: run.file(CHANGE_LOG),
            rollback_manifest: story.undo.as_ref().map(|_| run.file(MANIFEST)),
            preview_hash: story.preview.clone(),
        }
    }
}

/// The verdicts, sorted into the report's lists.
#[derive(Default)]
struct Actions {
    completed: Vec<Completed>,
    failed: Vec<Failed>,
    skipped: Vec<Skipped>,
}

impl Actions {
    fn of(verdicts: &[Verdict]) -> Self {
        let mut actions = Self::default();
        for verdict in verdicts {
            let action_id = verdict.action.clone();
            match &verdict.end {
                ActionEnd::Completed(output) => actions.completed.push(Completed {
                    action_id,
                    status: "SUCCESS",
                    started_at: At::from(&verdict.began),
                    ended: At::from(&verdict.ended),
                    output: output.clone(),
                }),
                ActionEnd::Failed(failure) => actions.failed.push(Failed {
                    action_id,
                    status: "FAILED",
                    error_code: failure.fault.number(),
                    error_message: failure.message.clone(),
                }),
                ActionEnd::Skipped(reason) => actions.skipped.push(Skipped {
                    action_id,
                    reason: reason.clone(),
                }),
            }
        }
        actions
    }

    fn summary(&self) -> Summary {
        let (completed, failed, skipped) =
            (self.completed.len(), self.failed.len(), self.skipped.len());
        Summary {
            total: completed + failed + skipped,
            completed,
            failed,
            skipped,
        }
    }
}

/// The failures of actions in their order, then those of the plan. An action that was skipped because
/// of one that failed is an error of its own (4001, R-001-143).
fn errors(story: &Story, ids: &mut dyn FnMut() -> Uuid) -> Vec<ErrorObject> {
    let recovery = match story.rollback {
        Rollback::Done { .. } => Recovery::RolledBack,
        Rollback::Stuck { .. } => Recovery::ManualRequired,
        Rollback::NotDone => Recovery::Skipped,
    };
    // A change that breaks its rule and is kept is nobody's but a person's to mend.
    let of_action = |failure: &Failure| match (&story.rollback, &story.undo) {
        (Rollback::NotDone, Some(_)) if failure.fault == Fault::RuleFailed => {
            Recovery::ManualRequired
        }
        _ => recovery,
    };
    let mut error = |failure: &Failure, details, recovery_action, timestamp| ErrorObject {
        error_id: ids(),
        error_code: failure.fault.number(),
        error_category: failure.fault.category(),
        error_type: failure.fault.kind(),
        message: failure.message.clone(),
        details,
        recovery_action,
        timestamp,
    };
    let in_vain = waiting_in_vain(story);
    let mut errors = Vec::new();
    for verdict in &story.verdicts {
        let details = Details {
            action_id: Some(verdict.action.clone()),
            target: verdict.target.clone(),
            operation: verdict.action_type,
        };
        let at = At::from(&verdict.ended);
        match &verdict.end {
            ActionEnd::Failed(failure) => {
                errors.push(error(failure, details, of_action(failure), at));
            }
            ActionEnd::Skipped(reason) if in_vain.contains(&verdict.action) => {
                let failure = Failure::new(Fault::DependencyFailed, reason);
                errors.push(error(&failure, details, Recovery::Skipped, at));
            }
            ActionEnd::Skipped(_) | ActionEnd::Completed(_) => {}
        }
    }
    for trouble in &story.troubles {
        let (details, at) = (Details::default(), At::from(&trouble.at));
        errors.push(error(&trouble.failure, details, recovery, at));
    }
    errors
}

/// The actions that wait for one that did not complete.
fn waiting_in_vain(story: &Story) -> HashSet<&ActionId> {
    let verdicts = story.verdicts.iter();
    let incomplete: HashSet<&ActionId> = verdicts
        .filter(|verdict| !matches!(verdict.end, ActionEnd::Completed(_)))
        .map(|verdict| &verdict.action)
        .collect();
    let actions = story.run.actions.iter();
    actions
        .filter(|(_, awaited)| awaited.iter().any(|id| incomplete.contains(id)))
        .map(|(action, _)| action)
        .collect()
}

impl Guarantees {
    fn of(story: &Story) -> Self {
        let all = || {
            let changes = story.changes().iter();
            changes.map(|change| (&change.record.path, &change.record.fidelity))
        };
        Self {
            atomicity: all()
                .map(|(_, kept)| kept.atomicity)
                .max()
                .unwrap_or_default(),
            capture: all()
                .map(|(_, kept)| kept.capture)
                .max()
                .unwrap_or_default(),
            durability: story.durability,
            jail: story.jail,
            degraded: all()
                .flat_map(|(path, kept)| {
                    let what = kept.degraded.iter();
                    what.map(move |what| format!("{path}: {what}"))
                })
                .collect(),
        }
    }
}
