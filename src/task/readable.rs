//! JSON Schemas of others, as far as oneact can read them.
//!
//! A schema may have a constraint that other programs read and oneact does not: a pattern in another dialect of regular
//! expressions, or a keyword with an odd value. It is left to the server, and the rest is checked, but never more strictly
//! than with it.

#[cfg(test)]
mod tests;

use std::error::Error;

use base64::{
    Engine,
    alphabet::URL_SAFE,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use jsonschema::{
    PatternOptions, Retrieve, Uri, ValidationError, Validator, error::ValidationErrorKind,
};
use serde_json::{Map, Value, json};

use super::few;

/// The memory of a compiled pattern of a server, in bytes. A pattern of a few bytes can need any amount.
const PATTERN_BYTES: usize = 1 << 20;
/// A schema with more constraints that cannot be read is refused.
const MOST: usize = 100;
/// How many of them are named.
const NAMED: usize = 5;

/// The dialect that takes each pattern that compiles. Draft 7 and earlier ones also require that it is one of ECMA-262.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The padding of base64url may be left out (RFC 4648, section 5).
const BASE64URL: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Who wrote a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Author {
    /// Can correct it, except for the dialect of a pattern.
    Operator,
    Server,
}

#[derive(Debug)]
pub(crate) struct Readable {
    pub(crate) validator: Validator,
    /// JSON Pointers to the constraints that are left to the server.
    left: Vec<String>,
    /// Whether keywords that could refuse more without these constraints are left to the server, too.
    is_weaker: bool,
}

impl Readable {
    /// A sentence for `audit.compliance_notes` if constraints are left to the server. `schema` names the schema.
    pub(crate) fn note(&self, schema: &str) -> Option<String> {
        let named = few(&self.left, NAMED, ", ");
        (!named.is_empty()).then(|| {
            let too = if self.is_weaker {
                ", so are `not`, `if`, `contains`, `unevaluated…` and that only one schema of `oneOf` fits,"
            } else {
                ","
            };
            format!(
                "The {schema} has constraints that oneact cannot read: {named}. They are left to the server{too} and the \
                 rest was checked."
            )
        })
    }
}

/// Compiles a schema: JSON Schema 2020-12, unless the schema says otherwise. A reference to another document is an error,
/// because nothing is fetched (MCP 2026-07-28, Tools). The error says why the schema as a whole cannot be read.
pub(crate) fn readable(schema: &Value, author: Author) -> Result<Readable, String> {
    let mut schema = schema.clone();
    let (mut left, mut is_weaker) = (Vec::new(), false);
    loop {
        let error = match build(&schema, author) {
            Ok(validator) => {
                return Ok(Readable {
                    validator,
                    left,
                    is_weaker,
                });
            }
            Err(error) => error,
        };
        let place = error.instance_path().to_string();
        let excused = match error.kind() {
            ValidationErrorKind::Referencing(_) => false,
            // Of a pattern, or of the names in `patternProperties`.
            ValidationErrorKind::Format { .. } | ValidationErrorKind::PropertyNames { .. } => true,
            _ => author == Author::Server,
        };
        if excused && moved(&mut schema, &place, author) {
            continue;
        }
        let path: Vec<&str> = place.split('/').skip(1).collect();
        if !excused || path.is_empty() || left.len() == MOST || !cut(&mut schema, &path, author) {
            return Err(match place.as_str() {
                "" => error.to_string(),
                place => format!("{error}, at {place}"),
            });
        }
        let whole = schema.clone();
        weaken(&mut schema);
        if schema != whole {
            if author == Author::Operator {
                return Err(format!(
                    "{error}, at {place}; a schema with `not`, `if`, `contains`, `oneOf` or `unevaluated…` is checked only if \
                     all of it can be read"
                ));
            }
            is_weaker = true;
        }
        left.push(place);
    }
}

fn build(schema: &Value, author: Author) -> Result<Validator, ValidationError<'static>> {
    let patterns = match author {
        Author::Operator => PatternOptions::fancy_regex(),
        Author::Server => PatternOptions::fancy_regex()
            .size_limit(PATTERN_BYTES)
            .dfa_size_limit(PATTERN_BYTES),
    };
    let (is_valid, decoded) = (
        |text: &str| BASE64URL.decode(text).is_ok(),
        |text: &str| {
            let bytes = BASE64URL.decode(text).ok();
            Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
        },
    );
    jsonschema::options()
        .with_retriever(Nowhere)
        .with_pattern_options(patterns)
        .with_content_encoding("base64url", is_valid, decoded)
        .build(schema)
}

