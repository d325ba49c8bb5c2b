//! 30,000 edits of YAML documents that nobody wrote. Every one is looked at by another reader.

#![expect(
    clippy::print_stdout,
    reason = "how many there were is shown with --nocapture"
)]

mod edits;

use std::{collections::HashMap, fmt::Write, ops::RangeInclusive};

use fastrand::Rng;
use serde_json::{Map, Value};

use super::{
    json_random::{any, changed, step},
    *,
};

/// A document as it is meant.
#[derive(Debug, Clone)]
enum Node {
    /// As written, and as read.
    Scalar(String, Value),
    Items(Vec<Place>),
    Members(Vec<(String, Place)>),
    Alias(String),
}

#[derive(Debug, Clone)]
struct Place {
    node: Node,
    anchor: Option<String>,
    flow: bool,
}

/// Where a node was written.
struct Spot {
    path: String,
    lines: RangeInclusive<usize>,
}

struct Writer<'r> {
    rng: &'r mut Rng,
    text: String,
    spots: Vec<Spot>,
    unit: usize,
    comments: u8,
}

const KEYS: [&str; 14] = [
    "a",
    "b",
    "c",
    "name",
    "größe",
    "a.b",
    "\"q k\"",
    "'it''s'",
    "1",
    "x-y",
    "日本",
    "\"yes\"",
    "2024-01-01",
    "$ref",
];

const SCALARS: [&str; 26] = [
    "1",
    "-2.50",
    "0x1F",
    "0644",
    "1_000",
    "true",
    "no",
    "~",
    "null",
    "2024-01-01",
    "12:30:45",
    "word",
    "two words",
    "größe 日本",
    "'single ''q'''",
    "\"double \\\"q\\\" \\u00e9\"",
    "1e400",
    "0o17",
    "a#b",
    "http://x.y/z",
    "\"\"",
    "''",
    "12345678901234567890",
    "*.rs",
    "-x",
    "v1.2",
];

