//! Settles the plans that a crash interrupted, and removes expired backups.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    plan::{
        Desk,
        asking::{Sought, find},
        engine::{self, Ask, Conflict, Doubt, End, Folder, Origin, PipelineNote, REPORTS, State},
        files::{Anonymous, FileError, Root},
        model::ActionId,
        pipeline,
        record::{PipelineRun, PipelineStatus, Status, uuid_v4},
        report::{EXECUTION_REPORT, MANIFEST, ManifestStatus, bytes, is_archived},
    },
    task::{Failure, Fault, PlanName, Repeatable, SPECIFICATION, identity},
};

/// How many threads sync files if no plan says how many.
const THREADS: usize = 4;

/// How many plans have a sentence: others may have written any number of report directories.
const SHOWN: usize = 20;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Settled {
    /// A sentence for each plan, and the number of those that have none.
    pub(crate) told: Vec<String>,
    /// How many are still unfinished.
    pub(crate) open: usize,
}

/// Settles the plans that a crash interrupted, before anything else is begun. A plan that is at work has already
/// settled them.
pub(crate) fn recover(desk: Desk<'_>) -> Settled {
    if engine::never_planned(desk.root) {
        return Settled::default();
    }
    settled_under_lock(desk, |root| {
        if !engine::interrupted(root)? || !root.try_lock()? {
            return Ok(Vec::new());
        }
        settled(root, desk, THREADS)
    })
}

/// The same, and the plans whose note is missing. This reads the journal of every report directory.
pub(crate) fn recover_all(desk: Desk<'_>) -> Settled {
    settled_under_lock(desk, |root| {
        let planned = engine::interrupted(root)? || engine::finished(root)?.next().is_some();
        if !planned || !root.try_lock()? {
            return Ok(Vec::new());
        }
        all_settled(root, desk)
    })
}

/// Settles the plan of one report directory if `ask` agrees to the changes, whoever wrote its journal.
pub(crate) fn recover_named(desk: Desk<'_>, path: &str, ask: Ask<'_>) -> Settled {
    settled_under_lock(desk, |root| {
        let name = find(root, &PlanName::Path(path.to_owned()), Sought::Newest)?;
        if !root.try_lock()? {
            let message = format!("another plan is at work below {}", root.path());
            return Err(Failure::new(Fault::InFlight, message));
        }
        let under_way = |folder: Folder<'_>| {
            let account = engine::account_by_anybody(&folder.dir);
            account.is_ok_and(|found| found.state.is_under_way())
        };
        let noted = engine::unfinished(root)?.contains(&name);
        if !noted && !Folder::open(root, &name).is_ok_and(under_way) {
            return Ok(Vec::new());
        }
        each_settled(root, desk, vec![name], THREADS, Some(ask))
    })
}

fn settled_under_lock(
    desk: Desk<'_>,
    settle: impl FnOnce(&Root) -> Result<Vec<(String, End)>, Failure>,
) -> Settled {
    let root = Root::open(desk.root).map_err(Failure::from);
    // If the lock was taken, it is released when the root is dropped.
    match root.and_then(|root| settle(&root)) {
        Ok(mut ends) => {
            ends.sort_by_key(|(_, end)| !end.is_open());
            let open = ends.iter().filter(|(_, end)| end.is_open()).count();
            let more = ends.len().saturating_sub(SHOWN);
            let sentences = ends.into_iter().map(|(sentence, _)| sentence);
            let mut told: Vec<String> = sentences.take(SHOWN).collect();
            if more > 0 {
                told.push(format!(
                    "Interrupted plans that are not listed here: {more}."
                ));
            }
            Settled { told, open }
        }
        Err(failure) => Settled {
            told: vec![format!(
                "oneact could not find out whether an earlier plan was interrupted: {}.",
                failure.message
            )],
            open: 1,
        },
    }
}

/// The same under a lock that is held. A plan that can be neither finished nor undone, or whose journal was not
/// written here, lets no other plan begin.
pub(crate) fn settle_others(
    root: &Root,
    desk: Desk<'_>,
    threads: usize,
) -> Result<Vec<String>, Failure> {
    closed(settled(root, desk, threads)?)
}

