//! What a plan comes to, made ready and written down as it comes.

use jiff::{Timestamp, ToSpan};

use crate::{
    host::Host,
    plan::{
        check::{Change, Original, Sink, What},
        diff::{self, Pair, Side},
        engine::{Stage, Way, Written},
        files::{Facts, FileError, Inherited, Kept},
        model::ChangeKind,
        record::{
            self, Atomicity, ChangeRecord, Checkpoint, Fidelity, FileState, Foreseen, Undo, uuid_v4,
        },
    },
    task::RelPath,
};

/// How long backups are kept before `oneact recover` may clear them away.
const KEPT_DAYS: i64 = 30;

/// Stages every change, and keeps its record.
pub(in crate::plan) struct Staging<'a> {
    pub(in crate::plan) stage: Stage<'a>,
    pub(in crate::plan) changes: Vec<record::Change>,
    /// The outermost first.
    pub(in crate::plan) directories: Vec<RelPath>,
    pub(in crate::plan) foreseen: Vec<Foreseen>,
    /// What new directories could not be given: told of the file for which they are made.
    lost: Kept,
    host: &'a Host,
}

impl<'a> Staging<'a> {
    pub(in crate::plan) fn new(stage: Stage<'a>, host: &'a Host) -> Self {
        Self {
            stage,
            changes: Vec::new(),
            directories: Vec::new(),
            foreseen: Vec::new(),
            lost: Kept::new(),
            host,
        }
    }

    /// What is staged, and what takes it back.
    pub(in crate::plan) fn ready(self) -> (Stage<'a>, Undo) {
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
        let pair = pair(&change);
        let diff = diff::summary(pair);
        let (path, mount) = (change.path.clone(), change.mount);
        let clock = self.host.standing();
        let mut fidelity = Fidelity {
            through_link: change.link.map(ToString::to_string),
            ..Fidelity::default()
        };
        let mut keep = |kept: Kept, way: Way| {
            fidelity.degraded = kept;
            fidelity.atomicity = match way {
                Way::Exchange => Atomicity::Swap,
                Way::InPlace => Atomicity::InPlace,
            };
        };
        let (kind, from, before, after) = match &change.what {
            What::Create { bytes, attributes } => {
                let attributes = attributes.clone().stamped(clock);
                let written = self.stage.create(path.clone(), bytes, &attributes, mount)?;
                let after = state_of(&written);
                keep(written.kept, Way::Exchange);
                (ChangeKind::Create, None, FileState::Absent, after)
            }
            What::Modify {
                before,
                bytes,
                attributes,
            } => {
                let attributes = attributes.clone().stamped(clock);
                let seen = before.seen.clone();
                let (written, way) =
                    self.stage
                        .modify(path.clone(), seen, bytes, &attributes, mount)?;
                let after = state_of(&written);
                keep(written.kept, way);
                (ChangeKind::Modify, None, original(before), after)
            }
            What::Delete { before } => {
                self.stage
                    .delete(path.clone(), before.seen.clone(), mount)?;
                let before = original(before);
                (ChangeKind::Delete, None, before, FileState::Absent)
            }
            What::Rename { before, to } => {
                let seen = before.seen.clone();
                self.stage.rename(path.clone(), (*to).clone(), seen)?;
                let state = original(before);
                (ChangeKind::Rename, Some(path), state.clone(), state)
            }
        };
        fidelity.degraded.append(&mut self.lost);
        let backup = self.stage.entries().last().and_then(|entry| entry.pre());
        let checkpoint = Checkpoint {
            id: uuid_v4(self.host.random_bytes()),
            backup: backup.map(|pre| pre.backup.clone()),
        };
        let left = match &after {
            FileState::Present { hash, .. } => Some(hash.clone()),
            FileState::Absent => None,
        };
        self.foreseen.push(foreseen(&change, kind, left));
        let record = ChangeRecord {
            actions: change.actions.to_vec(),
            kind,
            path: match &change.what {
                What::Rename { to, .. } => (*to).clone(),
                What::Create { .. } | What::Modify { .. } | What::Delete { .. } => {
                    change.path.clone()
                }
            },
            from,
            before,
            after,
            diff,
            fidelity,
        };
        self.changes.push(record::Change { record, checkpoint });
        Ok(())
    }
}

/// The two contents of a change, to be compared.
pub(in crate::plan) fn pair<'a>(change: &Change<'a>) -> Pair<'a> {
    let side = |name: &'a RelPath, bytes: &'a [u8], mode: Option<u32>| Side {
        name,
        bytes,
        mode: mode.unwrap_or(0o644),
    };
    let was = |name: &'a RelPath, before: &'a Original| {
        side(name, &before.bytes, Some(before.seen.facts.mode))
    };
    match &change.what {
        What::Create { bytes, attributes } => {
            Pair::Created(side(change.path, bytes, attributes.mode()))
        }
        What::Modify {
            before,
            bytes,
            attributes,
        } => Pair::Changed {
            before: was(change.path, before),
            after: side(change.path, bytes, attributes.mode()),
        },
        What::Delete { before } => Pair::Deleted(was(change.path, before)),
        What::Rename { before, to } => Pair::Changed {
            before: was(change.path, before),
            after: was(to, before),
        },
    }
}

/// What a preview's hash is made of. `after` is the SHA-256 of what a creation or modification leaves.
pub(in crate::plan) fn foreseen(
    change: &Change<'_>,
    kind: ChangeKind,
    after: Option<String>,
) -> Foreseen {
    let was = |before: &Original| Some(before.seen.sha256.clone());
    let (path, from, before, mode) = match &change.what {
        What::Create { attributes, .. } => (change.path, None, None, attributes.mode()),
        What::Modify {
            before, attributes, ..
        } => (change.path, None, was(before), attributes.mode()),
        What::Delete { before } => (change.path, None, was(before), None),
        What::Rename { before, to } => (*to, Some(change.path.clone()), was(before), None),
    };
    Foreseen {
        path: path.clone(),
        from,
        kind,
        before,
        after,
        mode,
    }
}

fn original(before: &Original) -> FileState {
    state(&before.seen.sha256, &before.seen.facts)
}

fn state_of(written: &Written) -> FileState {
    state(&written.post.sha256, &written.facts)
}

fn state(hash: &str, facts: &Facts) -> FileState {
    FileState::Present {
        hash: hash.to_owned(),
        bytes: facts.bytes,
        modified: Timestamp::from_nanosecond(facts.mtime.into()).unwrap_or(Timestamp::UNIX_EPOCH),
        mode: facts.mode,
    }
}
