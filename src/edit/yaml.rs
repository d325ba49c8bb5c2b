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
mod splice;
mod wanted;
mod write;

use serde_json::Value;

use super::{
    Budget, EditError, Edited, JsonPath, Language,
    error::unless_given_up,
    text::{Splice, Text, apply},
};
pub(super) use draft::Draft;
use model::{Content, Node, Part, Style};
use place::{NodeChange, Site};
use splice::Spot;
pub(crate) use wanted::{MissingKey, YamlEdit};
use write::Form;

/// How a value can be written, and where a new key is put; the best way first.
const FORMS: [Form; 3] = [Form::Lines, Form::Quoted, Form::Line];
const SPOTS: [Spot; 2] = [Spot::Last, Spot::BeforeLast];

/// Makes one edit of one document.
///
/// Comments, anchors, quotes and layout stay. An anchor on the value stays, so what refers to it
/// changes with it. Refused: places behind an alias; for an update, values with a tag and values that hold anchors;
/// for a removal, anchors that something else refers to.
pub(super) fn edit(
    text: Text<'_>,
    path: &JsonPath,
    document: Option<u64>,
    edit: &YamlEdit,
    budget: &Budget<'_>,
) -> Result<Edited, EditError> {
    let body = text.body;
    let documents = model::read(body, budget)?;
    let (number, site) = choose(body, &documents, path, document, edit)?;
    let ways = SPOTS
        .iter()
        .flat_map(|spot| FORMS.map(|form| (form, *spot)));
    let ways = ways.map(|way| (splices(body, &site, 0, way), way.1));
    let mut ways: Vec<_> = ways.collect();
    ways.dedup_by(|next, way| next.0 == way.0);
    let change = site.1;
    let said = said(&documents, number, path, change);
    // A tree is large: it is read again for a further way.
    let mut read = Some(documents);
    let mut problem = String::new();
    for (splices, spot) in ways {
        let documents = read.take().map_or_else(|| model::read(body, budget), Ok);
        let mut expected = documents?;
        make(&mut expected, number, path, change, spot);
        match checked(body, &splices, &expected, budget)? {
            Ok((after, _)) => return Ok(Edited::whole(text.with(after), said)),
            Err(why) => problem = why,
        }
    }
    Err(EditError::risky(&problem))
}

/// The splices of an edit, written in this way; of a new key, after `earlier` other new ones of its mapping.
fn splices(
    body: &str,
    (seat, change): &Site<'_, '_>,
    earlier: usize,
    way: (Form, Spot),
) -> Vec<Splice> {
    match *change {
        NodeChange::Set(value) => vec![splice::set(body, seat, value, way.0)],
        NodeChange::Add(key, value) => splice::add(body, seat, (key, value), earlier, way),
        NodeChange::Cut(index) => splice::remove(body, seat, index).unwrap_or_default(),
    }
}

/// The text with the splices, and its documents; if these are not the expected ones, what they are.
fn checked(
    body: &str,
    splices: &[Splice],
    expected: &[Node],
    budget: &Budget<'_>,
) -> Result<Result<(String, Vec<Node>), String>, EditError> {
    let after = apply(body, splices, budget)?;
    Ok(match unless_given_up(model::read(&after, budget))? {
        Ok(is) if is == expected => Ok((after, is)),
        Ok(_) => Err("is not what was meant".to_owned()),
        Err(error) => Err(format!("is broken ({error})")),
    })
}

/// Makes the change in the tree.
fn make(
    documents: &mut [Node],
    number: usize,
    path: &JsonPath,
    change: NodeChange<'_>,
    spot: Spot,
) {
    let (steps, root) = (path.steps(), documents.get_mut(number));
    let whole = match change {
        NodeChange::Set(_) | NodeChange::Add(None, _) => steps,
        NodeChange::Add(Some(_), _) | NodeChange::Cut(_) => {
            steps.split_last().map_or(steps, |it| it.1)
        }
    };
    let Some(node) = root.and_then(|root| root.at_mut(whole)) else {
        return;
    };
    match change {
        NodeChange::Set(value) => {
            let anchor = node.anchor;
            *node = Node::of(value);
            node.anchor = anchor;
        }
        NodeChange::Add(key, value) => {
            let last = node.parts.len().saturating_sub(1);
            let at = match spot {
                Spot::BeforeLast if key.is_some() => last,
                Spot::BeforeLast | Spot::Last => node.parts.len(),
            };
            node.parts.insert(at, Part::of(key, value));
        }
        NodeChange::Cut(index) => {
            let Part { key, value } = node.parts.remove(index);
            let mut lost = value.anchors();
            lost.extend(key.iter().flat_map(|key| key.anchors()));
            // The later anchors count without them.
            let moved = |number: usize| number - lost.iter().filter(|at| **at < number).count();
            for document in documents {
                document.each_mut(&mut |node| {
                    node.anchor = moved(node.anchor);
                    if let Content::Alias(to) = &mut node.content {
                        *to = moved(*to);
                    }
                });
            }
        }
    }
}

