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
pub(super) struct Argument {
    key: String,
    form: Form,
    value: String,
}

/// What the value is, and whether it is in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    TextFile,
    Json,
    JsonFile,
}

impl Argument {
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
        let (key, json) = match left.strip_suffix(':') {
            Some(key) => (key, true),
            None => (left, false),
        };
        if key.is_empty() {
            return Err(unfit(format!("`{word}` names no parameter before `=`")));
        }
        let (value, file) = match value.strip_prefix('@') {
            Some(path) => (path, true),
            None => (value, false),
        };
        Ok(Self {
            key: key.to_owned(),
            form: match (json, file) {
                (false, false) => Form::Text,
                (false, true) => Form::TextFile,
                (true, false) => Form::Json,
                (true, true) => Form::JsonFile,
            },
            value: value.to_owned(),
        })
    }

    /// Whether the schema decides its type.
    pub(super) fn is_typed_by_schema(&self) -> bool {
        matches!(self.form, Form::Text | Form::TextFile)
    }
}

/// The parameters, in the order of their keys' first appearance. Without a schema, a value that is no JSON is a text.
pub(super) fn parameters(
    arguments: &[Argument],
    schema: Option<&Value>,
    called: &str,
) -> Result<Map<String, Value>, Failure> {
    let root = schema.unwrap_or(&Value::Null);
    let mut parameters = Map::new();
    for Argument { key, .. } in arguments {
        if parameters.contains_key(key) {
            continue;
        }
        let own = property(root, key, called)?;
        let typed = Typed {
            key,
            called,
            own,
            root,
            kinds: kinds(own, root, 0),
        };
        let said: Vec<&Argument> = arguments.iter().filter(|other| other.key == *key).collect();
        parameters.insert(key.clone(), typed.value(&said)?);
    }
    Ok(parameters)
}

/// A parameter and its schema.
struct Typed<'a> {
    key: &'a str,
    called: &'a str,
    own: &'a Value,
    root: &'a Value,
    kinds: Vec<Kind>,
}

impl Typed<'_> {
    fn value(&self, said: &[&Argument]) -> Result<Value, Failure> {
        let is_list = self.kinds.contains(&Kind::List);
        match said {
            [one] if !one.is_typed_by_schema() => self.json(one),
            [one] => {
                let text = self.text(one)?;
                match read(&self.kinds, &text) {
                    Some(value) => Ok(value),
                    None if is_list => Ok(vec![self.item(&text)?].into()),
                    None => Err(self.unfit(&self.expected())),
                }
            }
            several if is_list => several
                .iter()
                .map(|one| {
                    if one.is_typed_by_schema() {
                        self.item(&self.text(one)?)
                    } else {
                        self.json(one)
                    }
                })
                .collect(),
            _ => Err(self.unfit("is given twice, but is no list")),
        }
    }

    /// A text as an item of the list.
    fn item(&self, text: &str) -> Result<Value, Failure> {
        let of_items = kinds(items(self.own, self.root), self.root, 0);
        // Whether such a text is the list or its first item, nobody knows.
        let is_clear = !text.starts_with('[');
        read(&of_items, text)
            .filter(|value| is_clear || !value.is_string())
            .ok_or_else(|| {
                let key = self.key;
                let what = if of_items.is_empty() {
                    "text".to_owned()
                } else {
                    names(&of_items)
                };
                self.unfit(&format!(
                    "is a list (of {what}); give {key}=ITEM once for each item, or {key}:='[…]'"
                ))
            })
    }

    fn expected(&self) -> String {
        let (key, names) = (self.key, names(&self.kinds));
        if self.kinds.contains(&Kind::Object) {
            format!("must be {names}; give {key}:='{{…}}', or {key}:=@FILE.json")
        } else {
            format!("must be {names}")
        }
    }

    fn json(&self, argument: &Argument) -> Result<Value, Failure> {
        envelope::parse(self.text(argument)?.as_bytes()).map_err(|error| {
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
                Form::JsonFile => self.unfit(&format!("is in {:?}, which {why}", argument.value)),
                _ => self.unfit(&format!("{why}; a text is given as {}=TEXT", self.key)),
            }
        })
    }

    /// The text of the argument, or of its file.
    fn text(&self, argument: &Argument) -> Result<String, Failure> {
        match argument.form {
            Form::Text | Form::Json => Ok(argument.value.clone()),
            form => from_file(self.key, &argument.value, form),
        }
    }

    fn unfit(&self, why: &str) -> Failure {
        unfit(format!(
            "the parameter `{}` of {} {why}",
            self.key, self.called
        ))
    }
}

/// The text as a value of one of these types. A text stays a text, also where another type would fit.
fn read(kinds: &[Kind], text: &str) -> Option<Value> {
    if kinds.is_empty() || kinds.contains(&Kind::Text) {
        return Some(Value::from(text));
    }
    kinds.iter().find_map(|kind| kind.read(text))
}

