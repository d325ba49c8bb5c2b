//! Which JSON a file may contain, and the strict reader (`serde_json`) that decides whether it is JSON at all.

use std::{fmt, ops::Range};

use camino::Utf8Path;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::{
    edit::{EditError, Language},
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

/// Reads a text strictly. In place of its `loose` parts, which are comments and trailing commas, there are blanks.
pub(super) fn read<T: DeserializeOwned>(
    body: &str,
    loose: &[Range<usize>],
) -> Result<T, EditError> {
    let read = if loose.is_empty() {
        serde_json::from_str(body)
    } else {
        let mut bytes = body.as_bytes().to_vec();
        for part in loose {
            let part = bytes.get_mut(part.clone()).unwrap_or_default().iter_mut();
            part.filter(|byte| !matches!(byte, b'\n' | b'\r'))
                .for_each(|byte| *byte = b' ');
        }
        serde_json::from_slice(&bytes)
    };
    read.map_err(|error| {
        let (problem, at) = told(body, &error);
        Language::Json.invalid(problem, body, at)
    })
}

/// The error for a text with comments or trailing commas where strict JSON is required.
pub(super) fn not_strict(body: &str) -> EditError {
    let read: Result<Anything, _> = serde_json::from_str(body);
    let (problem, at) = match read {
        Err(error) => told(body, &error),
        Ok(_) => ("comments".to_owned(), 0),
    };
    let problem = format!(
        "{problem} (comments and trailing commas are allowed in .jsonc files and in files whose names are known for them, such as tsconfig.json)"
    );
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

/// Any value; nothing of it is kept. `IgnoredAny` accepts any depth, and surrogates that stand alone.
pub(super) struct Anything;

impl<'de> Deserialize<'de> for Anything {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Anything {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self, A::Error> {
        while members.next_entry::<Self, Self>()?.is_some() {}
        Ok(self)
    }
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
