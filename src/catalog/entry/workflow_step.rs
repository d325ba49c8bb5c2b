//! A step of a workflow: the capability that it runs, and the references in its parameters: what they lead to, and whether
//! that exists.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    bind::{Bound, Form, pointer},
    rules::ResultKind,
    schema::Schema,
    tool::Entry,
};
use crate::{catalog::file::toml_text::is_bare, task::hint};

/// `[[workflow.ID.step]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StepKeys {
    pub(crate) id: String,
    pub(crate) run: String,
    #[serde(default)]
    pub(crate) with: Map<String, Value>,
    #[serde(default)]
    pub(crate) depends_on: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct WorkflowStep {
    pub(crate) id: String,
    pub(crate) entry: Entry,
    /// The parameters that the catalog sets, with null in the places of references.
    pub(crate) with: Map<String, Value>,
    pub(crate) given: Vec<Given>,
}

/// A reference in `with`.
#[derive(Debug)]
pub(crate) struct Given {
    /// A JSON Pointer into the parameters.
    pub(crate) to: String,
    pub(crate) whence: Whence,
    /// As the catalog writes it.
    pub(crate) text: String,
}

#[derive(Debug)]
pub(crate) enum Whence {
    /// `{language}`
    Parameter(String),
    /// `{video.uri}`: a parameter that is the id of a ref of the task.
    Ref(String, Form),
    /// `{audio.output.uri}`: the asset of the earlier step at that place.
    Asset(usize, Form),
    /// `{text.output.segments}`: its result.
    Data(usize, String),
}

impl WorkflowStep {
    /// Fails if the step sets a parameter that oneact fills, which only a catalog may do. In the place of an input, a task
    /// may name the asset of an earlier step.
    pub(crate) fn of_task(self) -> Result<Self, String> {
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

/// What a step can refer to: the parameters of the workflow, and the earlier steps.
pub(crate) struct Earlier<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) steps: &'a [WorkflowStep],
}

impl Earlier<'_> {
    /// The next step, which runs `entry`. The error says what is wrong with the step.
    pub(crate) fn and(&self, keys: StepKeys, entry: Entry) -> Result<WorkflowStep, String> {
        let StepKeys {
            id,
            run,
            mut with,
            depends_on,
        } = keys;
        let of_parameter = self.schema.property(&id).is_some();
        if of_parameter || self.place_of(&id).is_some() || !is_bare(&id) {
            return Err(
                "needs an id of its own, of letters, digits, `_` and `-`, which is no parameter of the workflow"
                    .to_owned(),
            );
        }
        if let Some(other) = depends_on.iter().find(|id| self.place_of(id).is_none()) {
            return Err(format!(
                "depends on `{other}`, which is no earlier step; steps run in their order"
            ));
        }
        let mut given = Vec::new();
        for (name, value) in &mut with {
            self.references(value, &pointer(name), &mut given)?;
        }
        if let Some(schema) = &entry.schema {
            let known: Vec<&str> = schema.properties().map(String::as_str).collect();
            if let Some(name) = with.keys().find(|name| !known.contains(&name.as_str())) {
                let near = hint(name, known.iter().copied());
                return Err(format!(
                    "sets `{name}`, which is no parameter of {run}{near}"
                ));
            }
        }
        Ok(WorkflowStep {
            id,
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
        let form = |text: &str| Form::parse(text).ok();
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
        let near = hint(name, known.iter().copied());
        format!("but `{name}` is neither an earlier step nor a parameter of a workflow{near}")
    }
}
