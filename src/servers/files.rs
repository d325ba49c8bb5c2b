//! Functions for local files that all tools share, and the places where no tool writes a file: oneact's own, wherever
//! its settings put them.

use std::{
    fs::{File, Permissions},
    io::{self, Read, Seek as _, Write as _},
    os::unix::fs::{MetadataExt, PermissionsExt as _},
    path::{Path, PathBuf},
};

use camino::Utf8Path;
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use super::tool::{Run, ToolError};
use crate::{
    assets::format::HEAD,
    host::{self, resolved},
    task::{PROTECTED, Uri, UriError, displaces, hexadecimal},
};

const BLOCK: usize = 128 * 1024;

/// The path that a `file:` URI names (RFC 8089), or the given path itself.
pub(super) fn local_path(argument: &'static str, given: &str) -> Result<PathBuf, ToolError> {
    let refused = |problem: &str| ToolError::argument(argument, format!("{given:?} {problem}"));
    if given.is_empty() {
        return Err(refused("is empty"));
    }
    if is_file_uri(given) {
        return file_path(given)
            .map_err(|error| refused(&format!("does not name a file: {error}")));
    }
    if let Some((scheme, _)) = given.split_once("://") {
        return Err(refused(&format!(
            "has the scheme {scheme}; only file: URIs and paths are accepted"
        )));
    }
    Ok(PathBuf::from(given))
}

/// The path that a `file:` URI names. `Uri` is the only parser of such URIs.
pub(super) fn file_path(uri: &str) -> Result<PathBuf, UriError> {
    // A `file:` URI is never relative, so the directory does not matter.
    let path = Uri::parse(uri)?.local_path(Utf8Path::new("/"));
    Ok(path.unwrap_or_default().into())
}

/// Whether a text is a URI of the scheme `file`, in upper or lower case.
pub(super) fn is_file_uri(given: &str) -> bool {
    given
        .get(..5)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"))
}

/// Whether a text begins like an absolute path or with `./` or `../`.
pub(super) fn is_explicit_path(given: &str) -> bool {
    let starts = ["/", "./", "../"];
    starts.iter().any(|start| given.starts_with(start))
}

/// The percent-encoded `file://` URI of an absolute path.
pub(super) fn file_uri(path: &Path) -> String {
    let uri = Utf8Path::from_path(path).and_then(|path| Uri::from_path(path).ok());
    uri.map_or_else(|| path.display().to_string(), |uri| uri.as_str().to_owned())
}

/// The directory `$TMPDIR`, or `/tmp`.
pub(super) fn temporary_directory() -> PathBuf {
    host::variable("TMPDIR")
        .filter(|directory| !directory.is_empty())
        .unwrap_or_else(|| "/tmp".to_owned())
        .into()
}

pub(super) fn open_regular(argument: &'static str, path: &Path) -> Result<File, ToolError> {
    let shown = path.display();
    host::open_named(path).map_err(|error| {
        let problem = match error.kind() {
            io::ErrorKind::InvalidInput => format!("{shown} is not a regular file"),
            _ => format!("cannot open {shown}: {error}"),
        };
        ToolError::argument(argument, problem)
    })
}

/// The size and the hash of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Measured {
    pub(super) bytes: u64,
    /// 64 hexadecimal digits.
    pub(super) sha256: String,
}

/// Reads to the end in blocks and passes each block to `take`.
pub(super) fn blocks(
    reader: &mut dyn Read,
    path: &Path,
    run: &Run<'_>,
    mut take: impl FnMut(&[u8]) -> Result<(), ToolError>,
) -> Result<(), ToolError> {
    run.check_cancelled()?;
    let failed = |error| ToolError::io("read", path)(error);
    host::each_block(reader, BLOCK, failed, |block| {
        run.check_cancelled()?;
        take(block)
    })
}

/// The same, and measures what is read.
pub(super) fn measure(
    reader: &mut dyn Read,
    path: &Path,
    run: &Run<'_>,
    mut take: impl FnMut(&[u8]) -> Result<(), ToolError>,
) -> Result<Measured, ToolError> {
    let (mut bytes, mut hash) = (0, Sha256::new());
    blocks(reader, path, run, |block| {
        hash.update(block);
        bytes += block.len() as u64;
        take(block)
    })?;
    Ok(Measured {
        bytes,
        sha256: hexadecimal(&hash.finalize()),
    })
}

/// A new file, which has no final name until it is complete. Dropping it removes it.
#[derive(Debug)]
pub(super) struct Draft {
    file: NamedTempFile,
    hash: Sha256,
    bytes: u64,
    head: Vec<u8>,
}

/// Whether a [`Draft`] got its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placed {
    New,
    /// The name exists. Nothing was changed.
    Taken,
}

