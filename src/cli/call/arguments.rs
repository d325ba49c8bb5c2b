//! The parameters of a call as a person types them: `KEY=VALUE`, `KEY:=JSON`, `KEY=@FILE`, `KEY:=@FILE`.
//!
//! The schema decides the type of a `VALUE`; nothing is guessed from its text. A text stays a text, and every other
//! type is read strictly.

use camino::Utf8Path;
use serde_json::{Map, Value};

use crate::{
    envelope::{self, JsonError, MAX_BYTES},
    host,
    task::{Failure, Fault, nearest},
};

/// One argument, not yet typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CallArgument {
    key: String,
    form: ArgumentForm,
    value: String,
}

/// What the value is, and whether it is in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArgumentForm {
    Text,
    TextFile,
    Json,
    JsonFile,
}

impl CallArgument {
    pub(super) fn parse(word: &str) -> Result<Self, Failure> {
        let Some((left, value)) = word.split_once('=') else {
            let flag = word.trim_start_matches('-');
            return Err(unfit(format!(
                "`{word}` is no parameter; write KEY=VALUE, e.g. {}=…, or KEY:=JSON",
                if flag.is_empty() { "name" } else { flag }
            )));
        };
        if left.starts_with('-') {
            let key = left.trim_start_matches('-');
            return Err(unfit(format!(
                "`{left}` is no flag of `oneact call`; a parameter has no dashes: {key}=…"
            )));
        }
        let (form, value) = match (left.ends_with(':'), value.strip_prefix('@')) {
            (false, None) => (ArgumentForm::Text, value),
            (false, Some(path)) => (ArgumentForm::TextFile, path),
            (true, None) => (ArgumentForm::Json, value),
            (true, Some(path)) => (ArgumentForm::JsonFile, path),
        };
        let key = left.strip_suffix(':').unwrap_or(left).to_owned();
        if key.is_empty() {
            return Err(unfit(format!("`{word}` names no parameter before `=`")));
        }
        let value = value.to_owned();
        Ok(Self { key, form, value })
    }

    /// Whether the schema decides its type.
    pub(super) fn is_typed_by_schema(&self) -> bool {
        matches!(self.form, ArgumentForm::Text | ArgumentForm::TextFile)
    }

    /// The text of the argument, or of its file.
    fn text(&self) -> Result<String, Failure> {
        let (key, path) = (&self.key, &self.value);
        let hint = match self.form {
            ArgumentForm::Text | ArgumentForm::Json => return Ok(self.value.clone()),
            ArgumentForm::TextFile => {
                format!("; a text that begins with `@` is given as {key}:='\"@…\"'")
            }
            ArgumentForm::JsonFile => String::new(),
        };
        let bytes = host::read_named(Utf8Path::new(path), MAX_BYTES as u64);
        let text = bytes.map_err(|error| error.to_string()).and_then(|bytes| {
            String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
        });
        text.map_err(|why| {
            let message =
                format!("cannot read the file {path:?} of the parameter `{key}`: {why}{hint}");
            Failure::new(Fault::InputInaccessible, message)
        })
    }
}

/// The parameters, in the order of their keys' first appearance. Without a schema, a value that is no JSON is a text.
pub(super) fn parameters(
    arguments: &[CallArgument],
    schema: Option<&Value>,
    called: &str,
) -> Result<Map<String, Value>, Failure> {
    let root = schema.unwrap_or(&Value::Null);
    let mut parameters = Map::new();
    for CallArgument { key, .. } in arguments {
        if parameters.contains_key(key) {
            continue;
        }
        let own = property(root, key, called)?;
        let typed = Typed {
            key,
            called,
            types: types(own, root, 0),
            of_items: types(items(own, root), root, 0),
        };
        let said = arguments.iter().filter(|other| other.key == *key);
        let said: Vec<&CallArgument> = said.collect();
        parameters.insert(key.clone(), typed.value(&said)?);
    }
    Ok(parameters)
}

