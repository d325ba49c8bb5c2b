//! A resolved and configured task: the type that `resolve` returns and executors take.

use std::{ops::Range, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Map, Value};

use crate::task::{Assessment, Failure, Fault, Format, IMPROVISED, Input, RefId, RiskRule};

use crate::catalog::entry::bind::{Form, first_part};
use crate::catalog::entry::server::Server;
use crate::catalog::entry::tool::Entry;
use crate::catalog::file::settings::Storage;
use crate::catalog::job::handed::{Handed, Way};
use crate::catalog::job::plan::PlanJob;

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
    /// Where assets are kept.
    pub(crate) storage: Box<Storage>,
    pub(crate) reasoning: Vec<String>,
    /// The workflows that the task names, and which steps are theirs; or the improvised action that it is.
    pub(crate) workflows: Vec<Called>,
}

impl ToolJob {
    /// Whether each step has an answer of its own.
    pub(crate) fn is_several(&self) -> bool {
        self.steps.len() > 1 || !self.workflows.is_empty()
    }

    /// The risk that the workflow of the step at that place declares.
    pub(crate) fn declared(&self, at: usize) -> Assessment {
        let workflow = self.workflows.iter().find(|each| each.steps.contains(&at));
        workflow.map_or_else(Assessment::default, |workflow| workflow.declared.clone())
    }

    /// Whether the steps are those of an improvised action, which waits as a whole.
    pub(crate) fn is_improvised(&self) -> bool {
        self.workflows.iter().any(|called| called.id == IMPROVISED)
    }

    /// Whether the `context` of an `MCPRequest` is a part of the request (R-004-32).
    pub(crate) fn uses_context(&self) -> bool {
        self.steps.iter().any(|step| step.entry.uses_context())
    }
}

/// A workflow that the task names: one request, with its own parameters.
#[derive(Debug, Clone)]
pub(crate) struct Called {
    pub(crate) id: String,
    pub(crate) version: Option<u32>,
    /// A hash of the workflow as the catalog writes it. Its steps have their own.
    pub(crate) digest: String,
    /// As the task sets them.
    pub(crate) said: Map<String, Value>,
    /// The same with storage URIs in the place of refs, and with the inputs that the steps take by themselves.
    pub(crate) asked: Map<String, Value>,
    /// Which steps of the job are its own.
    pub(crate) steps: Range<usize>,
    /// The risk that its own table declares.
    pub(crate) declared: Assessment,
    /// JSON Pointers to the parameters, or parts of them, whose values become secrets of a step.
    pub(crate) secret: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) entry: Entry,
    /// What the hints of the server are compared with.
    pub(crate) risk: RiskRule,
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
    /// What it gets from the steps before it.
    pub(crate) late: Vec<Late>,
    /// The objects that it gets as copies or by presigned URLs.
    pub(crate) handed: Vec<Handed>,
    /// What of its schema is left to the server, for `audit.compliance_notes`.
    pub(crate) note: Option<String>,
}

/// A value that is known when an earlier step has succeeded.
#[derive(Debug, Clone)]
pub(crate) struct Late {
    /// A JSON Pointer into the parameters.
    pub(crate) to: String,
    /// The place of the earlier step in the job.
    pub(crate) from: usize,
    pub(crate) what: What,
    /// As the catalog writes it.
    pub(crate) text: String,
}

#[derive(Debug, Clone)]
pub(crate) enum What {
    Asset(Form),
    /// A JSON Pointer into the result.
    Data(String),
}

/// What a finished step gives to later ones.
#[derive(Debug, Clone)]
pub(crate) struct Supply {
    /// The storage URI of its asset.
    pub(crate) asset: Option<String>,
    pub(crate) data: Option<Value>,
}

impl Step {
    /// The parameters that get an asset, with its URI or path; that of an object is its URI.
    pub(crate) fn assets(&self) -> impl Iterator<Item = (&str, &str)> {
        let bound = self
            .entry
            .bind
            .iter()
            .filter(|bound| bound.source.is_asset());
        bound.filter_map(|bound| {
            let value = self.parameters.get(&bound.parameter)?.as_str()?;
            let is_it = |handed: &&Handed| matches!(&handed.way, Way::Copy(path) if path == value);
            let object = self.handed.iter().find(is_it);
            let value = object.map_or(value, |handed| handed.uri.as_str());
            Some((bound.parameter.as_str(), value))
        })
    }

    /// Whether the step gets an asset: its content then decides whether an old answer is still valid.
    pub(crate) fn is_given_asset(&self) -> bool {
        let bound = self.entry.bind.iter();
        let mut assets = bound.filter(|bound| bound.source.is_asset());
        assets.any(|bound| self.parameters.contains_key(&bound.parameter))
    }

    /// The values that name the action, by the JSON Pointers of the entry's `fence`. A value that is not there is null.
    pub(crate) fn fence(&self) -> Map<String, Value> {
        let asked = Value::Object(self.asked.clone());
        let value = |to: &str| asked.pointer(to).cloned().unwrap_or_default();
        let fence = self.entry.identity.fence.iter();
        fence.map(|to| (to.clone(), value(to))).collect()
    }

    /// Fails if a value of the fence is not there, and no earlier step gives it. Without it, nobody could tell which action
    /// this is.
    pub(crate) fn check_fence(&self) -> Result<(), Failure> {
        let late = |to: &String| {
            let mut late = self.late.iter();
            late.any(|late| first_part(&late.to) == first_part(to))
        };
        let mut fence = self.fence().into_iter();
        match fence.find(|(to, value)| value.is_null() && !late(to)) {
            None => Ok(()),
            Some((to, _)) => Err(Failure::new(
                Fault::ParamsInvalid,
                format!(
                    "the task does not say which action it is: the `fence` of {} names `{to}`, and the parameters have no \
                     value there. Add it",
                    self.entry.id
                ),
            )),
        }
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
