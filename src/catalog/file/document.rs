//! The catalog file: finds it, parses it and returns its tables one at a time, with lines for errors.

use std::{fs, io, iter, ops::Range, sync::OnceLock};

use camino::{Utf8Path, Utf8PathBuf};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use toml::{
    Spanned,
    de::{DeTable, DeValue, ValueDeserializer},
};

use crate::task::unknown_key;

use super::{
    code::{Code, FileLine, Lines, Wrong},
    cut::{CAPABILITY, TOP, cut},
    error::LARGEST,
};

pub(crate) use super::error::CatalogError;

/// The text of a `catalog.toml`. Its entries are compiled on demand.
#[derive(Debug)]
pub(crate) struct Catalog {
    path: Utf8PathBuf,
    text: String,
    /// The text without the entries, if it can be cut.
    rest: OnceLock<String>,
    lines: Lines,
}

/// What a position in a parsed text is counted from.
#[derive(Clone, Copy)]
enum Origin {
    /// The text without the entries.
    Rest,
    /// The text of an entry, which begins at this byte of the file.
    Entry(usize),
}

/// A table `[GROUP.NAME]` of the file.
pub(crate) struct Named<'a> {
    pub(crate) tables: &'a Tables<'a>,
    pub(crate) group: &'a str,
    pub(crate) name: &'a str,
    value: Spanned<DeValue<'a>>,
    origin: Origin,
}

impl Named<'_> {
    /// An error about the table.
    pub(crate) fn wrong(&self, problem: &str) -> CatalogError {
        let problem = format!("{} {} {problem}", self.group, self.name);
        self.tables.invalid(self.origin, self.start(), problem)
    }

    /// An error at that byte of the text of the table.
    pub(crate) fn wrong_at(&self, at: usize, problem: &str) -> CatalogError {
        let problem = format!("{} {}: {problem}", self.group, self.name);
        self.tables.invalid(self.origin, at, problem)
    }

    /// An error at the value of a key, or of the key of a table in it: `key.key`. Without the key, it is about the table.
    pub(crate) fn wrong_in(&self, keys: &str, problem: &str) -> CatalogError {
        self.wrong_at(self.start_of(keys), problem)
    }

    fn start(&self) -> usize {
        self.value.span().start
    }

    fn start_of(&self, keys: &str) -> usize {
        let mut keys = keys.split('.');
        let found = keys.try_fold(&self.value, |value, key| value.get_ref().get(key));
        found.map_or_else(|| self.start(), |value| value.span().start)
    }

    pub(crate) fn place(&self) -> FileLine {
        self.tables.place(self.origin, self.start())
    }

    pub(crate) fn place_of(&self, keys: &str) -> FileLine {
        self.tables.place(self.origin, self.start_of(keys))
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.value.get_ref().get(key).is_some()
    }

    /// The table, read strictly.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, CatalogError> {
        self.deserialize(self.value.clone(), &[])
    }

    /// All keys and values of the table.
    pub(crate) fn keys(&self) -> Result<Map<String, Value>, CatalogError> {
        self.read()
    }

    /// The table in two parts, each read strictly: these keys, and the others.
    pub(crate) fn read_apart<T: DeserializeOwned, U: DeserializeOwned>(
        &self,
        these: &[&str],
    ) -> Result<(T, U), CatalogError> {
        let table = self.value.get_ref().as_table().cloned();
        let keys = table.unwrap_or_default().into_iter();
        let (own, others) = keys.partition(|(key, _)| these.contains(&key.get_ref().as_ref()));
        let part = |part| Spanned::new(self.value.span(), DeValue::Table(part));
        Ok((
            self.deserialize(part(own), &[])?,
            self.deserialize(part(others), these)?,
        ))
    }

    /// `also` are keys that are known, too.
    fn deserialize<T: DeserializeOwned>(
        &self,
        value: Spanned<DeValue<'_>>,
        also: &[&str],
    ) -> Result<T, CatalogError> {
        if let Some(at) = array_for_table(&value) {
            return Err(self.wrong_at(at, NO_TABLE));
        }
        T::deserialize(ValueDeserializer::from(value)).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let (code, message) = Code::split(error.message());
            let wrong = match explain(message, also) {
                Ok(problem) => self.tables.invalid(self.origin, at, problem),
                Err(ours) => self.wrong_at(at, ours),
            };
            wrong.coded(code)
        })
    }
}

/// The parsed tables, borrowing the catalog's text.
pub(crate) struct Tables<'a> {
    catalog: &'a Catalog,
    root: DeTable<'a>,
    /// What `root` was parsed from.
    rest: Vec<Range<usize>>,
    /// The entries that `root` does not contain. Each is parsed when it is read.
    entries: Option<Vec<(&'a str, Range<usize>)>>,
}

