//! 20,000 edits of JSON documents that nobody wrote. Every one is looked at by another reader.

#![expect(
    clippy::print_stdout,
    reason = "how many there were is shown with --nocapture"
)]

use std::{ops::RangeInclusive, sync::LazyLock};

use fastrand::Rng;
use serde_json::{Map, Value};

use super::*;

const EDITS: usize = 20_000;

/// Where a node of a generated document is.
struct Node {
    path: String,
    value: Value,
    lines: RangeInclusive<usize>,
}

struct Generated {
    text: String,
    value: Value,
    nodes: Vec<Node>,
}

struct Generator<'r> {
    rng: &'r mut Rng,
    text: String,
    nodes: Vec<Node>,
    unit: Option<&'static str>,
    colon: &'static str,
    comma: &'static str,
    comments: u8,
    end: &'static str,
}

pub(super) const WORDS: [&str; 16] = [
    "a",
    "b",
    "name",
    "größe",
    "日本",
    "a.b",
    "it's",
    "",
    " ",
    "yes",
    "2024-01-01",
    "x\"y",
    "tab\t",
    "1",
    "#c",
    "😀",
];

pub(super) const NUMBERS: [&str; 9] = [
    "0",
    "-1",
    "1.0",
    "1e400",
    "123456789012345678901234567890",
    "-0",
    "1.50E+3",
    "9007199254740993",
    "0.1",
];

pub(super) fn scalar(rng: &mut Rng) -> Value {
    match rng.u8(0..6) {
        0 => Value::Null,
        1 => Value::Bool(rng.bool()),
        2 | 3 => value(rng.choice(NUMBERS).unwrap()),
        _ => Value::from(rng.choice(WORDS).unwrap()),
    }
}

pub(super) fn any(rng: &mut Rng, depth: u8) -> Value {
    match rng.u8(0..if depth == 0 { 4 } else { 8 }) {
        0..=3 => scalar(rng),
        4 | 5 => (0..rng.u8(0..4)).map(|_| any(rng, depth - 1)).collect(),
        _ => (0..rng.u8(0..4))
            .map(|_| (rng.choice(WORDS).unwrap().to_owned(), any(rng, depth - 1)))
            .collect::<Map<_, _>>()
            .into(),
    }
}

pub(super) fn step(key: &str) -> String {
    let key = serde_json::to_string(key).unwrap();
    format!("[{key}]")
}

fn generate(rng: &mut Rng) -> Generated {
    let value = any(rng, 3);
    let unit = rng
        .choice([None, Some("  "), Some("    "), Some("\t"), Some("")])
        .unwrap();
    let (colon, comma) = rng
        .choice([(": ", ", "), (":", ","), (" : ", " , ")])
        .unwrap();
    let mut generator = Generator {
        unit,
        colon,
        comma,
        comments: rng.choice([0, 0, 30]).unwrap(),
        end: rng.choice(["\n", "\n", "\r\n"]).unwrap(),
        rng,
        text: String::new(),
        nodes: Vec::new(),
    };
    generator.node(&value, "$".to_owned(), 0);
    let (mut text, nodes) = (generator.text, generator.nodes);
    if rng.bool() {
        text.push('\n');
    }
    if rng.u8(0..5) == 0 {
        text.insert(0, '\u{FEFF}');
    }
    Generated { text, value, nodes }
}

impl Generator<'_> {
    fn line(&self) -> usize {
        self.text.matches('\n').count()
    }

    fn comment(&mut self) {
        if self.rng.u8(0..100) < self.comments {
            self.text.push_str(" /*c*/");
        }
        if self.unit.is_some() && self.rng.u8(0..100) < self.comments {
            self.text.push_str(" // c");
            self.text.push_str(self.end);
        }
    }

    fn newline(&mut self, depth: usize) {
        if let Some(unit) = self.unit {
            if self.rng.u8(0..100) < self.comments {
                self.text.push_str(" // c");
            }
            self.text.push_str(self.end);
            self.text.push_str(&unit.repeat(depth));
        }
    }

    fn node(&mut self, value: &Value, path: String, depth: usize) {
        let first = self.line();
        let items: Vec<(String, Option<&str>, &Value)> = match value {
            Value::Object(members) => members
                .iter()
                .map(|(key, value)| (step(key), Some(key.as_str()), value))
                .collect(),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .map(|(index, item)| (format!("[{index}]"), None, item))
                .collect(),
            scalar => {
                self.text.push_str(&scalar.to_string());
                self.note(path, value, first);
                return;
            }
        };
        let (open, close) = match value {
            Value::Object(_) => ('{', '}'),
            _ => ('[', ']'),
        };
        self.text.push(open);
        let count = items.len();
        // Some collections of a document with lines are on one line all the same.
        let unit = self.unit;
        if self.rng.u8(0..4) == 0 {
            self.unit = None;
        }
        for (index, (step, key, item)) in items.into_iter().enumerate() {
            self.newline(depth + 1);
            if let Some(key) = key {
                self.text.push_str(&serde_json::to_string(key).unwrap());
                self.text.push_str(self.colon);
            }
            self.node(item, format!("{path}{step}"), depth + 1);
            self.comment();
            if index + 1 < count {
                self.text.push_str(match self.unit {
                    Some(_) => ",",
                    None => self.comma,
                });
            } else if self.rng.u8(0..100) < self.comments {
                self.text.push(',');
            }
        }
        if count > 0 {
            self.newline(depth);
        } else {
            self.comment();
        }
        self.unit = unit;
        self.text.push(close);
        self.note(path, value, first);
    }

    fn note(&mut self, path: String, value: &Value, first: usize) {
        let value = value.clone();
        let lines = first..=self.line();
        self.nodes.push(Node { path, value, lines });
    }
}