pub(super) fn read(text: &str) -> Value {
    let options = serde_saphyr::options! {
        non_finite_float_policy: serde_saphyr::options::NonFiniteFloatPolicy::AsString,
    };
    serde_saphyr::from_str_with_options(text, options)
        .unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn key_text(written: &str) -> String {
    match read(written) {
        Value::String(text) => text,
        _ => written.to_owned(),
    }
}

fn grow(rng: &mut Rng, depth: u8, flow: bool, anchors: &mut Vec<String>) -> Place {
    let flow = flow || rng.u8(0..5) == 0;
    let mut anchor = None;
    let node = match rng.u8(0..if depth == 0 { 5 } else { 12 }) {
        0 if !anchors.is_empty() => {
            let name = rng.choice(&*anchors).unwrap().clone();
            return Place {
                node: Node::Alias(name),
                anchor,
                flow,
            };
        }
        1 if !flow && rng.bool() => {
            let header = rng.choice(["|", "|-", ">", ">-"]).unwrap();
            let read = match header {
                "|" | ">" => "one\n  two # no\n",
                _ => "one\n  two # no",
            };
            Node::Scalar(header.to_owned(), Value::from(read))
        }
        0..=4 => {
            let mut written = rng.choice(SCALARS).unwrap();
            if written == "*.rs" {
                written = "'*.rs'";
            }
            Node::Scalar(written.to_owned(), read(written))
        }
        5..=7 => Node::Items(
            (0..rng.u8(0..4))
                .map(|_| grow(rng, depth - 1, flow, anchors))
                .collect(),
        ),
        _ => {
            let mut members: Vec<(String, Place)> = Vec::new();
            for _ in 0..rng.u8(0..5) {
                let key = rng.choice(KEYS).unwrap();
                if members.iter().all(|(other, _)| other != key) {
                    members.push((key.to_owned(), grow(rng, depth - 1, flow, anchors)));
                }
            }
            Node::Members(members)
        }
    };
    if rng.u8(0..10) == 0 {
        let name = format!("x{}", anchors.len());
        anchors.push(name.clone());
        anchor = Some(name);
    }
    Place { node, anchor, flow }
}

impl Place {
    fn empty(&self) -> bool {
        match &self.node {
            Node::Items(items) => items.is_empty(),
            Node::Members(members) => members.is_empty(),
            _ => false,
        }
    }

    /// The value, aliases followed in the order of the text.
    fn resolve(&self, anchors: &mut HashMap<String, Value>) -> Value {
        let value = match &self.node {
            Node::Scalar(_, value) => value.clone(),
            Node::Alias(name) => anchors[name].clone(),
            Node::Items(items) => items.iter().map(|item| item.resolve(anchors)).collect(),
            Node::Members(members) => members
                .iter()
                .map(|(key, place)| (key_text(key), place.resolve(anchors)))
                .collect::<Map<_, _>>()
                .into(),
        };
        if let Some(name) = &self.anchor {
            anchors.insert(name.clone(), value.clone());
        }
        value
    }

    /// Whether it holds anchors besides its own.
    fn holds_anchors(&self) -> bool {
        let held = |place: &Self| place.anchor.is_some() || place.holds_anchors();
        match &self.node {
            Node::Items(items) => items.iter().any(held),
            Node::Members(members) => members.iter().any(|(_, place)| held(place)),
            _ => false,
        }
    }

    fn at(&mut self, path: &JsonPath) -> &mut Self {
        path.steps()
            .iter()
            .fold(self, |place, step| match (&mut place.node, step) {
                (Node::Members(members), crate::edit::path::PathStep::Name(name)) => {
                    let found = members.iter_mut().find(|(key, _)| key_text(key) == *name);
                    &mut found.unwrap().1
                }
                (Node::Items(items), crate::edit::path::PathStep::Index(index)) => {
                    &mut items[usize::try_from(*index).unwrap()]
                }
                other => panic!("{other:?}"),
            })
    }
}

impl Writer<'_> {
    fn line(&self) -> usize {
        self.text.matches('\n').count()
    }

    fn chance(&mut self) -> bool {
        self.rng.u8(0..100) < self.comments
    }

    fn end(&mut self) {
        if self.chance() {
            self.text.push_str("  # c: c");
        }
        self.text.push('\n');
    }

    fn between(&mut self, indent: usize) {
        if self.chance() {
            self.text.push_str(&" ".repeat(indent));
            self.text.push_str("# - comment: \"c\n");
        }
        if self.rng.u8(0..15) == 0 {
            self.text.push('\n');
        }
    }

    fn note(&mut self, path: String, first: usize, last: usize) {
        let lines = first..=last;
        self.spots.push(Spot { path, lines });
    }

    fn flow(&mut self, place: &Place, path: &str) {
        let first = self.line();
        if let Some(anchor) = &place.anchor {
            write!(self.text, "&{anchor} ").unwrap();
        }
        let (brackets, items): (_, Vec<(String, Option<&str>, &Place)>) = match &place.node {
            Node::Scalar(written, _) => {
                self.text.push_str(written);
                return self.note(path.to_owned(), first, self.line());
            }
            Node::Alias(name) => {
                write!(self.text, "*{name} ").unwrap();
                return self.note(path.to_owned(), first, self.line());
            }
            Node::Items(items) => (
                ['[', ']'],
                items
                    .iter()
                    .enumerate()
                    .map(|(index, item)| (format!("[{index}]"), None, item))
                    .collect(),
            ),
            Node::Members(members) => (
                ['{', '}'],
                members
                    .iter()
                    .map(|(key, place)| (step(&key_text(key)), Some(key.as_str()), place))
                    .collect(),
            ),
        };
        let padding = if self.rng.u8(0..4) == 0 { " " } else { "" };
        self.text.push(brackets[0]);
        self.text.push_str(padding);
        for (index, (step, key, place)) in items.into_iter().enumerate() {
            if index > 0 {
                self.text.push_str(", ");
            }
            if let Some(key) = key {
                self.text.push_str(key);
                self.text.push_str(": ");
            }
            self.flow(place, &format!("{path}{step}"));
        }
        self.text.push_str(padding);
        self.text.push(brackets[1]);
        self.note(path.to_owned(), first, self.line());
    }

    /// What follows `key:` or `-`, up to the end of the line.
    fn value(&mut self, place: &Place, path: &str, indent: usize) {
        let first = self.line();
        let collection = matches!(place.node, Node::Items(_) | Node::Members(_));
        if let Node::Scalar(header, _) = &place.node
            && header.starts_with(['|', '>'])
        {
            let anchor = place.anchor.as_ref().map(|name| format!("&{name} "));
            let pad = " ".repeat(indent + self.unit);
            write!(
                self.text,
                " {}{header}\n{pad}one\n{pad}  two # no\n",
                anchor.unwrap_or_default()
            )
            .unwrap();
            return self.note(path.to_owned(), first, self.line() - 1);
        }
        if !collection || place.flow || place.empty() {
            self.text.push(' ');
            self.flow(place, path);
            return self.end();
        }
        if let Some(anchor) = &place.anchor {
            write!(self.text, " &{anchor}").unwrap();
        }
        self.end();
        let deeper = match place.node {
            Node::Items(_) if path != "$" && !path.ends_with("]]") && self.rng.bool() => indent,
            _ => indent + self.unit,
        };
        self.block(place, path, deeper, first);
    }

    fn block(&mut self, place: &Place, path: &str, indent: usize, first: usize) {
        let pad = " ".repeat(indent);
        let mut last = first;
        match &place.node {
            Node::Members(members) => {
                for (key, place) in members {
                    self.between(indent);
                    write!(self.text, "{pad}{key}:").unwrap();
                    self.value(place, &format!("{path}{}", step(&key_text(key))), indent);
                    last = self.line() - 1;
                }
            }
            Node::Items(items) => {
                for (index, place) in items.iter().enumerate() {
                    self.between(indent);
                    write!(self.text, "{pad}-").unwrap();
                    self.value(place, &format!("{path}[{index}]"), indent + 1);
                    last = self.line() - 1;
                }
            }
            _ => {}
        }
        self.note(path.to_owned(), first, last);
    }
}