/// The same, and the plans whose note is missing.
pub(crate) fn settle_all(root: &Root, desk: Desk<'_>) -> Result<Vec<String>, Failure> {
    closed(all_settled(root, desk)?)
}

/// The sentences of plans that are settled; the error is that of the first one that is not.
fn closed(ends: Vec<(String, End)>) -> Result<Vec<String>, Failure> {
    let mut notes = Vec::new();
    for (sentence, end) in ends {
        match end {
            End::Stuck(_) => return Err(Failure::new(Fault::Stuck, sentence)),
            End::Unproven(_) | End::AgainstRules(_) | End::Declined => {
                return Err(Failure::new(Fault::JournalForeign, sentence));
            }
            End::NothingChanged | End::RolledBack(_) | End::Done(_) => notes.push(sentence),
        }
    }
    Ok(notes)
}

fn settled(root: &Root, desk: Desk<'_>, threads: usize) -> Result<Vec<(String, End)>, Failure> {
    if !engine::interrupted(root)? {
        return Ok(Vec::new());
    }
    engine::clear_begun(root)?;
    each_settled(root, desk, engine::unfinished(root)?, threads, None)
}

fn all_settled(root: &Root, desk: Desk<'_>) -> Result<Vec<(String, End)>, Failure> {
    engine::clear_begun(root)?;
    each_settled(root, desk, engine::open_plans(root)?, THREADS, None)
}

/// Settles each of these plans. Its report is updated before the note that it is unfinished is removed.
fn each_settled(
    root: &Root,
    desk: Desk<'_>,
    names: Vec<String>,
    threads: usize,
    mut ask: Option<Ask<'_>>,
) -> Result<Vec<(String, End)>, Failure> {
    let limits = desk.limits()?;
    // First, because a pipeline may still be ending.
    if let Err(error) = engine::clear_scratch(root, &names) {
        tracing::warn!("the directory of a killed program could not be removed: {error}");
    }
    let mut told = Vec::new();
    for name in names {
        let end = engine::recover(root, &name, &limits, threads, desk.course, ask.take());
        let is_open = end.as_ref().is_some_and(End::is_open);
        told.extend(end.map(|end| {
            let runs = if is_open {
                Vec::new()
            } else {
                runs(root, &name)
            };
            (recovered(root, desk, &name, &end, &runs), end)
        }));
        if !is_open {
            engine::forget(root, &name)?;
        }
    }
    Ok(told)
}

/// Removes the backups of plans whose manifest has expired (R-001-62); the manifests stay (R-001-139).
/// Returns a sentence for each plan.
pub(crate) fn clear_expired(desk: Desk<'_>) -> Vec<String> {
    let cleared = || -> Result<Vec<String>, FileError> {
        let root = Root::open(desk.root)?;
        if !root.try_lock()? {
            return Ok(Vec::new());
        }
        let unfinished = engine::unfinished(&root)?;
        let mut cleared = Vec::new();
        for folder in engine::finished(&root)? {
            let name = folder.path.name();
            // A plan that is not settled still needs its backups.
            let done = engine::account(&folder.dir).is_ok_and(|account| {
                account.origin == Origin::Here && matches!(account.state, State::Done(_))
            });
            if !done || unfinished.iter().any(|other| other == name) {
                continue;
            }
            let manifest = folder.manifest().filter(|manifest| {
                manifest.status == ManifestStatus::Active && manifest.is_over(desk.host.timestamp())
            });
            let Some(mut manifest) = manifest else {
                continue;
            };
            manifest.status = ManifestStatus::Expired;
            folder.put(&[(MANIFEST, bytes(&manifest))])?;
            folder.clear_backups()?;
            cleared.push(format!(
                "The backups of {name} had expired and were removed."
            ));
        }
        Ok(cleared)
    };
    cleared()
        .unwrap_or_else(|error| vec![format!("Expired backups could not be removed: {error}.")])
}