/// Another reader of what is generated here, whose strings hold nothing like a comment or `,]`.
fn read(text: &str) -> Value {
    static COMMAS: LazyLock<regex::Regex> =
        LazyLock::new(|| regex::Regex::new(r",(\s*[\]}])").unwrap());
    let text = text
        .trim_start_matches('\u{FEFF}')
        .replace("/*c*/", "")
        .replace("// c", "");
    serde_json::from_str(&COMMAS.replace_all(&text, "$1"))
        .unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The lines of the first text that are not in the second: from, and to exclusively.
pub(super) fn changed(before: &str, after: &str) -> (usize, usize) {
    let before: Vec<_> = before.split_inclusive('\n').collect();
    let after: Vec<_> = after.split_inclusive('\n').collect();
    let first = before
        .iter()
        .zip(&after)
        .take_while(|(a, b)| a == b)
        .count();
    let rest = before.len().min(after.len()) - first;
    let pairs = before.iter().rev().zip(after.iter().rev()).take(rest);
    let last = pairs.take_while(|(a, b)| a == b).count();
    (first, before.len() - last)
}

fn at<'v>(value: &'v mut Value, path: &str) -> &'v mut Value {
    let pointer = JsonPath::parse(path).unwrap();
    pointer
        .steps()
        .iter()
        .fold(value, |value, step| match step {
            crate::edit::path::PathStep::Name(name) => &mut value[name],
            crate::edit::path::PathStep::Index(index) => {
                let length = value.as_array().unwrap().len();
                &mut value[crate::edit::path::item(*index, length).unwrap()]
            }
        })
}

/// A random edit, what it makes of the value, and the lines it may touch.
fn random_edit(rng: &mut Rng, document: &Generated) -> (Edit, Value, RangeInclusive<usize>) {
    let node = rng.choice(&document.nodes).unwrap();
    let mut expected = document.value.clone();
    let slot = at(&mut expected, &node.path);
    let new = any(rng, 2);
    let lines = node.lines.clone();
    let change = match (&node.value, rng.u8(0..3)) {
        (Value::Object(members), 0) => {
            let key = format!("new {} {}", members.len(), rng.choice(WORDS).unwrap());
            slot.as_object_mut()
                .unwrap()
                .insert(key.clone(), new.clone());
            json(&node.path, JsonEdit::Add { key, value: new })
        }
        (Value::Object(members), 1) if !members.is_empty() => {
            let key = rng.choice(members.keys()).unwrap();
            slot.as_object_mut().unwrap().shift_remove(key);
            remove(&node.path, key)
        }
        (Value::Array(items), 0 | 1) if !items.is_empty() => {
            let index = rng.usize(0..items.len());
            slot.as_array_mut().unwrap().remove(index);
            remove(&node.path, &index.to_string())
        }
        _ => {
            *slot = new.clone();
            json(&node.path, JsonEdit::Update { value: new })
        }
    };
    (change, expected, lines)
}

/// The places of a value, some of them counted from the end.
fn places(rng: &mut Rng, value: &Value, path: String, found: &mut Vec<Node>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(key, it)| (step(key), it)).collect(),
        Value::Array(items) => {
            let step = |(index, item)| match rng.u8(0..4) {
                0 => (format!("[-{}]", items.len() - index), item),
                _ => (format!("[{index}]"), item),
            };
            items.iter().enumerate().map(step).collect()
        }
        _ => Vec::new(),
    };
    for (step, inner) in inner {
        places(rng, inner, format!("{path}{step}"), found);
    }
    found.push(Node {
        path,
        value: value.clone(),
        lines: 0..=0,
    });
}

/// A random document, and edits of its places as the edits before have left them. Some are edits of places as they
/// were at first.
pub(super) fn several(rng: &mut Rng) -> (String, Vec<Edit>) {
    let document = generate(rng);
    let mut now = document.value.clone();
    let count = rng.usize(2..12);
    let edits = (0..count).map(|_| {
        if rng.u8(0..6) == 0 {
            return random_edit(rng, &document).0;
        }
        let mut nodes = Vec::new();
        places(rng, &now, "$".to_owned(), &mut nodes);
        // Most edits of the whole document would leave nothing of it.
        if nodes.len() > 1 {
            nodes.pop();
        }
        let (text, value) = (String::new(), now.clone());
        let (change, after, _) = random_edit(rng, &Generated { text, value, nodes });
        now = after;
        change
    });
    let edits = edits.collect();
    (document.text, edits)
}

#[test]
fn twenty_thousand_random_edits_make_what_was_meant_and_touch_nothing_else() {
    let mut rng = Rng::with_seed(4);
    let (mut refused, mut longest) = (0, 0);
    for number in 0..EDITS {
        let document = generate(&mut rng);
        let before = &document.text;
        assert_eq!(
            read(before),
            document.value,
            "the generator is wrong: {before}"
        );
        let (change, expected, lines) = random_edit(&mut rng, &document);
        match edit(&change, &name("a.json"), before.as_bytes()) {
            Ok(edited) => {
                let after = text(edited);
                let is = read(&after);
                assert_eq!(
                    is.to_string(),
                    expected.to_string(),
                    "{number}: {change:?}\n{before}\n{after}"
                );
                let (first, last) = changed(before, &after);
                assert!(
                    *before == after || (first >= *lines.start() && last <= lines.end() + 1),
                    "{number}: {change:?} changed lines {first}..{last}, not {lines:?}\n{before}\n{after}"
                );
                longest = longest.max(before.len());
            }
            Err(EditError::Refused(_)) => refused += 1,
            Err(error) => panic!("{number}: {change:?}: {error}\n{before}"),
        }
    }
    println!("{EDITS} JSON edits, {refused} refused, documents of up to {longest} bytes");
    assert_eq!(refused, 0);
}
