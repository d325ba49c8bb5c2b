//! The sink of the check that stages each change.

use jiff::ToSpan;

use crate::{
    host::Host,
    plan::{
        at::At,
        diff,
        engine::Stage,
        fold::Sink,
        planned::Planned,
        preview::{foreseen, pair},
        record::{Foreseen, Undo, uuid_v4},
    },
    task::RelPath,
    tree::{FileError, Inherited},
};

/// How long backups are kept before `oneact recover` may remove them.
const KEPT_DAYS: i64 = 30;

/// Stages every change, and what the preview hash says of it.
pub(crate) struct Staging<'a> {
    pub(crate) stage: Stage<'a>,
    pub(crate) foreseen: Vec<Foreseen>,
    host: &'a Host,
}

impl<'a> Staging<'a> {
    pub(crate) fn new(stage: Stage<'a>, host: &'a Host) -> Self {
        Self {
            stage,
            foreseen: Vec::new(),
            host,
        }
    }
}

/// What a manifest says beside the changes.
pub(in crate::plan) fn begun(host: &Host) -> Undo {
    let created = host.now();
    let expires = created.checked_add(KEPT_DAYS.days()).ok();
    Undo {
        id: uuid_v4(host.random_bytes()),
        created: At::from(&created),
        expires: expires.as_ref().map(At::from),
        changes: Vec::new(),
    }
}

impl Sink for Staging<'_> {
    fn dir(&mut self, path: &RelPath, mount: u64, inherited: &Inherited) -> Result<(), FileError> {
        self.stage.make_dir(path, mount, inherited)
    }

    fn file(&mut self, planned: Planned<'_>) -> Result<(), FileError> {
        let diff = diff::summary(pair(&planned));
        let checkpoint = uuid_v4(self.host.random_bytes());
        let change = self.stage.file(&planned, diff, checkpoint)?;
        let after = change.after.as_ref().map(|after| after.sha256.clone());
        self.foreseen.push(foreseen(&planned, after));
        Ok(())
    }
}
