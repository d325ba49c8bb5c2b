//! A resolved and configured task: the type that `resolve` returns and executors take.

use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Map, Value};

use crate::task::{Format, Input, RefId};

use super::{entry::Entry, file_plan::PlanJob, server::Server};

/// What a task of capabilities performs.
#[derive(Debug)]
pub(crate) enum Job {
    Tools(ToolJob),
    Plan(Box<PlanJob>),
}

/// A resolved and configured task whose capabilities are tools.
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
    /// The parameters that identify the request: before the changes of a retry, and without the place where the
    /// tool must write.
    pub(crate) asked: Map<String, Value>,
    pub(crate) adjusted: Map<String, Value>,
    pub(crate) timeout: Duration,
    pub(crate) output: Option<StepOutput>,
    /// Whether the tool may ask questions, or the answers to its questions.
    pub(crate) input: Input,
}

impl Step {
    /// The parameters that get an asset, with its URI or path.
    pub(crate) fn assets(&self) -> impl Iterator<Item = (&str, &str)> {
        let bound = self
            .entry
            .bind
            .iter()
            .filter(|bound| bound.source.is_asset());
        bound.filter_map(|bound| {
            let value = self.parameters.get(&bound.parameter)?;
            Some((bound.parameter.as_str(), value.as_str()?))
        })
    }

    /// Whether the step gets an asset: its content then decides whether an old answer is still valid.
    pub(crate) fn is_given_asset(&self) -> bool {
        let bound = self.entry.bind.iter();
        let mut assets = bound.filter(|bound| bound.source.is_asset());
        assets.any(|bound| self.parameters.contains_key(&bound.parameter))
    }
}

/// The asset of a step, and where it is kept until the whole job has succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StepOutput {
    pub(crate) ref_id: RefId,
    pub(crate) parent: Option<RefId>,
    pub(crate) asset_type: String,
    pub(crate) format: Format,
    pub(crate) file_name: String,
    /// The path where the asset is made and checked; never the final place.
    pub(crate) staged: Utf8PathBuf,
    pub(crate) delivery: Delivery,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// The asset is stored and named in the answer.
    Stored,
    /// Only a later step of this job needs it.
    Intermediate,
}

/// The directories and the session of a job.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places<'a> {
    /// Relative paths and plain storage URIs start here.
    pub(crate) root: &'a Utf8Path,
    /// This run's own scratch directory.
    pub(crate) staging: &'a Utf8Path,
    pub(crate) session: &'a str,
}
