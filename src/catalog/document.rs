//! The catalog file: finds it, parses it and returns its tables one at a time, with lines for errors.

use std::{fs, io, sync::OnceLock, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};
use serde::de::DeserializeOwned;
use toml::{
    Spanned,
    de::{DeTable, ValueDeserializer},
};

use crate::task::{Failure, Fault, duration, unknown_key};

use super::{
    code::{Code, Place, Wrong},
    cut::{CAPABILITY, Lines, Piece, Pieces, TOP, cut},
};

/// Top-level keys that are not built in yet.
const LATER: &[&str] = &["catalog_dir"];

const LARGEST: u64 = 8 << 20;

/// The text of a `catalog.toml`. Its entries are compiled on demand.
#[derive(Debug)]
pub(crate) struct Catalog {
    path: Utf8PathBuf,
    text: String,
    /// The text without the entries, if it can be cut.
    rest: OnceLock<String>,
    lines: Lines,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum CatalogError {
    #[error(
        "there is no catalog at {path}; write one with `oneact import` or `oneact init`, or name one with --catalog"
    )]
    Missing { path: Utf8PathBuf },
    #[error("cannot read the catalog {path}: {source}")]
    Unreadable {
        path: Utf8PathBuf,
        source: io::Error,
    },
    #[error("{path} is not a catalog: a catalog must be a regular file of at most {} MiB", LARGEST >> 20)]
    NoCatalog { path: Utf8PathBuf },
    #[error("{0}")]
    Invalid(Wrong),
}

impl CatalogError {
    /// The same error with the code of its finding.
    pub(super) fn coded(self, as_code: Code) -> Self {
        match self {
            Self::Invalid(wrong) => Self::Invalid(Wrong {
                code: as_code,
                ..wrong
            }),
            other => other,
        }
    }
}

impl From<CatalogError> for Wrong {
    fn from(error: CatalogError) -> Self {
        match error {
            CatalogError::Invalid(wrong) => wrong,
            other => Self {
                code: Code::default(),
                place: None,
                problem: other.to_string(),
            },
        }
    }
}

impl From<CatalogError> for Failure {
    fn from(error: CatalogError) -> Self {
        Self::new(Fault::CatalogInvalid, error.to_string())
    }
}

/// A table `[GROUP.NAME]` of the file, for errors about it.
#[derive(Clone, Copy)]
pub(super) struct Named<'a> {
    pub(super) tables: &'a Tables<'a>,
    /// What [`Self::at`] is a byte of.
    pieces: Pieces<'a>,
    pub(super) group: &'a str,
    pub(super) name: &'a str,
    pub(super) at: usize,
}

impl Named<'_> {
    pub(super) fn wrong(&self, problem: &str) -> CatalogError {
        let problem = format!("{} {} {problem}", self.group, self.name);
        self.tables.catalog.invalid(self.pieces, self.at, problem)
    }

    pub(super) fn wrong_at(&self, at: usize, problem: &str) -> CatalogError {
        let problem = format!("{} {}: {problem}", self.group, self.name);
        self.tables.catalog.invalid(self.pieces, at, problem)
    }

    pub(super) fn duration(&self, text: &Spanned<String>) -> Result<Duration, CatalogError> {
        duration(text.get_ref()).map_err(|problem| self.wrong_at(text.span().start, &problem))
    }

    pub(super) fn place(&self, at: usize) -> Place {
        self.tables.catalog.place(self.pieces.at(at))
    }
}

/// The parsed tables, borrowing the catalog's text.
pub(crate) struct Tables<'a> {
    catalog: &'a Catalog,
    root: DeTable<'a>,
    /// What `root` was parsed from.
    rest: Vec<Piece<'a>>,
    /// The entries that `root` does not contain. Each is parsed when it is read.
    entries: Option<Vec<Piece<'a>>>,
}

