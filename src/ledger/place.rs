//! Where the record lies, and how it is opened.

use std::any::Any;

use camino::{Utf8Path, Utf8PathBuf};

use crate::host::{self, Host};

use super::{
    Ledger, LedgerError,
    anchor::HeadFile,
    home::MARK,
    store::{PostgresStore, SqliteStore, Store, StoreError, Trouble, Tx, Wish, read, real},
};

/// Where the record lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// A SQLite file.
    File(Utf8PathBuf),
    /// A PostgreSQL database, as libpq spells it: `postgres://…`.
    Postgres(String),
    /// Nothing is recorded, and nothing is known again: `none`, the operator's own choice.
    Nowhere,
}

/// The file in the state directory.
const FILE: &str = "ledger.db";
const OUTBOX: &str = "outbox";
/// The extension of the file that names the last link.
const HEAD: &str = "head";

impl Place {
    /// What `[ledger] uri` or `$ONEACT_LEDGER` says; a relative path is taken from `root`.
    pub(crate) fn parse(text: &str, root: &Utf8Path) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self::Nowhere);
        }
        let path = text.strip_prefix("sqlite:").unwrap_or(text);
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(text.to_owned()));
        }
        // SQLite's own URIs and its databases in memory would become files of that name.
        if path.is_empty()
            || path.contains("://")
            || path.starts_with(':')
            || path.starts_with("file:")
        {
            return Err(
                "write `sqlite:PATH`, a path, `postgres://USER@HOST/DATABASE`, or `none`"
                    .to_owned(),
            );
        }
        Ok(Self::File(root.join(path)))
    }

    /// The file in the state directory.
    pub(crate) fn default_in(state_dir: &Utf8Path) -> Self {
        Self::File(state_dir.join(FILE))
    }

    /// The files that belong to it.
    pub(crate) fn files(&self) -> Vec<Utf8PathBuf> {
        match self {
            Self::File(path) => {
                let mut files = SqliteStore::files(path);
                files.extend([path.clone(), real(path).with_extension(HEAD)]);
                files
            }
            Self::Postgres(_) | Self::Nowhere => Vec::new(),
        }
    }

    /// What may lie in a state directory, whatever else is there.
    pub(crate) fn kept_in(state_dir: &Utf8Path) -> Vec<Utf8PathBuf> {
        let mut files = Self::default_in(state_dir).files();
        let names = [OUTBOX, MARK, "staging", "spare", "servers"];
        files.extend(names.map(|name| state_dir.join(name)));
        files
    }

    /// Opens it. Only to write is anything made that is not there.
    pub(super) fn store(&self, wish: Wish) -> Result<Box<dyn Store>, StoreError> {
        Ok(match self {
            Self::File(path) if wish != Wish::Write && !path.exists() => {
                let why = "there is none: nothing was recorded here yet";
                return Err(Trouble::NotYet.with(path.as_str(), why));
            }
            Self::File(path) => Box::new(SqliteStore::open(path, wish)?),
            Self::Postgres(uri) => Box::new(PostgresStore::open(uri, wish)?),
            Self::Nowhere => {
                let why = "the catalog or $ONEACT_LEDGER says that there is none";
                return Err(Trouble::Unreachable.with("none", why));
            }
        })
    }

    /// Whether a run could record there: its name for people; none where there is nothing yet, or is to
    /// be nothing. Nothing is made.
    pub(crate) fn usable(&self) -> Result<Option<String>, StoreError> {
        if *self == Self::Nowhere {
            return Ok(None);
        }
        let mut store = match self.store(Wish::Decide) {
            Err(StoreError {
                trouble: Trouble::NotYet,
                ..
            }) => return Ok(None),
            store => store?,
        };
        read::<_, StoreError>(&mut *store, Tx::head)?;
        Ok(Some(store.place().to_owned()))
    }
}

impl<'a> Ledger<'a> {
    /// Opens the record to write to it. What could not be recorded waits in `state_dir`.
    pub(crate) fn open(
        place: &Place,
        state_dir: &Utf8Path,
        host: &'a Host,
    ) -> Result<Self, LedgerError> {
        Ok(Self::of(place.store(Wish::Write)?, place, state_dir, host))
    }

    /// What closes the record when it is dropped; for the end of the process.
    pub(crate) fn closing(self) -> Box<dyn Any> {
        self.store.closing()
    }

    /// Opens a record that is there, to read it or to decide something about it.
    pub(crate) fn open_existing(
        place: &Place,
        state_dir: &Utf8Path,
        wish: Wish,
        host: &'a Host,
    ) -> Result<Self, LedgerError> {
        Ok(Self::of(place.store(wish)?, place, state_dir, host))
    }

    pub(super) fn of(
        store: Box<dyn Store>,
        place: &Place,
        state_dir: &Utf8Path,
        host: &'a Host,
    ) -> Self {
        let head = match place {
            Place::File(path) => real(path).with_extension(HEAD),
            Place::Postgres(_) | Place::Nowhere => state_dir.join(FILE).with_extension(HEAD),
        };
        Self {
            store,
            head: HeadFile::new(head),
            outbox: state_dir.join(OUTBOX),
            actor: format!("uid:{}", host::user_id()),
            host,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_file_a_database_of_postgresql_or_none() {
        let parse = |text| Place::parse(text, "/root".into());
        let file = Ok(Place::File("/root/a/b.db".into()));
        assert_eq!(parse("a/b.db"), file);
        assert_eq!(parse("sqlite:a/b.db"), file);
        assert_eq!(parse("none"), Ok(Place::Nowhere));
        assert!(matches!(parse("postgres://h/d"), Ok(Place::Postgres(_))));
        for none in [
            "",
            "sqlite:",
            "sqlite::memory:",
            ":memory:",
            "file:a.db?mode=memory",
            "sqlite:file:a.db",
            "mysql://h/d",
        ] {
            assert!(parse(none).is_err(), "{none}");
        }
    }
}
