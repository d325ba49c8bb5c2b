//! Fills bound parameters from the task, from the step before, or from the step's own output; just before a step is
//! performed, also from what earlier steps made. Checks the parameters against the schema.

use camino::Utf8Path;
use serde_json::{Map, Value};

use crate::task::{
    BLOB, CapabilityTask, Failure, Fault, InputRef, Location, RefStatus, Uri, each_text,
    was_redacted,
};

use crate::catalog::entry::bind::{Bound, Form, Source, first_part, pointer};
use crate::catalog::entry::schema::Schema;
use crate::catalog::entry::tool::Entry;
use crate::catalog::job::handed::Handed;
use crate::catalog::job::step::{Late, Places, Step, StepOutput, Supply, What};

/// The sources of one step's bound parameters.
pub(crate) struct Sources<'a> {
    pub(crate) task: &'a CapabilityTask,
    pub(crate) places: Places<'a>,
    /// The steps before it.
    pub(crate) steps: &'a [Step],
    /// The place of the first step of its workflow.
    pub(crate) first: usize,
    pub(crate) output: Option<&'a StepOutput>,
}

impl Sources<'_> {
    /// Adds the bound parameters, in the order of the schema (R-000-62).
    pub(crate) fn fill(
        &self,
        entry: &Entry,
        mut parameters: Map<String, Value>,
    ) -> Result<Map<String, Value>, Failure> {
        for Bound {
            parameter,
            source,
            text,
        } in &entry.bind
        {
            let id = &entry.id;
            let schema = entry.schema.as_ref();
            let why = match self.value(source) {
                Ok(Some(value)) => {
                    tracing::info!("{id} gets {parameter} from {text}.");
                    parameters.insert(parameter.clone(), value);
                    continue;
                }
                // The schema finds that it is missing.
                Ok(None) if matches!(source, Source::Context) => continue,
                Ok(None) if schema.is_some_and(|schema| !schema.requires(parameter)) => {
                    tracing::info!(
                        "{id} is called without {parameter}, because there is no {text}."
                    );
                    continue;
                }
                Ok(None) => format!(
                    "unresolved input reference: {id} needs `{parameter}`, but no input provides it"
                ),
                Err(why) => format!("{id} cannot get `{parameter}`: {why}"),
            };
            return Err(Failure::new(Fault::InputUnresolved, why));
        }
        let order = entry.schema.iter().flat_map(Schema::properties);
        let mut ordered: Map<String, Value> = order
            .filter_map(|name| parameters.remove_entry(name))
            .collect();
        ordered.extend(parameters);
        Ok(ordered)
    }

    /// The parameters of the request: with every input, without the places that belong to this run.
    pub(crate) fn asked(
        &self,
        entry: &Entry,
        mut parameters: Map<String, Value>,
    ) -> Map<String, Value> {
        for Bound {
            parameter, source, ..
        } in &entry.bind
        {
            let value = match source {
                // The place where the tool writes differs between runs, and the caller is not part of the request.
                // The asset of an earlier step is put in when that step has succeeded.
                Source::Output(_) | Source::Session | Source::TaskId | Source::Step { .. } => {
                    continue;
                }
                // Put in when that step has succeeded.
                Source::Input { place: 0, .. } if self.before().is_some() => {
                    Some("the step before".into())
                }
                // As received: the form (path or URI) is not part of the request.
                Source::Input { .. } | Source::Ref { .. } | Source::Origin => self
                    .input(source)
                    .map(|input| input.storage_uri.clone().into()),
                Source::OutputRef | Source::Action | Source::Context => {
                    self.value(source).ok().flatten()
                }
            };
            if let Some(value) = value {
                parameters.insert(parameter.clone(), value);
            }
        }
        parameters
    }

    fn before(&self) -> Option<&StepOutput> {
        self.steps.last().and_then(|step| step.output.as_ref())
    }

    /// The bound parameters that get the asset of an earlier step.
    pub(crate) fn late(&self, entry: &Entry) -> Vec<Late> {
        let late = entry.bind.iter().filter_map(|bound| {
            let (from, form) = match bound.source {
                Source::Input { place: 0, form } if self.before().is_some() => {
                    (self.steps.len() - 1, form)
                }
                Source::Step { at, form } => (self.first + at, form),
                _ => return None,
            };
            Some(Late {
                to: pointer(&bound.parameter),
                from,
                what: What::Asset(form),
                text: bound.text.clone(),
            })
        });
        late.collect()
    }

    /// The objects that the tool gets as copies or by presigned URLs.
    pub(crate) fn handed(&self, entry: &Entry) -> Vec<Handed> {
        let handed = entry.bind.iter().filter_map(|bound| {
            let form = match &bound.source {
                Source::Input { place: 0, .. } if self.before().is_some() => return None,
                Source::Input { form, .. } | Source::Ref { form, .. } => *form,
                _ => return None,
            };
            let input = self.input(&bound.source)?;
            self.hand(input, form, &pointer(&bound.parameter))
        });
        handed.collect()
    }

    fn hand(&self, input: &InputRef, form: Form, to: &str) -> Option<Handed> {
        let uri = Uri::parse(&input.storage_uri).ok()?;
        let label = format!("{}-{}", self.steps.len() + 1, input.ref_id);
        Handed::of(&uri, form, to, self.places.staging, &label)
    }

    fn input(&self, source: &Source) -> Option<&InputRef> {
        let inputs = &self.task.inputs;
        match source {
            Source::Input { place, .. } => inputs.get(*place),
            Source::Origin => inputs.first(),
            Source::Ref { id, .. } => inputs.iter().find(|input| input.ref_id == *id),
            _ => None,
        }
    }

    fn value(&self, source: &Source) -> Result<Option<Value>, String> {
        let input = self.input(source);
        let staged = |output: &StepOutput, form| local(&output.staged, form).map(Some);
        let text = match (source, self.before()) {
            (Source::Context, _) => return Ok(self.task.context.clone()),
            // The output of the step before is the first input only. Its staged place stands for it until it is stored.
            (Source::Input { place: 0, form }, Some(before)) => staged(before, *form)?,
            (Source::Step { at, form }, _) => {
                let step = self.steps.get(self.first + at);
                let output = step.and_then(|step| step.output.as_ref());
                output.map_or(Ok(None), |output| staged(output, *form))?
            }
            (Source::Input { form, .. } | Source::Ref { form, .. }, _) => {
                input.map(|input| self.stored(input, *form)).transpose()?
            }
            (Source::Origin, _) => input.map(|input| for_others(&input.storage_uri)),
            (Source::Output(form), _) => self
                .output
                .map_or(Ok(None), |output| staged(output, *form))?,
            (Source::OutputRef, _) => self.output.map(|output| output.ref_id.to_string()),
            (Source::Session, _) => Some(self.places.session.to_owned()),
            (Source::TaskId, _) => Some(self.task.task_id.clone()),
            (Source::Action, _) => Some(self.task.action.clone()),
        };
        Ok(text.map(Value::String))
    }

    /// A stored input in the form that the tool takes. A raw source is an error (R-000-140).
    fn stored(&self, input: &InputRef, form: Form) -> Result<String, String> {
        if input.status == RefStatus::Reference {
            return Err(format!(
                "`{}` is a source that has not been stored yet; acquire it first",
                input.ref_id
            ));
        }
        if let Some(handed) = self.hand(input, form, "") {
            return Ok(handed.shown());
        }
        let named = |why: &str| why.replace('*', input.ref_id.as_str());
        as_is(&input.storage_uri, form, self.places.root).map_err(named)
    }
}

