//! Where the ledger is and how it is opened; and the name of the root in which a plan is performed. Several roots
//! may share a ledger, but only the journals of one root show how an interrupted plan ended.

use std::io::{self, Write as _};

use camino::{Utf8Path, Utf8PathBuf};
use tempfile::NamedTempFile;

use super::{
    canonical::sha256,
    head_file::HeadFile,
    store::{PostgresStore, SqliteStore, Store, StoreError, Trouble, Wish, real},
    words::LedgerError,
};
use crate::{
    host::{self, Host},
    task::STAGING,
};

/// An open ledger.
pub(crate) struct Ledger<'a> {
    pub(crate) store: Box<dyn Store>,
    /// The directory of answers that could not be recorded yet.
    pub(super) outbox: Utf8PathBuf,
    pub(crate) head: HeadFile,
    /// The writer: `uid:1000`.
    pub(crate) actor: String,
    pub(crate) host: &'a Host,
    /// When the oldest link was made that no knot ties, as the last questions of a run saw it.
    pub(super) untied_since: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// A SQLite file.
    File(Utf8PathBuf),
    /// The URI of a PostgreSQL database, `postgres://…`.
    Postgres(String),
    /// Nothing is recorded, by the operator's choice: `none`.
    Nowhere,
}

const FILE: &str = "ledger.db";
const OUTBOX: &str = "outbox";
/// The extension of the file that names a link.
const HEAD: &str = "head";
/// The file whose content identifies the state directory.
const MARK: &str = "home";
/// The size limit of a mark, in bytes.
const LONGEST_MARK: u64 = 1024;

impl Place {
    /// Parses `[ledger] uri` or `$ONEACT_LEDGER`. A relative path starts at `root`.
    pub(crate) fn parse(text: &str, root: &Utf8Path) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self::Nowhere);
        }
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(text.to_owned()));
        }
        let path = text.strip_prefix("sqlite:").unwrap_or(text);
        // URIs of other databases and libpq's `host=… password=…` would become files of that name. The message does
        // not repeat the text, because it may contain a password.
        let name = path.split('/').next().unwrap_or_default();
        if path.is_empty() || name.contains([':', '=']) {
            return Err(
                "write `sqlite:PATH`, a path, `postgres://USER@HOST/DATABASE`, or `none`. A path with `:` or `=` before its first `/` must begin with `./`"
                    .to_owned(),
            );
        }
        Ok(Self::File(root.join(path)))
    }

    /// The default: a file in the state directory.
    pub(crate) fn default_in(state_dir: &Utf8Path) -> Self {
        Self::File(state_dir.join(FILE))
    }

    pub(crate) fn files(&self) -> Vec<Utf8PathBuf> {
        match self {
            Self::File(path) => {
                let mut files = SqliteStore::files(path);
                files.push(path.clone());
                files
            }
            Self::Postgres(_) | Self::Nowhere => Vec::new(),
        }
    }

    /// The files that oneact makes in a state directory.
    pub(crate) fn kept_in(state_dir: &Utf8Path) -> Vec<Utf8PathBuf> {
        let mut files = Self::default_in(state_dir).files();
        files.push(state_dir.join(FILE).with_extension(HEAD));
        let names = [OUTBOX, MARK, STAGING, "spare", "servers"];
        files.extend(names.map(|name| state_dir.join(name)));
        files
    }

    /// The path of a ledger that certainly does not exist. A user who may not search its directory cannot know it.
    pub(crate) fn missing(&self) -> Option<&Utf8Path> {
        match self {
            Self::File(path) if matches!(path.try_exists(), Ok(false)) => Some(path),
            Self::File(_) | Self::Postgres(_) | Self::Nowhere => None,
        }
    }

    /// Opens the ledger. Only [`Wish::Write`] creates a missing one.
    pub(crate) fn store(&self, wish: Wish) -> Result<Box<dyn Store>, StoreError> {
        if wish != Wish::Write
            && let Some(path) = self.missing()
        {
            let why = "it does not exist: nothing was recorded here yet";
            return Err(Trouble::NotYet.with(path.as_str(), why));
        }
        Ok(match self {
            Self::File(path) => Box::new(SqliteStore::open(path, wish)?),
            Self::Postgres(uri) => Box::new(PostgresStore::open(uri, wish)?),
            Self::Nowhere => {
                let why = "the catalog or $ONEACT_LEDGER switches it off";
                return Err(Trouble::Unreachable.with("none", why));
            }
        })
    }

    /// The name of the ledger for people, if the run `operation_id` could record a request with effects; none if there
    /// is none yet, or it is switched off. Nothing is created but the file of the locks.
    pub(crate) fn usable(
        &self,
        state_dir: &Utf8Path,
        operation_id: &str,
        host: &Host,
    ) -> Result<Option<String>, LedgerError> {
        if *self == Self::Nowhere {
            return Ok(None);
        }
        if let Some(path) = self.missing() {
            SqliteStore::check_files(path)?;
            let head = self.head(&real(path), state_dir);
            head.agrees_with_none(path.as_str())?;
        }
        match Ledger::open(self, state_dir, Wish::Decide, host) {
            Err(LedgerError::Store(error)) if error.trouble == Trouble::NotYet => Ok(None),
            ledger => ledger?.try_out(operation_id).map(Some),
        }
    }

    /// The file that names a link. That of a ledger elsewhere is in the state directory, so that a volume which is not
    /// mounted is not taken for a ledger that begins.
    fn head(&self, real: &Utf8Path, state_dir: &Utf8Path) -> HeadFile {
        HeadFile::new(match self {
            Self::File(_) if *self == Self::default_in(state_dir) => real.with_extension(HEAD),
            Self::File(path) => {
                let name = sha256(path.as_str());
                let name = name.get(..16).unwrap_or_default();
                state_dir.join(format!("ledger-{name}.{HEAD}"))
            }
            Self::Postgres(_) | Self::Nowhere => state_dir.join(FILE).with_extension(HEAD),
        })
    }
}