/// A parameter, and the types that its schema allows.
struct Typed<'a> {
    key: &'a str,
    called: &'a str,
    types: Vec<&'a str>,
    /// If it is a list: the types of its items.
    of_items: Vec<&'a str>,
}

impl Typed<'_> {
    fn value(&self, said: &[&CallArgument]) -> Result<Value, Failure> {
        let is_list = self.types.contains(&"array");
        match said {
            [one] if !one.is_typed_by_schema() => self.json(one),
            [one] => {
                let text = one.text()?;
                match read(&self.types, &text) {
                    Some(value) => Ok(value),
                    None if is_list => Ok(vec![self.item(&text)?].into()),
                    None => Err(self.unfit(&self.expected())),
                }
            }
            several if is_list => {
                let items = several.iter().map(|one| {
                    if one.is_typed_by_schema() {
                        self.item(&one.text()?)
                    } else {
                        self.json(one)
                    }
                });
                items.collect()
            }
            _ => Err(self.unfit("is given twice, but is no list")),
        }
    }

    /// A text as an item of the list.
    fn item(&self, text: &str) -> Result<Value, Failure> {
        // Whether such a text is the list or its first item, nobody knows.
        let is_clear = !text.starts_with('[');
        let item = read(&self.of_items, text).filter(|value| is_clear || !value.is_string());
        item.ok_or_else(|| {
            let what = match names(&self.of_items) {
                none if none.is_empty() => "text".to_owned(),
                names => names,
            };
            let key = self.key;
            self.unfit(&format!(
                "is a list (of {what}); give {key}=ITEM once for each item, or {key}:='[…]'"
            ))
        })
    }

    fn expected(&self) -> String {
        let (key, names) = (self.key, names(&self.types));
        if self.types.contains(&"object") {
            format!("must be {names}; give {key}:='{{…}}', or {key}:=@FILE.json")
        } else {
            format!("must be {names}")
        }
    }

    fn json(&self, argument: &CallArgument) -> Result<Value, Failure> {
        envelope::parse(argument.text()?.as_bytes()).map_err(|error| {
            let why = match error {
                JsonError::Empty => "is empty".to_owned(),
                JsonError::Several { .. } => "has several JSON values; give one".to_owned(),
                JsonError::Syntax {
                    problem,
                    line,
                    column,
                } => {
                    format!("is no JSON: {problem} at line {line}, column {column}")
                }
                other => format!("cannot be used: {other}"),
            };
            match argument.form {
                ArgumentForm::JsonFile => {
                    self.unfit(&format!("is in {:?}, which {why}", argument.value))
                }
                _ => self.unfit(&format!("{why}; a text is given as {}=TEXT", self.key)),
            }
        })
    }

    fn unfit(&self, why: &str) -> Failure {
        let (key, called) = (self.key, self.called);
        unfit(format!("the parameter `{key}` of {called} {why}"))
    }
}

/// The text as a value of one of these types. A text stays a text, also where another type would fit.
fn read(types: &[&str], text: &str) -> Option<Value> {
    if types.is_empty() || types.contains(&"string") {
        return Some(Value::from(text));
    }
    // JSON allows spaces around a value, and a person who types a value does not.
    let is_plain = text.trim() == text;
    let value = envelope::parse(text.as_bytes()).ok().filter(|_| is_plain)?;
    let fits = |name: &&str| match *name {
        "boolean" => value.is_boolean(),
        "integer" => value.is_number() && !text.contains(['.', 'e', 'E']),
        "number" => value.is_number(),
        "null" => value.is_null(),
        _ => false,
    };
    types.iter().any(fits).then_some(value)
}

/// The types of JSON Schema, and what people call them.
const TYPES: [(&str, &str); 7] = [
    ("string", "text"),
    ("boolean", "true or false"),
    ("integer", "a whole number"),
    ("number", "a number"),
    ("null", "null"),
    ("array", "a list"),
    ("object", "an object"),
];

