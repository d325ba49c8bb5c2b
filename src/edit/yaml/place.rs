//! Finds the place of a path in the text, and checks that an edit can be made there.

use super::{
    MissingKey, YamlEdit,
    lines::column,
    model::{Content, Node, Style, after as after_sign, after_properties, skip},
};
use crate::edit::{
    EditError, JsonPath,
    path::{Step, item, no_key},
};

#[derive(Debug)]
pub(super) enum Place<'a> {
    There(Seat<'a>),
    /// A key that the mapping does not have.
    New {
        mapping: Seat<'a>,
        key: &'a str,
    },
}

/// A node, and its surroundings in the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seat<'a> {
    pub(super) node: &'a Node,
    /// Of a block scalar, where its header starts.
    pub(super) start: usize,
    /// The end of the `key:` or `-` before it, including the anchor and the tag of the node.
    pub(super) lead: usize,
    pub(super) after: After,
    /// The indentation of the collection that it is in.
    pub(super) column: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    Nothing,
    Key,
    Dash,
    /// Anything inside of `[]` or `{}`.
    Flow,
}

impl<'a> Place<'a> {
    /// The place of the path, if the edit can be made there.
    pub(super) fn find(
        body: &str,
        root: &'a Node,
        path: &'a JsonPath,
        change: &YamlEdit,
    ) -> Result<Self, EditError> {
        let place = Self::of(body, root, path)?;
        let missing = |problem: &str| Err(path.clone().missing(problem));
        match (change, &place) {
            (YamlEdit::Update { .. } | YamlEdit::Remove, _) if path.steps().is_empty() => {
                return Err(EditError::Refused(
                    "`$` is the whole document; name a place in it, or write the file as a whole"
                        .to_owned(),
                ));
            }
            (YamlEdit::Update { .. }, Self::There(seat)) => replaceable(seat.node, path)?,
            (YamlEdit::Append { .. }, Self::There(seat)) => match &seat.node.content {
                Content::Items(_) => {}
                Content::Alias(_) => return Err(behind_alias(path)),
                _ => {
                    let problem = format!(
                        "it is {}; yaml_append adds to sequences, so write the whole value with yaml_update",
                        seat.node.kind()
                    );
                    return missing(&problem);
                }
            },
            (YamlEdit::Remove, Self::There(seat)) => removable(root, seat.node, path)?,
            (
                YamlEdit::Update {
                    missing: MissingKey::Created,
                    ..
                },
                Self::New { .. },
            ) => {}
            (YamlEdit::Update { .. }, Self::New { mapping, key }) => {
                let problem = format!(
                    "{}; `\"create\": true` adds a new key",
                    missing_key(mapping.node, key)
                );
                return missing(&problem);
            }
            (YamlEdit::Append { .. } | YamlEdit::Remove, Self::New { mapping, key }) => {
                return missing(&missing_key(mapping.node, key));
            }
        }
        Ok(place)
    }

    pub(super) fn of(body: &str, root: &'a Node, path: &'a JsonPath) -> Result<Self, EditError> {
        let last = path.steps().len().saturating_sub(1);
        let mut seat = Seat::root(root);
        for (depth, step) in path.steps().iter().enumerate() {
            let missing = |problem: String| path.first(depth + 1).missing(problem);
            match (&seat.node.content, step) {
                (Content::Members(_), Step::Name(name)) => match seat.node.member(name) {
                    Some((key, value)) => {
                        seat = seat.value(body, key, value).ok_or_else(unclear)?;
                    }
                    None if depth == last => {
                        return Ok(Self::New {
                            mapping: seat,
                            key: name,
                        });
                    }
                    None => return Err(missing(missing_key(seat.node, name))),
                },
                (Content::Items(items), Step::Index(index)) => {
                    let many = items.len();
                    let index = item(*index, many)
                        .ok_or_else(|| missing(format!("the sequence has {many} items")))?;
                    seat = seat.item(body, items, index).ok_or_else(unclear)?;
                }
                (Content::Alias(_), _) => {
                    return Err(behind_alias(&path.first(depth)));
                }
                _ => {
                    return Err(missing(format!(
                        "there is {} at {}, which has no such step",
                        seat.node.kind(),
                        path.first(depth)
                    )));
                }
            }
        }
        Ok(Self::There(seat))
    }
}