impl Draft {
    pub(super) fn new_in(folder: &Path) -> io::Result<Self> {
        let file = tempfile::Builder::new()
            .prefix(".oneact-")
            .suffix(".part")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder)?;
        Ok(Self {
            file,
            hash: Sha256::new(),
            bytes: 0,
            head: Vec::new(),
        })
    }

    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The first bytes, at most [`HEAD`].
    pub(super) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Begins anew.
    pub(super) fn restart(&mut self) -> io::Result<()> {
        self.file.as_file_mut().set_len(0)?;
        self.file.rewind()?;
        (self.hash, self.bytes) = (Sha256::new(), 0);
        self.head.clear();
        Ok(())
    }

    pub(super) fn append(&mut self, block: &[u8]) -> io::Result<()> {
        self.file.write_all(block)?;
        self.hash.update(block);
        self.bytes += block.len() as u64;
        let room = HEAD.saturating_sub(self.head.len());
        self.head.extend(block.iter().take(room));
        Ok(())
    }

    /// Makes the bytes durable and gives them their name, unless that exists.
    pub(super) fn place(self, to: &Path) -> io::Result<(Measured, Placed)> {
        let placed = place(self.file, to)?;
        let sha256 = hexadecimal(&self.hash.finalize());
        let bytes = self.bytes;
        Ok((Measured { bytes, sha256 }, placed))
    }
}

/// Makes the bytes of a file durable and gives it its name, unless that exists.
pub(super) fn place(file: NamedTempFile, to: &Path) -> io::Result<Placed> {
    file.as_file().sync_all()?;
    if !host::persist_new(file, to)? {
        return Ok(Placed::Taken);
    }
    // From here on the file is there, even if its folder cannot be synced.
    let _ = File::open(parent(to)).and_then(|folder| folder.sync_all());
    Ok(Placed::New)
}

/// The absolute path that an `output_path` names. No file is there.
pub(super) fn free_place(text: &str) -> Result<PathBuf, ToolError> {
    let path = absolute("output_path", &local_path("output_path", text)?)?;
    // A path that ends with `/` or `..` names a directory.
    if text.ends_with('/') || path.file_name().is_none() {
        let problem = format!("{} does not name a file", path.display());
        return Err(ToolError::argument("output_path", problem));
    }
    check_unprotected("output_path", &path)?;
    match path.symlink_metadata() {
        Ok(_) => Err(taken(&path)),
        Err(_) => Ok(path),
    }
}

pub(super) fn taken(path: &Path) -> ToolError {
    let problem = format!(
        "{} exists already and is not overwritten: name another, or remove it",
        path.display()
    );
    ToolError::argument("output_path", problem)
}

/// Reads the first bytes of a file, at most `most`.
pub(super) fn head(file: &mut File, most: usize) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    file.take(most as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// The absolute path. No I/O.
pub(super) fn absolute(argument: &'static str, path: &Path) -> Result<PathBuf, ToolError> {
    std::path::absolute(path).map_err(|error| {
        let problem = format!("{} cannot be made absolute: {error}", path.display());
        ToolError::argument(argument, problem)
    })
}

pub(super) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Folders of oneact and of git, at whatever depth, since every folder can be a root.
const FOLDERS: [&str; 4] = [
    ".oneact",
    ".git",
    "agent_outputs/reports",
    "agent_logs/executor",
];

/// A catalog says what may be done at all, and is found from every folder below it.
const CATALOG: &str = "catalog.toml";

/// Files that SQLite keeps beside a database, and believes.
const BESIDE_A_DATABASE: [&str; 3] = ["-journal", "-wal", "-shm"];

/// Fails if no tool may write the file `path`.
pub(super) fn check_unprotected(argument: &'static str, path: &Path) -> Result<(), ToolError> {
    let real = resolved(&absolute(argument, path)?);
    match problem(&real, &own_places()?, &temporary_directory()) {
        None => Ok(()),
        Some(problem) => {
            let shown = path.display().to_string();
            Err(ToolError::argument(
                argument,
                format!("{shown:?} {problem}"),
            ))
        }
    }
}

/// The files and directories that the run names.
fn own_places() -> Result<Vec<PathBuf>, ToolError> {
    let Some(text) = host::variable(PROTECTED) else {
        return Ok(Vec::new());
    };
    serde_json::from_str(&text).map_err(|error| {
        ToolError::Failed(format!("${PROTECTED} is no JSON array of paths: {error}"))
    })
}

/// Why the file with this real path is not written. The nearest folder decides: the scratch directory of a
/// run lies in the state directory, and files may be written there.
fn problem(path: &Path, own: &[PathBuf], scratch: &Path) -> Option<&'static str> {
    let name = folded(path);
    if name.ends_with(CATALOG) {
        return Some("is a catalog, which no tool may write");
    }
    let file = name.to_string_lossy();
    if BESIDE_A_DATABASE.iter().any(|end| file.ends_with(end)) {
        return Some("is a file that SQLite keeps beside a database");
    }
    let own: Vec<PathBuf> = own.iter().map(|own| resolved(own)).collect();
    let places: Vec<_> = own.iter().filter_map(|own| identity(own)).collect();
    let own: Vec<PathBuf> = own.iter().map(|own| folded(own)).collect();
    if displaces(&name, &own) {
        return Some(
            "would be in the place of a folder that oneact needs; in a store of assets, name a file directly in the folder \
             of a session",
        );
    }
    let scratch = identity(scratch);
    for (at, name) in path.ancestors().zip(name.ancestors()) {
        let place = identity(at);
        if place.is_some() && place == scratch {
            return None;
        }
        let named = FOLDERS.iter().any(|folder| name.ends_with(folder));
        if named
            || own.iter().any(|own| own == name)
            || place.is_some_and(|at| places.contains(&at))
        {
            return Some("lies among files of oneact or git, where no tool may write");
        }
    }
    None
}

