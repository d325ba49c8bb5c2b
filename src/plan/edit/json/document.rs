//! A JSON text read twice: as a tree of places (`jsonc-parser`), and, independently, as a value
//! (`serde_json`). What one of them does not take is no document.

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{Object, Value as Node},
    common::Ranged,
};
use serde_json::Value;

use crate::plan::edit::{
    EditError, JsonPath, Language, Position, When,
    path::{Step, item},
};

pub(super) struct Document<'a> {
    pub(super) body: &'a str,
    pub(super) tree: Node<'a>,
    /// Numbers keep their text, keys their order.
    pub(super) value: Value,
    pub(super) grammar: Grammar,
}

/// What the text makes use of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::plan::edit) enum Grammar {
    Strict,
    /// Comments or trailing commas.
    Loose,
}

impl Grammar {
    /// Whether a text of this grammar may become one of the other.
    pub(super) fn allows(self, other: Self) -> bool {
        self == Self::Loose || other == Self::Strict
    }
}

impl<'a> Document<'a> {
    pub(super) fn read(body: &'a str) -> Result<Self, EditError> {
        let (value, grammar) = read_value(body)?;
        let tree = read_tree(body)?;
        no_duplicates(body, &tree)?;
        Ok(Self {
            body,
            tree,
            value,
            grammar,
        })
    }

    /// The node at that place.
    pub(super) fn at(&self, path: &JsonPath) -> Result<&Node<'a>, EditError> {
        let mut node = &self.tree;
        for (depth, step) in path.steps().iter().enumerate() {
            let here = || path.first(depth + 1);
            let found = match (step, node) {
                (Step::Name(name), Node::Object(object)) => object
                    .get(name)
                    .map(|member| &member.value)
                    .ok_or_else(|| no_key(&here(), object)),
                (Step::Index(index), Node::Array(array)) => item(*index, array.elements.len())
                    .and_then(|index| array.elements.get(index))
                    .ok_or_else(|| EditError::PlaceNotFound {
                        path: here(),
                        problem: format!("the array has {} items", array.elements.len()),
                    }),
                (_, other) => Err(EditError::PlaceNotFound {
                    path: here(),
                    problem: format!(
                        "there is {} at {}, which has no such step",
                        kind(other),
                        path.first(depth)
                    ),
                }),
            };
            node = found?;
        }
        Ok(node)
    }
}

const KEYS_TOLD: usize = 10;

/// The key that the path ends with is not in the object.
pub(super) fn no_key(path: &JsonPath, object: &Object<'_>) -> EditError {
    let keys = object.properties.iter().map(|member| member.name.as_str());
    let keys: Vec<_> = keys.take(KEYS_TOLD).collect();
    EditError::PlaceNotFound {
        path: path.clone(),
        problem: match (object.properties.len(), keys.join(", ")) {
            (0, _) => "the object is empty".to_owned(),
            (many, keys) if many > KEYS_TOLD => {
                format!("there is no such key; the first of its {many} are: {keys}")
            }
            (_, keys) => format!("there is no such key; those of the object are: {keys}"),
        },
    }
}

pub(super) fn kind(node: &Node<'_>) -> &'static str {
    match node {
        Node::StringLit(_) => "a string",
        Node::NumberLit(_) => "a number",
        Node::BooleanLit(_) => "true or false",
        Node::Object(_) => "an object",
        Node::Array(_) => "an array",
        Node::NullKeyword(_) => "null",
    }
}

/// The same place in the value. The path is known to lead somewhere.
pub(super) fn at_mut<'v>(value: &'v mut Value, path: &JsonPath) -> Option<&'v mut Value> {
    path.steps()
        .iter()
        .try_fold(value, |value, step| match (step, value) {
            (Step::Name(name), Value::Object(object)) => object.get_mut(name),
            (Step::Index(index), Value::Array(items)) => {
                let index = item(*index, items.len())?;
                items.get_mut(index)
            }
            _ => None,
        })
}

/// Equality to the text of numbers and the order of keys.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((x, a), (y, b))| x == y && same(a, b))
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (a, b) => a == b,
    }
}

fn invalid(problem: String, at: Option<Position>) -> EditError {
    EditError::Invalid {
        language: Language::Json,
        problem,
        at,
        when: When::Before,
    }
}