/// A URI as tools read it. A text that is no URI is passed on unchanged: the tool may refuse it.
pub(crate) fn for_others(uri: &str) -> String {
    match Uri::parse(uri) {
        Ok(uri) => uri.for_others().into_owned(),
        Err(_) => uri.to_owned(),
    }
}

/// An asset that is no object of a store, or one whose URI is asked for, in the form that the tool takes. `*` stands for
/// its name in the error.
fn as_is(uri: &str, form: Form, root: &Utf8Path) -> Result<String, &'static str> {
    let read = Uri::parse(uri);
    match (form, &read) {
        (Form::Uri, _) => Ok(for_others(uri)),
        (Form::Path, Ok(read)) => match read.local_path(root) {
            Some(path) => Ok(path.into_string()),
            None => Err("the tool needs a local path, but `*` is not on this machine"),
        },
        (Form::Presigned, Ok(read)) if matches!(read.location(), Location::Http(_)) => {
            Ok(for_others(uri))
        }
        (Form::Presigned, _) => {
            Err("the tool needs a presigned URL, but `*` is in no object store")
        }
        (Form::Path, Err(_)) => Err("the URI of `*` cannot be read"),
    }
}

/// A path that oneact made, in the form that the tool takes.
fn local(path: &Utf8Path, form: Form) -> Result<String, String> {
    match form {
        // Until the asset is stored, its place stands for it.
        Form::Uri | Form::Presigned => Uri::from_path(path)
            .map(|uri| uri.as_str().to_owned())
            .map_err(|error| error.to_string()),
        Form::Path => Ok(path.to_string()),
    }
}