impl<'a> Seat<'a> {
    fn root(node: &'a Node) -> Self {
        Self {
            node,
            start: node.span.start,
            lead: node.span.start,
            after: After::Nothing,
            column: 0,
        }
    }

    /// What precedes the nodes in it.
    fn inner(&self, after: After) -> After {
        match self.node.style {
            Style::Flow => After::Flow,
            _ => after,
        }
    }

    pub(super) fn value(&self, body: &str, key: &Node, value: &'a Node) -> Option<Self> {
        let after = self.inner(After::Key);
        let colon = after_sign(body, key.span.end, ':');
        let bare = (after == After::Flow && value.is_empty()).then_some(key.span.end);
        self.child(body, value, after, colon.or(bare)?)
    }

    fn item(&self, body: &str, items: &'a [Node], index: usize) -> Option<Self> {
        let node = items.get(index)?;
        let after = self.inner(After::Dash);
        let lead = match index.checked_sub(1).and_then(|before| items.get(before)) {
            _ if after == After::Flow => node.span.start,
            None => after_sign(body, self.start, '-')?,
            Some(before) => after_sign(body, before.end(body), '-')?,
        };
        self.child(body, node, after, lead)
    }

    fn child(&self, body: &str, node: &'a Node, after: After, lead: usize) -> Option<Self> {
        let properties = usize::from(node.anchor > 0) + usize::from(node.tag.is_some());
        let lead = match after {
            After::Flow => lead,
            _ => after_properties(body, lead, properties)?,
        };
        let start = match node.style {
            _ if node.is_empty() => lead,
            Style::Block | Style::BlockScalar => skip(body, lead),
            _ => node.span.start,
        };
        Some(Self {
            node,
            start,
            lead,
            after,
            column: column(body, self.start),
        })
    }
}

fn unclear() -> EditError {
    EditError::Refused(
        "the place cannot be located safely in the text; edit it with text_replace".to_owned(),
    )
}

fn behind_alias(path: &JsonPath) -> EditError {
    EditError::Refused(format!(
        "{path} is an alias: a change behind it would be made in the node it stands for; name that one"
    ))
}

fn missing_key(mapping: &Node, key: &str) -> String {
    let members: &[(Node, Node)] = match &mapping.content {
        Content::Members(members) => members,
        _ => &[],
    };
    let keys = members.iter().map(|(key, _)| key.key().unwrap_or("…"));
    no_key("mapping", keys, key)
}

/// Refuses to remove an anchor that something outside of the value refers to.
fn removable(root: &Node, node: &Node, path: &JsonPath) -> Result<(), EditError> {
    let mut anchors = Vec::new();
    node.each(&mut |node| anchors.extend((node.anchor > 0).then_some(node.anchor)));
    let refers = |counted: &mut usize, node: &Node| {
        let is_one = matches!(node.content, Content::Alias(to) if anchors.contains(&to));
        *counted += usize::from(is_one);
    };
    let (mut within, mut all) = (0, 0);
    node.each(&mut |node| refers(&mut within, node));
    root.each(&mut |node| refers(&mut all, node));
    if all > within {
        return Err(EditError::Refused(format!(
            "the value at {path} has an anchor that an alias elsewhere refers to; change the alias first"
        )));
    }
    Ok(())
}

/// Refuses a value whose tag or anchors would be lost with it.
fn replaceable(node: &Node, path: &JsonPath) -> Result<(), EditError> {
    if let Some(tag) = &node.tag {
        return Err(EditError::Refused(format!(
            "the value at {path} has the tag {tag}, which may not fit another value; edit it with \
             text_replace"
        )));
    }
    let inner = |inner: &Node| inner.anchor > 0 && !std::ptr::eq(inner, node);
    if node.any(&inner) {
        return Err(EditError::Refused(format!(
            "the value at {path} holds anchors, which would be lost with it; change what is in it \
             one by one"
        )));
    }
    Ok(())
}
