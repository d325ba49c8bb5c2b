//! `rollback_manifest.json` (001 §4.3): how each change of a plan is undone.

pub(super) mod by_hand;
mod json;

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
        model::{ActionId, ReportedChange},
        record::{Run, Story, Undo},
    },
    task::RelPath,
};

pub(crate) use by_hand::script;

/// How the changes of a plan are undone.
pub(crate) struct Manifest<'a> {
    pub(crate) run: &'a Run,
    pub(crate) undo: &'a Undo,
    pub(crate) status: ManifestStatus,
    /// In the order in which the changes were made.
    pub(crate) checkpoints: Vec<Point<'a>>,
    /// When the last checkpoint was restored (R-001-119).
    pub(crate) executed_at: Option<&'a At>,
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
#[derive(Debug)]
pub(crate) struct Point<'a> {
    pub(crate) change: &'a Change,
    pub(crate) kind: ReportedChange,
    /// Checkpoints that must be restored before this one: later changes in the same place, and changes by
    /// actions that waited for this one's.
    pub(crate) depends_on: Vec<Uuid>,
    pub(crate) undone_at: Option<&'a At>,
}

impl Point<'_> {
    pub(crate) fn id(&self) -> Uuid {
        self.change.checkpoint
    }

    /// Whether one action made both changes.
    pub(crate) fn is_half_of(&self, other: &Self) -> bool {
        let mut actions = self.change.actions.iter();
        actions.any(|action| other.change.actions.contains(action))
    }
}

impl<'a> Manifest<'a> {
    /// The manifest of a plan that changes something. With the last checkpoint that is undone, it is used up (R-001-118,
    /// R-001-119).
    pub(crate) fn of(story: &'a Story) -> Option<Self> {
        let (run, undo) = (&story.run, story.undo.as_ref()?);
        let mut checkpoints = points(run, undo);
        let mut last = None;
        for (id, at) in story.put_back() {
            if let Some(point) = checkpoints.iter_mut().find(|point| point.id() == id) {
                point.undone_at.get_or_insert(at);
                last = Some(at);
            }
        }
        let is_executed = checkpoints.iter().all(|point| point.undone_at.is_some());
        let executed_at = last.filter(|_| is_executed);
        Some(Self {
            run,
            undo,
            status: match (executed_at, story.has_expired) {
                (Some(_), _) => ManifestStatus::Executed,
                (None, true) => ManifestStatus::Expired,
                (None, false) => ManifestStatus::Active,
            },
            checkpoints,
            executed_at,
        })
    }

    /// Whether it can be used now; `Err`, here and below: why not.
    pub(crate) fn usable(&self, now: Timestamp) -> Result<(), String> {
        let text =
            |at: Option<&At>| at.map_or("an unknown time".to_owned(), |at| at.text().to_owned());
        match self.status {
            ManifestStatus::Active if !self.is_over(now) => Ok(()),
            ManifestStatus::Executed => Err(format!(
                "it was used up at {}: every checkpoint is restored",
                text(self.executed_at)
            )),
            ManifestStatus::Expired | ManifestStatus::Active => Err(format!(
                "it expired at {}; if `backups/` still contains files, they can be restored by hand, as its notes say",
                text(self.undo.expires.as_ref())
            )),
        }
    }

    /// What to restore, the last change first: these checkpoints and all that rest on them, or everything if none is
    /// named (R-001-109, R-001-110). Two checkpoints of one action belong together: a plan that renames a file and
    /// changes it has one for each path.
    pub(crate) fn to_restore(&self, named: &[String]) -> Result<Vec<&Point<'a>>, String> {
        let all = self.checkpoints.iter();
        let found = |name: &String| {
            let mut all = all.clone();
            let found = all.find(|point| point.id().to_string() == *name);
            found.ok_or_else(|| self.unknown(name))
        };
        let mut todo: Vec<&Point<'_>> = named.iter().map(found).collect::<Result<_, _>>()?;
        if named.is_empty() {
            todo.extend(all.clone());
        }
        let mut wanted = HashSet::new();
        while let Some(point) = todo.pop() {
            if wanted.insert(point.id()) {
                let resting = |other: &&Point<'_>| {
                    point.depends_on.contains(&other.id()) || point.is_half_of(other)
                };
                todo.extend(all.clone().filter(resting));
            }
        }
        let wanted = all.rev().filter(|point| wanted.contains(&point.id()));
        Ok(wanted.collect())
    }

    fn unknown(&self, name: &str) -> String {
        let known = self.checkpoints.iter();
        let known = known.map(|point| format!("{} ({})", point.id(), point.change.path));
        let known: Vec<String> = known.collect();
        format!("it has no checkpoint `{name}`; it has {}", known.join(", "))
    }

    /// Whether the time is over for which the backups are kept.
    pub(crate) fn is_over(&self, now: Timestamp) -> bool {
        let expires = self.undo.expires.as_ref();
        expires.is_some_and(|at| at.timestamp() <= now)
    }
}

/// The checkpoints, each with those that must be restored before it.
fn points<'a>(run: &'a Run, undo: &'a Undo) -> Vec<Point<'a>> {
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
    let changed_by = |action: &ActionId| changed_by.get(action).into_iter().flatten().copied();
    let each = changes.iter().enumerate();
    each.filter_map(|(at, change)| {
        let actions = change.actions.iter();
        // Changes that name a common action are restored together, the later one first.
        let halves: BTreeSet<usize> = actions.clone().flat_map(changed_by).collect();
        let beside = change.places().flat_map(|path| sharing(&places, path));
        let beside = beside.chain(halves.iter().copied()).filter(|it| *it > at);
        let waiting = actions.filter_map(|action| waiting.get(action)).flatten();
        let after = waiting.flat_map(|action| changed_by(action));
        let after = after.filter(|it| !halves.contains(it));
        let others: BTreeSet<usize> = beside.chain(after).collect();
        let others = others.into_iter().filter_map(|it| changes.get(it));
        Some(Point {
            change,
            kind: change.reported()?,
            depends_on: others.map(|other| other.checkpoint).collect(),
            undone_at: None,
        })
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
