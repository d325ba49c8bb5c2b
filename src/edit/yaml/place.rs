//! Finds the place of a path in the text, and checks that an edit can be made there.

use super::{
    MissingKey, YamlEdit,
    lines::column,
    model::{Content, Node, Style, after as after_sign, after_properties, skip},
};
use crate::edit::{
    EditError, JsonPath,
    path::{Step, no_key},
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
        match (&place, change) {
            (Self::There(_), YamlEdit::Update { .. } | YamlEdit::Remove)
                if path.steps().is_empty() =>
            {
                return Err(EditError::Refused(
                    "`$` is the whole document; name a place in it, or write the file as a whole"
                        .to_owned(),
                ));
            }
            (Self::There(seat), YamlEdit::Update { .. }) => replaceable(seat.node, path)?,
            (Self::There(seat), YamlEdit::Append { .. }) => extendable(seat.node, path)?,
            (Self::There(seat), YamlEdit::Remove) => removable(root, seat.node, path)?,
            (Self::New { mapping, key }, change) => {
                let create = match change {
                    YamlEdit::Update { missing, .. } if *missing == MissingKey::Created => {
                        return Ok(place);
                    }
                    YamlEdit::Update { .. } => "; `\"create\": true` adds a new key",
                    YamlEdit::Append { .. } | YamlEdit::Remove => "",
                };
                let problem = missing_key(mapping.node, key) + create;
                return Err(path.clone().missing(problem));
            }
        }
        Ok(place)
    }

    pub(super) fn of(body: &str, root: &'a Node, path: &'a JsonPath) -> Result<Self, EditError> {
        let last = path.steps().len().saturating_sub(1);
        let mut seat = Seat::root(root);
        for (depth, step) in path.steps().iter().enumerate() {
            if let Some(index) = seat.node.index(step) {
                seat = seat.part(body, index).ok_or_else(unclear)?;
                continue;
            }
            let problem = match (&seat.node.content, step) {
                (Content::Alias(_), _) => return Err(behind_alias(&path.first(depth))),
                (Content::Members(_), Step::Name(key)) if depth == last => {
                    return Ok(Self::New { mapping: seat, key });
                }
                (Content::Members(_), Step::Name(name)) => missing_key(seat.node, name),
                (Content::Items(items), Step::Index(_)) => {
                    format!("the sequence has {} items", items.len())
                }
                _ => format!(
                    "there is {} at {}, which has no such step",
                    seat.node.kind(),
                    path.first(depth)
                ),
            };
            return Err(path.first(depth + 1).missing(problem));
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

    fn part(&self, body: &str, index: usize) -> Option<Self> {
        let part = self.node.parts().get(index)?;
        let is_flow = self.node.style == Style::Flow;
        let (after, lead) = match &part.key {
            Some(key) => {
                let bare = is_flow && part.value.is_empty();
                let colon = after_sign(body, key.span.end, ':');
                (After::Key, colon.or(bare.then_some(key.span.end))?)
            }
            None if is_flow => (After::Flow, part.value.span.start),
            None => (After::Dash, self.after_dash(body, index)?),
        };
        let after = if is_flow { After::Flow } else { after };
        self.child(body, &part.value, after, lead)
    }

    /// The byte after the dash of an item.
    pub(super) fn after_dash(&self, body: &str, index: usize) -> Option<usize> {
        let before = index
            .checked_sub(1)
            .and_then(|at| self.node.parts().get(at));
        let from = before.map_or(self.start, |before| before.value.end(body));
        after_sign(body, from, '-')
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
    let keys = mapping.parts().iter();
    no_key("mapping", keys.map(|part| part.name().unwrap_or("…")), key)
}

/// Refuses to add an item to what is no sequence.
fn extendable(node: &Node, path: &JsonPath) -> Result<(), EditError> {
    match &node.content {
        Content::Items(_) => Ok(()),
        Content::Alias(_) => Err(behind_alias(path)),
        _ => Err(path.clone().missing(format!(
            "it is {}; yaml_append adds to sequences, so write the whole value with yaml_update",
            node.kind()
        ))),
    }
}

/// Refuses to remove an anchor that something outside of the value refers to.
fn removable(root: &Node, node: &Node, path: &JsonPath) -> Result<(), EditError> {
    let mut anchors = Vec::new();
    node.each(&mut |node| anchors.extend((node.anchor > 0).then_some(node.anchor)));
    let aliases = |whole: &Node| {
        let mut count = 0;
        whole.each(&mut |node| {
            let is_one = matches!(node.content, Content::Alias(to) if anchors.contains(&to));
            count += usize::from(is_one);
        });
        count
    };
    if aliases(root) > aliases(node) {
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