/// Puts a value in the place of that pointer. Without a value, a member of an object is removed.
pub(crate) fn put(parameters: &mut Map<String, Value>, to: &str, value: Option<Value>) {
    let (before, last) = to.rsplit_once('/').unwrap_or_default();
    let last = last.replace("~1", "/").replace("~0", "~");
    let mut whole = Value::Object(std::mem::take(parameters));
    match (whole.pointer_mut(before), value) {
        (Some(Value::Object(members)), Some(value)) => drop(members.insert(last, value)),
        (Some(Value::Object(members)), None) => drop(members.shift_remove(&last)),
        (Some(Value::Array(items)), value) => {
            let place = last.parse().ok().and_then(|at: usize| items.get_mut(at));
            if let Some(place) = place {
                *place = value.unwrap_or_default();
            }
        }
        _ => {}
    }
    if let Value::Object(whole) = whole {
        *parameters = whole;
    }
}

/// The largest size of what a step gets from the results of earlier steps, in bytes of JSON. A short list of references
/// could otherwise multiply a result.
const MOST_SUPPLIED: usize = 4 << 20;

/// Completes the parameters of a step, and checks them then.
pub(crate) fn supply(
    step: &mut Step,
    made: &[Supply],
    root: &Utf8Path,
    scratch: &Utf8Path,
) -> Result<(), Failure> {
    let mut size = 0;
    for late in std::mem::take(&mut step.late) {
        let from = made.get(late.from);
        let found = match &late.what {
            What::Asset(form) => {
                let uri = from.and_then(|made| made.asset.as_deref());
                let label = format!("{}-step_{}", made.len() + 1, late.from + 1);
                let read = uri.and_then(|uri| Uri::parse(uri).ok());
                let handed =
                    read.and_then(|uri| Handed::of(&uri, *form, &late.to, scratch, &label));
                let found = match &handed {
                    Some(handed) => Ok((handed.uri.as_str().into(), handed.shown().into())),
                    None => asset(uri, *form, root),
                };
                step.handed.extend(handed);
                found
            }
            What::Data(pointer) => data(from.and_then(|made| made.data.as_ref()), pointer),
        };
        let (asked, value) = found.map_err(|why| {
            let (id, text) = (&step.entry.id, &late.text);
            let message = format!("{id} cannot get {text}: {why}");
            // Another attempt gets the same results.
            Failure {
                recoverable: false,
                ..Failure::new(Fault::ResultIncomplete, message)
            }
        })?;
        size += value.to_string().len();
        if size > MOST_SUPPLIED {
            let message = format!(
                "{} gets more than {MOST_SUPPLIED} bytes from the results of earlier steps; refer to smaller parts of them",
                step.entry.id
            );
            return Err(Failure::new(Fault::LimitExceeded, message));
        }
        put(&mut step.asked, &late.to, Some(asked));
        put(&mut step.parameters, &late.to, Some(value));
    }
    let parameters = std::mem::take(&mut step.parameters);
    (step.parameters, _) = check(&step.entry, parameters, &[])?;
    step.check_fence()
}

