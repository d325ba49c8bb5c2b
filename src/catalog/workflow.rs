//! `[workflow.ID]`: a fixed list of capabilities that run as the steps of one task, and what each of them gets. The steps
//! that an improvised action declares are performed in the same way.

mod steps;

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::task::{
    Amplifiers, Backup, CapabilityTask, Contexts, Declared, DeclaredStep, Effects, Failure, Fault,
    Hazards, IMPROVISED, RefId, assess, hexadecimal,
};

use super::{
    bind::{Bound, Form, Source, pointer},
    code::{Code, Place},
    document::{CatalogError, Named},
    entry::Entry,
    fill::put,
    identity,
    job::{Called, Late, What},
    raw::{RawStep, RawWorkflow},
    schema::{Schema, Values},
};
use steps::Earlier;

/// The most steps of a workflow.
const MOST: usize = 16;

#[derive(Debug)]
pub(crate) struct Workflow {
    pub(crate) id: String,
    pub(crate) version: Option<u32>,
    /// What the entry itself declares. The gate asks for every step as well.
    pub(crate) available_in: Option<Contexts>,
    pub(crate) effects: Option<Effects>,
    pub(crate) amplifiers: Amplifiers,
    pub(super) schema: Schema,
    pub(crate) steps: Vec<WorkflowStep>,
    digest: String,
}

#[derive(Debug)]
pub(crate) struct WorkflowStep {
    id: String,
    pub(crate) entry: Entry,
    /// The parameters that the catalog sets, with null in the places of references.
    with: Map<String, Value>,
    given: Vec<Given>,
}

/// A reference in `with`.
#[derive(Debug)]
struct Given {
    /// A JSON Pointer into the parameters.
    to: String,
    whence: Whence,
    /// As the catalog writes it.
    text: String,
}

#[derive(Debug)]
enum Whence {
    /// `{language}`
    Parameter(String),
    /// `{video.uri}`: a parameter that is the id of a ref of the task.
    Ref(String, Form),
    /// `{audio.output.uri}`: the asset of the earlier step at that place.
    Asset(usize, Form),
    /// `{text.output.segments}`: its result.
    Data(usize, String),
}

/// A capability of a job, before its parameters are configured.
pub(super) struct Planned {
    pub(super) entry: Entry,
    pub(super) said: Map<String, Value>,
    pub(super) late: Vec<Late>,
    /// The place of the first step of its workflow in the job.
    pub(super) first: usize,
}

/// The steps of an improvised action (R-003-06): they are performed like those of a workflow, but no entry of the
/// catalog is made of them (R-003-07). `entry` finds the capability of a step.
pub(super) fn declared(
    declared: &Declared,
    entry: &dyn Fn(&str) -> Result<Entry, Failure>,
) -> Result<Workflow, Failure> {
    let schema = Schema {
        value: json!({}),
        place: Place::default(),
    };
    let mut steps: Vec<WorkflowStep> = Vec::new();
    for DeclaredStep {
        id,
        entry: run,
        parameters,
    } in &declared.steps
    {
        let raw = RawStep {
            id: id.clone(),
            run: run.clone(),
            with: parameters.clone(),
            depends_on: Vec::new(),
        };
        let earlier = Earlier {
            schema: &schema,
            steps: &steps,
        };
        let compiled = earlier.and(raw, entry(run)?);
        let compiled = compiled.and_then(WorkflowStep::of_task);
        steps.push(compiled.map_err(|why| {
            let message = format!("step `{id}` of the improvised action {why}");
            Failure::new(Fault::ParamsInvalid, message)
        })?);
    }
    Ok(Workflow {
        id: IMPROVISED.to_owned(),
        version: None,
        available_in: None,
        effects: None,
        amplifiers: Amplifiers::default(),
        schema,
        steps,
        digest: String::new(),
    })
}

/// The capability that a step runs, or what is in its place.
pub(super) type Runs<'r> = &'r dyn Fn(&str) -> Result<Result<Entry, String>, CatalogError>;

