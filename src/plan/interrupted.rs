//! What is told of a plan whose run was interrupted: in its journal, and to people.

use std::iter;

use crate::task::{Failure, Fault, RelPath, Repeatable};

use super::{
    Desk,
    at::At,
    change::of_files,
    engine::{Account, Conflict, Doubt, End, Folder, PipelineNote, REPORTS, UndoEnd, account},
    model::ActionId,
    pipeline,
    record::{
        ActionEnd, Ending, PipelineRun, PipelineStatus, Rollback, Run, Story, Trouble, Verdict,
        uuid_v4,
    },
    report,
};
use crate::tree::Jail;
use crate::tree::{Anonymous, Root};

/// How a plan ended whose run was interrupted: what its actions had come to is not known.
pub(super) fn ending(
    root: &Root,
    desk: Desk<'_>,
    directory: &RelPath,
    account: &Account,
    end: &UndoEnd,
) -> Ending {
    let now = At::from(&desk.host.now());
    let (what, rollback) = match end {
        UndoEnd::NothingChanged => ("it had changed nothing", Rollback::NotDone),
        UndoEnd::RolledBack(conflicts) => {
            let changes = of_files(account.changes());
            let left = changes.filter(|change| Conflict::any_about(conflicts, change));
            let left = left.map(|change| change.checkpoint).collect();
            let at = now.clone();
            ("its changes were rolled back", Rollback::Done { at, left })
        }
        // It is not recorded.
        UndoEnd::Stuck(_) => ("it is stuck", Rollback::NotDone),
    };
    let interrupted = format!("the run was interrupted; {what}");
    let run = account.run.clone().unwrap_or_else(|| Run {
        task_id: String::new(),
        ..desk.run(String::new(), directory.clone(), iter::empty())
    });
    let verdict = |(action, _): &(ActionId, Vec<ActionId>)| Verdict {
        action: action.clone(),
        action_type: None,
        target: None,
        began: now.clone(),
        ended: now.clone(),
        end: ActionEnd::Skipped(format!("Not completed: {interrupted}")),
    };
    let verdicts = run.actions.iter().map(verdict).collect();
    let undo = account.undo.clone();
    let mut story = Story::begun(run, Jail::Unavailable);
    story.undo = undo.filter(|_| *end != UndoEnd::NothingChanged);
    story.end = Ending {
        ended: now.clone(),
        verdicts,
        pipelines: runs(root, account),
        rollback,
        troubles: vec![Trouble {
            at: now,
            failure: Failure::new(Fault::Internal, &interrupted),
        }],
        interrupted: Some(interrupted),
        ..story.end
    };
    report::told(&mut story, || uuid_v4(desk.host.random_bytes()));
    story.end
}

/// The pipelines that an interrupted plan had started. What they changed until now is listed.
fn runs(root: &Root, account: &Account) -> Vec<PipelineRun> {
    let run = |note: &PipelineNote| {
        let started = &note.started;
        let end = note.end.clone();
        let (files_changed, files_changed_count) =
            pipeline::written_since(root.path(), &started.writes, started.since);
        PipelineRun {
            repeatable: Repeatable::Once,
            action_id: ActionId(started.action.clone()),
            pipeline: started.pipeline.clone(),
            started_at: started.at.clone(),
            completed_at: None,
            status: match &end {
                None => PipelineStatus::Unknown,
                Some(Ok(())) => PipelineStatus::Success,
                Some(Err(_)) => PipelineStatus::Failed,
            },
            failure: end.and_then(Result::err),
            files_changed,
            files_changed_count,
            output: String::new(),
        }
    };
    account.pipelines.iter().map(run).collect()
}

/// The sentences that say how an interrupted plan ended, and what its pipelines did.
pub(super) fn sentence(root: &Root, name: &str, end: &End) -> String {
    let account = || Folder::open(root, name).and_then(|folder| account(&folder.dir));
    let account = if end.is_open() { None } else { account().ok() };
    let runs = account.map_or_else(Vec::new, |account| runs(root, &account));
    let sentence = match end {
        End::NothingChanged => {
            format!("The plan {name} had been interrupted before it changed anything.")
        }
        End::RolledBack(conflicts) if conflicts.is_empty() => {
            format!("The plan {name} had been interrupted: its changes were rolled back.")
        }
        End::RolledBack(conflicts) => format!(
            "The plan {name} had been interrupted: its changes were rolled back, except for what others have changed since: {}.",
            Conflict::told(conflicts)
        ),
        End::Done(notes) => {
            let told = format!("The plan {name} had been finished before it was interrupted.");
            iter::once(told)
                .chain(notes.clone())
                .collect::<Vec<_>>()
                .join(" ")
        }
        End::Stuck(obstacles) => format!(
            "The plan {name} was interrupted, and can be neither finished nor undone: {}. Remove this cause, then run `oneact recover`",
            obstacles.join("; ")
        ),
        End::Unproven(doubt) => {
            let origin = match doubt {
                Doubt::Unsaid | Doubt::OtherFile | Doubt::OtherRoot => {
                    ". If you do not know where the directory comes from, remove it"
                }
                Doubt::Anonymous(Anonymous::OtherOwner) => {
                    ". If the plan is the other user's, let this user run `oneact recover`"
                }
                Doubt::Anonymous(_) | Doubt::Overlay => "",
            };
            format!(
                "{REPORTS}/{name} says that a plan was interrupted, but its journal {doubt}. Nothing was changed. `oneact recover {REPORTS}/{name}` shows what it would change, and asks before it does so{origin}"
            )
        }
        End::AgainstRules(why) => format!(
            "The journal of {REPORTS}/{name} names a path that no plan may touch: {why}. Nothing was changed. Restore the files by hand from backups/, or remove that directory"
        ),
        End::Declined => format!("Nothing of {REPORTS}/{name} was changed."),
    };
    let stay = runs.iter().map(PipelineRun::stays);
    iter::once(sentence)
        .chain(stay)
        .collect::<Vec<_>>()
        .join(" ")
}
