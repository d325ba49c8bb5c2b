//! What a plan is carried out with.

use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    host::{Host, Moment},
    task::{Bounds, Course, Failure, RelPath},
};

use super::model::Limits;

/// The surroundings of one plan.
#[derive(Clone, Copy)]
pub(crate) struct Desk<'a> {
    pub(crate) host: &'a Host,
    pub(crate) root: &'a Utf8Path,
    pub(crate) task_id: &'a str,
    pub(crate) operation_id: &'a str,
    /// When the run began, and how long it may take in all.
    pub(crate) begun: Moment,
    pub(crate) budget: Option<Duration>,
    /// Told of when files are changed.
    pub(crate) course: &'a Course,
    /// Where oneact keeps what is its own: asked only when files are about to be changed.
    pub(crate) own: &'a (dyn Fn() -> Vec<Utf8PathBuf> + Sync),
}

impl Desk<'_> {
    /// What oneact keeps below the root, by every path that leads there.
    pub(crate) fn own(&self) -> Vec<RelPath> {
        let below =
            |path: &Utf8Path| RelPath::parse(path.strip_prefix(self.root).ok()?.as_str()).ok();
        let each = |path: Utf8PathBuf| {
            let beside = path.parent().and_then(|dir| dir.canonicalize_utf8().ok());
            let beside = beside.and_then(|dir| Some(dir.join(path.file_name()?)));
            let real = path.canonicalize_utf8().ok();
            [Some(path), beside, real]
        };
        let mut own: Vec<RelPath> = (self.own)()
            .into_iter()
            .flat_map(each)
            .filter_map(|path| below(&path?))
            .collect();
        own.sort();
        own.dedup();
        own
    }

    /// The rules for whatever no catalog entry bounds: undoing and recovery.
    pub(crate) fn limits(&self) -> Result<Limits, Failure> {
        Limits::of(&Bounds::default(), &self.own(), None, &mut Vec::new())
    }
}
