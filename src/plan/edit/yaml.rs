//! `yaml_update`: one place set by `yaml-edit`, and what it made looked at with other eyes.
//!
//! The editor never sees a byte order mark or `\r`; both are put back line by line. Its result is let
//! out only if a strict parser finds in it the old document with the one value changed, and nothing
//! outside the lines of that value differs.

mod ends;
mod model;
mod place;
mod scalar;
mod set;
mod write;

use serde_json::Value;

use super::{EditError, Edited, JsonPath, Language, When, text::Text, text::with_ends};
use model::{Content, Node, Style};
use place::Place;

/// Sets the value at a path. The last key is made if its parent is a mapping without it.
///
/// Comments, anchors, quotes and layout stay. An anchor on the value stays, so what refers to it
/// changes with it. Refused: documents with several parts, places behind an alias, values with a tag,
/// and values that hold anchors.
pub(super) fn update(text: Text<'_>, path: &JsonPath, value: &Value) -> Result<Edited, EditError> {
    let body = with_ends(text.body, "\n");
    if body.contains('\r') {
        return Err(EditError::Refused(
            "the file has carriage returns that end no line; edit it with text_replace".to_owned(),
        ));
    }
    let root = one(model::read(&body)?)?;
    let place = Place::find(&root, path)?;
    let after = set::set(&body, &place, value)?;
    let after = ends::finish_like(ends::keep_blank_lines(after, &body, &place), &body);

    let mut expected = root.clone();
    let said = match &place {
        Place::There { node, .. } => {
            let node = Node {
                anchor: node.anchor,
                ..said_as(value)
            };
            if let Some(slot) = expected.at_mut(path) {
                *slot = node;
            }
            format!(
                "Value at {path} updated successfully{}",
                followers(&root, path)
            )
        }
        Place::New { key, .. } => {
            let parent = path.first(path.steps().len().saturating_sub(1));
            if let Some(Content::Members(members)) =
                expected.at_mut(&parent).map(|parent| &mut parent.content)
            {
                members.push((said_as(&Value::from(*key)), said_as(value)));
            }
            format!("Value at {path} created successfully")
        }
    };
    let wrong = |what: &str| {
        EditError::Refused(format!(
            "the edit cannot be made safely: its result {what}; make it with text_replace"
        ))
    };
    let is = model::read(&after).map_err(|error| wrong(&format!("is broken ({error})")))?;
    if is != [expected] {
        return Err(wrong("is not what was meant"));
    }
    if !place.holds(&body, &after) {
        return Err(wrong("differs outside the lines of the value"));
    }
    let bytes = text.with(ends::restore(text.body, &after));
    Ok(Edited { bytes, said })
}

fn one(documents: Vec<Node>) -> Result<Node, EditError> {
    let count = documents.len();
    let mut documents = documents.into_iter();
    match (documents.next(), documents.next()) {
        (Some(root), None) => Ok(root),
        (None, _) => Err(EditError::Refused(
            "the file holds no YAML document yet; write it as a whole".to_owned(),
        )),
        (Some(_), Some(_)) => Err(EditError::Refused(format!(
            "the file holds {count} YAML documents, and a path does not say in which; edit it with \
             text_replace"
        ))),
    }
}

/// The node that a reader must find for this value.
fn said_as(value: &Value) -> Node {
    let content = match value {
        Value::String(text) => Content::Text(text.clone()),
        Value::Array(items) => Content::Items(items.iter().map(said_as).collect()),
        Value::Object(members) => Content::Members(
            members
                .iter()
                .map(|(key, value)| (said_as(&Value::from(key.as_str())), said_as(value)))
                .collect(),
        ),
        other => Content::Other(other.to_string()),
    };
    Node {
        content,
        anchor: 0,
        tag: None,
        style: Style::Plain,
        span: 0..0,
    }
}

/// Says that what was changed is seen elsewhere too.
fn followers(root: &Node, path: &JsonPath) -> String {
    let steps = path.steps().iter();
    let mut nodes: Vec<_> = steps
        .scan(Some(root), |node, step| {
            *node = node.and_then(|node| node.child(step));
            *node
        })
        .collect();
    nodes.push(root);
    let anchors: Vec<_> = nodes
        .iter()
        .map(|node| node.anchor)
        .filter(|it| *it > 0)
        .collect();
    let follows = |node: &Node| matches!(node.content, Content::Alias(to) if anchors.contains(&to));
    if !anchors.is_empty() && root.any(&follows) {
        " (aliases of its anchor follow)".to_owned()
    } else {
        String::new()
    }
}

/// Whether it is YAML, of any number of documents, without duplicate keys.
pub(super) fn check(text: Text<'_>) -> Result<(), EditError> {
    model::read(text.body).map(|_| ())
}

/// The value of a file of one document, aliases followed.
pub(super) fn value(text: Text<'_>) -> Result<Value, EditError> {
    check(text)?;
    serde_saphyr::from_str(text.body).map_err(|error| EditError::Invalid {
        language: Language::Yaml,
        problem: error
            .to_string()
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned(),
        at: None,
        when: When::Before,
    })
}
