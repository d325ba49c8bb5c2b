//! `[workflow.ID]`: a fixed list of capabilities that run as the steps of one task, and what each of them gets.

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use toml::Spanned;

use crate::task::{
    Amplifiers, Backup, CapabilityTask, Contexts, Effects, Failure, Fault, Hazards, RefId, assess,
    hexadecimal,
};

use super::{
    bind::{Bound, Form, Source},
    code::Code,
    document::{CatalogError, Named, Place, nearest},
    entry::{Entry, ResultKind},
    fill::{pointer, put},
    identity,
    job::{Called, Late, What},
    raw::{RawStep, RawWorkflow},
    schema::{Schema, Values},
};

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

/// The capability that a step runs, or what is in its place.
pub(super) type Runs<'r> = &'r dyn Fn(&str) -> Result<Result<Entry, String>, CatalogError>;

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
            value: serde_json::json!({"type": "object", "additionalProperties": false}),
            place: place.clone(),
        },
        |schema| Schema {
            place: named.place(schema.span().start),
            value: schema.into_inner(),
        },
    );
    let mut steps: Vec<WorkflowStep> = Vec::new();
    for raw in raw.step {
        let step = Compiler {
            named,
            schema: &schema,
            steps: &steps,
        };
        let compiled = step.step(raw, runs)?;
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

struct Compiler<'a> {
    named: Named<'a>,
    schema: &'a Schema,
    /// The earlier steps.
    steps: &'a [WorkflowStep],
}

impl Compiler<'_> {
    fn step(&self, raw: Spanned<RawStep>, runs: Runs<'_>) -> Result<WorkflowStep, CatalogError> {
        let at = raw.span().start;
        let RawStep {
            id,
            run,
            mut with,
            depends_on,
        } = raw.into_inner();
        let wrong = |problem: String| {
            let problem = format!("step `{id}` {problem}");
            self.named.wrong_at(at, &problem).coded(Code::CAT070)
        };
        let of_parameter = self.schema.property(&id).is_some();
        if of_parameter || self.place_of(&id).is_some() || !is_name(&id) {
            return Err(wrong(
                "needs an id of its own, of letters, digits, `_` and `-`, which is no parameter of the workflow"
                    .to_owned(),
            ));
        }
        if let Some(other) = depends_on.iter().find(|id| self.place_of(id).is_none()) {
            return Err(wrong(format!(
                "depends on `{other}`, which is no earlier step; steps run in their order"
            )));
        }
        let entry = runs(&run)?.map_err(|why| wrong(format!("runs `{run}`, {why}")))?;
        let mut given = Vec::new();
        for (name, value) in &mut with {
            self.references(value, &pointer(name), &mut given)
                .map_err(&wrong)?;
        }
        if let Some(schema) = &entry.schema {
            let known: Vec<&str> = schema.properties().map(String::as_str).collect();
            if let Some(name) = with.keys().find(|name| !known.contains(&name.as_str())) {
                let near = nearest(name, known.iter().copied());
                let near =
                    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                return Err(wrong(format!(
                    "sets `{name}`, which is no parameter of {run}{near}"
                )));
            }
        }
        Ok(WorkflowStep {
            id: id.clone(),
            entry,
            with,
            given,
        })
    }

    fn place_of(&self, id: &str) -> Option<usize> {
        self.steps.iter().position(|step| step.id == id)
    }

    /// Replaces each text that is a reference by null.
    fn references(
        &self,
        value: &mut Value,
        to: &str,
        given: &mut Vec<Given>,
    ) -> Result<(), String> {
        match value {
            Value::String(text) => {
                let inner = text
                    .strip_prefix('{')
                    .and_then(|text| text.strip_suffix('}'));
                let Some(inner) = inner else {
                    return Ok(());
                };
                let whence = self
                    .whence(inner)
                    .map_err(|why| format!("has {text:?}, {why}"))?;
                let whole = to.matches('/').count() == 1;
                if matches!(whence, Whence::Ref(..) | Whence::Asset(..)) && !whole {
                    return Err(format!(
                        "has {text:?} inside a value; an asset must be a parameter of its own"
                    ));
                }
                given.push(Given {
                    to: to.to_owned(),
                    whence,
                    text: std::mem::take(text),
                });
                *value = Value::Null;
            }
            Value::Array(items) => {
                for (at, item) in items.iter_mut().enumerate() {
                    self.references(item, &format!("{to}/{at}"), given)?;
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    self.references(member, &format!("{to}{}", pointer(name)), given)?;
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        Ok(())
    }

    fn whence(&self, text: &str) -> Result<Whence, String> {
        let parts: Vec<&str> = text.split('.').collect();
        let form = |text: &str| match text {
            "uri" => Some(Form::Uri),
            "path" => Some(Form::Path),
            _ => None,
        };
        match parts.as_slice() {
            [name] if self.schema.property(name).is_some() => {
                Ok(Whence::Parameter((*name).to_owned()))
            }
            [name, last] if self.schema.property(name).is_some() => match form(last) {
                Some(form) => Ok(Whence::Ref((*name).to_owned(), form)),
                None => Err(format!(
                    "but a parameter that names a ref has only `{{{name}.uri}}` and `{{{name}.path}}`"
                )),
            },
            [id, "output", rest @ ..] => {
                let at = self.place_of(id).ok_or_else(|| self.unknown(id))?;
                let result = self.steps.get(at).map(|step| &step.entry.result);
                let makes = result.is_some_and(|result| result.asset.is_some());
                let data = result.is_some_and(|result| result.kind != ResultKind::Asset);
                match rest {
                    [last] if makes && form(last).is_some() => {
                        Ok(Whence::Asset(at, form(last).unwrap_or(Form::Uri)))
                    }
                    _ if !data => Err(format!(
                        "but step `{id}` makes only an asset: `{{{id}.output.uri}}` or `{{{id}.output.path}}`"
                    )),
                    rest => Ok(Whence::Data(
                        at,
                        rest.iter().map(|part| pointer(part)).collect(),
                    )),
                }
            }
            [first, ..] => Err(self.unknown(first)),
            [] => Err(self.unknown(text)),
        }
    }

    fn unknown(&self, name: &str) -> String {
        let parameters = self.schema.properties().map(String::as_str);
        let steps = self.steps.iter().map(|step| step.id.as_str());
        let known: Vec<&str> = parameters.chain(steps).collect();
        let near = nearest(name, known.iter().copied());
        let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        format!("but `{name}` is neither a parameter of the workflow nor an earlier step{near}")
    }
}

fn is_name(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !id.is_empty() && id.bytes().all(plain)
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
        let mut takes_inputs = false;
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

    /// The parameters whose values become secrets of a step.
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
            Whence::Parameter(name) => Some(name.clone()),
            _ => None,
        });
        names.collect()
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
