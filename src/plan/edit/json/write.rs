//! How values are written so that they look like the document they come into.

use jsonc_parser::{ast::Value as Node, common::Ranged};
use serde_json::Value;

use super::{document::Document, splice::Container};

/// The habits of a document.
pub(super) struct Style {
    /// One level of indentation.
    unit: String,
    /// Between a key and its value: `: `, `:`.
    colon: String,
    /// What an empty object is opened to.
    pub(super) opened: Shape,
}

/// Whether a collection is written on one line, or with a line for each item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    Line,
    /// The indentation of the line it starts on.
    Lines(String),
}

impl Style {
    pub(super) fn of(document: &Document<'_>) -> Self {
        let body = document.body;
        let unit = unit(body, &document.tree);
        let empty = Container::of(body, &document.tree).is_some_and(|root| root.items.is_empty());
        Self {
            colon: colon(body, &document.tree).unwrap_or(": ").to_owned(),
            opened: if unit.is_some() || empty {
                Shape::Lines(String::new())
            } else {
                Shape::Line
            },
            unit: unit.unwrap_or_else(|| "  ".to_owned()),
        }
    }

    /// The indentation one level in.
    pub(super) fn deeper(&self, indent: &str) -> String {
        [indent, &self.unit].concat()
    }

    /// The blank after a comma on one line.
    pub(super) fn gap(&self) -> &'static str {
        if self.colon.ends_with(':') { "" } else { " " }
    }

    pub(super) fn member(&self, key: &str, value: &Value, shape: &Shape, end: &str) -> String {
        let key = Value::String(key.to_owned());
        let value = self.value(value, shape, end);
        format!("{key}{}{value}", self.colon)
    }

    /// The text of a value; its first line starts where it is put.
    pub(super) fn value(&self, value: &Value, shape: &Shape, end: &str) -> String {
        let inner = match shape {
            Shape::Line => Shape::Line,
            Shape::Lines(indent) => Shape::Lines(self.deeper(indent)),
        };
        let (brackets, items): (_, Vec<_>) = match value {
            Value::Object(object) => (
                ["{", "}"],
                object
                    .iter()
                    .map(|(key, value)| self.member(key, value, &inner, end))
                    .collect(),
            ),
            Value::Array(items) => (
                ["[", "]"],
                items
                    .iter()
                    .map(|item| self.value(item, &inner, end))
                    .collect(),
            ),
            scalar => return scalar.to_string(),
        };
        let [open, close] = brackets;
        match (shape, &inner) {
            (Shape::Lines(outer), Shape::Lines(inner)) if !items.is_empty() => {
                let items = items.join(&[",", end, inner].concat());
                [open, end, inner, &items, end, outer, close].concat()
            }
            _ => [open, &items.join(&[",", self.gap()].concat()), close].concat(),
        }
    }
}

/// The first step of indentation in the document.
fn unit(body: &str, node: &Node<'_>) -> Option<String> {
    let container = Container::of(body, node)?;
    if let Some(first) = container.items.first()
        && container.on_own_line(first.start)
    {
        let inner = container.indent(first.start);
        let outer = container.indent(container.start);
        if let Some(unit) = inner.strip_prefix(outer).filter(|unit| !unit.is_empty()) {
            return Some(unit.to_owned());
        }
    }
    children(node).into_iter().find_map(|node| unit(body, node))
}

/// What stands between the first key and its value.
fn colon<'b>(body: &'b str, node: &Node<'_>) -> Option<&'b str> {
    if let Some(member) = node
        .as_object()
        .and_then(|object| object.properties.first())
    {
        let text = body.get(member.name.range().end..member.value.range().start)?;
        return text.chars().all(|c| matches!(c, ':' | ' ')).then_some(text);
    }
    children(node)
        .into_iter()
        .find_map(|node| colon(body, node))
}

fn children<'n, 'a>(node: &'n Node<'a>) -> Vec<&'n Node<'a>> {
    match node {
        Node::Object(object) => object.properties.iter().map(|item| &item.value).collect(),
        Node::Array(array) => array.elements.iter().collect(),
        _ => Vec::new(),
    }
}
