//! Makes a workflow of the calls that an improvised action made (R-003-09): the text that a person adds to the catalog.

use std::error::Error;

use camino::Utf8Path;
use serde_json::{Map, Number, Value, json};

use crate::task::{BLOB, CUT, Uri};

use crate::catalog::entry::bind::Source;
use crate::catalog::entry::compile::{Capability, compile};
use crate::catalog::entry::{rules::ResultKind, tool::Entry};
use crate::catalog::file::document::{Catalog, Tables};
use crate::catalog::file::toml_text::{key, toml};
use crate::catalog::job::fill::for_others;
use crate::catalog::people::imported::appended;

/// What an improvised action did.
#[derive(Debug)]
pub(crate) struct Trace {
    pub(crate) operation: String,
    /// The link of its answer.
    pub(crate) link: u64,
    pub(crate) entry_hash: String,
    pub(crate) calls: Vec<Performed>,
}

/// A call that succeeded, as the ledger shows it.
#[derive(Debug)]
pub(crate) struct Performed {
    pub(crate) id: String,
    pub(crate) entry: String,
    pub(crate) parameters: Map<String, Value>,
    pub(crate) said: Said,
    /// The refs of its task, with their storage URIs.
    pub(crate) inputs: Vec<(String, String)>,
    /// The storage URI of its asset.
    pub(crate) asset: Option<String>,
    pub(crate) result: Option<Value>,
}

/// What its parameters contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    /// The values that were sent.
    Values,
    /// The parameters of a declared step, with its own references.
    References,
}

/// A catalog with a new workflow.
#[derive(Debug)]
pub(crate) struct Promoted {
    /// What is added.
    pub(crate) text: String,
    pub(crate) catalog: Vec<u8>,
}

/// The shortest text of a value that counts as that of an earlier result.
const SHORTEST: usize = 4;

/// Adds a workflow to the catalog that `before` is the text of, unless the new catalog has an error that the old one does
/// not have.
pub(crate) fn promote(
    (path, before): (&Utf8Path, &[u8]),
    id: &str,
    trace: &Trace,
    (root, at): (&Utf8Path, &str),
) -> Result<Promoted, Box<dyn Error>> {
    let old = Catalog::from_bytes(path, before.to_vec())?;
    let tables = old.tables()?;
    if tables.entries()?.contains(&id) {
        return Err(format!("the catalog has an entry {id} already; choose another id").into());
    }
    let promotion = Promotion {
        trace,
        root,
        entries: Vec::new(),
        parameters: Vec::new(),
        origin: None,
    };
    let text = promotion.text(id, &tables, at)?;
    let catalog = appended((path, before), &text);
    let catalog = catalog.map_err(|error| format!("the workflow cannot be added: {error}"))?;
    Ok(Promoted { text, catalog })
}

/// The calls that became steps so far.
struct Promotion<'a> {
    trace: &'a Trace,
    root: &'a Utf8Path,
    entries: Vec<Entry>,
    /// The parameters of the workflow, each with the storage URI of its ref.
    parameters: Vec<(String, String)>,
    /// The source that entries take from the task by themselves.
    origin: Option<&'a str>,
}

