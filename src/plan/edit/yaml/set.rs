//! The one place where `yaml-edit` is asked to change something.

use serde_json::Value;
use yaml_edit::{AsYaml, Document, Mapping, Sequence, YamlFile, YamlNode};

use super::{
    model::Style,
    place::{Flow, Place},
    write,
};
use crate::plan::edit::EditError;

/// The text with the value set. Whether it is right is for others to say.
pub(super) fn set(body: &str, place: &Place<'_>, value: &Value) -> Result<String, EditError> {
    let file = read(body)?;
    let document = file.document().ok_or_else(cannot)?;
    let written = match place {
        Place::There { node, flow, .. } => text(value, node.style, *flow, body),
        Place::New { flow, .. } => text(value, Style::Plain, *flow, body),
    };
    let written = read(&written)?;
    let value = node(&written.document().ok_or_else(cannot)?)?;
    match place {
        Place::There { route, .. } => {
            let (last, way) = route.split_last().ok_or_else(cannot)?;
            match walk(&document, way)? {
                Collection::Mapping(mapping) => {
                    let entry = mapping.entries().nth(*last).ok_or_else(cannot)?;
                    entry.set_value(&*value, mapping.is_flow_style());
                }
                Collection::Sequence(sequence) => {
                    if !sequence.set(*last, &*value) {
                        return Err(cannot());
                    }
                }
            }
        }
        Place::New { route, key, .. } => {
            let Collection::Mapping(mapping) = walk(&document, route)? else {
                return Err(cannot());
            };
            let key = read(&write::name(key))?;
            let key = node(&key.document().ok_or_else(cannot)?)?;
            mapping.set(&*key, &*value);
        }
    }
    Ok(file.to_string())
}

fn cannot() -> EditError {
    EditError::Refused(
        "the YAML editor reads this file otherwise than the parser does; edit it with text_replace"
            .to_owned(),
    )
}

fn read(body: &str) -> Result<YamlFile, EditError> {
    YamlFile::parse(body).to_result().map_err(|_| cannot())
}

fn text(value: &Value, old: Style, flow: Flow, body: &str) -> String {
    match (flow, value) {
        (Flow::Outside, Value::String(text)) if text.contains('\n') && body.ends_with('\n') => {
            write::literal(text).map(|text| text + "\n")
        }
        (Flow::Outside, Value::Array(_) | Value::Object(_))
            if old != Style::Flow && !write::is_flow(value) =>
        {
            Some(write::block(value, 0) + "\n")
        }
        _ => None,
    }
    .unwrap_or_else(|| write::flow(value, old))
}

/// The root of a document, as the editor takes values.
fn node(document: &Document) -> Result<Box<dyn AsYaml>, EditError> {
    if let Some(mapping) = document.as_mapping() {
        return Ok(Box::new(mapping));
    }
    if let Some(sequence) = document.as_sequence() {
        return Ok(Box::new(sequence));
    }
    let scalar = document.as_scalar().ok_or_else(cannot)?;
    Ok(Box::new(scalar))
}

enum Collection {
    Mapping(Mapping),
    Sequence(Sequence),
}

impl Collection {
    fn root(document: &Document) -> Option<Self> {
        let tagged = document.as_tagged();
        let mapping = document.as_mapping();
        let sequence = document.as_sequence();
        mapping
            .or_else(|| tagged.as_ref()?.as_mapping())
            .map(Self::Mapping)
            .or_else(|| {
                sequence
                    .or_else(|| tagged?.as_sequence())
                    .map(Self::Sequence)
            })
    }

    fn of(node: &YamlNode) -> Option<Self> {
        let tagged = node.as_tagged();
        let mapping = node.as_mapping().cloned();
        let sequence = node.as_sequence().cloned();
        mapping
            .or_else(|| tagged?.as_mapping())
            .map(Self::Mapping)
            .or_else(|| {
                sequence
                    .or_else(|| tagged?.as_sequence())
                    .map(Self::Sequence)
            })
    }

    fn child(&self, index: usize) -> Option<YamlNode> {
        match self {
            Self::Mapping(mapping) => mapping.entries().nth(index)?.value_node(),
            Self::Sequence(sequence) => sequence.get(index),
        }
    }
}

fn walk(document: &Document, way: &[usize]) -> Result<Collection, EditError> {
    let root = Collection::root(document).ok_or_else(cannot)?;
    way.iter()
        .try_fold(root, |collection, index| {
            Collection::of(&collection.child(*index)?)
        })
        .ok_or_else(cannot)
}