fn names(types: &[&str]) -> String {
    let named = TYPES.iter().filter(|(name, _)| types.contains(name));
    let named: Vec<&str> = named.map(|(_, words)| *words).collect();
    named.join(" or ")
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// How deep references of a schema are followed.
const DEEPEST: u8 = 8;

/// The types that a schema allows; empty if it allows every type, or its types are not found.
fn types<'s>(schema: &'s Value, root: &'s Value, depth: u8) -> Vec<&'s str> {
    let schema = referred(schema, root);
    let listed = |key: &str| schema.get(key)?.as_array().filter(|_| depth < DEEPEST);
    let of = |schema: &'s Value| types(schema, root, depth + 1);
    if let Some(name) = schema.get("type") {
        let names = listed("type").map_or_else(|| std::slice::from_ref(name), Vec::as_slice);
        return names.iter().filter_map(Value::as_str).collect();
    }
    if let Some(values) = listed("enum") {
        return values.iter().map(type_of).collect();
    }
    if let Some(value) = schema.get("const") {
        return vec![type_of(value)];
    }
    if let Some(any) = listed("anyOf").or(listed("oneOf")) {
        let all: Vec<Vec<&str>> = any.iter().map(of).collect();
        // One that allows everything makes the others meaningless.
        let is_open = all.iter().any(Vec::is_empty);
        return if is_open { Vec::new() } else { all.concat() };
    }
    let mut all = listed("allOf").into_iter().flatten().map(of);
    all.find(|types| !types.is_empty()).unwrap_or_default()
}

/// The schema to which the references of a schema lead.
fn referred<'s>(mut schema: &'s Value, root: &'s Value) -> &'s Value {
    for _ in 0..DEEPEST {
        let target = schema.get("$ref").and_then(Value::as_str);
        let target = target.and_then(|target| root.pointer(target.strip_prefix('#')?));
        match target {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}

/// The schema of the items of a list.
fn items<'s>(schema: &'s Value, root: &'s Value) -> &'s Value {
    let schema = referred(schema, root);
    let any = ["anyOf", "oneOf", "allOf"].iter();
    let any = any.filter_map(|key| schema.get(key)?.as_array()).flatten();
    let mut all = [schema].into_iter().chain(any);
    let items = all.find_map(|schema| referred(schema, root).get("items"));
    items.unwrap_or(&Value::Null)
}

/// The schema of that parameter. An unknown key is an error, unless the schema says that other keys may be given.
fn property<'s>(schema: &'s Value, key: &str, called: &str) -> Result<&'s Value, Failure> {
    let Some(known) = schema.get("properties").and_then(Value::as_object) else {
        return Ok(&Value::Null);
    };
    if let Some(own) = known.get(key) {
        return Ok(own);
    }
    let others = schema.get("additionalProperties");
    if others.is_some_and(|others| *others != Value::Bool(false))
        || schema.get("patternProperties").is_some()
    {
        return Ok(others.unwrap_or(&Value::Null));
    }
    let near = nearest(key, known.keys().map(String::as_str));
    let near = near.map_or_else(String::new, |name| format!(" did you mean `{name}`?"));
    let told = known
        .iter()
        .map(|(name, own)| match names(&types(own, schema, 0)) {
            none if none.is_empty() => name.clone(),
            names => format!("{name} ({names})"),
        });
    let told = match told.collect::<Vec<_>>() {
        none if none.is_empty() => "it has no parameters".to_owned(),
        told => format!("its parameters: {}", told.join(", ")),
    };
    Err(unfit(format!(
        "{called} has no parameter `{key}`;{near} {told}"
    )))
}

fn unfit(message: String) -> Failure {
    Failure::new(Fault::ParamsInvalid, message)
}

#[cfg(test)]
mod tests;