fn compiles(pattern: &str, author: Author) -> bool {
    build(&json!({"$schema": DIALECT, "pattern": pattern}), author).is_ok()
}

/// Refuses to fetch schemas.
struct Nowhere;

impl Retrieve for Nowhere {
    fn retrieve(&self, _: &Uri<String>) -> Result<Value, Box<dyn Error + Send + Sync>> {
        Err("schemas are not fetched; it must contain everything that it refers to".into())
    }
}

/// Moves a pattern that only the dialect of the schema refuses into a schema of its own.
fn moved(schema: &mut Value, place: &str, author: Author) -> bool {
    let parent = place.strip_suffix("/pattern");
    let Some(Value::Object(keywords)) = parent.and_then(|parent| schema.pointer_mut(parent)) else {
        return false;
    };
    let pattern = keywords.get("pattern").and_then(Value::as_str);
    let Some(pattern) = pattern.filter(|pattern| compiles(pattern, author)) else {
        return false;
    };
    let own = json!({"$schema": DIALECT, "$id": "urn:oneact:pattern", "pattern": pattern});
    keywords.remove("pattern");
    match keywords.entry("allOf").or_insert_with(|| json!([])) {
        Value::Array(all) => all.push(own),
        other => *other = json!([own]),
    }
    true
}

/// Cuts the constraint at that place out of a schema. Whether there is one.
fn cut(schema: &mut Value, path: &[&str], author: Author) -> bool {
    let [keyword, rest @ ..] = path else {
        // What cannot be read as a schema allows everything.
        *schema = json!({});
        return true;
    };
    let Value::Object(keywords) = schema else {
        return false;
    };
    let Some(value) = keywords.get_mut(*keyword) else {
        return false;
    };
    let (child, rest) = match (*keyword, rest) {
        ("patternProperties", [_]) => (None, rest),
        (
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
            | "dependencies" | "allOf" | "anyOf" | "oneOf" | "prefixItems",
            [name, rest @ ..],
        ) => (value.pointer_mut(&format!("/{name}")), rest),
        ("items", [index, rest @ ..]) if value.is_array() => {
            (value.pointer_mut(&format!("/{index}")), rest)
        }
        (_, [_, ..]) if value.is_object() => (Some(value), rest),
        _ => (None, rest),
    };
    if let Some(child) = child {
        return cut(child, rest, author);
    }
    remove(keywords, keyword, author);
    true
}

/// Removes a keyword, or what of it cannot be read, and those that would then refuse more.
fn remove(keywords: &mut Map<String, Value>, keyword: &str, author: Author) {
    let value = keywords.remove(keyword);
    keywords.retain(|other, _| match keyword {
        "properties" | "patternProperties" => other != "additionalProperties",
        "prefixItems" | "items" => other != "items" && other != "additionalItems",
        _ => true,
    });
    if let ("patternProperties", Some(Value::Object(mut patterns))) = (keyword, value) {
        let count = patterns.len();
        patterns.retain(|pattern, schema| schema.is_object() && compiles(pattern, author));
        if patterns.len() < count {
            keywords.insert(keyword.to_owned(), patterns.into());
        }
    }
}

/// Weakens each keyword that may refuse more values if a schema in it, or a schema that it refers to, refuses fewer.
fn weaken(schema: &mut Value) {
    match schema {
        Value::Array(schemas) => schemas.iter_mut().for_each(weaken),
        Value::Object(keywords) => {
            let strict = [
                "not",
                "if",
                "contains",
                "unevaluatedItems",
                "unevaluatedProperties",
            ];
            keywords.retain(|keyword, _| !strict.contains(&keyword.as_str()));
            if let Some(one) = keywords.remove("oneOf") {
                keywords.entry("anyOf").or_insert(one);
            }
            for (keyword, value) in keywords {
                match (keyword.as_str(), value) {
                    ("const" | "enum", _) => {}
                    (
                        "properties" | "patternProperties" | "$defs" | "definitions"
                        | "dependentSchemas" | "dependencies",
                        Value::Object(named),
                    ) => named.values_mut().for_each(weaken),
                    (_, value) => weaken(value),
                }
            }
        }
        _ => {}
    }
}
