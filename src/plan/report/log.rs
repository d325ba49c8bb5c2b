//! `agent_logs/executor/{date}.jsonl`: a line of JSON an event (R-001-168). Contents of files are not in it.

use jiff::Zoned;
use serde::Serialize;
use uuid::Uuid;

use crate::{
    plan::{
        model::ActionId,
        record::{ActionEnd, Change, ChangeKind, FileState, Rollback, Run, Status, Story, Verdict},
    },
    task::{ActionType, RelPath, redact_presigned, visible_json},
};

use super::At;

/// What there is to tell.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Event<'a> {
    PlanReceived,
    CheckpointMade { change: &'a Change, at: &'a Zoned },
    ActionEnded(&'a Verdict),
    RolledBack { at: &'a Zoned },
    RollbackStuck { at: &'a Zoned, left: &'a [Uuid] },
    PlanEnded(&'a Story),
}

/// The file for that day, from the root.
pub(crate) fn file(day: &Zoned) -> String {
    format!("agent_logs/executor/{}.jsonl", day.strftime("%Y-%m-%d"))
}

/// The whole story, in order.
pub(crate) fn lines(story: &Story) -> String {
    let mut events = vec![Event::PlanReceived];
    if let Some(undo) = &story.undo {
        let at = &undo.created;
        let made = undo.changes.iter();
        events.extend(made.map(|change| Event::CheckpointMade { change, at }));
    }
    events.extend(story.verdicts.iter().map(Event::ActionEnded));
    match &story.rollback {
        Rollback::NotDone => {}
        Rollback::Done { at, .. } => events.push(Event::RolledBack { at }),
        Rollback::Stuck { at, left } => events.push(Event::RollbackStuck { at, left }),
    }
    events.push(Event::PlanEnded(story));
    events.iter().map(|event| line(&story.run, event)).collect()
}

/// One line with its line ending.
pub(crate) fn line(run: &Run, event: &Event<'_>) -> String {
    let line = Line::of(run, event);
    // Strings and numbers alone: it cannot fail.
    let text = serde_json::to_string(&line).unwrap_or_default();
    visible_json(&text).into_owned() + "\n"
}

/// A line.
#[derive(Debug, Serialize)]
struct Line<'a> {
    timestamp: At,
    event: &'static str,
    plan_id: &'a str,
    task_id: &'a str,
    /// What it is of: `{"action": {…}}`.
    about: About<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum About<'a> {
    Plan {
        actions: usize,
    },
    Checkpoint {
        checkpoint_id: Uuid,
        file_path: &'a RelPath,
        operation: ChangeKind,
        original_hash: Option<&'a str>,
        backup_location: Option<&'a RelPath>,
    },
    Action {
        action_id: &'a ActionId,
        operation: Option<ActionType>,
        target: Option<&'a str>,
        status: &'static str,
        error_code: Option<u16>,
        message: String,
    },
    Rollback {
        /// Checkpoints that are not restored.
        left: &'a [Uuid],
    },
    End {
        status: Status,
        duration_ms: u64,
        files: usize,
        report: &'a RelPath,
        errors: Vec<String>,
    },
}

impl<'a> Line<'a> {
    fn of(run: &'a Run, event: &Event<'a>) -> Self {
        let (at, event, about) = match event {
            Event::PlanReceived => {
                let actions = run.actions.len();
                (&run.began, "plan_received", About::Plan { actions })
            }
            Event::CheckpointMade { change, at } => {
                (*at, "checkpoint_made", About::checkpoint(change))
            }
            Event::ActionEnded(verdict) => (&verdict.ended, "action_ended", About::action(verdict)),
            Event::RolledBack { at } => (*at, "rolled_back", About::Rollback { left: &[] }),
            Event::RollbackStuck { at, left } => (*at, "rollback_stuck", About::Rollback { left }),
            Event::PlanEnded(story) => (&story.ended, "plan_ended", About::end(story)),
        };
        Self {
            timestamp: At::from(at),
            event,
            plan_id: &run.plan_id,
            task_id: &run.task_id,
            about,
        }
    }
}

impl<'a> About<'a> {
    fn checkpoint(change: &'a Change) -> Self {
        Self::Checkpoint {
            checkpoint_id: change.checkpoint.id,
            file_path: change.record.target(),
            operation: change.record.kind,
            original_hash: match &change.record.before {
                FileState::Absent => None,
                FileState::Present { hash, .. } => Some(hash),
            },
            backup_location: change.checkpoint.backup.as_ref(),
        }
    }

    fn action(verdict: &'a Verdict) -> Self {
        let (status, error_code, message) = match &verdict.end {
            ActionEnd::Completed(output) => ("SUCCESS", None, output),
            ActionEnd::Failed(failure) => {
                ("FAILED", Some(failure.fault.number()), &failure.message)
            }
            ActionEnd::Skipped(reason) => ("SKIPPED", None, reason),
        };
        Self::Action {
            action_id: &verdict.action,
            operation: verdict.action_type,
            target: verdict.target.as_deref(),
            status,
            error_code,
            message: redact_presigned(message).into_owned(),
        }
    }

    fn end(story: &'a Story) -> Self {
        let errors = story.troubles.iter().map(|trouble| {
            let failure = &trouble.failure;
            let message = redact_presigned(&failure.message);
            format!("{}: {message}", failure.fault.number())
        });
        Self::End {
            status: story.status(),
            duration_ms: story.duration_ms,
            files: story.changes().len(),
            report: &story.run.directory,
            errors: errors.collect(),
        }
    }
}