impl WorkflowStep {
    /// Fails if the step sets a parameter that oneact fills, which only a catalog may do. In the place of an input, a task
    /// may name the asset of an earlier step.
    fn of_task(self) -> Result<Self, String> {
        let set = |bound: &&Bound| {
            let name = &bound.parameter;
            let asset = self.given.iter().any(|given| {
                matches!(given.whence, Whence::Asset(..)) && given.to == pointer(name)
            });
            self.with.contains_key(name) && !(asset && bound.source.is_asset())
        };
        match self.entry.bind.iter().find(set) {
            None => Ok(self),
            Some(bound) => Err(format!(
                "sets `{}` of {}, which oneact fills from the refs of the task",
                bound.parameter, self.entry.id
            )),
        }
    }
}

/// Compiles a workflow. `runs` finds the capability of a step.
pub(super) fn compile(
    named: Named<'_>,
    raw: RawWorkflow,
    runs: Runs<'_>,
) -> Result<Workflow, CatalogError> {
    let wrong = |problem: &str| named.wrong(problem).coded(Code::CAT070);
    if !(1..=MOST).contains(&raw.step.len()) {
        return Err(wrong(&format!(
            "has {} steps; a workflow has 1 to {MOST}",
            raw.step.len()
        )));
    }
    if raw.available_in.as_ref().is_some_and(Contexts::is_empty) {
        return Err(named.wrong("has an empty `available_in`, so nobody could use it"));
    }
    let place: Place = named.place(named.at);
    let schema = raw.parameter_schema_for_action.map_or_else(
        || Schema {
            value: json!({"type": "object", "additionalProperties": false}),
            place: place.clone(),
        },
        |schema| Schema {
            place: named.place(schema.span().start),
            value: schema.into_inner(),
        },
    );
    let mut steps: Vec<WorkflowStep> = Vec::new();
    for raw in raw.step {
        let (at, raw) = (raw.span().start, raw.into_inner());
        let id = raw.id.clone();
        let wrong = |problem: String| {
            let problem = format!("step `{id}` {problem}");
            named.wrong_at(at, &problem).coded(Code::CAT070)
        };
        let run = &raw.run;
        let entry = runs(run)?.map_err(|why| wrong(format!("runs `{run}`, {why}")))?;
        let earlier = Earlier {
            schema: &schema,
            steps: &steps,
        };
        let compiled = earlier.and(raw, entry).map_err(wrong)?;
        steps.push(compiled);
    }
    Ok(Workflow {
        id: named.name.to_owned(),
        version: raw.version,
        available_in: raw.available_in,
        effects: raw.effects,
        amplifiers: raw.intrinsic_amplifiers,
        digest: hexadecimal(&Sha256::digest(identity::entry(named, None)?)),
        schema,
        steps,
    })
}

impl Workflow {
    /// The steps with what the task says. `first` is the place of the first one in the job.
    pub(super) fn expand(
        self,
        task: &CapabilityTask,
        said: &Map<String, Value>,
        first: usize,
    ) -> Result<(Vec<Planned>, Called), Failure> {
        let id = &self.id;
        let declared = assess(&self.hazards(Effects {
            read_only: Some(true),
            ..Effects::default()
        }));
        let secret = self.secret_parameters();
        let values = if secret.is_empty() {
            Values::Shown
        } else {
            Values::Hidden
        };
        let whole = Value::Object(said.clone());
        self.schema.check(&whole, values, |problems| {
            let message = format!("the parameters of {id} do not fit its schema: {problems}");
            Failure::new(Fault::ParamsInvalid, message)
        })?;
        let mut asked = said.clone();
        let mut planned = Vec::with_capacity(self.steps.len());
        let (mut takes_inputs, mut uses_context) = (false, false);
        for step in self.steps {
            let WorkflowStep {
                mut entry,
                mut with,
                given,
                ..
            } = step;
            entry
                .bind
                .retain(|bound| !with.contains_key(&bound.parameter));
            takes_inputs |= entry.bind.iter().any(|bound| bound.source.is_asset());
            uses_context |= entry.uses_context();
            let mut late = Vec::new();
            for Given { to, whence, text } in given {
                let parameter = to
                    .trim_start_matches('/')
                    .replace("~1", "/")
                    .replace("~0", "~");
                let source = match whence {
                    Whence::Parameter(name) => {
                        match said.get(&name) {
                            Some(value) => put(&mut with, &to, Some(value.clone())),
                            None => put(&mut with, &to, None),
                        }
                        continue;
                    }
                    Whence::Data(at, pointer) => {
                        late.push(Late {
                            to,
                            from: first + at,
                            what: What::Data(pointer),
                            text,
                        });
                        continue;
                    }
                    Whence::Asset(at, form) => Some(Source::Step { at, form }),
                    Whence::Ref(name, form) => match said.get(&name) {
                        Some(value) => {
                            let input = named(task, id, &name, value)?;
                            asked.insert(name, input.1.into());
                            Some(Source::Ref { id: input.0, form })
                        }
                        None => None,
                    },
                };
                with.remove(&parameter);
                entry.bind.extend(source.map(|source| Bound {
                    parameter,
                    source,
                    text,
                }));
            }
            planned.push(Planned {
                entry,
                said: with,
                late,
                first,
            });
        }
        if takes_inputs {
            let inputs = task.inputs.iter().map(|input| input.storage_uri.as_str());
            asked.insert("the inputs".to_owned(), inputs.collect());
        }
        let context = task.context.clone().filter(|_| uses_context);
        asked.extend(context.map(|context| ("the context".to_owned(), context)));
        let called = Called {
            id: self.id,
            version: self.version,
            digest: self.digest,
            declared,
            secret,
            said: said.clone(),
            asked,
            steps: first..first + planned.len(),
        };
        Ok((planned, called))
    }
}