impl Catalog {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Reads the file. Its syntax is checked by [`Catalog::tables`].
    pub(crate) fn load(path: &Utf8Path) -> Result<Self, CatalogError> {
        let path = path.to_owned();
        match fs::metadata(&path).and_then(|found| {
            // A device has no end, and no real catalog is larger than `LARGEST`.
            let is_fitting = found.is_file() && found.len() <= LARGEST;
            is_fitting.then(|| fs::read(&path)).transpose()
        }) {
            Ok(Some(bytes)) => Self::from_bytes(&path, bytes),
            Ok(None) => Err(CatalogError::NoCatalog { path }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(CatalogError::Missing { path })
            }
            Err(source) => Err(CatalogError::Unreadable { path, source }),
        }
    }

    /// The catalog in these bytes; `path` only names it in errors.
    pub(crate) fn from_bytes(path: &Utf8Path, bytes: Vec<u8>) -> Result<Self, CatalogError> {
        let path = path.to_owned();
        if !u64::try_from(bytes.len()).is_ok_and(|length| length <= LARGEST) {
            return Err(CatalogError::NoCatalog { path });
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let before = error.as_bytes().get(..error.utf8_error().valid_up_to());
            let lines = before.unwrap_or_default().split(|byte| *byte == b'\n');
            CatalogError::Invalid(Wrong {
                code: Code::default(),
                place: Some(FileLine {
                    path: path.clone(),
                    line: lines.count(),
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
        let Some(cut) = cut(&self.text) else {
            return self.whole();
        };
        let text = self.rest.get_or_init(|| {
            let pieces = cut.rest.iter().cloned();
            pieces.filter_map(|piece| self.text.get(piece)).collect()
        });
        let tables = Tables::parsed(self, text, cut.rest, Some(cut.entries))?;
        // Such a key defines entries without a header.
        if tables.root.contains_key(CAPABILITY) {
            return self.whole();
        }
        tables.checked()
    }

    pub(crate) fn whole(&self) -> Result<Tables<'_>, CatalogError> {
        let whole = iter::once(0..self.text.len()).collect();
        Tables::parsed(self, &self.text, whole, None)?.checked()
    }
}

impl<'a> Tables<'a> {
    fn parsed(
        catalog: &'a Catalog,
        text: &'a str,
        rest: Vec<Range<usize>>,
        entries: Option<Vec<(&'a str, Range<usize>)>>,
    ) -> Result<Self, CatalogError> {
        let mut tables = Self {
            catalog,
            root: DeTable::new(),
            rest,
            entries,
        };
        tables.root = tables.parse(text, Origin::Rest)?;
        Ok(tables)
    }

    fn parse<'t>(&self, text: &'t str, origin: Origin) -> Result<DeTable<'t>, CatalogError> {
        let parsed = DeTable::parse(text).map_err(|error| self.toml_error(origin, &error));
        Ok(parsed?.into_inner())
    }

    fn checked(self) -> Result<Self, CatalogError> {
        let names = self.root.keys();
        let mut unknown = names.filter(|key| !TOP.contains(&key.get_ref().as_ref()));
        if let Some(key) = unknown.next() {
            let problem = unknown_key(key.get_ref(), TOP);
            return Err(self.invalid(Origin::Rest, key.span().start, problem));
        }
        let problem = match self.get::<i64>("catalog")? {
            Some(1) => return Ok(self),
            Some(other) => {
                format!("catalog format {other} is unknown; this version reads format 1")
            }
            None => "the catalog does not state its format; begin it with `catalog = 1`".to_owned(),
        };
        let at = self.root.get("catalog");
        let at = at.map_or(0, |value| value.span().start);
        Err(self.invalid(Origin::Rest, at, problem))
    }

    /// A top-level value, read strictly.
    pub(crate) fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, CatalogError> {
        let Some(value) = self.root.get(key).cloned() else {
            return Ok(None);
        };
        if let Some(at) = array_for_table(&value) {
            return Err(self.invalid(Origin::Rest, at, format!("{key}: {NO_TABLE}")));
        }
        let read = T::deserialize(ValueDeserializer::from(value));
        read.map(Some)
            .map_err(|error| self.toml_error(Origin::Rest, &error))
    }

    /// The table `[group.name]`.
    pub(crate) fn named<'t>(
        &'t self,
        group: &'t str,
        name: &'t str,
    ) -> Result<Option<Named<'t>>, CatalogError> {
        let (origin, parsed);
        let root: &DeTable<'t> = match &self.entries {
            Some(entries) if group == CAPABILITY => {
                let found = entries.binary_search_by_key(&name, |(id, _)| *id);
                let Some((_, range)) = found.ok().and_then(|at| entries.get(at)) else {
                    return Ok(None);
                };
                origin = Origin::Entry(range.start);
                let text = self.catalog.text.get(range.clone()).unwrap_or_default();
                parsed = self.parse(text, origin)?;
                &parsed
            }
            _ => {
                origin = Origin::Rest;
                &self.root
            }
        };
        let value = self.group(root, group)?.and_then(|table| table.get(name));
        Ok(value.map(|value| Named {
            tables: self,
            group,
            name,
            value: value.clone(),
            origin,
        }))
    }