impl<'a> Promotion<'a> {
    fn text(mut self, id: &str, tables: &Tables<'_>, at: &str) -> Result<String, Box<dyn Error>> {
        let Trace {
            operation,
            link,
            entry_hash,
            calls,
        } = self.trace;
        if calls.is_empty() {
            return Err(format!("no call of {operation} succeeded").into());
        }
        let (id, mut steps) = (key(id), Vec::new());
        for call in calls {
            let with = match compile(tables, &call.entry)? {
                Some(Capability::Tool(entry)) => self.with(call, *entry),
                _ => Err("is no call of a tool that the catalog has".to_owned()),
            };
            let with = with.map_err(|why| format!("{} ({}) {why}", call.id, call.entry))?;
            let [step, run] = [&call.id, &call.entry].map(|text| toml(&text.as_str().into()));
            let with = toml(&with.into());
            steps.push(format!(
                "\n[[workflow.{id}.step]]\nid = {step}\nrun = {run}\nwith = {with}\n"
            ));
        }
        let names: Vec<&String> = self.parameters.iter().map(|(name, _)| name).collect();
        let own = json!({"type": "string", "description": "a ref of the task"});
        let own = |name: &&String| ((*name).clone(), own.clone());
        let schema = toml(&json!({
            "type": "object", "required": names, "additionalProperties": false,
            "properties": names.iter().map(own).collect::<Map<_, _>>(),
        }));
        let what = format!("Describe what this does. It repeats {operation}.");
        let [what, operation, hash, at] =
            [&what, operation, entry_hash, at].map(|text| toml(&text.into()));
        Ok(format!(
            "\n[workflow.{id}]\ndescription = {what}\nis_action = false\nparameter_schema_for_action = {schema}\n\n\
             [workflow.{id}.provenance]\noperation = {operation}\nlink = {link}\nentry_hash = {hash}\npromoted_at = {at}\n{}",
            steps.concat()
        ))
    }

    /// The parameters of the next step.
    fn with(&mut self, call: &'a Performed, entry: Entry) -> Result<Map<String, Value>, String> {
        let mut with = Map::new();
        for (name, value) in &call.parameters {
            if name.contains(CUT) {
                return Err(format!("sends {SECRET} as the name of a parameter"));
            }
            let bound = entry.bind.iter().find(|bound| bound.parameter == *name);
            let bound = bound.filter(|_| call.said == Said::Values);
            match bound.map(|bound| &bound.source) {
                Some(Source::Origin) => {
                    let source = value.as_str().unwrap_or_default();
                    if *self.origin.get_or_insert(source) != source {
                        return Err("takes another source than an earlier call".to_owned());
                    }
                    continue;
                }
                Some(source) if !source.is_asset() => continue,
                _ => {}
            }
            let value = match self.asset(call, value) {
                Some(reference) => reference.into(),
                None if bound.is_some() => {
                    return Err(format!(
                        "got `{name}` from an asset that is not known any more"
                    ));
                }
                None => self
                    .value(call, value)
                    .map_err(|why| format!("sends {why} in `{name}`"))?,
            };
            with.insert(name.clone(), value);
        }
        let whole = Value::Object(with.clone());
        let said = |pointer: &&String| {
            whole
                .pointer(pointer)
                .is_some_and(|said| !is_reference(said))
        };
        if let Some(secret) = entry.secret.iter().find(said) {
            return Err(format!("sends {SECRET} in `{secret}`"));
        }
        self.entries.push(entry);
        Ok(with)
    }

    /// The reference for a parameter that is the asset of an earlier call, or an input of the task.
    fn asset(&mut self, call: &Performed, value: &Value) -> Option<String> {
        let said = value.as_str()?;
        let form = |uri: &str| {
            if said == uri || said == for_others(uri) {
                return Some("uri");
            }
            let path = Uri::parse(uri).ok()?.local_path(self.root)?;
            (path.as_str() == said).then_some("path")
        };
        for (earlier, entry) in self.trace.calls.iter().zip(&self.entries) {
            let uri = earlier
                .asset
                .as_deref()
                .filter(|_| entry.result.asset.is_some());
            if let Some(form) = uri.and_then(form) {
                return Some(format!("{{{}.output.{form}}}", earlier.id));
            }
        }
        let mut inputs = call.inputs.iter();
        let (id, uri, form) = inputs.find_map(|(id, uri)| Some((id, uri, form(uri)?)))?;
        let mut name = id.replace('.', "_");
        let other = |name: &str| {
            let mut known = self.parameters.iter();
            self.trace.calls.iter().any(|call| call.id == name)
                || known.any(|(known, of)| known == name && of != uri)
        };
        while other(&name) {
            name.push('_');
        }
        let parameter = (name.clone(), uri.clone());
        if !self.parameters.contains(&parameter) {
            self.parameters.push(parameter);
        }
        Some(format!("{{{name}.{form}}}"))
    }

