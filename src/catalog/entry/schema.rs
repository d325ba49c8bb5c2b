//! JSON Schemas of the catalog. Each is compiled only when a value must be checked.
//!
//! A `$ref` to another document is never fetched: it is an error of the schema.

use jsonschema::{ValidationError, Validator};
use serde_json::{Map, Value};

use crate::task::{Author, Failure, Fault, Readable, readable, redact_presigned};

use crate::catalog::file::{code::FileLine, document::Named};

/// A JSON Schema with its place in the catalog.
#[derive(Debug)]
pub(crate) struct Schema {
    pub(crate) value: Value,
    pub(crate) place: FileLine,
}

/// Whether a message may show the value that does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Values {
    Shown,
    Hidden,
}

impl Values {
    /// Hidden if one of the values is secret.
    pub(crate) fn of(secret: &[String]) -> Self {
        if secret.is_empty() {
            Self::Shown
        } else {
            Self::Hidden
        }
    }
}

/// The longest problem in a message, in characters. A problem quotes the value, which may have megabytes.
const LONGEST: usize = 500;

/// The most problems in one message.
const PROBLEMS: usize = 5;

impl Schema {
    /// The schema at that key of an entry.
    pub(crate) fn of(named: &Named<'_>, key: &str, value: Value) -> Self {
        let place = named.place_of(key);
        Self { value, place }
    }

    /// Checks a value. `unfit` makes the failure from the list of problems. A schema that does not compile is
    /// [`Fault::CatalogInvalid`].
    pub(crate) fn check(
        &self,
        value: &Value,
        values: Values,
        unfit: impl FnOnce(String) -> Failure,
    ) -> Result<(), Failure> {
        if fits(&self.value, value) {
            return Ok(());
        }
        self.judge(&self.compile(), value, values, unfit)
    }

    /// The same for the parameters of a tool: a note, in which `schema` is the name of the schema, says what is left to the
    /// server.
    pub(crate) fn check_readable(
        &self,
        schema: &str,
        value: &Value,
        values: Values,
        unfit: impl FnOnce(String) -> Failure,
    ) -> Result<Option<String>, Failure> {
        if fits(&self.value, value) {
            return Ok(None);
        }
        let read = self.readable();
        let note = read.as_ref().ok().and_then(|read| read.note(schema));
        self.judge(&read.map(|read| read.validator), value, values, unfit)?;
        Ok(note)
    }

    fn judge(
        &self,
        compiled: &Result<Validator, String>,
        value: &Value,
        values: Values,
        unfit: impl FnOnce(String) -> Failure,
    ) -> Result<(), Failure> {
        let validator = compiled.as_ref().map_err(|problem| {
            let problem = format!("{}: {problem}", self.place);
            Failure::new(Fault::CatalogInvalid, problem)
        })?;
        let problem = |error: ValidationError<'_>| {
            let path = shortened(error.instance_path().as_str());
            let text = match values {
                Values::Hidden => error.masked().to_string(),
                Values::Shown => error.to_string(),
            };
            let text = shortened(&redact_presigned(&text));
            match path.as_str() {
                "" => text,
                path => format!("{path}: {text}"),
            }
        };
        let problems = validator.iter_errors(value).take(PROBLEMS).map(problem);
        let problems: Vec<String> = problems.collect();
        if problems.is_empty() {
            return Ok(());
        }
        Err(unfit(problems.join("; ")))
    }

    /// Compiles the schema.
    pub(crate) fn compile(&self) -> Result<Validator, String> {
        jsonschema::validator_for(&self.value).map_err(|error| {
            let path = error.instance_path().to_string();
            let within = match path.as_str() {
                "" => String::new(),
                path => format!(" at `{path}`"),
            };
            format!("the JSON Schema does not compile; correct it{within}: {error}")
        })
    }

    /// Compiles what oneact can read of the schema.
    pub(crate) fn readable(&self) -> Result<Readable, String> {
        readable(&self.value, Author::Operator)
            .map_err(|reason| self.compile().err().unwrap_or(reason))
    }

    pub(crate) fn property(&self, name: &str) -> Option<&Value> {
        self.value.get("properties")?.get(name)
    }

    /// The properties in the order in which the catalog lists them.
    pub(crate) fn properties(&self) -> impl Iterator<Item = &String> {
        self.value
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(Map::keys)
    }

    /// The schema of the other parameters.
    pub(crate) fn without(&self, names: &[String]) -> Self {
        let mut value = self.value.clone();
        if let Some(Value::Array(required)) = value.get_mut("required") {
            required.retain(|name| !names.iter().any(|left| name == left));
        }
        Self {
            value,
            place: self.place.clone(),
        }
    }

    pub(crate) fn requires(&self, name: &str) -> bool {
        let required = self.value.get("required").and_then(Value::as_array);
        required.is_some_and(|names| names.iter().any(|each| each.as_str() == Some(name)))
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} …", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}