impl Catalog {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Reads the file. Its syntax is checked by [`Catalog::tables`].
    pub(crate) fn load(path: &Utf8Path) -> Result<Self, CatalogError> {
        let unreadable = |source| CatalogError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let found = fs::metadata(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => CatalogError::Missing {
                path: path.to_owned(),
            },
            _ => unreadable(source),
        })?;
        // A device has no end, and no real catalog is larger than `LARGEST`.
        if !found.is_file() || found.len() > LARGEST {
            return Err(CatalogError::NoCatalog {
                path: path.to_owned(),
            });
        }
        Self::from_bytes(path, fs::read(path).map_err(unreadable)?)
    }

    /// The catalog in these bytes; `path` only names it in errors.
    pub(crate) fn from_bytes(path: &Utf8Path, bytes: Vec<u8>) -> Result<Self, CatalogError> {
        let path = path.to_owned();
        if !u64::try_from(bytes.len()).is_ok_and(|length| length <= LARGEST) {
            return Err(CatalogError::NoCatalog { path });
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let before = error.as_bytes().get(..error.utf8_error().valid_up_to());
            CatalogError::Invalid(Wrong {
                code: Code::default(),
                place: Some(Place {
                    path: path.clone(),
                    line: Lines::default().of(before.unwrap_or_default(), usize::MAX),
                }),
                problem: "this line is not UTF-8; save the catalog as UTF-8".to_owned(),
            })
        })?;
        Ok(Self {
            path,
            text,
            rest: OnceLock::new(),
            lines: Lines::default(),
        })
    }

    /// A catalog from text; `path` only names it in errors.
    #[cfg(test)]
    pub(crate) fn from_text(text: &str) -> Self {
        Self::from_bytes(Utf8Path::new("catalog.toml"), text.into()).unwrap()
    }

    /// Parses the text, except entries that can be cut out of it, and checks the top-level keys and the format number.
    pub(crate) fn tables(&self) -> Result<Tables<'_>, CatalogError> {
        match self.cut()? {
            Some(tables) => tables.checked(),
            None => self.whole(),
        }
    }

    /// `None` if only a parser can find the entries.
    fn cut(&self) -> Result<Option<Tables<'_>>, CatalogError> {
        let Some(cut) = cut(&self.text) else {
            return Ok(None);
        };
        let text = self.rest.get_or_init(|| Pieces(&cut.rest).text());
        let root = self.parse(text, Pieces(&cut.rest))?;
        // Such a key defines entries without a header.
        Ok((!root.contains_key(CAPABILITY)).then_some(Tables {
            catalog: self,
            root,
            rest: cut.rest,
            entries: Some(cut.entries),
        }))
    }

    pub(super) fn whole(&self) -> Result<Tables<'_>, CatalogError> {
        let rest = vec![Piece::whole(&self.text)];
        let tables = Tables {
            catalog: self,
            root: self.parse(&self.text, Pieces(&rest))?,
            rest,
            entries: None,
        };
        tables.checked()
    }

    fn parse<'t>(&self, text: &'t str, pieces: Pieces<'_>) -> Result<DeTable<'t>, CatalogError> {
        let parsed = DeTable::parse(text).map_err(|error| self.toml_error(pieces, &error));
        Ok(parsed?.into_inner())
    }

    /// The place of that byte of the file, for a person.
    fn place(&self, at: usize) -> Place {
        Place {
            path: self.path.clone(),
            line: self.lines.of(self.text.as_bytes(), at),
        }
    }

    fn invalid(&self, pieces: Pieces<'_>, at: usize, problem: String) -> CatalogError {
        CatalogError::Invalid(Wrong {
            code: Code::default(),
            place: Some(self.place(pieces.at(at))),
            problem,
        })
    }

    fn toml_error(&self, pieces: Pieces<'_>, error: &toml::de::Error) -> CatalogError {
        let at = error.span().map_or(0, |span| span.start);
        let problem = explain(error.message()).unwrap_or_else(str::to_owned);
        self.invalid(pieces, at, problem)
    }
}

