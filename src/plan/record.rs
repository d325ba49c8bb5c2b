//! What happened to a plan: the facts that every report is made from.

mod run;

use jiff::Zoned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::task::{
    ActionType, Failure, Fault, Pipeline, RelPath, Repeatable, canonical, hexadecimal,
};

use crate::tree::{Jail, Weakness};

use super::{
    at::At,
    change::{Change, ChangeKind},
    model::{Action, ActionId, ReportedChange},
};

pub(crate) use run::{PipelineRun, PipelineStatus};

/// The facts of a run before anything is changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) plan_id: String,
    pub(crate) task_id: String,
    /// Of the oneact that applied the plan.
    pub(crate) version: String,
    /// The report directory: `agent_outputs/reports/{timestamp}_{task_id}` (C-20).
    pub(crate) directory: RelPath,
    pub(crate) began: At,
    /// Every action of the plan, as written, with the actions it waits for.
    pub(crate) actions: Vec<(ActionId, Vec<ActionId>)>,
}

/// The changes of a plan, and what its rollback manifest says of all of them. It is complete before the first change (001
/// §7.1, `CHECKPOINT_FIRST`), and exists only if there are changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Undo {
    /// The rollback manifest's.
    pub(crate) id: Uuid,
    pub(crate) created: At,
    /// When the backups may be removed.
    pub(crate) expires: Option<At>,
    /// In the order in which they are made.
    pub(crate) changes: Vec<Change>,
}

impl Undo {
    /// Directories that the plan makes, the outermost first.
    pub(crate) fn directories(&self) -> impl DoubleEndedIterator<Item = &RelPath> {
        let made = self
            .changes
            .iter()
            .filter(|it| it.kind == ChangeKind::MakeDir);
        made.map(|change| &change.path)
    }
}

/// A plan from its beginning to its end. The reports, the log and the envelope are functions of it, so that they cannot
/// disagree.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Story {
    pub(crate) run: Run,
    /// `None` while nothing was ever to be changed.
    pub(crate) undo: Option<Undo>,
    pub(crate) end: Ending,
    /// The checkpoints that rollbacks have put back since, and when.
    pub(crate) undone: Vec<(Uuid, At)>,
    /// Whether the time is over for which the backups are kept, and they were removed.
    pub(crate) has_expired: bool,
}

/// How a plan ended, as the last record of its journal says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ending {
    pub(crate) ended: At,
    /// Under a fixed clock 0.
    pub(crate) duration_ms: u64,
    /// One an action, in the plan's order.
    pub(crate) verdicts: Vec<Verdict>,
    /// The pipelines that were started.
    pub(crate) pipelines: Vec<PipelineRun>,
    pub(crate) rollback: Rollback,
    /// What failed and belongs to no single action.
    pub(crate) troubles: Vec<Trouble>,
    /// Warnings and the plan's notes: what people should know although nothing failed.
    pub(crate) warnings: Vec<String>,
    /// Why a change by another program may have been lost: one for each change.
    pub(crate) captures: Vec<Option<Weakness>>,
    pub(crate) durability: Durability,
    pub(crate) jail: Jail,
    /// What the plan was found to do, where that was worked out.
    pub(crate) preview: Option<PreviewHash>,
    /// What became of a plan whose run was interrupted.
    pub(crate) interrupted: Option<String>,
    /// The ids of the reports, in the order in which they are given.
    pub(crate) ids: Vec<Uuid>,
}

/// Whether the plan's changes were undone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Rollback {
    NotDone,
    Done {
        at: At,
        /// Checkpoints of files that others have changed since: they stay as they are.
        left: Vec<Uuid>,
    },
    /// The rollback was begun, but not finished. A person has to act.
    Stuck {
        at: At,
        /// Checkpoints that are not restored.
        left: Vec<Uuid>,
    },
}