/// The dialect of a schema that names none (JSON Schema 2020-12).
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Whether the value certainly fits the schema. `false` means that this is not certain.
///
/// Compiling a schema takes longer than everything else in a small run, and most schemas of tools contain little
/// more than names and types. This check decides the plain cases without compiling. All others are left to the
/// library.
fn fits(schema: &Value, value: &Value) -> bool {
    match schema {
        Value::Bool(anything) => *anything,
        Value::Object(keywords) => keywords
            .iter()
            .all(|(keyword, says)| holds(keyword, says, keywords, value)),
        _ => false,
    }
}

/// Whether one keyword of a schema object certainly holds.
fn holds(keyword: &str, says: &Value, beside: &Map<String, Value>, value: &Value) -> bool {
    let length = || value.as_str().map(|text| text.chars().count());
    let items = || value.as_array().map(Vec::len);
    match keyword {
        "title" | "description" | "default" | "examples" | "$comment" | "deprecated"
        | "readOnly" | "writeOnly" => true,
        "$schema" => says == DIALECT,
        "type" => match says {
            Value::Array(names) => names.iter().any(|name| is(name, value)),
            name => is(name, value),
        },
        "enum" => says.as_array().is_some_and(|all| all.contains(value)),
        "const" => says == value,
        "required" => object(value, |members| {
            let is_there =
                |name: &Value| name.as_str().is_some_and(|name| members.contains_key(name));
            says.as_array()
                .is_some_and(|names| names.iter().all(is_there))
        }),
        "properties" => says.as_object().is_some_and(|schemas| {
            object(value, |members| {
                schemas.iter().all(|(name, schema)| {
                    members.get(name).is_none_or(|member| fits(schema, member))
                })
            })
        }),
        "additionalProperties" => {
            let known = beside.get("properties").and_then(Value::as_object);
            *says == Value::Bool(true)
                || *says == Value::Bool(false)
                    && object(value, |members| {
                        members
                            .keys()
                            .all(|name| known.is_some_and(|known| known.contains_key(name)))
                    })
        }
        "items" => match value {
            Value::Array(items) => items.iter().all(|item| fits(says, item)),
            _ => says.is_object(),
        },
        "minimum" => number(value, says, |value, least| value >= least),
        "maximum" => number(value, says, |value, most| value <= most),
        // The length is counted in characters (RFC 8259), not bytes.
        "minLength" => counted(length(), says, |length, least| length >= least),
        "maxLength" => counted(length(), says, |length, most| length <= most),
        "minItems" => counted(items(), says, |count, least| count >= least),
        "maxItems" => counted(items(), says, |count, most| count <= most),
        _ => false,
    }
}

/// Whether the value certainly is of that type.
fn is(name: &Value, value: &Value) -> bool {
    match name.as_str().unwrap_or_default() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        // 1.0 is an integer as well; that case is left to the library.
        "integer" => value.is_i64() || value.is_u64(),
        _ => false,
    }
}

