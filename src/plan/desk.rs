//! What a plan is carried out with.

use std::time::Duration;

use camino::Utf8Path;

use crate::host::{Host, Moment};

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
}