/// The pipelines that an interrupted plan had started. What they changed until now is listed.
fn runs(root: &Root, name: &str) -> Vec<PipelineRun> {
    let account = Folder::open(root, name).and_then(|folder| engine::account(&folder.dir));
    let notes = account.map(|account| account.pipelines).unwrap_or_default();
    let run = |PipelineNote { started, end }: PipelineNote| {
        let (files_changed, files_changed_count) =
            pipeline::written_since(root.path(), &started.writes, started.since);
        PipelineRun {
            repeatable: Repeatable::Once,
            action_id: ActionId(started.action),
            pipeline: started.pipeline,
            started_at: started.at,
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
    notes.into_iter().map(run).collect()
}

/// The sentence that says how an interrupted plan ended. Its report is updated, too.
fn recovered(root: &Root, desk: Desk<'_>, name: &str, end: &End, runs: &[PipelineRun]) -> String {
    let mut amended = Ok(());
    let mut sentence = match end {
        End::NothingChanged => {
            let what = "it had changed nothing";
            amended = amend(root, desk, name, (Status::Failed, what, &[]), runs);
            format!("The plan {name} had been interrupted before it changed anything.")
        }
        End::RolledBack(conflicts) => {
            let what = "its changes were rolled back";
            let status = (Status::RolledBack, what, conflicts.as_slice());
            amended = amend(root, desk, name, status, runs);
            let but = match Conflict::told(conflicts) {
                told if told.is_empty() => told,
                told => format!(", except for what others have changed since: {told}"),
            };
            format!("The plan {name} had been interrupted: {what}{but}.")
        }
        End::Done(notes) => {
            let told = format!("The plan {name} had been finished before it was interrupted.");
            [vec![told], notes.clone()].concat().join(" ")
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
    for run in runs {
        sentence = format!("{sentence} {}", run.stays());
    }
    if let Err(error) = amended {
        sentence = format!("{sentence} Its report could not be updated: {error}.");
    }
    sentence
}

/// Updates the reports of an interrupted plan.
fn amend(
    root: &Root,
    desk: Desk<'_>,
    name: &str,
    (status, what, conflicts): (Status, &str, &[Conflict]),
    runs: &[PipelineRun],
) -> Result<(), FileError> {
    let folder = Folder::open(root, name)?;
    let now = desk.host.now();
    let failure = Failure::new(Fault::Internal, format!("the run was interrupted; {what}"));
    let report = folder.report(EXECUTION_REPORT).ok();
    let report = report.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    // If there is no report yet, the note of the plan has its ids.
    let mark = engine::mark_of(root, name);
    let mut report = report.unwrap_or_else(|| {
        json!({
            "report_id": uuid_v4(desk.host.random_bytes()),
            "plan_id": mark.as_ref().map(|mark| &mark.plan_id),
            "task_id": mark.as_ref().map(|mark| &mark.task_id),
            "executor_version": SPECIFICATION,
            "started_at": mark.as_ref().map(|mark| &mark.began),
            "executor": identity(),
            "oneact_version": env!("CARGO_PKG_VERSION"),
        })
    });
    if let Some(fields) = report.as_object_mut() {
        let new = [
            ("status", json!(status)),
            ("archived", json!(is_archived(status))),
            ("rollback_performed", json!(status == Status::RolledBack)),
            ("completed_at", json!(now.timestamp().to_string())),
            ("interrupted", json!(failure.message)),
        ];
        fields.extend(new.map(|(name, value)| (name.to_owned(), value)));
        if !runs.is_empty() {
            fields.insert("pipelines".to_owned(), json!(runs));
        }
    }
    let mut documents = vec![(EXECUTION_REPORT, bytes(&report))];
    if let Some(mut manifest) = folder.manifest() {
        let restored: Vec<Uuid> = manifest
            .checkpoints
            .iter()
            .filter(|point| !Conflict::any_at(conflicts, &point.file_path, point.new_path.as_ref()))
            .map(|point| point.checkpoint_id)
            .collect();
        manifest.restored(&restored, &now);
        documents.push((MANIFEST, bytes(&manifest)));
    }
    folder.put(&documents)
}
