//! What is told of a plan: to its report directory, to the log, and to whoever asked.

mod refusal;
mod verdicts;

use jiff::{ToSpan, Zoned};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    host::Moment,
    plan::{
        Desk, Finished, Rejected,
        engine::{Documents, Entry, Folder, UndoEnd},
        files::{FileError, Root},
        model::{Action, Plan},
        record::{
            ActionEnd, Capture, Change, Durability, Jail, Rollback, Run, Story, Trouble, Undo,
            Verdict, uuid_v4,
        },
        report::{self, CHANGE_LOG, EXECUTION_REPORT, MANIFEST, Manifest, PreviewHash, SCRIPT},
    },
    task::{self, Course, Effect, Failure, Fault, RelPath, ReportFiles},
};

pub(in crate::plan) use refusal::{broken, refused, unread};

use refusal::of_the_request;

/// How long backups are kept before `oneact recover` may clear them away.
const KEPT_DAYS: i64 = 30;

/// Everything that is told of one plan, as it becomes known.
pub(in crate::plan) struct Teller<'a> {
    desk: Desk<'a>,
    run: Run,
    clock: Moment,
    pub(in crate::plan) verdicts: Vec<Verdict>,
    pub(in crate::plan) undo: Option<Undo>,
    pub(in crate::plan) rollback: Rollback,
    pub(in crate::plan) troubles: Vec<Trouble>,
    pub(in crate::plan) warnings: Vec<String>,
    pub(in crate::plan) durability: Durability,
    jail: Jail,
    pub(in crate::plan) preview: Option<PreviewHash>,
    /// Drawn once, so that a report that is written twice is the same report.
    ids: Vec<Uuid>,
}

impl<'a> Teller<'a> {
    pub(in crate::plan) fn new(
        desk: Desk<'a>,
        jail: Jail,
        run: Run,
        warnings: Vec<String>,
    ) -> Self {
        Self {
            desk,
            run,
            clock: desk.host.moment(),
            verdicts: Vec::new(),
            undo: None,
            rollback: Rollback::NotDone,
            troubles: Vec::new(),
            warnings,
            durability: Durability::Confirmed,
            jail,
            preview: None,
            ids: Vec::new(),
        }
    }

