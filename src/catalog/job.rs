//! A task, looked up and configured: the type that `resolve` gives and executors take.

use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Map, Value};

use crate::task::{Format, Input, RefId};

use super::{entry::Entry, file_plan::PlanJob, server::Server};

/// What is to be done for a task of capabilities.
#[derive(Debug)]
pub(crate) enum Job {
    Tools(ToolJob),
    Plan(Box<PlanJob>),
}

/// A task of tools, looked up and configured.
#[derive(Debug)]
pub(crate) struct ToolJob {
    pub(crate) steps: Vec<Step>,
    /// Where assets are kept: `[storage] uri`.
    pub(crate) storage: String,
    pub(crate) reasoning: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) entry: Entry,
    pub(crate) server: Server,
    /// Complete: defaults applied, refs resolved.
    pub(crate) parameters: Map<String, Value>,
    /// What is asked for, by which a request is known again: before a retry changes anything, and without
    /// what only says where the tool is to write.
    pub(crate) asked: Map<String, Value>,
    pub(crate) adjusted: Map<String, Value>,
    pub(crate) timeout: Duration,
    pub(crate) timeout_max: Duration,
    /// The asset this step makes, if it makes one.
    pub(crate) output: Option<StepOutput>,
    /// Whether its tool may ask, or what it was answered.
    pub(crate) input: Input,
}

impl Step {
    /// Whether it is given an asset, by which its answer can be known to be the same again.
    pub(crate) fn is_given_asset(&self) -> bool {
        let bound = self.entry.bind.iter();
        let mut assets = bound.filter(|(_, source)| source.is_asset());
        assets.any(|(name, _)| self.parameters.contains_key(name))
    }
}

/// The asset of a step: what it is, and where it waits until the whole job is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StepOutput {
    pub(crate) ref_id: RefId,
    pub(crate) parent: Option<RefId>,
    pub(crate) asset_type: String,
    pub(crate) format: Format,
    /// The name at its final place.
    pub(crate) file_name: String,
    /// Where it is made and checked: never its final place.
    pub(crate) staged: Utf8PathBuf,
    pub(crate) delivery: Delivery,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// It is stored and named in the answer.
    Stored,
    /// Only a later step of this job needs it.
    Intermediate,
}

/// The directories a job is bound to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places<'a> {
    /// Relative paths and plain storage URIs start here.
    pub(crate) root: &'a Utf8Path,
    /// This run's own scratch directory.
    pub(crate) staging: &'a Utf8Path,
    pub(crate) session: &'a str,
}