/// The ref of the task that a parameter names, and its URI.
fn named(
    task: &CapabilityTask,
    id: &str,
    name: &str,
    value: &Value,
) -> Result<(RefId, String), Failure> {
    let found = value.as_str().and_then(|text| {
        let mut inputs = task.inputs.iter();
        inputs.find(|input| input.ref_id.as_str() == text)
    });
    let input = found.ok_or_else(|| {
        let message = format!(
            "unresolved input reference: the parameter `{name}` of {id} is {value}, which is no ref of `input_refs_resolved`"
        );
        Failure::new(Fault::InputUnresolved, message)
    })?;
    Ok((input.ref_id.clone(), input.storage_uri.clone()))
}

impl Workflow {
    /// What it declares itself. `effects` are those that it does not declare.
    pub(crate) fn hazards(&self, effects: Effects) -> Hazards {
        Hazards {
            effects: self.effects.unwrap_or(effects),
            amplifiers: self.amplifiers.clone(),
            backup: Backup::Unknown,
        }
    }

    /// JSON Pointers to the parameters, or parts of them, whose values become secrets of a step.
    fn secret_parameters(&self) -> Vec<String> {
        let given = self.steps.iter().flat_map(|step| {
            let secret = &step.entry.secret;
            let within = |pointer: &str, outer: &str| {
                let rest = pointer.strip_prefix(outer);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            let is_secret = move |given: &&Given| {
                let mut secret = secret.iter();
                secret.any(|pointer| within(&given.to, pointer) || within(pointer, &given.to))
            };
            step.given.iter().filter(is_secret)
        });
        let names = given.filter_map(|given| match &given.whence {
            Whence::Parameter(name) => Some(pointer(name)),
            _ => None,
        });
        let declared = self.steps.iter().enumerate();
        let declared = declared.filter(|_| self.id == IMPROVISED);
        let own = declared.flat_map(|(at, step)| {
            let secret = step.entry.secret.iter();
            secret.map(move |within| format!("/steps/{at}/parameters{within}"))
        });
        names.chain(own).collect()
    }

    /// The parameters that name a ref of the task.
    pub(crate) fn refs(&self) -> Vec<String> {
        let given = self.steps.iter().flat_map(|step| &step.given);
        let refs = given.filter_map(|given| match &given.whence {
            Whence::Ref(name, _) => Some(name.clone()),
            _ => None,
        });
        refs.collect()
    }

    /// The ids of the steps, and what they run.
    pub(crate) fn told_steps(&self) -> Vec<(String, String)> {
        let steps = self.steps.iter();
        steps
            .map(|step| (step.id.clone(), step.entry.id.clone()))
            .collect()
    }
}