impl Rollback {
    /// When it was done or got stuck, and the checkpoints that are not restored.
    pub(crate) fn left(&self) -> Option<(&At, &[Uuid])> {
        match self {
            Self::NotDone => None,
            Self::Done { at, left } | Self::Stuck { at, left } => Some((at, left)),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Trouble {
    pub(crate) at: At,
    pub(crate) failure: Failure,
}

impl Story {
    /// A story without events.
    pub(crate) fn begun(run: Run, jail: Jail) -> Self {
        let end = Ending {
            ended: run.began.clone(),
            duration_ms: 0,
            verdicts: Vec::new(),
            pipelines: Vec::new(),
            rollback: Rollback::NotDone,
            troubles: Vec::new(),
            warnings: Vec::new(),
            captures: Vec::new(),
            durability: Durability::Confirmed,
            jail,
            preview: None,
            interrupted: None,
            ids: Vec::new(),
        };
        Self {
            run,
            undo: None,
            end,
            undone: Vec::new(),
            has_expired: false,
        }
    }

    /// 001 §4.1's status: a function of what happened.
    pub(crate) fn status(&self) -> Status {
        let end = &self.end;
        let failures = || {
            let of_actions = end.verdicts.iter().filter_map(Verdict::failure);
            of_actions.chain(end.troubles.iter().map(|trouble| &trouble.failure))
        };
        let all_done = end.verdicts.iter().all(Verdict::is_completed);
        let cancelled = || failures().any(|failure| failure.fault == Fault::Cancelled);
        match (&end.rollback, &self.undo) {
            (Rollback::Stuck { .. }, _) => Status::Stuck,
            _ if cancelled() => Status::Cancelled,
            (Rollback::Done { .. }, _) => Status::RolledBack,
            (Rollback::NotDone, _) if all_done && failures().next().is_none() => Status::Success,
            (Rollback::NotDone, Some(_)) => Status::Partial,
            // What a pipeline did stays.
            _ if end.pipelines.iter().any(|run| run.failure.is_none()) => Status::Partial,
            (Rollback::NotDone, None) => Status::Failed,
        }
    }

    /// The failure that decides the outcome: a rollback that is stuck, otherwise an action's, otherwise the plan's.
    pub(crate) fn failure(&self) -> Option<&Failure> {
        let of_plan = self.end.troubles.first().map(|trouble| &trouble.failure);
        let of_action = || self.end.verdicts.iter().find_map(Verdict::failure);
        match self.end.rollback {
            Rollback::Stuck { .. } => of_plan,
            Rollback::NotDone | Rollback::Done { .. } => of_action().or(of_plan),
        }
    }

    /// The checkpoints that the plan itself and later rollbacks have put back, and when.
    pub(crate) fn put_back(&self) -> impl Iterator<Item = (Uuid, &At)> {
        let own = self.end.rollback.left().into_iter();
        let own = own.flat_map(|(at, left)| {
            let changes = self.undo.iter().flat_map(|undo| &undo.changes);
            let done = changes.map(|change| change.checkpoint);
            done.filter(|id| !left.contains(id)).map(move |id| (id, at))
        });
        own.chain(self.undone.iter().map(|(id, at)| (*id, at)))
    }

    /// Whether a pipeline was started that only a person may run again.
    pub(crate) fn ran_once(&self) -> bool {
        let once = |run: &PipelineRun| run.repeatable == Repeatable::Once;
        self.end.pipelines.iter().any(once)
    }

    /// The changes of files that were made, including those that were undone, each with the reason why its capture is weak.
    pub(crate) fn changes(&self) -> impl Iterator<Item = (&Change, Option<Weakness>)> + Clone {
        let changes = self.undo.iter().flat_map(|undo| &undo.changes);
        let captures = self.end.captures.iter().copied();
        let captures = captures.chain(std::iter::repeat(None));
        let changes = changes.zip(captures);
        changes.filter(|(change, _)| change.reported().is_some())
    }
}

/// SHA-256 over the plan and over every file before and after it, printed `sha256:…`. The same hash
/// means the same change. If a file or the plan has changed, the hash is different.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct PreviewHash(String);

/// What a plan would do to one file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Foreseen {
    pub(crate) path: RelPath,
    /// Where a renamed file comes from.
    pub(crate) from: Option<RelPath>,
    pub(crate) kind: ReportedChange,
    /// SHA-256 in lower-case hexadecimal; none where no file is.
    pub(crate) before: Option<String>,
    /// The same, or `query SHA-256` where a query makes a content that cannot be foreseen.
    pub(crate) after: Option<String>,
    /// Permission bits afterwards; none for a deletion.
    pub(crate) mode: Option<u32>,
}

impl PreviewHash {
    /// How the plan is written (RFC 8785) and the order of the files do not matter.
    /// It is bound to what the catalog says of the pipelines.
    pub(crate) fn of(plan: &Value, mut files: Vec<Foreseen>, programs: &[&Pipeline]) -> Self {
        files.sort();
        let plan = canonical(plan).unwrap_or_else(|_| plan.to_string());
        let plan = hexadecimal(&Sha256::digest(plan));
        let mut bound = json!({"plan_sha256": plan, "files": files});
        if let (Some(fields), [_, ..]) = (bound.as_object_mut(), programs) {
            let seals = programs.iter().map(|it| &it.seal);
            fields.insert("programs".to_owned(), json!(seals.collect::<Vec<_>>()));
        }
        let text = canonical(&bound);
        // Texts and small numbers alone: it cannot fail. Were it to, no hash given to `--expect` fits.
        let hash = hexadecimal(&Sha256::digest(text.unwrap_or_default()));
        Self(format!("sha256:{hash}"))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// A UUID of version 4 made of these random bits (R-001-42).
pub(crate) fn uuid_v4(random: [u8; 16]) -> Uuid {
    uuid::Builder::from_random_bytes(random).into_uuid()
}

/// 001 §4.1's status of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum Status {
    Success,
    Partial,
    Failed,
    RolledBack,
    Cancelled,
    /// Ours: changed in part, and not to be undone. The specification has no word for it (R-001-45).
    Stuck,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Verdict {
    pub(crate) action: ActionId,
    /// As far as it could be read.
    pub(crate) action_type: Option<ActionType>,
    /// As the plan spells it.
    pub(crate) target: Option<String>,
    pub(crate) began: At,
    pub(crate) ended: At,
    pub(crate) end: ActionEnd,
}

impl Verdict {
    pub(crate) fn of(action: &Action, began: &Zoned, ended: &Zoned, end: ActionEnd) -> Self {
        Self {
            action: action.id.clone(),
            action_type: Some(action.operation.action_type()),
            target: Some(action.target.to_string()),
            began: began.into(),
            ended: ended.into(),
            end,
        }
    }

    pub(crate) fn failure(&self) -> Option<&Failure> {
        match &self.end {
            ActionEnd::Failed(failure) => Some(failure),
            ActionEnd::Completed(_) | ActionEnd::Skipped(_) => None,
        }
    }

    pub(crate) fn is_completed(&self) -> bool {
        matches!(self.end, ActionEnd::Completed(_))
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ActionEnd {
    /// What it did, in a sentence: `Property 'new_field' added successfully`.
    Completed(String),
    Failed(Failure),
    /// Why it was not tried: `Dependency a002 failed`.
    Skipped(String),
}

/// Whether the changes of the plan are certainly on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Durability {
    /// On the disk before it was reported.
    Confirmed,
    /// Made, but the disk did not confirm it.
    Unconfirmed,
}

/// `1 file`, `2 files`.
pub(crate) fn counted(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> Foreseen {
        Foreseen {
            path: RelPath::parse(path).unwrap(),
            from: None,
            kind: ReportedChange::Modify,
            before: Some("00".repeat(32)),
            after: Some("11".repeat(32)),
            mode: Some(0o644),
        }
    }

    #[test]
    fn the_hash_is_the_sha_256_of_canonical_json() {
        let plan = hexadecimal(&Sha256::digest(b"{}"));
        let (zero, one) = ("00".repeat(32), "11".repeat(32));
        let text = format!(
            r#"{{"files":[{{"after":"{one}","before":"{zero}","from":null,"kind":"MODIFY","mode":420,"path":"a"}}],"plan_sha256":"{plan}"}}"#
        );
        let expected = format!("sha256:{}", hexadecimal(&Sha256::digest(text)));
        assert_eq!(
            PreviewHash::of(&json!({}), vec![file("a")], &[]).as_str(),
            expected
        );
    }

    #[test]
    fn every_part_counts_and_the_order_of_files_does_not() {
        let hash = |plan: &Value, files| PreviewHash::of(plan, files, &[]);
        let (plan, other_plan) = (&json!({}), &json!([]));
        let first = hash(plan, vec![file("a"), file("b")]);
        assert_eq!(first, hash(plan, vec![file("b"), file("a")]));
        let changed: [fn(&mut Foreseen); 6] = [
            |file| file.path = RelPath::parse("c").unwrap(),
            |file| file.from = Some(RelPath::parse("c").unwrap()),
            |file| file.kind = ReportedChange::Delete,
            |file| file.before = None,
            |file| file.after = None,
            |file| file.mode = Some(0o600),
        ];
        for change in changed {
            let mut other = file("b");
            change(&mut other);
            assert_ne!(first, hash(plan, vec![file("a"), other]));
        }
        assert_ne!(first, hash(other_plan, vec![file("a"), file("b")]));
    }
}
