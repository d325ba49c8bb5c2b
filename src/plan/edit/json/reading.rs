//! Reads a JSON text strictly (`serde_json`), and hashes its meaning, also with changes. So large documents can be
//! compared without a tree in memory.

use std::{collections::BTreeMap, fmt};

use camino::Utf8Path;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Deserializer, Map, Value, de::Read};

use super::JsonEdit;
use crate::{
    plan::edit::{
        EditError, Language,
        path::{Step, item},
    },
    task::RelPath,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grammar {
    Strict,
    /// Comments or trailing commas.
    Loose,
}

/// Names of `.json` files that may contain comments and trailing commas for the programs that read them. Longer
/// names such as `tsconfig.build.json` are included.
const WITH_COMMENTS: [&str; 10] = [
    ".devcontainer",
    ".eslintrc",
    "api-extractor",
    "deno",
    "devcontainer",
    "jsconfig",
    "language-configuration",
    "tsconfig",
    "tslint",
    "typedoc",
];

impl Grammar {
    /// The grammar that a JSON file may use, by its name.
    pub(crate) fn of(name: &RelPath) -> Self {
        let file = name.name().to_ascii_lowercase();
        let stem = file.strip_suffix(".json").unwrap_or_default();
        let known = WITH_COMMENTS.iter().any(|known| {
            let more = stem.strip_prefix(known);
            more.is_some_and(|more| more.is_empty() || more.starts_with('.'))
        });
        let settings = name
            .parent()
            .is_some_and(|dir| matches!(dir.name(), ".vscode" | ".devcontainer"));
        let jsonc = Utf8Path::new(&file).extension() == Some("jsonc");
        if jsonc || known || settings {
            Self::Loose
        } else {
            Self::Strict
        }
    }

    /// Whether a text of this grammar may become one of the other.
    pub(super) fn allows(self, other: Self) -> bool {
        self == Self::Loose || other == Self::Strict
    }
}

/// What edits make of a value of a text.
pub(super) enum Change {
    Inside {
        /// By the steps of the text, where items that were removed count.
        parts: BTreeMap<Step, Change>,
        /// The new members of an object, or the new items of an array.
        added: Value,
    },
    /// Another value, or none.
    Instead(Option<Value>),
}

impl Default for Change {
    fn default() -> Self {
        Self::Inside {
            parts: BTreeMap::new(),
            added: Map::new().into(),
        }
    }
}

impl Change {
    /// Makes an edit after those before it. The path leads to the object that gets a member, or to the value that is
    /// removed or updated. The place exists, and the path has no index from the end.
    pub(super) fn make(&mut self, path: &[Step], edit: &JsonEdit) {
        match (path, edit, self) {
            ([], JsonEdit::Update { value }, all) => *all = Self::Instead(Some(value.clone())),
            ([], JsonEdit::Remove { .. }, all) => *all = Self::Instead(None),
            // No edit follows it, so its item is the only one.
            ([], JsonEdit::Append { value }, Self::Inside { added, .. }) => {
                *added = vec![value.clone()].into();
            }
            (_, _, Self::Instead(Some(value))) => alter(value, path, edit),
            (_, _, Self::Instead(None)) => {}
            ([], JsonEdit::Add { .. }, Self::Inside { added, .. }) => alter(added, path, edit),
            ([Step::Name(name), ..], _, Self::Inside { added, .. })
                if added.get(name).is_some() =>
            {
                alter(added, path, edit);
            }
            ([step, rest @ ..], _, Self::Inside { parts, .. }) => {
                let mut step = step.clone();
                for (part, change) in parts.iter() {
                    if let (Step::Index(index), Step::Index(removed), Self::Instead(None)) =
                        (&mut step, part, change)
                        && *removed <= *index
                    {
                        *index += 1;
                    }
                }
                parts.entry(step).or_default().make(rest, edit);
            }
        }
    }
}

/// Makes an edit in a value.
fn alter(value: &mut Value, path: &[Step], edit: &JsonEdit) {
    match (path, edit, value) {
        ([], JsonEdit::Update { value: new }, value) => value.clone_from(new),
        ([], JsonEdit::Add { key, value: new }, Value::Object(members)) => {
            members.insert(key.clone(), new.clone());
        }
        ([Step::Name(name)], JsonEdit::Remove { .. }, Value::Object(members)) => {
            members.shift_remove(name);
        }
        ([Step::Index(index)], JsonEdit::Remove { .. }, Value::Array(items)) => {
            if let Some(index) = item(*index, items.len()) {
                items.remove(index);
            }
        }
        ([step, rest @ ..], _, value) => {
            let inner = match (step, value) {
                (Step::Name(name), Value::Object(members)) => members.get_mut(name),
                (Step::Index(index), Value::Array(items)) => {
                    item(*index, items.len()).and_then(|index| items.get_mut(index))
                }
                _ => None,
            };
            if let Some(inner) = inner {
                alter(inner, rest, edit);
            }
        }
        // The place does not exist.
        _ => {}
    }
}

/// The meaning of a document: a hash over its values in their order, with numbers by their text.
pub(super) type Meaning = blake3::Hash;

/// The meaning of the text, and the grammar that it uses.
pub(super) fn read(body: &str) -> Result<(Meaning, Grammar), EditError> {
    read_with(body, None)
}

/// The meaning of the text with a change, and the grammar that the text uses.
pub(super) fn read_with(
    body: &str,
    change: Option<&Change>,
) -> Result<(Meaning, Grammar), EditError> {
    if let Ok(said) = said(Deserializer::from_str(body), change) {
        return Ok((said, Grammar::Strict));
    }
    let blanked = without_comments(body);
    match said(Deserializer::from_slice(&blanked), change) {
        Ok(said) => Ok((said, Grammar::Loose)),
        Err(error) => Err(broken(body, &error)),
    }
}

pub(super) fn value(body: &str) -> Result<Value, EditError> {
    serde_json::from_str(body).or_else(|_| {
        let blanked = without_comments(body);
        serde_json::from_slice(&blanked).map_err(|error| broken(body, &error))
    })
}

/// The error for a text with comments or trailing commas where strict JSON is required.
pub(super) fn not_strict(body: &str) -> EditError {
    let read: Result<IgnoredAny, _> = serde_json::from_str(body);
    let (problem, at) = match read {
        Err(error) => told(body, &error),
        Ok(_) => ("comments".to_owned(), 0),
    };
    let problem = format!(
        "{problem} (comments and trailing commas are allowed in .jsonc files and in files whose names are known for them, such as tsconfig.json)"
    );
    Language::Json.invalid(problem, body, at)
}

fn broken(body: &str, error: &serde_json::Error) -> EditError {
    let (problem, at) = told(body, error);
    Language::Json.invalid(problem, body, at)
}

/// The message of the reader, and the byte that it is about.
fn told(body: &str, error: &serde_json::Error) -> (String, usize) {
    let text = error.to_string();
    let problem = text
        .rsplit_once(" at line ")
        .map_or(&*text, |(text, _)| text);
    let line = error.line().saturating_sub(1);
    let start: usize = body.split_inclusive('\n').take(line).map(str::len).sum();
    let at = start + error.column().saturating_sub(1);
    (problem.to_owned(), at)
}

fn said<'de, R: Read<'de>>(
    mut reader: Deserializer<R>,
    change: Option<&Change>,
) -> Result<Meaning, serde_json::Error> {
    let mut hash = Hash::default();
    let node = Node {
        hash: Some(&mut hash),
        change,
    };
    node.deserialize(&mut reader)?;
    reader.end()?;
    Ok(hash.0.finalize())
}

#[derive(Default)]
struct Hash(blake3::Hasher);

impl Hash {
    fn mark(&mut self, mark: u8) {
        self.0.update(&[mark]);
    }

    fn text(&mut self, mark: u8, text: &str) {
        self.mark(mark);
        self.0.update(&(text.len() as u64).to_le_bytes());
        self.0.update(text.as_bytes());
    }

    fn value(&mut self, value: &Value) {
        let node = Node {
            hash: Some(self),
            change: None,
        };
        // It is JSON: it was read as such, and is written by the same library.
        let _ = node.deserialize(&mut Deserializer::from_str(&value.to_string()));
    }
}

/// A value that is about to be read.
struct Node<'s, 'c> {
    /// The hash of the meaning; `None` in a value that is removed or replaced.
    hash: Option<&'s mut Hash>,
    change: Option<&'c Change>,
}

impl<'c> Node<'_, 'c> {
    /// A child of it, which is reached by this step.
    fn child(&mut self, step: impl FnOnce() -> Step) -> Node<'_, 'c> {
        let change = match self.change {
            Some(Change::Inside { parts, .. }) => parts.get(&step()),
            _ => None,
        };
        let is_removed = matches!(change, Some(Change::Instead(None)));
        Node {
            hash: self.hash.as_deref_mut().filter(|_| !is_removed),
            change,
        }
    }

    fn say(&mut self, say: impl FnOnce(&mut Hash)) {
        if let Some(hash) = &mut self.hash {
            say(hash);
        }
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(mut self, reader: D) -> Result<(), D::Error> {
        if let Some(Change::Instead(value)) = self.change
            && let (Some(hash), Some(value)) = (self.hash.take(), value)
        {
            hash.value(value);
        }
        reader.deserialize_any(self)
    }
}

/// The key with which `serde_json` passes the text of a number that is not a plain integer.
const NUMBER: &str = "$serde_json::private::Number";

impl<'de> Visitor<'de> for Node<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(mut self) -> Result<(), E> {
        self.say(|hash| hash.mark(b'0'));
        Ok(())
    }

    fn visit_bool<E>(mut self, value: bool) -> Result<(), E> {
        self.say(|hash| hash.mark(if value { b't' } else { b'f' }));
        Ok(())
    }

    fn visit_u64<E>(mut self, number: u64) -> Result<(), E> {
        self.say(|hash| hash.text(b'n', &number.to_string()));
        Ok(())
    }

    fn visit_i64<E>(mut self, number: i64) -> Result<(), E> {
        self.say(|hash| hash.text(b'n', &number.to_string()));
        Ok(())
    }

    fn visit_str<E>(mut self, text: &str) -> Result<(), E> {
        self.say(|hash| hash.text(b's', text));
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        self.say(|hash| hash.mark(b'['));
        for index in 0_i64.. {
            let item = self.child(|| Step::Index(index));
            if items.next_element_seed(item)?.is_none() {
                break;
            }
        }
        if let Some(Change::Inside { added, .. }) = self.change {
            for value in added.as_array().into_iter().flatten() {
                self.say(|hash| hash.value(value));
            }
        }
        self.say(|hash| hash.mark(b']'));
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        let mut key: Option<String> = members.next_key()?;
        if key.as_deref() == Some(NUMBER) {
            let number = members.next_value::<String>()?;
            self.say(|hash| hash.text(b'n', &number));
            return Ok(());
        }
        self.say(|hash| hash.mark(b'{'));
        while let Some(name) = key {
            let mut member = self.child(|| Step::Name(name.clone()));
            member.say(|hash| hash.text(b'k', &name));
            members.next_value_seed(member)?;
            key = members.next_key()?;
        }
        if let Some(Change::Inside { added, .. }) = self.change {
            for (key, value) in added.as_object().into_iter().flatten() {
                self.say(|hash| {
                    hash.text(b'k', key);
                    hash.value(value);
                });
            }
        }
        self.say(|hash| hash.mark(b'}'));
        Ok(())
    }
}

