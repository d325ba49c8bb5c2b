//! The sinks of the check: `Staging` stages each change and records it, `Foresight` collects the preview.

use jiff::{Timestamp, ToSpan};

use crate::{
    host::Host,
    plan::{
        Desk,
        check::{self, After, Change, Sink},
        diff::{self, Pair, Side},
        engine::{Stage, Way, hash},
        files::{Facts, FileError, Inherited, Kept, Root},
        nothing_done, read,
        record::{self, Atomicity, Fidelity, FileState, Foreseen, PreviewHash, Undo, uuid_v4},
        refused,
    },
    task::{Bounds, Failure, Outcome, Phase, PlanOrder, Preview, RelPath, State},
};

use super::{stopped, telling};

/// How long backups are kept before `oneact recover` may remove them.
const KEPT_DAYS: i64 = 30;

/// Stages every change, and keeps its record.
pub(crate) struct Staging<'a> {
    pub(crate) stage: Stage<'a>,
    pub(crate) changes: Vec<record::Change>,
    /// The outermost first.
    pub(crate) directories: Vec<RelPath>,
    pub(crate) foreseen: Vec<Foreseen>,
    /// What new directories could not inherit. It is recorded at the file for which they are made.
    lost: Kept,
    host: &'a Host,
}

impl<'a> Staging<'a> {
    pub(crate) fn new(stage: Stage<'a>, host: &'a Host) -> Self {
        Self {
            stage,
            changes: Vec::new(),
            directories: Vec::new(),
            foreseen: Vec::new(),
            lost: Kept::new(),
            host,
        }
    }

    /// The stage, and what is needed to undo the changes.
    pub(crate) fn ready(self) -> (Stage<'a>, Undo) {
        let created = self.host.now();
        let undo = Undo {
            id: uuid_v4(self.host.random_bytes()),
            expires: created.checked_add(KEPT_DAYS.days()).ok(),
            created,
            changes: self.changes,
            directories: self.directories,
        };
        (self.stage, undo)
    }
}

impl Sink for Staging<'_> {
    fn dir(&mut self, path: &RelPath, mount: u64, inherited: &Inherited) -> Result<(), FileError> {
        self.directories.push(path.clone());
        let kept = self.stage.make_dir(path.clone(), mount, inherited)?;
        self.lost.extend(kept);
        Ok(())
    }

    fn change(&mut self, change: Change<'_>) -> Result<(), FileError> {
        let diff = diff::summary(pair(&change));
        let (path, mount) = (change.path.clone(), change.mount);
        let mut fidelity = Fidelity {
            through_link: change.link.map(ToString::to_string),
            ..Fidelity::default()
        };
        let seen = change.before.map(|before| before.seen.clone());
        let before = seen.as_ref().map(|seen| state(&seen.sha256, &seen.facts));
        let after = match (&change.after, seen) {
            (After::Written { bytes, attributes }, seen) => {
                let attributes = attributes.clone().stamped(self.host.standing());
                let written = self.stage.write(path, seen, bytes, &attributes, mount)?;
                fidelity.atomicity = match written.way {
                    Way::Exchange => Atomicity::Swap,
                    Way::InPlace => Atomicity::InPlace,
                };
                fidelity.degraded = written.kept;
                Some(state(&written.post.sha256, &written.facts))
            }
            (After::Deleted, Some(seen)) => {
                self.stage.delete(path, seen, mount)?;
                None
            }
            (After::Renamed { to }, Some(seen)) => {
                self.stage.rename(path, (*to).clone(), seen)?;
                before.clone()
            }
            (After::Deleted | After::Renamed { .. }, None) => return Ok(()),
        };
        fidelity.degraded.append(&mut self.lost);
        let backup = self.stage.entries.last().and_then(|entry| entry.pre());
        let foreseen = foreseen(&change, after.as_ref().map(|after| after.hash.clone()));
        self.changes.push(record::Change {
            actions: change.actions.to_vec(),
            kind: foreseen.kind,
            path: foreseen.path.clone(),
            from: foreseen.from.clone(),
            before,
            after,
            diff,
            fidelity,
            checkpoint: uuid_v4(self.host.random_bytes()),
            backup: backup.map(|pre| pre.backup.clone()),
        });
        self.foreseen.push(foreseen);
        Ok(())
    }
}

