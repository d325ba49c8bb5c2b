//! Reads one object of a plan: a wrong type or a missing key is a problem, an unknown key is noted, and an unknown key
//! that looks like a typing error is refused.

use serde_json::Value;

use crate::task::{Failure, Fault, Found, RelPath, alike, named, quoted};

use super::{findings::Findings, synonyms};

/// From this likeness on, an unknown key is a known key with typing errors.
const LIKE: f64 = 0.8;

/// The longest key that is compared, in characters.
const LONGEST: usize = 40;

/// An object of the plan. Operations have two layers: the object and its `details` (C-18). If a method returns `None`,
/// the findings contain the reason.
pub(super) struct Fields<'a> {
    layers: Vec<Found<'a>>,
    /// The keys that were asked for. These are all known keys.
    known: Vec<&'static str>,
    pub(super) findings: Findings<'a>,
}

impl<'a> Fields<'a> {
    pub(super) fn of(found: &Found<'a>, findings: Findings<'a>) -> Option<Self> {
        findings.good(found.object())?;
        Some(Self {
            layers: vec![found.clone()],
            known: Vec::new(),
            findings,
        })
    }

    /// Takes the keys of an inner object as if they were written beside it. A key may be in both only
    /// with one and the same value (C-18).
    pub(super) fn with_inner(mut self, key: &'static str) -> Self {
        let Some(inner) = self.get(key) else {
            return self;
        };
        for (name, value) in self.findings.good(inner.object()).into_iter().flatten() {
            if self.get_any(name).is_some_and(|outer| outer.value != value) {
                self.findings.invalid(format!(
                    "`{}` and `{}` are given with different values; give it once",
                    self.place(name),
                    inner.place_of(name)
                ));
            }
        }
        self.layers.push(inner);
        self
    }

    fn get_any(&self, key: &str) -> Option<Found<'a>> {
        self.layers.iter().find_map(|layer| layer.get(key))
    }

    /// Where a key is or would be: `action_plan[2].operation.pattern`.
    pub(super) fn place(&self, key: &str) -> String {
        let would_be = || self.layers.first().map(|layer| layer.place_of(key));
        let place = self.get_any(key).map(|found| found.place);
        place.or_else(would_be).unwrap_or_default()
    }

    pub(super) fn get(&mut self, key: &'static str) -> Option<Found<'a>> {
        self.known.push(key);
        self.get_any(key)
    }

    /// Reads the value of a key that may be absent.
    pub(super) fn optional<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Found<'a>) -> Result<T, Failure>,
    ) -> Option<T> {
        let found = self.get(key)?;
        self.findings.good(read(&found))
    }

    /// Reads the value of a key that must be present.
    pub(super) fn required<T>(
        &mut self,
        key: &'static str,
        meaning: &str,
        read: impl FnOnce(&Found<'a>) -> Result<T, Failure>,
    ) -> Option<T> {
        if self.get_any(key).is_none() {
            let place = self.place(key);
            self.findings
                .invalid(format!("`{place}` is missing: {meaning}"));
        }
        self.optional(key, read)
    }

    /// The fields of an inner object that may be absent.
    pub(super) fn inner(&mut self, key: &'static str) -> Option<Self> {
        let found = self.get(key)?;
        Self::of(&found, self.findings)
    }

    /// What a flag means: the first if it is false or absent, the second if it is true.
    pub(super) fn choice<T>(&mut self, key: &'static str, [no, yes]: [T; 2]) -> T {
        match self.optional(key, Found::flag) {
            Some(true) => yes,
            Some(false) | None => no,
        }
    }

    /// What a flag means: `off` if it is false, the default if it is true or absent.
    pub(super) fn unless<T: Default>(&mut self, key: &'static str, off: T) -> T {
        match self.optional(key, Found::flag) {
            Some(false) => off,
            Some(true) | None => T::default(),
        }
    }

    /// Keys, in one text, whose type is checked and which have no effect.
    pub(super) fn descriptive(&mut self, keys: &'static str, (fits, wanted): Shape) {
        for key in keys.split(' ') {
            self.optional(key, |found| {
                let good = fits(found.value).then_some(());
                good.ok_or_else(|| found.must_be(wanted))
            });
        }
    }

    pub(super) fn finish(self) {
        for layer in &self.layers {
            let keys = layer.value.as_object().into_iter().flatten();
            let keys = keys.map(|(key, _)| key.as_str());
            for key in keys.filter(|key| !self.known.contains(key)) {
                let place = layer.place_of(key);
                let is_short = key.chars().nth(LONGEST).is_none();
                let alike = || alike(key, LIKE, self.known.iter().copied().filter(|_| is_short));
                match named(key, synonyms::of(&self.known)).or_else(alike) {
                    Some(meant) => self
                        .findings
                        .invalid(format!("`{place}` is unknown; did you mean `{meant}`?")),
                    None => self.findings.stranger(&place),
                }
            }
        }
    }
}

/// What a descriptive key must be, and the words for it.
type Shape = (fn(&Value) -> bool, &'static str);

pub(super) const TEXT: Shape = (Value::is_string, "a text");
pub(super) const NUMBER: Shape = (Value::is_number, "a number");
pub(super) const LIST: Shape = (Value::is_array, "an array");
pub(super) const OBJECT: Shape = (Value::is_object, "an object");

/// A path below the root (R-001-24, R-001-157): `./a//b.txt` is `a/b.txt`.
pub(super) fn path(found: &Found<'_>) -> Result<RelPath, Failure> {
    let path = found.text()?;
    RelPath::parse(&plain(path)).map_err(|problem| {
        let attempt = if leads_out(path) {
            "Path traversal attempt detected: "
        } else {
            ""
        };
        let message = format!("{attempt}`{}` is {}: {problem}", found.place, quoted(path));
        Failure::new(Fault::PathOutside, message)
    })
}

/// The path without the components that lead nowhere, `.` and empty ones. The first component tells an
/// absolute path and the last one a directory: an empty first one stays, and so do `.` and empty last ones.
fn plain(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').collect();
    let last = parts.len() - 1;
    let kept = parts.iter().enumerate().filter(|(at, part)| match **part {
        "" => *at == 0 || *at == last,
        "." => *at == last,
        _ => true,
    });
    kept.map(|(_, part)| *part).collect::<Vec<_>>().join("/")
}

/// Whether a path that was refused would leave the root on this or another operating system.
fn leads_out(path: &str) -> bool {
    let drive = matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    drive || path.starts_with(['/', '\\']) || path.split(['/', '\\']).any(|part| part == "..")
}