/// Reads `1 GB`, `50 MB`, `512 KB` or `100 B`; the units are powers of 1024.
pub(super) fn bytes(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(end)?;
    let factor = match unit.trim_start_matches(' ') {
        "B" => 1,
        "KB" => 1 << 10,
        "MB" => 1 << 20,
        "GB" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

impl Tables<'_> {
    fn checked(self) -> Result<Self, CatalogError> {
        for key in self.root.keys() {
            let name = key.get_ref().as_ref();
            if LATER.contains(&name) {
                return Err(self.invalid(
                    key.span().start,
                    format!("`{name}` is not built into this version of oneact; remove it"),
                ));
            }
            if !TOP.contains(&name) {
                let problem = unknown_key(name, TOP.iter().copied());
                return Err(self.invalid(key.span().start, problem));
            }
        }
        match self.get::<i64>("catalog")? {
            Some(1) => Ok(self),
            Some(other) => Err(self.invalid(
                self.start("catalog"),
                format!("catalog format {other} is unknown; this version reads format 1"),
            )),
            None => Err(self.invalid(
                0,
                "the catalog does not state its format; begin it with `catalog = 1`".to_owned(),
            )),
        }
    }

    /// A top-level value, read strictly.
    pub(crate) fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, CatalogError> {
        let value = self.root.get(key).cloned();
        let value = value.map(|value| T::deserialize(ValueDeserializer::from(value)));
        value
            .transpose()
            .map_err(|error| self.catalog.toml_error(Pieces(&self.rest), &error))
    }

    /// The table `[group.name]` with its place in the file, read strictly.
    pub(super) fn entry<'t, T: DeserializeOwned>(
        &'t self,
        group: &'t str,
        name: &'t str,
    ) -> Result<Option<(Named<'t>, T)>, CatalogError> {
        let cut = self.entries.as_ref().filter(|_| group == CAPABILITY);
        let pieces = Pieces(cut.map_or(&self.rest, |entries| {
            let begins = entries.partition_point(|piece| piece.id < name);
            let ends = entries.partition_point(|piece| piece.id <= name);
            entries.get(begins..ends).unwrap_or_default()
        }));
        let (text, parsed);
        let root = if cut.is_some() {
            text = pieces.text();
            parsed = self.catalog.parse(&text, pieces)?;
            &parsed
        } else {
            &self.root
        };
        let Some(value) = self.group(root, group)?.and_then(|table| table.get(name)) else {
            return Ok(None);
        };
        let entry = T::deserialize(ValueDeserializer::from(value.clone()));
        let entry = entry.map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let (code, message) = Code::split(error.message());
            let problem = match explain(message) {
                Ok(problem) => problem,
                Err(ours) => format!("{group} {name}: {ours}"),
            };
            self.catalog.invalid(pieces, at, problem).coded(code)
        })?;
        let named = Named {
            tables: self,
            pieces,
            group,
            name,
            at: value.span().start,
        };
        Ok(Some((named, entry)))
    }

    /// A key of `[defaults]`, for errors about it.
    pub(super) fn defaults<'t>(&'t self, name: &'t str) -> Named<'t> {
        Named {
            tables: self,
            pieces: Pieces(&self.rest),
            group: "[defaults]",
            name,
            at: 0,
        }
    }

    /// The names of a group, in the order of the file.
    pub(crate) fn names(&self, group: &str) -> Result<Vec<&str>, CatalogError> {
        if let Some(entries) = self.entries.as_ref().filter(|_| group == CAPABILITY) {
            let ids = entries.chunk_by(|one, next| one.id == next.id);
            let mut ids: Vec<&Piece<'_>> = ids.filter_map(<[_]>::first).collect();
            ids.sort_unstable_by_key(|piece| piece.at);
            return Ok(ids.into_iter().map(|piece| piece.id).collect());
        }
        Ok(self
            .group(&self.root, group)?
            .map(|table| table.keys().map(|key| key.get_ref().as_ref()).collect())
            .unwrap_or_default())
    }

    /// The ids of all capabilities and workflows.
    pub(crate) fn entries(&self) -> Result<Vec<&str>, CatalogError> {
        let mut names = self.names(CAPABILITY)?;
        names.extend(self.names("workflow")?);
        Ok(names)
    }

    fn group<'t, 'v>(
        &self,
        root: &'t DeTable<'v>,
        group: &str,
    ) -> Result<Option<&'t DeTable<'v>>, CatalogError> {
        let Some(value) = root.get(group) else {
            return Ok(None);
        };
        let table = value.get_ref().as_table();
        let problem = || format!("`{group}` must be a table of tables: [{group}.NAME]");
        let wrong = || self.invalid(value.span().start, problem());
        table.map(Some).ok_or_else(wrong)
    }

    fn invalid(&self, at: usize, problem: String) -> CatalogError {
        self.catalog.invalid(Pieces(&self.rest), at, problem)
    }

    fn start(&self, key: &str) -> usize {
        self.root.get(key).map_or(0, |value| value.span().start)
    }
}

/// serde's message with a remedy, and with the nearest known name instead of all names. `Err` is a message that
/// does not come from serde.
fn explain(message: &str) -> Result<String, &str> {
    let first = message.lines().next().unwrap_or(message);
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    if let Some((name, known)) = quoted.split_first() {
        if message.starts_with("unknown field") {
            return Ok(unknown_key(name, known.iter().copied()));
        }
        if message.starts_with("unknown variant") {
            return Ok(unknown_key(name, known.iter().copied()).replacen("key", "value", 1));
        }
        if message.starts_with("missing field") {
            return Ok(format!("`{name}` is missing; add it"));
        }
    }
    if first == "duplicate key" {
        return Ok(format!("{first}; remove one of the two"));
    }
    let write = match first.rsplit_once("expected ") {
        Some((_, "a string")) => "a text in quotes",
        Some((_, "a sequence")) => "an array in [ ]",
        Some((_, "a boolean")) => "true or false",
        Some((_, "a map")) => "a table in { }",
        Some((_, "i64" | "u32" | "u64")) => "a whole number",
        _ if first.starts_with("invalid ") => return Ok(first.to_owned()),
        _ => return Err(first),
    };
    Ok(format!("{first}; write {write}"))
}