fn state(hash: &str, facts: &Facts) -> FileState {
    FileState {
        hash: hash.to_owned(),
        bytes: facts.bytes,
        modified: Timestamp::from_nanosecond(facts.mtime.into()).unwrap_or(Timestamp::UNIX_EPOCH),
        mode: facts.mode,
    }
}

/// The two contents of a change, to be compared.
fn pair<'a>(change: &Change<'a>) -> Pair<'a> {
    let before = change.before.map(|before| Side {
        name: change.path,
        bytes: &before.bytes,
        mode: before.seen.facts.mode,
    });
    let after = match &change.after {
        After::Written { bytes, attributes } => Some(Side {
            name: change.path,
            bytes,
            mode: attributes.mode.unwrap_or(0o644),
        }),
        After::Deleted => None,
        After::Renamed { to } => before.map(|side| Side { name: to, ..side }),
    };
    Pair { before, after }
}

/// The part of the preview's hash for one change. `after` is the SHA-256 of the file after the change.
fn foreseen(change: &Change<'_>, after: Option<String>) -> Foreseen {
    let (path, from, mode) = match &change.after {
        After::Written { attributes, .. } => (change.path, None, attributes.mode),
        After::Deleted => (change.path, None, None),
        After::Renamed { to } => (*to, Some(change.path.clone()), None),
    };
    Foreseen {
        path: path.clone(),
        from,
        kind: change.kind(),
        before: change.before.map(|before| before.seen.sha256.clone()),
        after,
        mode,
    }
}

/// The preview of a plan: a diff and its hash. Nothing is written.
pub(crate) fn preview(order: &PlanOrder, bounds: &Bounds, desk: Desk<'_>) -> Outcome {
    let plan = match read::read(order, bounds, &desk.kept(bounds)) {
        Ok(plan) => plan,
        Err(error) => return telling::unread(&error, desk),
    };
    let mut foresight = Foresight::default();
    let mut foresee = || -> Result<(), Failure> {
        let root = Root::open(desk.root)?;
        let stopped = || stopped(desk, plan.instructions.timeout);
        let verdicts = check::check(&plan, &root, desk.host, &stopped, &mut foresight)?;
        let failed = verdicts.iter().find_map(|it| Some((it, it.failure()?)));
        failed.map_or(Ok(()), |(verdict, failure)| {
            let message = format!("{}: {}", verdict.action, failure.message);
            let failure = failure.clone();
            Err(Failure { message, ..failure })
        })
    };
    let finished = if let Err(failure) = foresee() {
        refused(failure)
    } else {
        let files = telling::counted(foresight.foreseen.len(), "file");
        let hash = PreviewHash::of(&order.plan, foresight.foreseen);
        Outcome {
            state: State::Planned,
            phase: Phase::Plan,
            preview: Some(Preview {
                hash: hash.as_str().to_owned(),
                diff: foresight.diff,
            }),
            ..nothing_done(format!("Plan {} would change {files}.", plan.plan_id))
        }
    };
    Outcome {
        notes: plan.notes,
        ..finished
    }
}

/// What the changes come to, in their order.
#[derive(Default)]
struct Foresight {
    foreseen: Vec<Foreseen>,
    diff: String,
}

impl Sink for Foresight {
    fn dir(&mut self, _: &RelPath, _: u64, _: &Inherited) -> Result<(), FileError> {
        Ok(())
    }

    fn change(&mut self, change: Change<'_>) -> Result<(), FileError> {
        let after = match &change.after {
            After::Written { bytes, .. } => Some(hash(bytes)),
            After::Deleted => None,
            After::Renamed { .. } => change.before.map(|before| before.seen.sha256.clone()),
        };
        self.foreseen.push(foreseen(&change, after));
        self.diff.push_str(&diff::unified(pair(&change)));
        Ok(())
    }
}
