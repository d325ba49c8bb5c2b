//! `yaml_update` sets one value. The parser's tree shows where bytes are removed and inserted.
//!
//! Everything else stays as it is by construction: comments, quotes, indentation, anchors, byte order
//! mark, line ends, final line end. A result is accepted only if the parser finds in it the old
//! documents with the one change; otherwise the next form or position of the value is tried.

mod draft;
mod lines;
mod model;
mod place;
mod splice;
mod write;

use serde_json::Value;

use super::{
    Budget, EditError, Edited, JsonPath, Language,
    path::Step,
    text::{Splice, Text, apply},
    unless_given_up,
};
pub(super) use draft::Draft;
use model::{Content, Node, Style};
use place::Place;
use splice::Spot;
use write::Form;

/// Sets the value at a path of one document. The last key is made if its parent is a mapping without it.
///
/// Comments, anchors, quotes and layout stay. An anchor on the value stays, so what refers to it
/// changes with it. Refused: places behind an alias, values with a tag, and values that hold anchors.
pub(super) fn update(
    text: Text<'_>,
    path: &JsonPath,
    document: Option<u64>,
    value: &Value,
    budget: &Budget<'_>,
) -> Result<Edited, EditError> {
    let body = text.body;
    let documents = model::read(body, budget)?;
    let (number, place) = choose(body, &documents, path, document)?;
    let said = said(&documents, number, done(&place), path);
    let mut problem = "cannot be written there".to_owned();
    for (splices, spot) in ways(body, &place, None, value) {
        let after = apply(body, &splices, budget)?;
        let mut expected = documents.clone();
        if let Some(root) = expected.get_mut(number) {
            set(root, path, value, spot);
        }
        match unless_given_up(model::read(&after, budget))? {
            Ok(is) if is == expected => {
                return Ok(Edited::whole(text.with(after), said));
            }
            Ok(_) => "is not what was meant".clone_into(&mut problem),
            Err(error) => problem = format!("is broken ({error})"),
        }
    }
    Err(EditError::risky(&problem))
}

/// The ways in which the value can be written there, the best first. A new key comes after `earlier` other new
/// ones of its mapping.
fn ways<'a>(
    body: &'a str,
    place: &'a Place<'a>,
    earlier: Option<usize>,
    value: &'a Value,
) -> impl Iterator<Item = (Vec<Splice>, Spot)> + 'a {
    let spots: &[Spot] = match place {
        Place::There(_) => &[Spot::After],
        Place::New { .. } => &[Spot::After, Spot::AfterBlanks, Spot::BeforeLast],
    };
    let forms = [Form::Lines, Form::Quoted, Form::Line];
    let all = spots
        .iter()
        .flat_map(move |spot| forms.map(|form| (form, *spot)));
    all.filter_map(move |way| {
        let splices = match place {
            Place::There(seat) => splice::set(body, seat, value, way.0),
            Place::New { mapping, key } => {
                splice::add(body, mapping, key, earlier.unwrap_or_default(), value, way)
            }
        };
        Some((splices?, way.1))
    })
}

const UPDATED: &str = "updated";
const CREATED: &str = "created";

fn done(place: &Place<'_>) -> &'static str {
    match place {
        Place::There(_) => UPDATED,
        Place::New { .. } => CREATED,
    }
}

/// What an edit of this place says when it was made.
fn said(documents: &[Node], number: usize, done: &str, path: &JsonPath) -> String {
    let root = documents.get(number);
    let followers = root.map_or_else(String::new, |root| followers(root, path));
    let document = if documents.len() > 1 {
        format!(" in document {}", number + 1)
    } else {
        String::new()
    };
    format!("Value at {path} {done} successfully{followers}{document}")
}

/// Which document of the file is meant, counted from 0, and the place in it: the one of that number, else
/// the only one that has the path, else the only one that can take the last key of it.
fn choose<'a>(
    body: &str,
    documents: &'a [Node],
    path: &'a JsonPath,
    document: Option<u64>,
) -> Result<(usize, Place<'a>), EditError> {
    let count = documents.len();
    if let Some(asked) = document {
        let root = index(asked).and_then(|number| Some((number, documents.get(number)?)));
        let (number, root) = root.ok_or_else(|| {
            path.clone().missing(format!(
                "there is no document {asked}: the file contains {count}, counted from 1"
            ))
        })?;
        return Ok((number, Place::find(body, root, path)?));
    }
    let mut places = Vec::new();
    let mut problem = EditError::Refused(
        "the file contains no YAML document yet; write it as a whole".to_owned(),
    );
    for (number, root) in documents.iter().enumerate() {
        match Place::find(body, root, path) {
            Ok(place) => places.push((number, place)),
            // A document that has the path but cannot be edited there gives the more useful error.
            Err(error) if matches!(error, EditError::Refused(_)) => return Err(error),
            Err(error) => problem = error,
        }
    }
    let has = |(_, place): &(usize, Place<'_>)| matches!(place, Place::There(_));
    if places.iter().any(has) {
        places.retain(has);
    }
    let numbers: Vec<_> = places.iter().map(|(at, _)| (at + 1).to_string()).collect();
    let mut places = places.into_iter();
    match (places.next(), places.next()) {
        (Some(place), None) => Ok(place),
        (None, _) if count < 2 => Err(problem),
        (None, _) => Err(path
            .clone()
            .missing(format!("none of the {count} documents of the file has it"))),
        (Some(_), Some(_)) => Err(EditError::Refused(format!(
            "{path} can mean the documents {} of the file; name one of them with `\"document\": N`, \
             counted from 1",
            numbers.join(", ")
        ))),
    }
}

/// The index of a document that is counted from 1.
fn index(number: u64) -> Option<usize> {
    usize::try_from(number).ok()?.checked_sub(1)
}

/// Makes the change in the tree: sets a place that is there, or a new key of a mapping.
fn set(root: &mut Node, path: &JsonPath, value: &Value, spot: Spot) {
    let node = said_as(value);
    if let Some(slot) = root.at_mut(path.steps()) {
        let anchor = slot.anchor;
        *slot = Node { anchor, ..node };
    } else if let Some((Step::Name(key), parent)) = path.steps().split_last()
        && let Some(parent) = root.at_mut(parent)
        && let Content::Members(members) = &mut parent.content
    {
        let at = match spot {
            Spot::After | Spot::AfterBlanks => members.len(),
            Spot::BeforeLast => members.len().saturating_sub(1),
        };
        members.insert(at, (said_as(&Value::from(key.as_str())), node));
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

/// The remark that aliases of a changed anchor change as well.
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
        " (aliases of its anchor change as well)".to_owned()
    } else {
        String::new()
    }
}

/// Whether it is YAML, of any number of documents, without duplicate keys.
pub(super) fn check(text: Text<'_>, budget: &Budget<'_>) -> Result<(), EditError> {
    model::read(text.body, budget).map(|_| ())
}

/// The value of a file of one document, aliases followed.
pub(super) fn value(text: Text<'_>, budget: &Budget<'_>) -> Result<Value, EditError> {
    check(text, budget)?;
    serde_saphyr::from_str(text.body).map_err(|error| {
        let problem = error.to_string();
        let first = problem.lines().next().unwrap_or_default();
        Language::Yaml.invalid(first, text.body, None)
    })
}
