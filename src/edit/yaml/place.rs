//! Finds the place of a path in the text, and checks that an edit can be made there.

use serde_json::Value;

use super::{
    MissingKey, YamlEdit,
    lines::{after, after_properties, column, skip},
    model::{Content, Node, Part, Style},
};
use crate::edit::{
    EditError, JsonPath,
    path::{PathStep, no_key},
};

/// What a document gets, and at which node: a change of its parts at the collection.
pub(super) type Site<'t, 'e> = (Seat<'t>, NodeChange<'e>);

#[derive(Debug, Clone, Copy)]
pub(super) enum NodeChange<'e> {
    /// Another value.
    Set(&'e Value),
    /// A new member with this key, or a new last item.
    Add(Option<&'e str>, &'e Value),
    /// The part of this index is taken out.
    Cut(usize),
}

/// A node, and its surroundings in the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seat<'a> {
    pub(super) node: &'a Node,
    /// Where its key or its dash starts, or the node itself.
    pub(super) head: usize,
    /// The end of the `key:` or `-` before it, including the anchor and the tag of the node.
    pub(super) lead: usize,
    /// Where it starts; of a block scalar, its header.
    pub(super) start: usize,
    pub(super) after: After,
    /// The indentation of the collection that it is in.
    pub(super) column: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    Key,
    Dash,
    /// Anything inside of `[]` or `{}`, and the root: it can only be written on one line, in its place.
    Nothing,
}

/// Finds the place of the path, if the edit can be made there.
pub(super) fn find<'t, 'e>(
    body: &str,
    root: &'t Node,
    path: &'e JsonPath,
    edit: &'e YamlEdit,
) -> Result<Site<'t, 'e>, EditError> {
    let mut seat = Seat::of(root);
    let mut within = None;
    for (depth, step) in path.steps().iter().enumerate() {
        if let Some(index) = seat.node.index(step)
            && let Some(part) = seat.part(body, index)
        {
            within = Some((seat, index));
            seat = part;
            continue;
        }
        let is_last = depth + 1 == path.steps().len();
        let problem = match (&seat.node.content, step, edit) {
            (Content::Alias(_), ..) => return Err(behind_alias(&path.first(depth))),
            (Content::Mapping, PathStep::Name(key), YamlEdit::Update { value, missing })
                if is_last =>
            {
                if *missing == MissingKey::Created {
                    return Ok((seat, NodeChange::Add(Some(key), value)));
                }
                missing_key(seat.node, key) + "; `\"create\": true` adds a new key"
            }
            (Content::Mapping, PathStep::Name(name), _) => missing_key(seat.node, name),
            (Content::Sequence, PathStep::Index(_), _) => {
                format!("the sequence has {} items", seat.node.parts.len())
            }
            _ => format!(
                "there is {} at {}, which has no such step",
                seat.node.kind(),
                path.first(depth)
            ),
        };
        return Err(path.first(depth + 1).missing(problem));
    }
    possible(root, path, seat, within, edit)
}

/// The edit of a node that is there, if it can be made. `within` is the collection that holds it, and its index.
fn possible<'t, 'e>(
    root: &Node,
    path: &JsonPath,
    seat: Seat<'t>,
    within: Option<(Seat<'t>, usize)>,
    edit: &'e YamlEdit,
) -> Result<Site<'t, 'e>, EditError> {
    let node = seat.node;
    let problem = match (edit, &node.content, within) {
        (YamlEdit::Append { value }, Content::Sequence, _) => {
            return Ok((seat, NodeChange::Add(None, value)));
        }
        (YamlEdit::Append { .. }, Content::Alias(_), _) => return Err(behind_alias(path)),
        (YamlEdit::Append { .. }, ..) => {
            return Err(path.clone().missing(format!(
                "it is {}; yaml_append adds to sequences, so write the whole value with yaml_update",
                node.kind()
            )));
        }
        (_, _, None) => {
            "`$` is the whole document; name a place in it, or write the file as a whole".to_owned()
        }
        (YamlEdit::Update { value, .. }, ..) => match &node.tag {
            Some(tag) => format!(
                "the value at {path} has the tag {tag}, which may not fit another value; edit it with \
                 text_replace"
            ),
            None if node.anchors().len() > usize::from(node.anchor > 0) => format!(
                "the value at {path} holds anchors, which would be lost with it; change what is in it \
                 one by one"
            ),
            None => return Ok((seat, NodeChange::Set(value))),
        },
        (YamlEdit::Remove, _, Some((whole, index))) => {
            let anchors = node.anchors();
            if root.aliases(&anchors) == node.aliases(&anchors) {
                return Ok((whole, NodeChange::Cut(index)));
            }
            format!(
                "the value at {path} has an anchor that an alias elsewhere refers to; change the alias first"
            )
        }
    };
    Err(EditError::Refused(problem))
}

impl<'a> Seat<'a> {
    fn of(root: &'a Node) -> Self {
        let start = root.span.start;
        Self {
            node: root,
            head: start,
            lead: start,
            start,
            after: After::Nothing,
            column: 0,
        }
    }

    /// The seat of a part of the node.
    pub(super) fn part(&self, body: &str, index: usize) -> Option<Self> {
        let parts = &self.node.parts;
        let Part { key, value: node } = parts.get(index)?;
        let before = index.checked_sub(1).and_then(|at| parts.get(at));
        let before = before.map(|before| before.value.span.end);
        let is_flow = self.node.style == Style::Flow;
        let (head, lead) = match key {
            Some(key) => (
                explicit(body, key.span.start),
                after(body, key.span.end, ':'),
            ),
            None if is_flow => {
                let lead = before.map_or(self.start + 1, |end| after(body, end, ','));
                (skip(body, lead), lead)
            }
            None => {
                let lead = after(body, before.unwrap_or(self.start), '-');
                (lead.saturating_sub(1), lead)
            }
        };
        let properties = usize::from(node.anchor > 0) + usize::from(node.tag.is_some());
        let lead = after_properties(body, lead, properties);
        Some(Self {
            node,
            head,
            lead,
            start: if node.is_empty() {
                lead
            } else {
                skip(body, lead)
            },
            after: match key {
                _ if is_flow => After::Nothing,
                Some(_) => After::Key,
                None => After::Dash,
            },
            column: column(body, self.start),
        })
    }

    /// Where it ends; comments after it are not its own.
    pub(super) fn end(&self) -> usize {
        if self.node.is_empty() {
            return self.lead;
        }
        self.node.span.end
    }
}

fn behind_alias(path: &JsonPath) -> EditError {
    EditError::Refused(format!(
        "{path} is an alias: a change behind it would be made in the node it stands for; name that one"
    ))
}

fn missing_key(mapping: &Node, key: &str) -> String {
    let keys = mapping.parts.iter();
    no_key("mapping", keys.map(|part| part.name().unwrap_or("…")), key)
}

/// Where the `?` is of a key that starts here; without one, where the key starts.
fn explicit(body: &str, start: usize) -> usize {
    let before = body.get(..start).unwrap_or_default();
    let mark = before.trim_end_matches(' ').strip_suffix('?');
    let mark =
        mark.filter(|lead| lead.is_empty() || lead.ends_with([' ', '\n', '\r', '{', ',', '[']));
    mark.map_or(start, str::len)
}
