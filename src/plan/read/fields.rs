//! Strict reading of one object: every known key has its type, what is missing is told, what is unknown
//! is noted, and what looks like a slip of the pen is refused.

use serde_json::{Map, Value};

use super::{findings::Findings, synonyms};

/// An object of the plan and where it is. Operations have two layers: the object and its `details`
/// (C-18).
pub(super) struct Fields<'a> {
    layers: Vec<Layer<'a>>,
    /// The keys that were asked for: all that are known.
    known: Vec<&'static str>,
}

struct Layer<'a> {
    place: String,
    map: &'a Map<String, Value>,
}

/// As like as this, an unknown key is taken for a misspelt known one.
const LIKE: f64 = 0.8;

/// Characters of a key that is compared with known ones.
const LONGEST: usize = 40;

impl<'a> Fields<'a> {
    /// The fields of a value, which must be an object.
    pub(super) fn of(place: &str, value: &'a Value, findings: &mut Findings) -> Option<Self> {
        let Value::Object(map) = value else {
            findings.wrong(place, "an object", value);
            return None;
        };
        Some(Self {
            layers: vec![Layer {
                place: place.to_owned(),
                map,
            }],
            known: Vec::new(),
        })
    }

    /// Takes the keys of an inner object as if they were written beside it. A key may be in both only
    /// with one and the same value (C-18).
    pub(super) fn with_inner(mut self, key: &'static str, findings: &mut Findings) -> Self {
        let Some((place, inner)) = self.get(key) else {
            return self;
        };
        let Value::Object(map) = inner else {
            findings.wrong(&place, "an object", inner);
            return self;
        };
        for (name, value) in map {
            let outer = self.layers.first().and_then(|layer| layer.map.get(name));
            if outer.is_some_and(|outer| outer != value) {
                let (outer, inner) = (self.place(name), format!("{place}.{name}"));
                findings.invalid(format!(
                    "`{}` and `{}` are given with different values; give it once",
                    printable(&outer),
                    printable(&inner)
                ));
            }
        }
        self.layers.push(Layer { place, map });
        self
    }

    /// Where a key is or would be: `action_plan[2].operation.pattern`.
    pub(super) fn place(&self, key: &str) -> String {
        let holder = self
            .layers
            .iter()
            .find(|layer| layer.map.contains_key(key))
            .or(self.layers.first());
        match holder {
            Some(layer) if !layer.place.is_empty() => format!("{}.{key}", layer.place),
            _ => key.to_owned(),
        }
    }

    /// A value of any type, with its place.
    pub(super) fn get(&mut self, key: &'static str) -> Option<(String, &'a Value)> {
        self.known.push(key);
        let value = self.layers.iter().find_map(|layer| layer.map.get(key))?;
        Some((self.place(key), value))
    }

    /// A value that must be there.
    pub(super) fn need(
        &mut self,
        key: &'static str,
        meaning: &str,
        findings: &mut Findings,
    ) -> Option<(String, &'a Value)> {
        let found = self.get(key);
        if found.is_none() {
            findings.invalid(format!("`{}` is missing: {meaning}", self.place(key)));
        }
        found
    }

