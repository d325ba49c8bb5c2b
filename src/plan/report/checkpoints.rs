//! The rollback manifest of a plan as it is made: every change becomes a checkpoint, with those that rest
//! on it.

use std::collections::{BTreeSet, HashMap, HashSet};

use uuid::Uuid;

use crate::{
    plan::{
        model::ActionId,
        record::{Change, ChangeRecord, FileState, Rollback, Run, Story, Undo},
    },
    task::RelPath,
};

use super::{
    At, Manifest, ManifestStatus, Point, SCRIPT,
    by_hand::{Step, manual},
};

impl Manifest {
    /// The manifest of a plan that is about to be applied.
    pub(crate) fn of(run: &Run, undo: &Undo) -> Self {
        let script = run.file(SCRIPT);
        let mut manifest = Self {
            id: undo.id,
            plan_id: run.plan_id.clone(),
            created_at: At::from(&undo.created),
            expires_at: undo.expires.as_ref().map(At::from),
            status: ManifestStatus::Active,
            checkpoints: points(run, undo),
            rollback_order: undo
                .changes
                .iter()
                .rev()
                .map(|change| change.checkpoint)
                .collect(),
            // A path with a name added is a path.
            auto_rollback_script: RelPath::parse(&script).unwrap_or_else(|_| run.directory.clone()),
            notes: String::new(),
            task_id: run.task_id.clone(),
            created_directories: undo.directories.clone(),
            executed_at: None,
        };
        manifest.notes = manual(&manifest);
        manifest
    }

    /// The manifest as a plan leaves it: used up if the plan was rolled back.
    pub(crate) fn at_the_end(story: &Story) -> Option<Self> {
        let undo = story.undo.as_ref()?;
        let mut manifest = Self::of(&story.run, undo);
        let all = undo.changes.iter().map(|change| change.checkpoint);
        match &story.rollback {
            Rollback::NotDone => {}
            Rollback::Done { at, left } | Rollback::Stuck { at, left } => {
                let done: Vec<Uuid> = all.filter(|id| !left.contains(id)).collect();
                manifest.restored(&done, at);
            }
        }
        Some(manifest)
    }
}

impl Point {
    fn of(change: &Change, depends_on: Vec<Uuid>) -> Self {
        let record = &change.record;
        let before = record.before.as_ref();
        let mut point = Self {
            checkpoint_id: change.checkpoint,
            file_path: record.target().clone(),
            backup_location: change.backup.clone(),
            original_hash: record.hash_before().cloned(),
            original_size: before.map(|before| before.bytes),
            operation_to_reverse: record.kind,
            restore_command: String::new(),
            new_path: record.new_path().cloned(),
            result_hash: record.after.as_ref().map(|after| after.hash.clone()),
            original_mode: before.map(FileState::octal),
            original_modified: before.map(|before| At::from(before.modified)),
            actions: record.actions.clone(),
            depends_on,
            undone_at: None,
        };
        point.restore_command = Step::of(&point).sentence();
        point
    }
}

/// The checkpoints, each with those that rest on it.
fn points(run: &Run, undo: &Undo) -> Vec<Point> {
    let waiting = dependants(&run.actions);
    let (mut places, mut changed_by) = (Places::default(), HashMap::<&ActionId, Vec<usize>>::new());
    for (at, change) in undo.changes.iter().enumerate() {
        for path in paths(&change.record) {
            places.add(path, at);
        }
        for action in &change.record.actions {
            changed_by.entry(action).or_default().push(at);
        }
    }
    let each = undo.changes.iter().enumerate();
    each.map(|(at, change)| {
        let beside = paths(&change.record)
            .into_iter()
            .flat_map(|path| places.sharing(path))
            .filter(|other| *other > at);
        let after = change.record.actions.iter().flat_map(|action| {
            let waiting = waiting.get(action).into_iter().flatten();
            waiting
                .filter_map(|action| changed_by.get(*action))
                .flatten()
                .copied()
        });
        let others: BTreeSet<usize> = beside.chain(after).filter(|other| *other != at).collect();
        let depends_on = others
            .into_iter()
            .filter_map(|other| undo.changes.get(other))
            .map(|other| other.checkpoint)
            .collect();
        Point::of(change, depends_on)
    })
    .collect()
}

fn paths(record: &ChangeRecord) -> [&RelPath; 2] {
    [&record.path, record.target()]
}

#[derive(Default)]
struct Places<'a> {
    at: HashMap<&'a str, Vec<usize>>,
    below: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Places<'a> {
    fn add(&mut self, path: &'a RelPath, change: usize) {
        self.at.entry(path.as_str()).or_default().push(change);
        for dir in path.directories() {
            self.below.entry(dir).or_default().push(change);
        }
    }

    /// Changes that cannot be taken back in any order with one at this path: a path of theirs is this one,
    /// lies below it, or is a directory on its way.
    fn sharing(&self, path: &RelPath) -> Vec<usize> {
        let all = [&self.at, &self.below].into_iter();
        let here = all.filter_map(|places| places.get(path.as_str()));
        let above = path.directories().filter_map(|dir| self.at.get(dir));
        here.chain(above).flatten().copied().collect()
    }
}

/// Of each action all that wait for it, be it through others.
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