/// Keywords for objects do not apply to other values. The same holds for those below.
fn object(value: &Value, so: impl FnOnce(&Map<String, Value>) -> bool) -> bool {
    value.as_object().is_none_or(so)
}

fn number(value: &Value, says: &Value, so: impl FnOnce(i64, i64) -> bool) -> bool {
    says.as_i64().is_some_and(|says| match value {
        Value::Number(value) => value.as_i64().is_some_and(|value| so(value, says)),
        _ => true,
    })
}

fn counted(count: Option<usize>, says: &Value, so: impl FnOnce(usize, usize) -> bool) -> bool {
    let says = says.as_u64().and_then(|says| usize::try_from(says).ok());
    says.is_some_and(|says| count.is_none_or(|count| so(count, says)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schemas() -> Vec<Value> {
        let whole = json!({
            "$schema": DIALECT, "title": "t", "type": "object", "required": ["url"],
            "properties": {
                "url": {"type": "string", "minLength": 2, "maxLength": 4},
                "n": {"type": ["integer", "null"], "minimum": 1, "maximum": 9},
                "list": {"type": "array", "items": {"enum": ["a", 1, null]}, "minItems": 1, "maxItems": 2},
                "mode": {"const": "fast", "default": "fast"},
            },
            "additionalProperties": false,
        });
        let mut all = vec![
            whole.clone(),
            json!(true),
            json!(false),
            json!({}),
            json!(7),
        ];
        for odd in [
            json!({"pattern": "^x"}),
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}),
            json!({"required": 5}),
            json!({"type": "text"}),
            json!({"minLength": -1}),
            json!({"items": [true]}),
            json!({"properties": {"url": {"$ref": "#/x"}}}),
            json!({"maximum": 1.5}),
            json!({"additionalProperties": {"type": "string"}}),
            json!({"additionalProperties": false}),
            json!({"anyOf": [{}]}),
        ] {
            all.push(odd);
        }
        all
    }

    fn values() -> Vec<Value> {
        let mut all = vec![
            json!(null),
            json!("ab"),
            json!("é"),
            json!(1),
            json!(1.0),
            json!([]),
            json!(["a"]),
            json!({}),
        ];
        let good = json!({"url": "abc", "n": 3, "list": ["a", null], "mode": "fast"});
        all.push(good.clone());
        for (name, value) in [
            ("url", json!("a")),
            ("url", json!("ééééé")),
            ("url", json!("éééé")),
            ("url", json!(3)),
            ("n", json!(0)),
            ("n", json!(10)),
            ("n", json!(2.0)),
            ("n", json!(null)),
            ("list", json!([])),
            ("list", json!(["a", "a", "a"])),
            ("list", json!(["b"])),
            ("list", json!([1.0])),
            ("mode", json!("slow")),
            ("more", json!(1)),
        ] {
            let mut other = good.clone();
            other[name] = value;
            all.push(other);
        }
        all
    }

    #[test]
    fn what_plainly_fits_here_fits_for_the_library_too() {
        let mut certain = 0;
        for schema in schemas() {
            for value in values() {
                if fits(&schema, &value) {
                    certain += 1;
                    // A part that this value has no use for may be wrong: `doctor` finds that.
                    let library = jsonschema::validator_for(&schema);
                    let library = library.map(|schema| schema.is_valid(&value));
                    assert!(library.unwrap_or(true), "{schema} {value}");
                }
            }
        }
        assert!(certain > 40, "{certain}");
    }

    #[test]
    fn a_plain_schema_is_enough_for_a_value_that_fits_it() {
        let schema = &schemas()[0];
        assert!(fits(
            schema,
            &json!({"url": "abc", "n": 3, "list": ["a", null], "mode": "fast"})
        ));
        assert!(fits(schema, &json!({"url": "abc"})));
    }
}