fn from_file(key: &str, path: &str, form: Form) -> Result<String, Failure> {
    let why = match host::read_named(Utf8Path::new(path), MAX_BYTES as u64) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => return Ok(text),
            Err(_) => "it is not UTF-8 text".to_owned(),
        },
        Err(error) => error.to_string(),
    };
    let hint = if form == Form::TextFile {
        format!("; a text that begins with `@` is given as {key}:='\"@…\"'")
    } else {
        String::new()
    };
    let message = format!("cannot read the file {path:?} of the parameter `{key}`: {why}{hint}");
    Err(Failure::new(Fault::InputInaccessible, message))
}

/// A type of JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Boolean,
    Integer,
    Number,
    Null,
    List,
    Object,
}

const KINDS: [(&str, Kind, &str); 7] = [
    ("string", Kind::Text, "text"),
    ("boolean", Kind::Boolean, "true or false"),
    ("integer", Kind::Integer, "a whole number"),
    ("number", Kind::Number, "a number"),
    ("null", Kind::Null, "null"),
    ("array", Kind::List, "a list"),
    ("object", Kind::Object, "an object"),
];

impl Kind {
    fn named(name: &Value) -> Option<Self> {
        let mut all = KINDS.iter();
        all.find(|(word, _, _)| name == word)
            .map(|(_, kind, _)| *kind)
    }

    fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(number) if number.is_f64() => Self::Number,
            Value::Number(_) => Self::Integer,
            Value::String(_) => Self::Text,
            Value::Array(_) => Self::List,
            Value::Object(_) => Self::Object,
        }
    }

    /// The text as a value of this type. Texts, lists and objects are not read so.
    fn read(self, text: &str) -> Option<Value> {
        // JSON allows spaces around a value, and a person who types a value does not.
        let is_plain = text.trim() == text;
        let value = envelope::parse(text.as_bytes()).ok().filter(|_| is_plain)?;
        let fits = match self {
            Self::Boolean => value.is_boolean(),
            Self::Integer => value.is_number() && !text.contains(['.', 'e', 'E']),
            Self::Number => value.is_number(),
            Self::Null => value.is_null(),
            Self::Text | Self::List | Self::Object => false,
        };
        fits.then_some(value)
    }
}

fn names(kinds: &[Kind]) -> String {
    let named = KINDS.iter().filter(|(_, kind, _)| kinds.contains(kind));
    let named: Vec<&str> = named.map(|(_, _, words)| *words).collect();
    named.join(" or ")
}

/// How deep references of a schema are followed.
const DEEPEST: u8 = 8;

/// The types that a schema allows; empty if it allows every type, or its types are not found.
fn kinds(schema: &Value, root: &Value, depth: u8) -> Vec<Kind> {
    let of = |schema: &Value| kinds(schema, root, depth + 1);
    let Some(keywords) = schema.as_object().filter(|_| depth < DEEPEST) else {
        return Vec::new();
    };
    let listed = |key: &str| keywords.get(key).and_then(Value::as_array);
    if let Some(name) = keywords.get("type") {
        let all = name
            .as_array()
            .map_or_else(|| std::slice::from_ref(name), Vec::as_slice);
        return all.iter().filter_map(Kind::named).collect();
    }
    if let Some(values) = listed("enum") {
        return values.iter().map(Kind::of).collect();
    }
    if let Some(value) = keywords.get("const") {
        return vec![Kind::of(value)];
    }
    if let Some(target) = referred(keywords, root) {
        return of(target);
    }
    if let Some(any) = listed("anyOf").or(listed("oneOf")) {
        let all: Vec<Vec<Kind>> = any.iter().map(of).collect();
        // One that allows everything makes the others meaningless.
        return if all.iter().any(Vec::is_empty) {
            Vec::new()
        } else {
            all.concat()
        };
    }
    let all = listed("allOf").into_iter().flatten();
    all.map(of)
        .find(|kinds| !kinds.is_empty())
        .unwrap_or_default()
}

fn referred<'s>(keywords: &Map<String, Value>, root: &'s Value) -> Option<&'s Value> {
    let target = keywords.get("$ref")?.as_str()?;
    root.pointer(target.strip_prefix('#')?)
}

/// The schema of the items of a list.
fn items<'s>(schema: &'s Value, root: &'s Value) -> &'s Value {
    let inside = |schema: &'s Value| {
        let keywords = schema.as_object()?;
        keywords
            .get("items")
            .or_else(|| referred(keywords, root)?.get("items"))
    };
    let any = ["anyOf", "oneOf", "allOf"].iter();
    let any = any.filter_map(|key| schema.get(key)?.as_array()).flatten();
    let mut all = [schema].into_iter().chain(any);
    all.find_map(inside).unwrap_or(&Value::Null)
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
        .map(|(name, own)| match names(&kinds(own, schema, 0)) {
            kinds if kinds.is_empty() => name.clone(),
            kinds => format!("{name} ({kinds})"),
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
