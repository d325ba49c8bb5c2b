//! Where in the document, and whether an edit there can be made at all.

use std::ops::Range;

use super::model::{Content, Node, Style};
use crate::plan::edit::{EditError, JsonPath, path::Step, path::item};

/// The place that a path names.
#[derive(Debug)]
pub(super) enum Place<'a> {
    There {
        node: &'a Node,
        /// The way to it: which member or item, level by level.
        route: Vec<usize>,
        /// Inside of `[]` or `{}`.
        flow: Flow,
        /// The bytes that may change.
        span: Range<usize>,
    },
    /// A key that the mapping does not have.
    New {
        route: Vec<usize>,
        key: &'a str,
        flow: Flow,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Inside,
    Outside,
}

impl<'a> Place<'a> {
    pub(super) fn find(root: &'a Node, path: &'a JsonPath) -> Result<Self, EditError> {
        let Some(last) = path.steps().len().checked_sub(1) else {
            return Err(EditError::Refused(
                "`$` is the whole document; name a place in it, or write the file as a whole"
                    .to_owned(),
            ));
        };
        let (mut node, mut route, mut flow) = (root, Vec::new(), Flow::Outside);
        let mut start = 0;
        for (depth, step) in path.steps().iter().enumerate() {
            let missing = |problem: String| EditError::PlaceNotFound {
                path: path.first(depth + 1),
                problem,
            };
            if node.style == Style::Flow {
                flow = Flow::Inside;
            }
            match (&node.content, step) {
                (Content::Members(members), Step::Name(name)) => {
                    let mut keys = members.iter();
                    let index = keys.position(|(key, _)| key.key() == Some(name));
                    match index.and_then(|index| members.get(index).map(|member| (index, member))) {
                        Some((index, (key, value))) => {
                            route.push(index);
                            (node, start) = (value, key.span.end);
                        }
                        None if depth == last => {
                            let key = name;
                            return Ok(Self::New { route, key, flow });
                        }
                        None => return Err(missing("there is no such key".to_owned())),
                    }
                }
                (Content::Items(items), Step::Index(index)) => {
                    let many = items.len();
                    let index = item(*index, many)
                        .ok_or_else(|| missing(format!("the sequence has {many} items")))?;
                    let before = index.checked_sub(1).and_then(|before| items.get(before));
                    start = before.map_or(node.span.start, Node::end);
                    route.push(index);
                    node = items.get(index).unwrap_or(node);
                }
                (Content::Alias(_), _) => {
                    return Err(EditError::Refused(format!(
                        "{} is an alias: a change behind it would be made in the node it stands \
                         for; name that one",
                        path.first(depth)
                    )));
                }
                _ => {
                    return Err(missing(format!(
                        "there is {} at {}, which has no such step",
                        node.kind(),
                        path.first(depth)
                    )));
                }
            }
        }
        replaceable(node, path)?;
        let span = start..node.end();
        Ok(Self::There {
            node,
            route,
            flow,
            span,
        })
    }

    /// Whether the texts differ in the lines of the place alone; for a new key, whether the second is
    /// the first with something put in.
    pub(super) fn holds(&self, before: &str, after: &str) -> bool {
        let (a, b) = (before.as_bytes(), after.as_bytes());
        let prefix = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        let suffix = a.iter().rev().zip(b.iter().rev());
        let suffix = suffix.take_while(|(a, b)| a == b).count();
        match self {
            Self::New { .. } => b.len() >= a.len() && prefix + suffix >= a.len(),
            Self::There { span, .. } => {
                let text = before.get(..span.end).unwrap_or(before).trim_end();
                let rest = before.get(text.len()..).unwrap_or_default();
                let line = text.len() + rest.find('\n').unwrap_or(rest.len());
                prefix >= span.start && suffix + line >= a.len()
            }
        }
    }
}

/// Refuses what would be lost or change its meaning with the value.
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
