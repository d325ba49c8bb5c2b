//! `rollback_manifest.json` (001 §4.3): how each change of a plan is undone.

pub(super) mod by_hand;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    ops::Bound::{Included, Unbounded},
};

use jiff::Timestamp;
use serde::Serialize;
use uuid::Uuid;

use crate::{
    plan::{
        at::At,
        change::{Change, of_files},
        model::{ActionId, ChangeKind},
        record::{Run, Undo},
    },
    task::RelPath,
};

use super::SCRIPT;
use by_hand::{Step, manual};

pub(crate) use by_hand::script;

/// Every field of 001 §4.3 in its order, then ours.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Manifest {
    #[serde(rename = "manifest_id")]
    pub(crate) id: Uuid,
    pub(crate) plan_id: String,
    pub(crate) created_at: At,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<At>,
    pub(crate) status: ManifestStatus,
    /// In the order in which the changes were made.
    pub(crate) checkpoints: Vec<Point>,
    pub(crate) rollback_order: Vec<Uuid>,
    pub(crate) auto_rollback_script: RelPath,
    pub(crate) notes: String,
    pub(crate) task_id: String,
    /// Directories that the plan made, the outermost first.
    pub(crate) created_directories: Vec<RelPath>,
    /// When the last checkpoint was restored (R-001-119).
    pub(crate) executed_at: Option<At>,
}

/// R-001-63.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum ManifestStatus {
    Active,
    Executed,
    Expired,
}

/// A checkpoint: one file as it was, and how it gets there again (R-001-64).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Point {
    pub(crate) checkpoint_id: Uuid,
    /// Where the file was, or, if there was none, is.
    pub(crate) file_path: RelPath,
    /// From the root. This and the `original_…` are null for CREATE alone.
    pub(crate) backup_location: Option<RelPath>,
    pub(crate) original_hash: Option<String>,
    pub(crate) original_size: Option<u64>,
    pub(crate) operation_to_reverse: ChangeKind,
    pub(crate) restore_command: String,
    /// For RENAME alone: where the file is now.
    pub(crate) new_path: Option<RelPath>,
    /// SHA-256 of the file after the plan; null for DELETE alone. What differs has changed since.
    pub(crate) result_hash: Option<String>,
    /// Permission bits: `0644`.
    pub(crate) original_mode: Option<String>,
    pub(crate) original_modified: Option<At>,
    pub(crate) actions: Vec<ActionId>,
    /// Checkpoints that must be restored before this one: later changes in the same place, and changes by
    /// actions that waited for this one's.
    pub(crate) depends_on: Vec<Uuid>,
    pub(crate) undone_at: Option<At>,
}

impl Point {
    /// Whether one action made both changes.
    pub(crate) fn is_half_of(&self, other: &Self) -> bool {
        let mut actions = self.actions.iter();
        actions.any(|action| other.actions.contains(action))
    }
}

impl Manifest {
    /// Whether it can be used now; `Err`, here and below: why not.
    pub(crate) fn usable(&self, now: Timestamp) -> Result<(), String> {
        let text = |at: &'_ Option<At>| {
            at.as_ref()
                .map_or("an unknown time".to_owned(), |at| at.text().to_owned())
        };
        match self.status {
            ManifestStatus::Active if !self.is_over(now) => Ok(()),
            ManifestStatus::Executed => Err(format!(
                "it was used up at {}: every checkpoint is restored",
                text(&self.executed_at)
            )),
            ManifestStatus::Expired | ManifestStatus::Active => Err(format!(
                "it expired at {}; if `backups/` still contains files, they can be restored by hand, as its notes say",
                text(&self.expires_at)
            )),
        }
    }

    /// The checkpoints, the last change first.
    pub(crate) fn in_rollback_order(&self) -> impl Iterator<Item = &Point> {
        let by_id: HashMap<Uuid, &Point> = self
            .checkpoints
            .iter()
            .map(|point| (point.checkpoint_id, point))
            .collect();
        let order = self.rollback_order.iter();
        order.filter_map(move |id| by_id.get(id).copied())
    }

    /// What to restore, in order: these checkpoints and all that rest on them, or everything if none is
    /// named (R-001-109, R-001-110). Two checkpoints of one action belong together: a plan that renames a file and
    /// changes it has one for each path.
    pub(crate) fn to_restore(&self, named: &[String]) -> Result<Vec<&Point>, String> {
        let mut todo = Vec::new();
        for name in named {
            let fits = |point: &&Point| point.checkpoint_id.to_string() == *name;
            let found = self.checkpoints.iter().find(fits);
            todo.push(found.ok_or_else(|| self.unknown(name))?);
        }
        if named.is_empty() {
            todo.extend(&self.checkpoints);
        }
        let mut wanted = HashSet::new();
        while let Some(point) = todo.pop() {
            if wanted.insert(point.checkpoint_id) {
                let resting = |other: &&Point| {
                    point.depends_on.contains(&other.checkpoint_id) || point.is_half_of(other)
                };
                todo.extend(self.checkpoints.iter().filter(resting));
            }
        }
        Ok(self
            .in_rollback_order()
            .filter(|point| wanted.contains(&point.checkpoint_id))
            .collect())
    }

    fn unknown(&self, name: &str) -> String {
        let known: Vec<String> = self
            .checkpoints
            .iter()
            .map(|point| format!("{} ({})", point.checkpoint_id, point.file_path))
            .collect();
        format!("it has no checkpoint `{name}`; it has {}", known.join(", "))
    }

    /// Whether the time is over for which the backups are kept.
    pub(crate) fn is_over(&self, now: Timestamp) -> bool {
        let expires = self.expires_at.as_ref();
        expires.is_some_and(|at| at.timestamp() <= now)
    }
}

