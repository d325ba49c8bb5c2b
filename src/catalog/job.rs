//! From task to job: every step with its tool, its server, and the very parameters it will be called
//! with. Whatever can be wrong before a tool is started is found here (R-000-53, R-000-58).

use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Map, Value};

use crate::task::{Failure, Fault, Format, InputRef, RefId, RefStatus, Task, Uri};

use super::{
    bind::{Form, Source},
    configure,
    document::{Tables, nearest},
    entry::{self, Entry, ResultKind},
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
    let outputs = outputs(task, &entries, places)?;
    let mut reasoning = Vec::new();
    if let [first, rest @ ..] = task.inputs.as_slice() {
        let mut names = first.ref_id.to_string();
        rest.iter()
            .for_each(|input| names.push_str(&format!(", {}", input.ref_id)));
        reasoning.push(format!("Resolved input_ref {names}."));
    }
    let mut steps: Vec<Step> = Vec::with_capacity(entries.len());
    for ((entry, said), output) in entries.into_iter().zip(&task.parameters).zip(outputs) {
        let server = server::read(tables, &entry.server)?;
        let server = match server {
            Some(server) => server,
            None => {
                return Err(Failure::new(
                    Fault::ServerNotFound,
                    server::missing(tables, &entry.server)?,
                ));
            }
        };
        let configured = configure::configure(&entry, task, said)?;
        let before = steps.last().and_then(|step| step.output.as_ref());
        let context = Context {
            task,
            places,
            before,
            output: output.as_ref(),
        };
        let parameters = context.bind(&entry, configured.parameters)?;
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
        .get::<super::raw::RawStorage>("storage")?
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
    if let Some(entry) = entry::compile(tables, id)? {
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

/// Which step makes which ref: the last asset-making steps make the expected ones, in order; what
/// earlier steps make is for later steps.
fn outputs(
    task: &Task,
    entries: &[Entry],
    places: Places<'_>,
) -> Result<Vec<Option<StepOutput>>, Failure> {
    let makes = entries
        .iter()
        .filter(|entry| entry.result.kind != ResultKind::Metadata)
        .count();
    let expected = &task.expected;
    if expected.len() > makes {
        let refs: Vec<&str> = expected.iter().map(RefId::as_str).collect();
        let message = format!(
            "the task expects {} ({}), but its capabilities ({}) make {makes}; correct `output_refs_expected`",
            count(expected.len(), "ref"),
            refs.join(", "),
            task.capability_ids.join(", "),
        );
        return Err(Failure::new(Fault::InvalidShape, message));
    }
    let unnamed = makes - expected.len();
    let mut made = 0_usize;
    let mut outputs = Vec::with_capacity(entries.len());
    for (number, entry) in entries.iter().enumerate() {
        let (ResultKind::Asset { asset_type, format }
        | ResultKind::Analysis { asset_type, format }) = &entry.result.kind
        else {
            outputs.push(None);
            continue;
        };
        made += 1;
        let named = made
            .checked_sub(unnamed + 1)
            .and_then(|place| expected.get(place));
        let (ref_id, delivery) = match named {
            Some(id) => (id.clone(), Delivery::Stored),
            // A task that expects nothing still gets what its last step made.
            None if expected.is_empty() && made == makes => {
                (fallback(task, "output")?, Delivery::Stored)
            }
            None => (
                fallback(task, &format!("step_{}", number + 1))?,
                Delivery::Intermediate,
            ),
        };
        let file_name = format!("{ref_id}.{}", format.extension());
        outputs.push(Some(StepOutput {
            parent: task.inputs.first().map(|input| input.ref_id.clone()),
            asset_type: asset_type.clone(),
            format: *format,
            staged: places.staging.join(&file_name),
            file_name,
            ref_id,
            delivery,
        }));
    }
    Ok(outputs)
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// A ref id for an asset the task did not name.
fn fallback(task: &Task, suffix: &str) -> Result<RefId, Failure> {
    let safe: String = task
        .task_id
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .take(100)
        .collect();
    RefId::parse(&format!("{safe}_{suffix}")).map_err(|why| Failure::new(Fault::Internal, why))
}

/// What a bound parameter of one step can be filled from.
struct Context<'a> {
    task: &'a Task,
    places: Places<'a>,
    /// What the step before makes.
    before: Option<&'a StepOutput>,
    output: Option<&'a StepOutput>,
}

impl Context<'_> {
    /// Adds the bound parameters, in the order of the schema (R-000-62).
    fn bind(
        &self,
        entry: &Entry,
        mut parameters: Map<String, Value>,
    ) -> Result<Map<String, Value>, Failure> {
        for (name, source) in &entry.bind {
            match self.value(source) {
                Ok(Some(value)) => {
                    parameters.insert(name.clone(), Value::String(value));
                }
                Ok(None)
                    if entry
                        .schema
                        .as_ref()
                        .is_some_and(|schema| !schema.requires(name)) => {}
                Ok(None) => {
                    let message = format!(
                        "unresolved input reference: {} needs `{name}`, and no input fills it",
                        entry.id
                    );
                    return Err(Failure::new(Fault::InputUnresolved, message));
                }
                Err(why) => {
                    let message = format!("{} cannot be given `{name}`: {why}", entry.id);
                    return Err(Failure::new(Fault::InputUnresolved, message));
                }
            }
        }
        let order = entry.schema.iter().flat_map(|schema| schema.properties());
        let mut ordered: Map<String, Value> = order
            .filter_map(|name| parameters.remove_entry(name))
            .collect();
        ordered.extend(parameters);
        Ok(ordered)
    }

    fn value(&self, source: &Source) -> Result<Option<String>, String> {
        match source {
            Source::Input { place: 0, form } => match (self.before, self.task.inputs.first()) {
                (Some(before), _) => local(&before.staged, *form).map(Some),
                (None, Some(input)) => self.stored(input, *form).map(Some),
                (None, None) => Ok(None),
            },
            Source::Input { place, form } => match (self.task.inputs.get(*place), self.before) {
                (Some(input), _) => self.stored(input, *form).map(Some),
                (None, Some(before)) => local(&before.staged, *form).map(Some),
                (None, None) => Ok(None),
            },
            Source::Origin => Ok(self
                .task
                .inputs
                .first()
                .map(|input| input.storage_uri.clone())),
            Source::Ref { id, form } => {
                let input = self.task.inputs.iter().find(|input| input.ref_id == *id);
                input.map(|input| self.stored(input, *form)).transpose()
            }
            Source::Output(form) => self
                .output
                .map(|output| local(&output.staged, *form))
                .transpose(),
            Source::OutputRef => Ok(self.output.map(|output| output.ref_id.to_string())),
            Source::Session => Ok(Some(self.places.session.to_owned())),
            Source::TaskId => Ok(Some(self.task.task_id.clone())),
            Source::Action => Ok(Some(self.task.action.clone())),
        }
    }

    /// A stored input as the tool wants it; a raw source is none (R-000-140).
    fn stored(&self, input: &InputRef, form: Form) -> Result<String, String> {
        if input.status == RefStatus::Reference {
            return Err(format!(
                "`{}` is a source that has not been stored yet; acquire it first",
                input.ref_id
            ));
        }
        match form {
            Form::Uri => Ok(input.storage_uri.clone()),
            Form::Path => match Uri::parse(&input.storage_uri) {
                Ok(uri) => match uri.local_path(self.places.root) {
                    Some(path) => Ok(path.into_string()),
                    None => Err(format!(
                        "the tool takes a local path, and `{}` is not on this machine",
                        input.ref_id
                    )),
                },
                Err(error) => Err(error.to_string()),
            },
        }
    }
}

/// A path of ours, as the tool wants it.
fn local(path: &Utf8Path, form: Form) -> Result<String, String> {
    match form {
        Form::Uri => Uri::from_path(path)
            .map(|uri| uri.as_str().to_owned())
            .map_err(|error| error.to_string()),
        Form::Path => Ok(path.to_string()),
    }
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