fn read_value(body: &str) -> Result<(Value, Grammar), EditError> {
    if let Ok(value) = serde_json::from_str(body) {
        return Ok((value, Grammar::Strict));
    }
    serde_json::from_slice(&without_comments(body))
        .map(|value| (value, Grammar::Loose))
        .map_err(|error| {
            let (problem, at) = told(body, &error);
            invalid(problem, Some(at))
        })
}

/// Why a text is no JSON although it is JSON with comments.
pub(super) fn not_strict(body: &str) -> EditError {
    let read: Result<serde::de::IgnoredAny, _> = serde_json::from_str(body);
    let (problem, at) = match read {
        Err(error) => told(body, &error),
        Ok(_) => ("comments".to_owned(), Position::of(body, 0)),
    };
    let problem = format!(
        "{problem} (comments and trailing commas are let in .jsonc and in the names known for them, such as tsconfig.json)"
    );
    invalid(problem, Some(at))
}

/// What a reader says, and the place it says it of.
fn told(body: &str, error: &serde_json::Error) -> (String, Position) {
    let text = error.to_string();
    let problem = text
        .rsplit_once(" at line ")
        .map_or(&*text, |(text, _)| text);
    let line = error.line().saturating_sub(1);
    let start: usize = body.split_inclusive('\n').take(line).map(str::len).sum();
    let at = start + error.column().saturating_sub(1);
    (problem.to_owned(), Position::of(body, at))
}

/// The text with blanks in place of comments and trailing commas; every other byte is where it was.
fn without_comments(body: &str) -> Vec<u8> {
    let mut bytes = body.as_bytes().to_vec();
    // Where the last comma outside strings is, while nothing but blanks has followed it.
    let mut comma = None;
    let mut at = 0;
    while let Some(byte) = bytes.get(at).copied() {
        let rest = bytes.get(at..).unwrap_or_default();
        match byte {
            b'"' => {
                comma = None;
                at += string_length(rest);
                continue;
            }
            b'/' => {
                let length = comment_length(rest);
                for byte in bytes.iter_mut().skip(at).take(length) {
                    if !matches!(byte, b'\n' | b'\r') {
                        *byte = b' ';
                    }
                }
                at += length.max(1);
                continue;
            }
            b',' => comma = Some(at),
            b'}' | b']' => {
                if let Some(byte) = comma.take().and_then(|at: usize| bytes.get_mut(at)) {
                    *byte = b' ';
                }
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => comma = None,
        }
        at += 1;
    }
    bytes
}

fn string_length(rest: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = rest.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    rest.len()
}

/// The bytes of the comment that starts here, without its line end; 0 if none does. One that does not
/// end goes to the end.
pub(super) fn comment_length(rest: &[u8]) -> usize {
    let ends = |pair: &[u8]| pair == b"*/";
    if rest.starts_with(b"//") {
        let end = rest.iter().position(|byte| *byte == b'\n');
        let line = rest.get(..end.unwrap_or(rest.len())).unwrap_or(rest);
        line.strip_suffix(b"\r").unwrap_or(line).len()
    } else if rest.starts_with(b"/*") {
        let inside = rest.get(2..).unwrap_or_default();
        inside
            .windows(2)
            .position(ends)
            .map_or(rest.len(), |length| length + 4)
    } else {
        0
    }
}

fn read_tree(body: &str) -> Result<Node<'_>, EditError> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let read = jsonc_parser::parse_to_ast(body, &CollectOptions::default(), &options);
    match read {
        Ok(result) => result
            .value
            .ok_or_else(|| invalid("there is no value".to_owned(), None)),
        Err(error) => {
            let at = Position::of(body, error.range().start);
            Err(invalid(error.kind().to_string(), Some(at)))
        }
    }
}

fn no_duplicates(body: &str, node: &Node<'_>) -> Result<(), EditError> {
    match node {
        Node::Object(object) => {
            let mut seen = std::collections::HashSet::new();
            for member in &object.properties {
                let name = member.name.as_str();
                if !seen.insert(name) {
                    let at = Position::of(body, member.range().start);
                    return Err(invalid(format!("duplicate key `{name}`"), Some(at)));
                }
                no_duplicates(body, &member.value)?;
            }
            Ok(())
        }
        Node::Array(array) => array
            .elements
            .iter()
            .try_for_each(|item| no_duplicates(body, item)),
        _ => Ok(()),
    }
}