/// The text with blanks in place of comments and trailing commas; every other byte is where it was.
fn without_comments(body: &str) -> Vec<u8> {
    let mut bytes = body.as_bytes().to_vec();
    // The last comma outside strings, if only blanks have followed it.
    let mut comma = None;
    // A comma directly after an opening bracket is not a trailing comma.
    let mut opened = false;
    let mut at = 0;
    while let Some(byte) = bytes.get(at).copied() {
        let rest = bytes.get(at..).unwrap_or_default();
        match byte {
            b'"' => {
                (comma, opened) = (None, false);
                at += string_length(rest);
                continue;
            }
            b'/' => {
                let length = comment_length(rest);
                for byte in bytes.iter_mut().skip(at).take(length) {
                    if !matches!(byte, b'\n' | b'\r') {
                        *byte = b' ';
                    }
                }
                at += length.max(1);
                continue;
            }
            b',' => {
                comma = (!opened).then_some(at);
                opened = false;
            }
            b'}' | b']' => {
                if let Some(byte) = comma.take().and_then(|at: usize| bytes.get_mut(at)) {
                    *byte = b' ';
                }
                opened = false;
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => (comma, opened) = (None, matches!(byte, b'{' | b'[')),
        }
        at += 1;
    }
    bytes
}

/// The bytes of the string that starts here, with its quotes.
pub(super) fn string_length(rest: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = rest.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    rest.len()
}

/// The bytes of the comment that starts here, without its line end; 0 if none does. One that does not
/// end goes to the end.
pub(super) fn comment_length(rest: &[u8]) -> usize {
    let ends = |pair: &[u8]| pair == b"*/";
    if rest.starts_with(b"//") {
        let end = rest.iter().position(|byte| *byte == b'\n');
        let line = rest.get(..end.unwrap_or(rest.len())).unwrap_or(rest);
        line.strip_suffix(b"\r").unwrap_or(line).len()
    } else if rest.starts_with(b"/*") {
        let inside = rest.get(2..).unwrap_or_default();
        inside
            .windows(2)
            .position(ends)
            .map_or(rest.len(), |length| length + 4)
    } else {
        0
    }
}
