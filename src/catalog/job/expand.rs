//! The steps of a workflow in a job.

use serde_json::{Map, Value};

use crate::{
    catalog::{
        entry::{
            bind::{Bound, Source, first_part},
            schema::Values,
            tool::Entry,
            workflow::Workflow,
            workflow_step::{Given, Whence, WorkflowStep},
        },
        job::{
            fill::put,
            step::{Called, Late, What},
        },
    },
    task::{CapabilityTask, Effects, Failure, Fault, RefId, assess},
};

/// A capability of a job, before its parameters are configured.
pub(crate) struct Planned {
    pub(crate) entry: Entry,
    pub(crate) said: Map<String, Value>,
    pub(crate) late: Vec<Late>,
    /// The place of the first step of its workflow in the job.
    pub(crate) first: usize,
}

impl Workflow {
    /// The steps with what the task says. `first` is the place of the first one in the job.
    pub(crate) fn expand(
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
        let values = Values::of(&secret);
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
                let parameter = first_part(&to);
                let source = match whence {
                    Whence::Parameter(name) => {
                        put(&mut with, &to, said.get(&name).cloned());
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
            version: self.common.version,
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
