//! Where no built-in tool writes a file: oneact's own places, wherever its settings put them.

use std::{
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::{
    files::{absolute, temporary_directory},
    tool::ToolError,
};
use crate::{
    host::{self, resolved},
    task::{PROTECTED, displaces},
};

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

    /// A root with a state directory, a scratch directory in it, and a ledger elsewhere.
    struct Desk {
        folder: tempfile::TempDir,
        scratch: &'static str,
    }

    impl Desk {
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
        let desk = Desk::new();
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
        let mut desk = Desk::new();
        assert!(!desk.is_refused("state/staging/op_1/a.mp4"));
        desk.scratch = ".";
        assert!(desk.is_refused("state/outbox/a.json"));
        assert!(desk.is_refused(".oneact/outbox/a.json"));
    }

    #[test]
    fn folders_of_oneact_are_not_written_at_any_depth_nor_replaced_by_a_file() {
        let desk = Desk::new();
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
