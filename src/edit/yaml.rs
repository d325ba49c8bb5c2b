//! `yaml_update` sets one value, `yaml_append` adds one, and `yaml_remove` takes one out. The parser's tree shows where
//! bytes are removed and inserted.
//!
//! Everything else stays as it is by construction: comments, quotes, indentation, anchors, byte order
//! mark, line ends, final line end. A result is accepted only if the parser finds in it the old
//! documents with the one change; otherwise the next form or position of the value is tried.

mod draft;
mod lines;
mod model;
mod place;
mod removal;
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
use model::{Content, Node, Part, Style};
use place::Place;
use splice::Spot;
use write::Form;

/// An edit at a place of a YAML document.
#[derive(Debug)]
pub(crate) enum YamlEdit {
    /// Another value of the place.
    Update { value: Value, missing: MissingKey },
    /// A new last item of the sequence there.
    Append { value: Value },
    /// The member or the item there is taken out.
    Remove,
}

/// What is done if a mapping does not have the last key of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingKey {
    /// It may be a typing error.
    Refused,
    Created,
}

/// Makes one edit of one document.
///
/// Comments, anchors, quotes and layout stay. An anchor on the value stays, so what refers to it
/// changes with it. Refused: places behind an alias; for an update, values with a tag and values that hold anchors;
/// for a removal, anchors that something else refers to.
pub(super) fn edit(
    text: Text<'_>,
    path: &JsonPath,
    document: Option<u64>,
    change: &YamlEdit,
    budget: &Budget<'_>,
) -> Result<Edited, EditError> {
    let body = text.body;
    let documents = model::read(body, budget)?;
    let (number, place) = choose(body, &documents, path, document, change)?;
    let said = said(&documents, number, change, &place, path);
    let whole = documents.get(number);
    let ways: Vec<(Vec<Splice>, Spot)> = match change {
        YamlEdit::Update { value, .. } => ways(body, &place, 0, value).collect(),
        YamlEdit::Append { value } => appended(body, &place, value),
        YamlEdit::Remove => {
            let ways = whole.map_or_else(Vec::new, |root| removal::ways(body, root, path));
            ways.into_iter().map(|way| (way, Spot::After)).collect()
        }
    };
    let mut problem = "cannot be written there".to_owned();
    for (splices, spot) in ways {
        let after = apply(body, &splices, budget)?;
        let mut expected = documents.clone();
        if let Some(root) = expected.get_mut(number) {
            match change {
                YamlEdit::Update { value, .. } => set(root, path, value, spot),
                YamlEdit::Append { value } => push(root, path, value),
                YamlEdit::Remove => removal::take_out(root, path),
            }
        }
        removal::count_again(&mut expected);
        match unless_given_up(model::read(&after, budget))? {
            Ok(mut is) => {
                removal::count_again(&mut is);
                if is == expected {
                    return Ok(Edited::whole(text.with(after), said));
                }
                "is not what was meant".clone_into(&mut problem);
            }
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
    earlier: usize,
    value: &'a Value,
) -> impl Iterator<Item = (Vec<Splice>, Spot)> + 'a {
    let spots: &[Spot] = match place {
        Place::There(_) => &[Spot::After],
        Place::New { .. } => &[Spot::After, Spot::AfterBlanks, Spot::BeforeLast],
    };
    let all = spots
        .iter()
        .flat_map(move |spot| FORMS.map(|form| (form, *spot)));
    all.filter_map(move |way| {
        let splices = match place {
            Place::There(seat) => splice::set(body, seat, value, way.0),
            Place::New { mapping, key } => {
                splice::add(body, mapping, Some(key), earlier, value, way)
            }
        };
        Some((splices?, way.1))
    })
}

/// The ways in which an item can be added to the sequence.
fn appended(body: &str, place: &Place<'_>, value: &Value) -> Vec<(Vec<Splice>, Spot)> {
    let Place::There(sequence) = place else {
        return Vec::new();
    };
    let spots = [Spot::After, Spot::AfterBlanks].into_iter();
    let all = spots.flat_map(|spot| FORMS.map(|form| (form, spot)));
    let ways = all.filter_map(|way| {
        let splices = splice::add(body, sequence, None, 0, value, way)?;
        Some((splices, way.1))
    });
    ways.collect()
}

const FORMS: [Form; 3] = [Form::Lines, Form::Quoted, Form::Line];

/// What an edit of this place says when it was made.
fn said(
    documents: &[Node],
    number: usize,
    change: &YamlEdit,
    place: &Place<'_>,
    path: &JsonPath,
) -> String {
    let done = match (change, place) {
        (YamlEdit::Append { .. }, _) => "extended",
        (YamlEdit::Remove, _) => "removed",
        (YamlEdit::Update { .. }, Place::There(_)) => "updated",
        (YamlEdit::Update { .. }, Place::New { .. }) => "created",
    };
    let root = documents.get(number);
    let followers = root.map_or("", |root| followers(root, path));
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
    change: &YamlEdit,
) -> Result<(usize, Place<'a>), EditError> {
    let count = documents.len();
    if let Some(asked) = document {
        let index = usize::try_from(asked).ok().and_then(|at| at.checked_sub(1));
        let root = index.and_then(|number| Some((number, documents.get(number)?)));
        let (number, root) = root.ok_or_else(|| {
            path.clone().missing(format!(
                "there is no document {asked}: the file contains {count}, counted from 1"
            ))
        })?;
        return Ok((number, Place::find(body, root, path, change)?));
    }
    let mut places = Vec::new();
    let mut problem = EditError::Refused(
        "the file contains no YAML document yet; write it as a whole".to_owned(),
    );
    for (number, root) in documents.iter().enumerate() {
        match Place::find(body, root, path, change) {
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

/// Makes the change in the tree: sets a place that is there, or a new key of a mapping.
fn set(root: &mut Node, path: &JsonPath, value: &Value, spot: Spot) {
    let node = said_as(value);
    if let Some(slot) = root.at_mut(path.steps()) {
        let anchor = slot.anchor;
        *slot = Node { anchor, ..node };
    } else if let Some((Step::Name(key), parent)) = path.steps().split_last()
        && let Some(members) = root.at_mut(parent).and_then(Node::parts_mut)
    {
        let at = match spot {
            Spot::After | Spot::AfterBlanks => members.len(),
            Spot::BeforeLast => members.len().saturating_sub(1),
        };
        members.insert(at, member(key, node));
    }
}

/// Adds an item to the sequence in the tree.
fn push(root: &mut Node, path: &JsonPath, value: &Value) {
    if let Some(items) = root.at_mut(path.steps()).and_then(Node::parts_mut) {
        items.push(part(said_as(value)));
    }
}

fn part(value: Node) -> Part {
    Part { key: None, value }
}

fn member(key: &str, value: Node) -> Part {
    Part {
        key: Some(Box::new(said_as(&Value::from(key)))),
        value,
    }
}

/// The node that a reader must find for this value.
fn said_as(value: &Value) -> Node {
    let content = match value {
        Value::String(text) => Content::Text(text.clone()),
        Value::Array(items) => {
            let items = items.iter().map(|item| part(said_as(item)));
            Content::Items(items.collect())
        }
        Value::Object(members) => {
            let members = members.iter();
            Content::Members(members.map(|(key, it)| member(key, said_as(it))).collect())
        }
        other => Content::Other(write::scalar(other)),
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
fn followers(root: &Node, path: &JsonPath) -> &'static str {
    let mut anchors = vec![root.anchor];
    let mut node = Some(root);
    for step in path.steps() {
        node = node.and_then(|node| Some(&node.parts().get(node.index(step)?)?.value));
        anchors.extend(node.map(|node| node.anchor));
    }
    let follows =
        |node: &Node| matches!(node.content, Content::Alias(to) if to > 0 && anchors.contains(&to));
    if root.any(&follows) {
        " (aliases of its anchor change as well)"
    } else {
        ""
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
