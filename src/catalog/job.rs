//! From task to job: every step with its tool, its server, and the very parameters it will be called
//! with. Whatever can be wrong before a tool is started is found here (R-000-53, R-000-58).

use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Map, Value};

use crate::task::{Failure, Fault, Format, RefId, Task};

use super::{
    compile, configure,
    document::{Tables, nearest},
    entry::Entry,
    fill::Sources,
    outputs,
    raw::RawStorage,
    schema::{Misfit, Values},
    server::{self, Server},
};

/// A task, looked up and configured.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) steps: Vec<Step>,
    /// Where assets are kept: `[storage] uri`.
    pub(crate) storage: String,
    /// Sentences for `audit.reasoning`.
    pub(crate) reasoning: Vec<String>,
}

/// One tool call to be made.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) entry: Entry,
    pub(crate) server: Server,
    /// Complete: defaults applied, refs resolved.
    pub(crate) parameters: Map<String, Value>,
    pub(crate) timeout: Duration,
    pub(crate) timeout_max: Duration,
    /// The asset this step makes, if it makes one.
    pub(crate) output: Option<StepOutput>,
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

/// What becomes of a step's asset.
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

/// The default of `[storage] uri`.
const STORAGE: &str = "agent_outputs/assets";

/// Looks the task's capabilities up and configures each (000 §Step 2.2, 3, 4).
pub(crate) fn resolve(
    task: &Task,
    tables: &Tables<'_>,
    places: Places<'_>,
) -> Result<Job, Failure> {
    let entries = task
        .capability_ids
        .iter()
        .map(|id| look_up(tables, id))
        .collect::<Result<Vec<_>, _>>()?;
    let configured = entries
        .into_iter()
        .zip(&task.parameters)
        .map(|(entry, said)| configure::configure(&entry, task, said).map(|done| (entry, done)))
        .collect::<Result<Vec<_>, _>>()?;
    let outputs = outputs::assign(task, &configured, places)?;
    let mut reasoning = Vec::new();
    let inputs: Vec<&str> = task
        .inputs
        .iter()
        .map(|input| input.ref_id.as_str())
        .collect();
    if !inputs.is_empty() {
        reasoning.push(format!("Resolved input_ref {}.", inputs.join(", ")));
    }
    let mut steps: Vec<Step> = Vec::with_capacity(configured.len());
    for ((entry, configured), output) in configured.into_iter().zip(outputs) {
        let server = server::read(tables, &entry.server)?;
        let before = steps.last().and_then(|step| step.output.as_ref());
        let sources = Sources {
            task,
            places,
            before,
            output: output.as_ref(),
        };
        let parameters = sources.fill(&entry, configured.parameters)?;
        check(&entry, &parameters)?;
        reasoning.push(format!("Mapped {} to {} tool.", entry.id, entry.tool));
        reasoning.extend(configured.reasoning);
        steps.push(Step {
            entry,
            server,
            parameters,
            timeout: configured.timeout,
            timeout_max: configured.timeout_max,
            output,
        });
    }
    let storage = tables
        .get::<RawStorage>("storage")?
        .map_or_else(|| STORAGE.to_owned(), |storage| storage.uri);
    Ok(Job {
        steps,
        storage,
        reasoning,
    })
}

/// R-000-105 … R-000-107, R-000-110, R-000-111.
fn look_up(tables: &Tables<'_>, id: &str) -> Result<Entry, Failure> {
    if id.starts_with("CAP-SYN-") {
        let message = format!(
            "misrouted task: {id} is a synthesis capability and should go to reasoning_agent"
        );
        return Err(Failure::new(Fault::MisroutedSynthesis, message));
    }
    if let Some(entry) = compile::compile(tables, id)? {
        return Ok(entry);
    }
    let names = tables.names("capability")?;
    let hint = match nearest(id, names.iter().copied()) {
        Some(near) => format!("; did you mean {near}?"),
        None => "; the catalog maps no tool to it".to_owned(),
    };
    Err(Failure::new(
        Fault::UnknownCapability,
        format!("unknown capability {id:?}{hint}"),
    ))
}

fn check(entry: &Entry, parameters: &Map<String, Value>) -> Result<(), Failure> {
    let Some(schema) = &entry.schema else {
        return Ok(());
    };
    let values = if entry.secret.is_empty() {
        Values::Shown
    } else {
        Values::Hidden
    };
    schema
        .check(&Value::Object(parameters.clone()), values)
        .map_err(|misfit| match misfit {
            Misfit::Schema(problem) => Failure::new(Fault::CatalogInvalid, problem),
            Misfit::Value(problems) => {
                let message = format!(
                    "the parameters of {} do not fit its schema: {problems}",
                    entry.id
                );
                Failure::new(Fault::ParamsInvalid, message)
            }
        })
}