/// The parameters of a step that is not performed, with references in the places of what earlier steps would give.
pub(crate) fn foreseen(step: &Step, mut parameters: Map<String, Value>) -> Map<String, Value> {
    for late in &step.late {
        if matches!(late.what, What::Data(_)) {
            put(&mut parameters, &late.to, Some(late.text.as_str().into()));
        }
    }
    parameters
}

/// The parameters that identify the request of a step, with all references in the places of what they stand for.
pub(crate) fn referring(step: &Step) -> Map<String, Value> {
    let mut asked = step.asked.clone();
    for late in &step.late {
        put(&mut asked, &late.to, Some(late.text.as_str().into()));
    }
    asked
}

/// The stored asset of a step: its URI for the request, and the form that the tool takes.
fn asset(uri: Option<&str>, form: Form, root: &Utf8Path) -> Result<(Value, Value), String> {
    let uri = uri.ok_or("the step made no asset")?;
    let value = as_is(uri, form, root).map_err(|why| why.replace('*', uri))?;
    Ok((uri.into(), value.into()))
}

/// A part of the result of a step.
fn data(data: Option<&Value>, pointer: &str) -> Result<(Value, Value), String> {
    let data = data.ok_or("the step has no result")?;
    if data.get(BLOB).is_some() {
        return Err(
            "the result is too large for an answer, and only its file is stored".to_owned(),
        );
    }
    let value = data
        .pointer(pointer)
        .ok_or_else(|| format!("the result has no `{pointer}`"))?;
    // The ledger does not keep signatures of links, and secrets are redacted.
    let mut cut = false;
    each_text(&mut value.clone(), &mut |text| cut |= was_redacted(text));
    if cut {
        return Err("a link or a secret in it was redacted".to_owned());
    }
    Ok((value.clone(), value.clone()))
}

/// Returns the parameters if they fit the entry's schema, with a note about what oneact cannot read of it. Those that get
/// a value later are left out of the check.
pub(crate) fn check(
    entry: &Entry,
    parameters: Map<String, Value>,
    late: &[Late],
) -> Result<(Map<String, Value>, Option<String>), Failure> {
    let Some(schema) = &entry.schema else {
        tracing::info!(
            "{} has no parameter schema; the schema of the server is used.",
            entry.id
        );
        return Ok((parameters, None));
    };
    if late.is_empty() {
        return fitting(entry, schema, parameters);
    }
    let late: Vec<String> = late.iter().map(|late| first_part(&late.to)).collect();
    let mut known = parameters.clone();
    known.retain(|name, _| !late.contains(name));
    let (_, note) = fitting(entry, &schema.without(&late), known)?;
    Ok((parameters, note))
}

fn fitting(
    entry: &Entry,
    schema: &Schema,
    parameters: Map<String, Value>,
) -> Result<(Map<String, Value>, Option<String>), Failure> {
    let id = &entry.id;
    let name = format!("parameter schema of {id}");
    let parameters = Value::Object(parameters);
    let note = schema.check_readable(&name, &parameters, entry.values(), |problems| {
        let message = format!("the parameters of {id} do not fit its schema: {problems}");
        Failure::new(Fault::ParamsInvalid, message)
    })?;
    tracing::info!("The parameters of {id} fit its schema ({}).", schema.place);
    Ok(match parameters {
        Value::Object(parameters) => (parameters, note),
        _ => (Map::new(), note),
    })
}