impl Manifest {
    /// The manifest of a plan with these changes. With the last checkpoint that is `undone`, it is used up (R-001-118,
    /// R-001-119).
    pub(crate) fn of<'u>(
        run: &Run,
        undo: &Undo,
        undone: impl Iterator<Item = &'u (Uuid, At)>,
        has_expired: bool,
    ) -> Self {
        let script = run.file(SCRIPT);
        let mut checkpoints = points(run, undo);
        let mut last = None;
        for (id, at) in undone {
            let mut points = checkpoints.iter_mut();
            if let Some(point) = points.find(|point| point.checkpoint_id == *id) {
                point.undone_at.get_or_insert_with(|| at.clone());
                last = Some(at.clone());
            }
        }
        let is_executed = checkpoints.iter().all(|point| point.undone_at.is_some());
        let mut manifest = Self {
            id: undo.id,
            plan_id: run.plan_id.clone(),
            created_at: undo.created.clone(),
            expires_at: undo.expires.clone(),
            status: match (is_executed && last.is_some(), has_expired) {
                (true, _) => ManifestStatus::Executed,
                (false, true) => ManifestStatus::Expired,
                (false, false) => ManifestStatus::Active,
            },
            rollback_order: checkpoints
                .iter()
                .rev()
                .map(|it| it.checkpoint_id)
                .collect(),
            checkpoints,
            // A path with a name added is a path.
            auto_rollback_script: RelPath::parse(&script).unwrap_or_else(|_| run.directory.clone()),
            notes: String::new(),
            task_id: run.task_id.clone(),
            created_directories: undo.directories().cloned().collect(),
            executed_at: last.filter(|_| is_executed),
        };
        manifest.notes = manual(&manifest);
        manifest
    }
}

impl Point {
    fn of(change: &Change, depends_on: Vec<Uuid>) -> Option<Self> {
        let before = change.before.as_ref();
        let mut point = Self {
            checkpoint_id: change.checkpoint,
            file_path: change.path.clone(),
            backup_location: change.backup.clone(),
            original_hash: before.map(|before| before.sha256.clone()),
            original_size: before.map(|before| before.facts.bytes),
            operation_to_reverse: change.reported()?,
            restore_command: String::new(),
            new_path: change.new_path().cloned(),
            result_hash: change.after.as_ref().map(|after| after.sha256.clone()),
            original_mode: before.map(|before| before.facts.octal()),
            original_modified: before.map(|before| before.facts.modified()),
            actions: change.actions.clone(),
            depends_on,
            undone_at: None,
        };
        point.restore_command = Step::of(&point).sentence();
        Some(point)
    }
}

/// The checkpoints, each with those that must be restored before it.
fn points(run: &Run, undo: &Undo) -> Vec<Point> {
    let waiting = dependants(&run.actions);
    let mut places = BTreeMap::<&str, Vec<usize>>::new();
    let mut changed_by = HashMap::<&ActionId, Vec<usize>>::new();
    let changes: Vec<&Change> = of_files(&undo.changes).collect();
    for (at, change) in changes.iter().enumerate() {
        for path in change.places() {
            places.entry(path.as_str()).or_default().push(at);
        }
        for action in &change.actions {
            changed_by.entry(action).or_default().push(at);
        }
    }
    let each = changes.iter().enumerate();
    each.filter_map(|(at, change)| {
        let beside = change
            .places()
            .flat_map(|path| sharing(&places, path))
            .filter(|other| *other > at);
        let after = change.actions.iter().flat_map(|action| {
            let waiting = waiting.get(action).into_iter().flatten();
            waiting
                .filter_map(|action| changed_by.get(*action))
                .flatten()
                .copied()
        });
        // Changes that name a common action are restored together, the later one first.
        let halves = change
            .actions
            .iter()
            .filter_map(|action| changed_by.get(action));
        let halves: BTreeSet<usize> = halves.flatten().copied().collect();
        let after = after.filter(|other| !halves.contains(other));
        let beside = beside.chain(halves.iter().copied().filter(|other| *other > at));
        let others: BTreeSet<usize> = beside.chain(after).filter(|other| *other != at).collect();
        let depends_on = others
            .into_iter()
            .filter_map(|other| changes.get(other))
            .map(|other| other.checkpoint)
            .collect();
        Point::of(change, depends_on)
    })
    .collect()
}

/// The changes that share a path with a change of this path: one of their paths is the same, lies below it, or is
/// one of its directories. They must be undone in a fixed order.
fn sharing(places: &BTreeMap<&str, Vec<usize>>, path: &RelPath) -> Vec<usize> {
    let inside = format!("{path}/");
    let below = places.range::<str, _>((Included(&*inside), Unbounded));
    let below = below.take_while(|(other, _)| other.starts_with(&inside));
    let way = [path.as_str()].into_iter().chain(path.directories());
    let there = way.filter_map(|path| places.get(path));
    let all = there.chain(below.map(|(_, changes)| changes));
    all.flatten().copied().collect()
}

/// For each action, all actions that depend on it, also indirectly.
fn dependants(actions: &[(ActionId, Vec<ActionId>)]) -> HashMap<&ActionId, HashSet<&ActionId>> {
    let mut followers: HashMap<&ActionId, Vec<&ActionId>> = HashMap::new();
    for (action, awaited) in actions {
        for id in awaited {
            followers.entry(id).or_default().push(action);
        }
    }
    let mut all = HashMap::new();
    for (action, _) in actions {
        let mut found = HashSet::new();
        let mut todo = vec![action];
        while let Some(next) = todo.pop() {
            let waiting = followers.get(next).into_iter().flatten().copied();
            todo.extend(waiting.filter(|id| found.insert(*id)));
        }
        all.insert(action, found);
    }
    all
}