    pub(super) fn need_text(
        &mut self,
        key: &'static str,
        meaning: &str,
        findings: &mut Findings,
    ) -> Option<&'a str> {
        let (place, value) = self.need(key, meaning, findings)?;
        text(&place, value, findings)
    }

    pub(super) fn need_whole(
        &mut self,
        key: &'static str,
        meaning: &str,
        findings: &mut Findings,
    ) -> Option<u64> {
        let (place, value) = self.need(key, meaning, findings)?;
        whole(&place, value, findings)
    }

    pub(super) fn text(&mut self, key: &'static str, findings: &mut Findings) -> Option<&'a str> {
        let (place, value) = self.get(key)?;
        text(&place, value, findings)
    }

    pub(super) fn flag(&mut self, key: &'static str, findings: &mut Findings) -> Option<bool> {
        let (place, value) = self.get(key)?;
        if value.as_bool().is_none() {
            findings.wrong(&place, "true or false", value);
        }
        value.as_bool()
    }

    /// A whole number from 1 on.
    pub(super) fn whole(&mut self, key: &'static str, findings: &mut Findings) -> Option<u64> {
        let (place, value) = self.get(key)?;
        whole(&place, value, findings)
    }

    pub(super) fn list(
        &mut self,
        key: &'static str,
        findings: &mut Findings,
    ) -> Option<(String, &'a [Value])> {
        let (place, value) = self.get(key)?;
        let Value::Array(items) = value else {
            findings.wrong(&place, "an array", value);
            return None;
        };
        Some((place, items))
    }

    /// A list of texts; those that are none are told and left out.
    pub(super) fn texts(
        &mut self,
        key: &'static str,
        findings: &mut Findings,
    ) -> Option<Vec<&'a str>> {
        let (place, items) = self.list(key, findings)?;
        let mut texts = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            texts.extend(text(&format!("{place}[{at}]"), item, findings));
        }
        Some(texts)
    }

    /// An inner object.
    pub(super) fn inner(&mut self, key: &'static str, findings: &mut Findings) -> Option<Self> {
        let (place, value) = self.get(key)?;
        Self::of(&place, value, findings)
    }

    /// One of a closed list of words.
    pub(super) fn word<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&str, T)],
        findings: &mut Findings,
    ) -> Option<T> {
        let place = self.place(key);
        let text = self.text(key, findings)?;
        let found = words.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let words = listed(words.iter().map(|(word, _)| *word));
            findings.invalid(format!("`{place}` is {}; known are {words}", quoted(text)));
        }
        found.map(|(_, meaning)| *meaning)
    }

    /// Keys whose type is checked and which have no effect.
    pub(super) fn descriptive(&mut self, keys: &[(&'static str, Shape)], findings: &mut Findings) {
        for (key, shape) in keys {
            let Some((place, value)) = self.get(key) else {
                continue;
            };
            let (fits, expected) = match shape {
                Shape::Text => (value.is_string(), "a text"),
                Shape::Number => (value.is_number(), "a number"),
                Shape::List => (value.is_array(), "an array"),
                Shape::Object => (value.is_object(), "an object"),
            };
            if !fits {
                findings.wrong(&place, expected, value);
            }
        }
    }

    /// Tells of the keys that are not known.
    pub(super) fn finish(self, findings: &mut Findings) {
        for layer in &self.layers {
            for key in layer.map.keys() {
                if self.known.contains(&key.as_str()) {
                    continue;
                }
                let place = printable(&self.place(key));
                match self.meant(key) {
                    Some(meant) => {
                        findings.invalid(format!("`{place}` is unknown; did you mean `{meant}`?"));
                    }
                    None => findings.stranger(&place),
                }
            }
        }
    }

    /// The known key that this one was meant for: by a name in use, or else the one it is most like.
    fn meant(&self, key: &str) -> Option<&'static str> {
        if key.chars().nth(LONGEST).is_some() {
            return None;
        }
        let like =
            |known: &&'static str| (strsim::normalized_damerau_levenshtein(key, known), *known);
        synonyms::meant(key, &self.known).or_else(|| {
            let near = self.known.iter().map(like);
            let near = near.filter(|(likeness, _)| *likeness >= LIKE);
            near.max_by(|a, b| a.0.total_cmp(&b.0))
                .map(|(_, known)| known)
        })
    }
}

/// The type of a key that has no effect.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    Text,
    Number,
    List,
    Object,
}

/// A text.
pub(super) fn text<'a>(place: &str, value: &'a Value, findings: &mut Findings) -> Option<&'a str> {
    if !value.is_string() {
        findings.wrong(place, "a text", value);
    }
    value.as_str()
}

/// A whole number from 1 on.
fn whole(place: &str, value: &Value, findings: &mut Findings) -> Option<u64> {
    let number = value.as_u64().filter(|number| *number >= 1);
    if number.is_none() {
        findings.wrong(place, "a whole number from 1 on", value);
    }
    number
}

/// `a`, `b`, `c`
pub(super) fn listed<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.map(|word| format!("`{word}`")).collect();
    words.join(", ")
}

/// A word of the plan in a message, in quotes.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", printable(text))
}

/// The beginning of a text of the plan, what cannot be printed escaped.
fn printable(text: &str) -> String {
    const LONGEST: usize = 100;
    let short: String = text.chars().take(LONGEST).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("{}{more}", short.escape_debug())
}