    /// A value that is sent again: a constant, or a part of an earlier result. The error says what it is.
    fn value(&self, call: &Performed, value: &Value) -> Result<Value, String> {
        let declared = call.said == Said::References;
        if !declared && let Some(reference) = self.result(value) {
            return Ok(reference.into());
        }
        let known = |number: &Number| {
            // TOML has no other numbers, and a float has to be read back as it was written.
            let same = |float: f64| [format!("{float}"), format!("{float:?}")];
            number.is_i64()
                || number.as_f64().is_some_and(|float| {
                    float.is_finite() && same(float).contains(&number.to_string())
                })
        };
        match value {
            Value::String(text) if text.contains(CUT) => Err(SECRET.to_owned()),
            Value::String(text) if !declared && is_reference(value) => Err(format!(
                "{text:?}, which a workflow would read as a reference,"
            )),
            Value::Object(members) if members.keys().any(|key| key.contains(CUT)) => {
                Err(SECRET.to_owned())
            }
            Value::Object(members) if members.contains_key(BLOB) => {
                Err("a value that was too long to be recorded".to_owned())
            }
            Value::Null => Err("null, which TOML does not have,".to_owned()),
            Value::Number(number) if !known(number) => {
                Err(format!("the number {number}, which TOML does not have,"))
            }
            Value::Array(items) => items.iter().map(|item| self.value(call, item)).collect(),
            Value::Object(members) => {
                let each = members.iter();
                let each = each.map(|(key, member)| Ok((key.clone(), self.value(call, member)?)));
                each.collect::<Result<_, _>>().map(Value::Object)
            }
            value => Ok(value.clone()),
        }
    }

    /// The reference to the first result that contains this text or number, unless the agent knew the value before.
    fn result(&self, value: &Value) -> Option<String> {
        let length = match value {
            Value::String(text) => text.chars().count(),
            Value::Number(number) => number.to_string().len(),
            _ => 0,
        };
        if length < SHORTEST {
            return None;
        }
        let mut calls = self.trace.calls.iter().zip(&self.entries);
        let known = |call: &Performed| {
            call.parameters
                .values()
                .any(|said| place(said, value).is_some())
        };
        calls.find_map(|(earlier, entry)| {
            if known(earlier) {
                return Some(None);
            }
            let data = entry.result.kind != ResultKind::Asset;
            let result = earlier.result.as_ref().filter(|_| data)?;
            let place = place(result, value)?;
            // These two lead to the asset of a step that makes one.
            if entry.result.asset.is_some() && matches!(place.as_str(), ".uri" | ".path") {
                return None;
            }
            Some(Some(format!("{{{}.output{place}}}", earlier.id)))
        })?
    }
}

const SECRET: &str = "a secret, which is never written to a catalog,";

/// Whether a workflow reads the text as a reference.
fn is_reference(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|text| text.starts_with('{') && text.ends_with('}'))
}

/// The place of a value in another one, as a reference names it: `.a.0`.
fn place(within: &Value, wanted: &Value) -> Option<String> {
    let found = |name: &str, value: &Value| {
        let nameable = !name.is_empty() && !name.contains(['.', '{', '}']);
        let rest = place(value, wanted).filter(|_| nameable)?;
        Some(format!(".{name}{rest}"))
    };
    match within {
        Value::Object(members) if members.contains_key(BLOB) => None,
        Value::Object(members) => members.iter().find_map(|(name, value)| found(name, value)),
        Value::Array(items) => {
            let mut items = items.iter().enumerate();
            items.find_map(|(at, value)| found(&at.to_string(), value))
        }
        value => (value == wanted).then(String::new),
    }
}
