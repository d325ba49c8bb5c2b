//! A configuration file as a tree in which every value knows its line: from JSON, which may have comments and trailing
//! commas, or from TOML.

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{ObjectProp, Value as Json},
    common::Ranged as _,
    parse_to_ast,
};
use toml::de::{DeTable, DeValue};

use crate::catalog::cut::Lines;

use super::Misread;

#[derive(Debug)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) value: Value,
}

#[derive(Debug)]
pub(super) enum Value {
    Text(String),
    Flag(bool),
    /// A number or a date, as it is written.
    Written(String),
    List(Vec<Node>),
    Table(Vec<(String, Node)>),
    Null,
}

impl Node {
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        let found = self.table()?.iter().find(|(key, _)| key == name);
        found.map(|(_, node)| node)
    }

    pub(super) fn table(&self) -> Option<&[(String, Self)]> {
        match &self.value {
            Value::Table(members) => Some(members),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Reads JSON with comments.
pub(super) fn json(text: &str) -> Result<Node, Misread> {
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
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options);
    let parsed = parsed.map_err(|error| Misread {
        line: error.line_display(),
        problem: format!("this is no JSON: {}", lowered(&error.kind().to_string())),
    })?;
    let lines = Reader {
        text,
        lines: Lines::default(),
    };
    let whole = parsed.value.ok_or_else(|| Misread {
        line: 1,
        problem: "the file is empty".to_owned(),
    })?;
    lines.json(&whole)
}

/// Reads TOML.
pub(super) fn toml(text: &str) -> Result<Node, Misread> {
    let lines = Reader {
        text,
        lines: Lines::default(),
    };
    let parsed = DeTable::parse(text).map_err(|error| Misread {
        line: lines.line(error.span().map_or(0, |span| span.start)),
        problem: format!("this is no TOML: {}", error.message()),
    })?;
    Ok(Node {
        line: 1,
        value: lines.table(parsed.get_ref()),
    })
}

struct Reader<'t> {
    text: &'t str,
    lines: Lines,
}

impl Reader<'_> {
    fn line(&self, at: usize) -> usize {
        self.lines.of(self.text.as_bytes(), at)
    }

    fn json(&self, value: &Json<'_>) -> Result<Node, Misread> {
        Ok(Node {
            line: self.line(value.start()),
            value: match value {
                Json::StringLit(text) => Value::Text(text.value.clone().into_owned()),
                Json::NumberLit(number) => Value::Written(number.value.to_owned()),
                Json::BooleanLit(flag) => Value::Flag(flag.value),
                Json::NullKeyword(_) => Value::Null,
                Json::Array(array) => {
                    let items = array.elements.iter().map(|item| self.json(item));
                    Value::List(items.collect::<Result<_, _>>()?)
                }
                Json::Object(object) => Value::Table(self.members(&object.properties)?),
            },
        })
    }

    /// A name that occurs twice is an error: readers of JSON do not agree on which of the two counts.
    fn members(&self, properties: &[ObjectProp<'_>]) -> Result<Vec<(String, Node)>, Misread> {
        let mut members: Vec<(String, Node)> = Vec::new();
        for property in properties {
            let name = property.name.as_str();
            let line = self.line(property.start());
            if let Some((_, first)) = members.iter().find(|(known, _)| known == name) {
                return Err(Misread {
                    line,
                    problem: format!(
                        "`{name}` is here for the second time, after line {}; remove or rename one of the two",
                        first.line
                    ),
                });
            }
            let node = self.json(&property.value)?;
            members.push((name.to_owned(), Node { line, ..node }));
        }
        Ok(members)
    }

    fn table(&self, table: &DeTable<'_>) -> Value {
        let member = |(key, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
            let name: &std::borrow::Cow<'_, str> = key.get_ref();
            let node = Node {
                line: self.line(key.span().start),
                value: self.toml(value.get_ref()),
            };
            (name.clone().into_owned(), node)
        };
        Value::Table(table.iter().map(member).collect())
    }

    fn toml(&self, value: &DeValue<'_>) -> Value {
        match value {
            DeValue::String(text) => Value::Text(text.clone().into_owned()),
            DeValue::Boolean(flag) => Value::Flag(*flag),
            DeValue::Integer(number) => Value::Written(number.to_string()),
            DeValue::Float(number) => Value::Written(number.to_string()),
            DeValue::Datetime(time) => Value::Written(time.to_string()),
            DeValue::Table(table) => self.table(table),
            DeValue::Array(items) => Value::List(
                items
                    .iter()
                    .map(|item| Node {
                        line: self.line(item.span().start),
                        value: self.toml(item.get_ref()),
                    })
                    .collect(),
            ),
        }
    }
}

/// A message of the parser in the middle of a sentence.
fn lowered(message: &str) -> String {
    let mut chars = message.chars();
    let first = chars.next().map(|c| c.to_ascii_lowercase());
    first.into_iter().chain(chars).collect()
}
