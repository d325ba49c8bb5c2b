//! A finding about a catalog, with its code and its place.

use crate::catalog::file::{
    code::{Code, FileLine, Wrong},
    document::{CatalogError, Tables},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Error,
    Warning,
}

#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) code: Code,
    pub(crate) level: Level,
    pub(crate) place: Option<FileLine>,
    /// What is wrong, and what to do.
    pub(crate) text: String,
}

impl From<CatalogError> for Finding {
    fn from(error: CatalogError) -> Self {
        Self::of(error.into())
    }
}

impl Finding {
    /// A finding about a table of the file, e.g. about `[server.NAME]`.
    pub(crate) fn about(
        tables: &Tables<'_>,
        table: Option<(&str, &str)>,
        (code, level): (Code, Level),
        text: &str,
    ) -> Self {
        let place = table.and_then(|(group, name)| {
            let named = tables.named(group, name).ok()??;
            Some(named.place())
        });
        let name = table.map_or_else(String::new, |(_, name)| format!("{name}: "));
        Self {
            code,
            level,
            place,
            text: format!("{name}{text}"),
        }
    }

    pub(crate) fn of(wrong: Wrong) -> Self {
        Self {
            code: wrong.code,
            level: Level::Error,
            place: wrong.place,
            text: wrong.problem,
        }
    }
}