/// Some file systems do not tell upper from lower case.
fn folded(path: &Path) -> PathBuf {
    path.to_string_lossy().to_ascii_lowercase().into()
}

/// A folder has one, whatever path leads there.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = path.metadata().ok()?;
    Some((found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn a_path_is_taken_as_it_is_and_a_file_uri_decoded() {
        let path = |given| local_path("input", given).expect("a path");
        assert_eq!(path("/a%20b.mp4"), Path::new("/a%20b.mp4"));
        assert_eq!(path("FILE:///tmp/a%20b"), Path::new("/tmp/a b"));
        assert_eq!(path("file:///take#2?.wav"), Path::new("/take#2?.wav"));
        assert_eq!(path("film/a.mp4"), Path::new("film/a.mp4"));
    }

    #[test]
    fn other_schemes_are_no_files() {
        let refused = local_path("input", "s3://bucket/key").expect_err("refused");
        assert_eq!(
            refused.to_string(),
            "invalid argument `input`: \"s3://bucket/key\" has the scheme s3; only file: URIs and paths are accepted"
        );
    }

    #[test]
    fn a_file_uri_is_percent_encoded() {
        assert_eq!(
            file_uri(Path::new("/tmp/a b#c.mp4")),
            "file:///tmp/a%20b%23c.mp4"
        );
    }

    /// A root with a state directory, a scratch directory in it, and a ledger elsewhere.
    struct Ground {
        folder: tempfile::TempDir,
        scratch: &'static str,
    }

    impl Ground {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            for made in ["state/outbox", "state/staging/op_1", "results", "records"] {
                fs::create_dir_all(folder.path().join(made)).unwrap();
            }
            Self {
                folder,
                scratch: "state/staging/op_1",
            }
        }

        fn is_refused(&self, path: &str) -> bool {
            let root = self.folder.path().canonicalize().unwrap();
            let own = [
                "state",
                "records/ledger.db",
                "rules.toml",
                "kept/store/.incoming",
            ];
            let own = own.map(|own| root.join(own));
            let path = resolved(&root.join(path));
            problem(&path, &own, &root.join(self.scratch)).is_some()
        }
    }

    #[test]
    fn what_settings_name_is_not_written_whatever_leads_there() {
        let desk = Ground::new();
        let root = desk.folder.path();
        symlink("state", root.join("link")).unwrap();
        for own in [
            "state/outbox/a.json",
            "state/new",
            "STATE/outbox/a.json",
            "link/outbox/a.json",
            "results/../state/outbox/a.json",
            "state/staging/op_2/a",
            "records/ledger.db",
            "rules.toml",
        ] {
            assert!(desk.is_refused(own), "{own}");
        }
        for free in [
            "results/a.json",
            "records/a.json",
            "statement/a",
            "new/folder/a",
        ] {
            assert!(!desk.is_refused(free), "{free}");
        }
    }

    #[test]
    fn the_nearest_folder_decides() {
        let mut desk = Ground::new();
        assert!(!desk.is_refused("state/staging/op_1/a.mp4"));
        desk.scratch = ".";
        assert!(desk.is_refused("state/outbox/a.json"));
        assert!(desk.is_refused(".oneact/outbox/a.json"));
    }

    #[test]
    fn folders_of_oneact_are_not_written_at_any_depth_nor_replaced_by_a_file() {
        let desk = Ground::new();
        for own in [
            ".oneact/x",
            "sub/.GIT/hooks/pre-commit",
            "agent_outputs/reports/20260101T000000Z_p/journal",
            "agent_outputs/reports",
            "sub/agent_logs/executor",
            "agent_outputs",
            "agent_outputs/assets",
            "agent_outputs/assets/s",
            "agent_outputs/assets/s/a.mp4/b",
            "agent_outputs/assets/agent_outputs/assets/s/a.mp4",
            "agent_logs",
            "records",
            "kept",
            "kept/store",
            "kept/store/s9",
            "KEPT/store/s9",
            "kept/store/s9/d1.txt/x",
            "kept/store/.incoming/x",
            "sub/Catalog.toml",
            "data.db-WAL",
        ] {
            assert!(desk.is_refused(own), "{own}");
        }
        for free in [
            "agent_outputs/assets/s/a.mp4",
            "kept/store/s9/d1.txt",
            "kept/other",
            "agent_outputs/notes/reports",
            "reports",
            "catalogue.toml",
        ] {
            assert!(!desk.is_refused(free), "{free}");
        }
    }
}