fn write(rng: &mut Rng, root: &Place) -> (String, Vec<Spot>) {
    let comments = rng.choice([0, 20]).unwrap();
    let unit = rng.choice([2, 2, 4, 3]).unwrap();
    let mut writer = Writer {
        rng,
        text: String::new(),
        spots: Vec::new(),
        unit,
        comments,
    };
    if writer.rng.u8(0..5) == 0 {
        writer.text.push_str("# head\n---\n");
    }
    let first = writer.line();
    if root.flow || root.empty() {
        writer.flow(root, "$");
        writer.end();
    } else {
        writer.block(root, "$", 0, first);
    }
    if writer.chance() {
        writer.text.push_str("# foot\n");
    }
    let (mut text, spots) = (writer.text, writer.spots);
    match rng.u8(0..8) {
        0 | 1 => text = text.replace('\n', "\r\n"),
        2 => {
            let lines: Vec<_> = text.split_inclusive('\n').collect();
            text = lines
                .into_iter()
                .map(|line| {
                    if rng.bool() {
                        line.replace('\n', "\r\n")
                    } else {
                        line.to_owned()
                    }
                })
                .collect();
        }
        // Not where the last line end is part of a value.
        3 if !text.trim_end().ends_with("# no") => {
            text.truncate(text.trim_end_matches('\n').len());
        }
        _ => {}
    }
    if rng.u8(0..6) == 0 {
        text.insert(0, '\u{FEFF}');
    }
    (text, spots)
}

/// A document of the kind that can be edited, as it is meant once read.
/// A random document, and edits of its places as they were.
pub(super) fn several(rng: &mut Rng) -> (String, Vec<Edit>) {
    let root = generate(rng);
    let (text, spots) = write(rng, &root);
    let count = rng.usize(2..8);
    let edit = |rng: &mut Rng| {
        let target = path(&rng.choice(&spots).unwrap().path);
        let new = format!("new {}", rng.choice(json_random::WORDS).unwrap());
        let path = if rng.bool() {
            target.child(&new)
        } else {
            target
        };
        yaml_update_at(path, None, any(rng, 2))
    };
    let edits = (0..count).map(|_| edit(rng)).collect();
    (text, edits)
}

fn generate(rng: &mut Rng) -> Place {
    loop {
        let mut root = grow(rng, 4, false, &mut Vec::new());
        root.anchor = None;
        root.flow = rng.u8(0..8) == 0 && root.flow;
        if matches!(root.node, Node::Items(_) | Node::Members(_)) {
            return root;
        }
    }
}