    /// A table of the file that has no name of its own.
    pub(crate) fn top<'t>(&'t self, name: &'t str) -> Option<Named<'t>> {
        let value = self.root.get(name)?.clone();
        Some(Named {
            tables: self,
            group: "the table",
            name,
            value,
            origin: Origin::Rest,
        })
    }

    /// The names of a group, in the order of the file.
    pub(crate) fn names(&self, group: &str) -> Result<Vec<&str>, CatalogError> {
        if let Some(entries) = self.entries.as_ref().filter(|_| group == CAPABILITY) {
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_unstable_by_key(|(_, range)| range.start);
            return Ok(entries.into_iter().map(|(id, _)| *id).collect());
        }
        let table = self.group(&self.root, group)?;
        let keys = table.into_iter().flat_map(DeTable::keys);
        Ok(keys.map(|key| key.get_ref().as_ref()).collect())
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
        let wrong = || {
            let problem = format!("`{group}` must be a table of tables: [{group}.NAME]");
            self.invalid(Origin::Rest, value.span().start, problem)
        };
        value.get_ref().as_table().map(Some).ok_or_else(wrong)
    }

    fn place(&self, origin: Origin, mut at: usize) -> FileLine {
        let mut of_file = 0;
        match origin {
            Origin::Entry(begins) => of_file = begins + at,
            Origin::Rest => {
                for piece in &self.rest {
                    of_file = piece.start + at.min(piece.len());
                    if at < piece.len() {
                        break;
                    }
                    at -= piece.len();
                }
            }
        }
        FileLine {
            path: self.catalog.path.clone(),
            line: self.catalog.lines.of(&self.catalog.text, of_file),
        }
    }

    fn invalid(&self, origin: Origin, at: usize, problem: String) -> CatalogError {
        CatalogError::Invalid(Wrong {
            code: Code::default(),
            place: Some(self.place(origin, at)),
            problem,
        })
    }

    fn toml_error(&self, origin: Origin, error: &toml::de::Error) -> CatalogError {
        let at = error.span().map_or(0, |span| span.start);
        let problem = explain(error.message(), &[]).unwrap_or_else(str::to_owned);
        self.invalid(origin, at, problem)
    }
}

/// The keys of a table whose values are tables, and those whose values are lists of tables.
const OF_TABLES: &str = "agent_system approval critical effects executes file_plan important mcp oauth on_duplicate protected \
                         provenance result review";
const OF_LISTS: &str = "extract failure retry step success";

const NO_TABLE: &str = "an array is in the place of a table; write a table in { }";

/// Where an array is in the place of a table: it is the value, or that of a key within. serde would read its items as the
/// values of the table.
fn array_for_table(value: &Spanned<DeValue<'_>>) -> Option<usize> {
    match value.get_ref() {
        DeValue::Array(_) => Some(value.span().start),
        DeValue::Table(table) => table.iter().find_map(|(key, value)| {
            let is_one_of = |keys: &str| keys.split(' ').any(|known| known == key.get_ref());
            match value.get_ref() {
                DeValue::Array(items) if is_one_of(OF_LISTS) => {
                    items.iter().find_map(array_for_table)
                }
                _ if is_one_of(OF_TABLES) => array_for_table(value),
                _ => None,
            }
        }),
        _ => None,
    }
}

/// serde's message with a remedy, and with the nearest known name instead of all names. `Err` is a message that
/// does not come from serde. `also` are known names that serde does not know.
fn explain<'m>(message: &'m str, also: &[&str]) -> Result<String, &'m str> {
    let first = message.lines().next().unwrap_or(message);
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    if let Some((name, known)) = quoted.split_first() {
        if message.starts_with("unknown field") {
            return Ok(unknown_key(name, known.iter().chain(also).copied()));
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