    pub(in crate::plan) fn course(&self) -> &'a Course {
        self.desk.course
    }

    pub(in crate::plan) fn run(&self) -> &Run {
        &self.run
    }

    /// What a plan under way says of itself, for those who ask or cancel.
    pub(in crate::plan) fn mark(&self) -> Vec<u8> {
        let mark = json!({
            "plan_id": self.run.plan_id,
            "task_id": self.run.task_id,
            "pid": rustix::process::getpid().as_raw_nonzero().get(),
            "began": self.run.began.timestamp().to_string(),
        });
        mark.to_string().into_bytes()
    }

    /// The run that this is told of.
    pub(in crate::plan) fn operation(&self) -> &str {
        self.desk.operation_id
    }

    /// Something failed that belongs to no single action.
    pub(in crate::plan) fn trouble(&mut self, failure: Failure) {
        let at = self.desk.host.now();
        self.troubles.push(Trouble { at, failure });
    }

    /// The failure that decided: that it is stuck, else an action's, or the plan's.
    pub(in crate::plan) fn failure(&self) -> Option<&Failure> {
        let of_action = self.verdicts.iter().find_map(|verdict| match &verdict.end {
            ActionEnd::Failed(failure) => Some(failure),
            ActionEnd::Completed(_) | ActionEnd::Skipped(_) => None,
        });
        let first = self.troubles.first().map(|trouble| &trouble.failure);
        match self.rollback {
            // Being stuck is told first.
            Rollback::Stuck { .. } => first,
            Rollback::NotDone | Rollback::Done { .. } => of_action.or(first),
        }
    }

    /// How each change was made.
    pub(in crate::plan) fn captured(&mut self, entries: &[Entry], captures: &[Capture]) {
        let Some(undo) = &mut self.undo else { return };
        let files = entries
            .iter()
            .zip(captures)
            .filter(|(entry, _)| !matches!(entry, Entry::MakeDir { .. }));
        for (change, (_, capture)) in undo.changes.iter_mut().zip(files) {
            change.record.fidelity.capture = *capture;
        }
    }

    /// The plan was given up: `at` is the file at which it failed, if it was one.
    pub(in crate::plan) fn undone(&mut self, why: Failure, at: Option<&RelPath>, end: UndoEnd) {
        let now = self.desk.host.now();
        match end {
            UndoEnd::NothingChanged => self.undo = None,
            UndoEnd::RolledBack(conflicts) => {
                let changes = self.undo.iter().flat_map(|undo| &undo.changes);
                let left = changes
                    .filter(|change| {
                        let record = &change.record;
                        in_conflict(&conflicts, &record.path, record.from.as_ref())
                    })
                    .map(|change| change.checkpoint.id)
                    .collect();
                self.rollback = Rollback::Done { at: now, left };
                for conflict in conflicts {
                    self.trouble(Failure::new(Fault::RollbackConflict, conflict));
                }
            }
            UndoEnd::Stuck(obstacles) => {
                let left = self.undo.iter().flat_map(|undo| &undo.changes);
                let left = left.map(|change| change.checkpoint.id).collect();
                self.rollback = Rollback::Stuck { at: now, left };
                let message = format!(
                    "undoing did not come to its end: {}. Mend that, then `oneact recover` goes on; originals are in {}/backups",
                    obstacles.join("; "),
                    self.run.directory
                );
                self.troubles.insert(
                    0,
                    Trouble {
                        at: self.desk.host.now(),
                        failure: Failure::new(Fault::Stuck, message),
                    },
                );
            }
        }
        if !self.blamed(at, &why) {
            self.trouble(why);
        }
    }

    fn story(&self) -> Story {
        Story {
            run: self.run.clone(),
            ended: self.desk.host.now(),
            duration_ms: u64::try_from(self.clock.elapsed().as_millis()).unwrap_or(u64::MAX),
            verdicts: self.verdicts.clone(),
            undo: self.undo.clone(),
            rollback: self.rollback.clone(),
            troubles: self.troubles.clone(),
            warnings: self.warnings.clone(),
            durability: self.durability,
            jail: self.jail,
            preview: self.preview.clone(),
        }
    }

    fn reports(&mut self, story: &Story) -> report::Reports {
        let mut drawn = 0;
        let host = self.desk.host;
        let ids = &mut self.ids;
        report::tell(story, &mut || {
            drawn += 1;
            if let Some(id) = ids.get(drawn - 1) {
                return *id;
            }
            let id = uuid_v4(host.random_bytes());
            ids.push(id);
            id
        })
    }

    /// The reports as they stand.
    pub(in crate::plan) fn documents(&mut self) -> Documents {
        let story = self.story();
        let reports = self.reports(&story);
        let mut documents = vec![
            (EXECUTION_REPORT, bytes(&reports.execution)),
            (CHANGE_LOG, bytes(&reports.changes)),
        ];
        documents.extend(
            reports
                .manifest
                .iter()
                .map(|manifest| (MANIFEST, bytes(manifest))),
        );
        documents
    }

    /// Writes the reports of a plan that is not applied. That they cannot be written is told, not more:
    /// the caller has them as well.
    pub(in crate::plan) fn leave(&mut self, folder: &Folder<'_>) {
        let documents = self.documents();
        let mut written = folder.put(&documents);
        if self.undo.is_none() {
            let left = [MANIFEST, SCRIPT]
                .iter()
                .try_for_each(|name| folder.dir().remove(name));
            written = written.and(left);
        }
        let stuck = matches!(self.rollback, Rollback::Stuck { .. });
        if !stuck {
            written = written.and_then(|()| folder.unmark());
        }
        if let Err(error) = written {
            self.warnings
                .push(format!("The reports are not complete: {error}."));
        }
    }

    /// The end: the log is written, and the caller told.
    pub(in crate::plan) fn finish(mut self, folder: &Folder<'_>) -> Finished {
        let story = self.story();
        if let Err(error) = log(folder.root(), &story) {
            self.warnings
                .push(format!("The executor's log is not complete: {error}."));
        }
        let has_manifest = self.undo.is_some();
        let run = &self.run;
        let files = ReportFiles {
            directory: run.directory.to_string(),
            execution_report: run.file(EXECUTION_REPORT),
            change_log: run.file(CHANGE_LOG),
            rollback_manifest: has_manifest.then(|| run.file(MANIFEST)),
        };
        Finished {
            files: Some(files),
            ..self.unwritten()
        }
    }

    /// The same where nothing could be written down.
    pub(in crate::plan) fn unwritten(mut self) -> Finished {
        let story = self.story();
        let reports = self.reports(&story);
        let status = story.status();
        let failure = self.failure().cloned();
        let conflicts = self
            .troubles
            .iter()
            .any(|trouble| trouble.failure.fault == Fault::RollbackConflict);
        let effect = match (&self.rollback, &self.undo) {
            (Rollback::Stuck { .. }, _) => Effect::Unknown,
            (Rollback::Done { .. }, _) if conflicts => Effect::Unknown,
            (Rollback::Done { .. }, _) | (Rollback::NotDone, None) => Effect::None,
            (Rollback::NotDone, Some(_)) => Effect::Done,
        };
        let untouched = self.undo.is_none();
        let changed = match effect {
            Effect::Done => story.changes().iter().flat_map(paths).collect(),
            Effect::None | Effect::Unknown => Vec::new(),
        };
        Finished {
            status: Some(status),
            rejected: match &failure {
                Some(failure) if untouched && of_the_request(failure.fault) => Rejected::Yes,
                _ => Rejected::No,
            },
            failure,
            effect,
            report: serde_json::to_value(&reports.execution).unwrap_or(Value::Null),
            files: None,
            preview: None,
            changed,
            reasoning: reasoning(&story),
            notes: self.warnings,
        }
    }
}