impl<'a> Ledger<'a> {
    /// Opens the ledger. Answers that cannot be recorded wait in `state_dir`.
    pub(crate) fn open(
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
        Self {
            // A store in a file is named by its real path.
            head: place.head(Utf8Path::new(store.place()), state_dir),
            store,
            outbox: state_dir.join(OUTBOX),
            actor: format!("uid:{}", host::user_id()),
            host,
            untied_since: None,
        }
    }
}

/// The name of a root: a hash of its path and the mark of its state directory. None if one cannot be read.
pub(crate) fn home(state_dir: &Utf8Path, root: &Utf8Path) -> Option<String> {
    let path = root.canonicalize_utf8().ok()?;
    match mark(state_dir) {
        Ok(mark) => Some(sha256(format!("{}\n{path}", mark.trim_end()))),
        Err(error) => {
            tracing::warn!("{}: {error}", state_dir.join(MARK));
            None
        }
    }
}

/// The content of the mark, which the first run makes.
fn mark(dir: &Utf8Path) -> io::Result<String> {
    let path = dir.join(MARK);
    match read_mark(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        mark => return mark,
    }
    host::make_state_dir(dir)?;
    let mut file = NamedTempFile::new_in(dir)?;
    // A random name, a time and a machine: no two marks are the same.
    let parts = format!(
        "{}\n{}\n{}",
        file.path().display(),
        host::file_time(),
        host::name()
    );
    file.write_all(sha256(parts).as_bytes())?;
    file.as_file().sync_all()?;
    host::persist_new(file, &path)?;
    read_mark(&path)
}

fn read_mark(path: &Utf8Path) -> io::Result<String> {
    let bytes = host::read_plain(path, LONGEST_MARK)?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;
    use crate::people::Reading;

    #[test]
    fn a_root_keeps_its_name_and_no_other_has_it() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = Utf8Path::from_path(one.path()).unwrap();
        let elsewhere = Utf8Path::from_path(other.path()).unwrap();
        let name = home(&root.join(".oneact"), root).unwrap();
        assert_eq!(home(&root.join(".oneact"), root).unwrap(), name);
        assert_ne!(home(&elsewhere.join(".oneact"), elsewhere).unwrap(), name);
        assert_ne!(home(&root.join(".oneact"), elsewhere).unwrap(), name);
        // The same path on another machine.
        assert_ne!(home(&elsewhere.join(".oneact"), root).unwrap(), name);
        fs::write(root.join("file"), "").unwrap();
        assert_eq!(home(&root.join("file"), root), None);
    }

    #[test]
    fn a_ledger_whose_path_cannot_be_searched_is_not_missing() {
        let dir = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(dir.path()).unwrap();
        fs::write(root.join("file"), "").unwrap();
        for (path, missing) in [("none/ledger.db", true), ("file/ledger.db", false)] {
            let place = Place::File(root.join(path));
            assert_eq!(place.missing().is_some(), missing, "{path}");
            for wish in [Wish::Read, Wish::Decide] {
                let refused = place.store(wish).err().unwrap();
                assert_eq!(refused.trouble == Trouble::NotYet, missing, "{refused}");
            }
            let opened = Reading::open(&place, jiff::Timestamp::UNIX_EPOCH);
            let said = opened.err().unwrap().to_string();
            assert_eq!(
                said.contains("nothing has been recorded"),
                missing,
                "{said}"
            );
        }
    }

    #[test]
    fn a_ledger_that_cannot_be_created_among_what_stands_there_is_not_usable() {
        let dir = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(dir.path()).unwrap();
        symlink("/none/ledger.db", root.join("link.db")).unwrap();
        fs::create_dir(root.join("other.lock")).unwrap();
        let host = Host::new(None, Some(1), host::Interrupts::catch());
        for name in ["link.db", "other.db"] {
            let place = Place::File(root.join(name));
            let refused = place.usable(root, "op_1", &host).unwrap_err();
            assert!(refused.to_string().contains("no regular file"), "{refused}");
        }
    }

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
            "postgres:u:p@h",
            "postgresql:/u:p@h/d",
            "POSTGRES:u:p@h",
            "POSTGRESQL:/u:p@h/d",
            "Postgres://u:p@h/d",
            "mysql:u:p@h",
            "pg:u:p@h",
            "mongodb://u:p@h",
            "host=h user=u password=p",
            "host = h password = p",
            "PASSWORD=p",
            "service=s",
            "host=/var/run/postgresql password=p",
            "sqlite:password=p",
        ] {
            let why = parse(none).expect_err(none);
            assert!(!why.contains(":p") && !why.contains("=p"), "{why}");
        }
        for (text, path) in [
            ("./a:b=c.db", "/root/./a:b=c.db"),
            ("/data/user=1/a:b.db", "/data/user=1/a:b.db"),
            ("sqlite:/data/host=h.db", "/data/host=h.db"),
        ] {
            assert_eq!(parse(text), Ok(Place::File(path.into())), "{text}");
        }
    }
}