/// What an edit of this place says when it was made.
fn said(documents: &[Node], number: usize, path: &JsonPath, change: NodeChange<'_>) -> String {
    let done = match change {
        NodeChange::Set(_) => "updated",
        NodeChange::Add(Some(_), _) => "created",
        NodeChange::Add(None, _) => "extended",
        NodeChange::Cut(_) => "removed",
    };
    let root = documents.get(number);
    let mut node = root;
    let mut anchors = Vec::from_iter(root.map(|root| root.anchor));
    for step in path.steps() {
        node = node.and_then(|node| Some(&node.parts.get(node.index(step)?)?.value));
        anchors.extend(node.map(|node| node.anchor));
    }
    let followers = match root.map_or(0, |root| root.aliases(&anchors)) {
        0 => "",
        _ => " (aliases of its anchor change as well)",
    };
    let document = match documents.len() {
        0 | 1 => String::new(),
        _ => format!(" in document {}", number + 1),
    };
    format!("Value at {path} {done} successfully{followers}{document}")
}

/// Which document of the file is meant, counted from 0, and the place in it: the one of that number, else
/// the only one that has the path, else the only one that can take the last key of it.
fn choose<'t, 'e>(
    body: &str,
    documents: &'t [Node],
    path: &'e JsonPath,
    document: Option<u64>,
    edit: &'e YamlEdit,
) -> Result<(usize, Site<'t, 'e>), EditError> {
    let count = documents.len();
    if let Some(asked) = document {
        let number = usize::try_from(asked).unwrap_or(usize::MAX).wrapping_sub(1);
        let root = documents.get(number).ok_or_else(|| {
            path.clone().missing(format!(
                "there is no document {asked}: the file contains {count}, counted from 1"
            ))
        })?;
        return Ok((number, place::find(body, root, path, edit)?));
    }
    let mut sites = Vec::new();
    let mut problem = EditError::Refused(
        "the file contains no YAML document yet; write it as a whole".to_owned(),
    );
    for (number, root) in documents.iter().enumerate() {
        match place::find(body, root, path, edit) {
            Ok(site) => sites.push((number, site)),
            // A document that has the path but cannot be edited there gives the more useful error.
            Err(error) if matches!(error, EditError::Refused(_)) => return Err(error),
            Err(error) => problem = error,
        }
    }
    let has =
        |(_, (_, change)): &(usize, Site<'_, '_>)| !matches!(change, NodeChange::Add(Some(_), _));
    if sites.iter().any(has) {
        sites.retain(has);
    }
    match sites.len() {
        0 if count < 2 => Err(problem),
        0 => Err(path
            .clone()
            .missing(format!("none of the {count} documents of the file has it"))),
        1 => Ok(sites.remove(0)),
        _ => {
            let numbers: Vec<_> = sites.iter().map(|(at, _)| (at + 1).to_string()).collect();
            Err(EditError::Refused(format!(
                "{path} can mean the documents {} of the file; name one of them with `\"document\": N`, \
                 counted from 1",
                numbers.join(", ")
            )))
        }
    }
}

impl Part {
    fn of(key: Option<&str>, value: &Value) -> Self {
        let key = key.map(|key| Box::new(Node::of(&Value::from(key))));
        let value = Node::of(value);
        Self { key, value }
    }
}

impl Node {
    /// The node that a reader must find for this value.
    fn of(value: &Value) -> Self {
        let (content, parts) = match value {
            Value::String(text) => (Content::Text(text.as_str().into()), Vec::new()),
            Value::Array(items) => {
                let items = items.iter().map(|item| Part::of(None, item));
                (Content::Sequence, items.collect())
            }
            Value::Object(members) => {
                let members = members.iter().map(|(key, it)| Part::of(Some(key), it));
                (Content::Mapping, members.collect())
            }
            other => (Content::Other(write::scalar(other).into()), Vec::new()),
        };
        Self {
            content,
            parts,
            anchor: 0,
            tag: None,
            style: Style::Plain,
            span: 0..0,
        }
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
        EditError::invalid(Language::Yaml, first, text.body, None)
    })
}