/// Where a change was made: of a renamed file both names.
fn paths(change: &Change) -> impl Iterator<Item = RelPath> {
    let record = &change.record;
    [Some(record.path.clone()), record.from.clone()]
        .into_iter()
        .flatten()
}

/// What is known of a plan before anything is done.
pub(in crate::plan) fn run(plan: &Plan, desk: Desk<'_>, directory: RelPath) -> Run {
    let named = |action: &Action| (action.id.clone(), action.depends_on.clone());
    Run {
        plan_id: plan.plan_id.clone(),
        task_id: desk.task_id.to_owned(),
        directory,
        began: desk.host.now(),
        actions: plan.actions.iter().map(named).collect(),
    }
}

/// What the run decided, for `audit.reasoning`.
fn reasoning(story: &Story) -> Vec<String> {
    let done = |verdict: &&Verdict| matches!(verdict.end, ActionEnd::Completed(_));
    let completed = story.verdicts.iter().filter(done).count();
    let told = format!(
        "Plan {}: {completed} of {} completed, {} changed.",
        story.run.plan_id,
        counted(story.verdicts.len(), "action"),
        match story.rollback {
            Rollback::NotDone => counted(story.changes().len(), "file"),
            Rollback::Done { .. } => counted(0, "file"),
            Rollback::Stuck { .. } => "an unknown number of files".to_owned(),
        }
    );
    let mut told = vec![told];
    if let Rollback::Stuck { .. } = &story.rollback {
        told.push("Undoing did not come to its end.".to_owned());
    }
    if let Rollback::Done { left, .. } = &story.rollback {
        told.push(match left.len() {
            0 => "Every change was taken back.".to_owned(),
            left => format!(
                "Changes were taken back, but for {} that others have changed since.",
                counted(left, "file")
            ),
        });
    }
    told
}

/// Whether one of these conflicts is about that file.
pub(super) fn in_conflict(conflicts: &[String], path: &RelPath, other: Option<&RelPath>) -> bool {
    let about = |path: &RelPath| {
        let start = format!("{path}: ");
        conflicts
            .iter()
            .any(|conflict| conflict.starts_with(&start))
    };
    about(path) || other.is_some_and(about)
}

/// `1 file`, `2 files`.
pub(in crate::plan) fn counted(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}

/// Written before the first change: how it is taken back.
pub(in crate::plan) fn checkpoint(manifest: &Manifest) -> Documents {
    vec![
        (MANIFEST, bytes(manifest)),
        (SCRIPT, report::script(manifest).into_bytes()),
    ]
}

pub(super) fn bytes(report: &impl serde::Serialize) -> Vec<u8> {
    // Strings, numbers and lists of ours: writing them to memory cannot fail.
    report::bytes(report).unwrap_or_default()
}

fn log(root: &Root, story: &Story) -> Result<(), FileError> {
    let path = report::log::file(&story.ended);
    let Ok(path) = RelPath::parse(&path) else {
        return Ok(());
    };
    for dir in path.ancestors() {
        root.parent(&dir)?.ensure_dir(dir.name(), 0o755)?;
    }
    root.parent(&path)?
        .append(path.name(), report::log::lines(story).as_bytes())
}

/// `{timestamp}_{task_id}` (C-20): the task's name, as far as a file's name can say it.
pub(in crate::plan) fn directory(desk: Desk<'_>) -> String {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let task: String = desk
        .task_id
        .chars()
        .map(|c| if fits(c) { c } else { '_' })
        .take(40)
        .collect();
    format!("{}_{task}", desk.host.now().strftime("%Y%m%d-%H%M%S"))
}

/// When backups may be cleared away.
pub(in crate::plan) fn expiry(desk: Desk<'_>) -> Option<Zoned> {
    desk.host.now().checked_add(KEPT_DAYS.days()).ok()
}

/// The plan as bytes that do not depend on how it was written (RFC 8785).
pub(in crate::plan) fn canonical(plan: &Value) -> Vec<u8> {
    let text = task::canonical(plan).unwrap_or_else(|_| plan.to_string());
    text.into_bytes()
}
