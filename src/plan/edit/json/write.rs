//! How values are written so that they look like the document they come into.

use serde_json::Value;

use super::outline::Habits;
use crate::plan::edit::{Budget, EditError};

/// The habits of a document.
pub(super) struct Style<'s> {
    /// One level of indentation.
    unit: String,
    /// Between a key and its value: `: `, `:`.
    colon: String,
    /// What an empty object is opened to.
    pub(super) opened: Shape,
    budget: &'s Budget<'s>,
}

/// Whether a collection is written on one line, or with a line for each item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    Line,
    /// The indentation of the line it starts on.
    Lines(String),
}

impl<'s> Style<'s> {
    pub(super) fn of(habits: &Habits<'_>, budget: &'s Budget<'s>) -> Self {
        Self {
            colon: habits.colon.unwrap_or(": ").to_owned(),
            opened: if habits.unit.is_some() || habits.empty {
                Shape::Lines(String::new())
            } else {
                Shape::Line
            },
            unit: habits.unit.clone().unwrap_or_else(|| "  ".to_owned()),
            budget,
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

    pub(super) fn member(
        &self,
        key: &str,
        value: &Value,
        shape: &Shape,
        end: &str,
    ) -> Result<String, EditError> {
        let mut text = String::new();
        self.put_member(&mut text, key, value, shape, end)?;
        Ok(text)
    }

    /// The text of a value; its first line starts where it is put.
    pub(super) fn value(
        &self,
        value: &Value,
        shape: &Shape,
        end: &str,
    ) -> Result<String, EditError> {
        let mut text = String::new();
        self.put(&mut text, value, shape, end)?;
        Ok(text)
    }

    /// An indentation may be long: what would be too large is not written to its end.
    fn push(&self, text: &mut String, parts: &[&str]) -> Result<(), EditError> {
        let more: usize = parts.iter().map(|part| part.len()).sum();
        self.budget.fits((text.len() + more) as u64)?;
        text.extend(parts.iter().copied());
        Ok(())
    }

    fn put_member(
        &self,
        text: &mut String,
        key: &str,
        value: &Value,
        shape: &Shape,
        end: &str,
    ) -> Result<(), EditError> {
        let key = Value::String(key.to_owned()).to_string();
        self.push(text, &[&key, &self.colon])?;
        self.put(text, value, shape, end)
    }

    fn put(
        &self,
        text: &mut String,
        value: &Value,
        shape: &Shape,
        end: &str,
    ) -> Result<(), EditError> {
        let (brackets, count) = match value {
            Value::Object(object) => (["{", "}"], object.len()),
            Value::Array(items) => (["[", "]"], items.len()),
            scalar => return self.push(text, &[&scalar.to_string()]),
        };
        let inner = match shape {
            Shape::Line => Shape::Line,
            Shape::Lines(indent) => Shape::Lines(self.deeper(indent)),
        };
        let lead = |text: &mut String, first: bool| match &inner {
            Shape::Lines(inner) if first => self.push(text, &[end, inner]),
            Shape::Lines(inner) => self.push(text, &[",", end, inner]),
            Shape::Line if first => Ok(()),
            Shape::Line => self.push(text, &[",", self.gap()]),
        };
        let [open, close] = brackets;
        self.push(text, &[open])?;
        match value {
            Value::Object(object) => {
                for (index, (key, value)) in object.iter().enumerate() {
                    lead(text, index == 0)?;
                    self.put_member(text, key, value, &inner, end)?;
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    lead(text, index == 0)?;
                    self.put(text, item, &inner, end)?;
                }
            }
            _ => {}
        }
        match shape {
            Shape::Lines(outer) if count > 0 => self.push(text, &[end, outer, close]),
            _ => self.push(text, &[close]),
        }
    }
}
