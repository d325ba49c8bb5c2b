//! A small tree, a plan with every kind of change, and runs of this program on them.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write},
    os::unix::{fs::MetadataExt, process::ExitStatusExt},
    process::{Command, Stdio},
    time::{Duration, UNIX_EPOCH},
};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::host::{die_with_us, own_program, plain_environment};

use super::Unfinished;

/// The modification time of every file of a new tree, since 1970.
const LONG_AGO: Duration = Duration::from_secs(1_700_000_000);

/// The compared facts of a file: its permission bits, its number of names, whether it has the time of the new
/// tree, and its content. A directory has no facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Seen {
    Dir,
    File {
        mode: u32,
        names: u64,
        untouched: bool,
        content: Vec<u8>,
    },
}

/// The files by their paths below the root, without oneact's own files.
pub(super) type Tree = BTreeMap<Utf8PathBuf, Seen>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    Killed,
    Success,
    /// With what was printed to stdout.
    Failure(String),
}

/// A directory that is removed when this value is dropped.
#[derive(Debug)]
pub(super) struct Scratch {
    _dir: TempDir,
    pub(super) root: Utf8PathBuf,
}

impl Scratch {
    pub(super) fn new(place: &Utf8Path) -> Result<Self, Unfinished> {
        let made = TempDir::with_prefix_in("oneact-selftest-", place).and_then(|dir| {
            let root = Utf8PathBuf::try_from(dir.path().canonicalize()?);
            Ok((root.map_err(io::Error::other)?.join("root"), dir))
        });
        let (root, dir) = made.map_err(failed("make a directory in", place))?;
        Ok(Self { _dir: dir, root })
    }

    /// Makes the tree as it is before the plan.
    pub(super) fn fresh(&self) -> Result<(), Unfinished> {
        if self.root.exists() {
            fs::remove_dir_all(&self.root).map_err(failed("clear", &self.root))?;
        }
        for (name, content) in [
            ("a.txt", "one\n"),
            ("b.txt", "two\n"),
            ("sub/data.json", "{\"old\": 1.0}\n"),
            ("gone.txt", "gone\n"),
            ("old.txt", "old\n"),
        ] {
            let path = self.root.join(name);
            let dir = path.parent().unwrap_or(&self.root);
            fs::create_dir_all(dir).map_err(failed("make the directory", dir))?;
            fs::write(&path, content).map_err(failed("write", &path))?;
            fs::File::open(&path)
                .and_then(|file| file.set_modified(UNIX_EPOCH + LONG_AGO))
                .map_err(failed("set the times of", &path))?;
        }
        Ok(())
    }

    pub(super) fn run(&self, faults: &str) -> Result<End, Unfinished> {
        let task = plan().to_string();
        self.oneact(&[], faults, task.as_bytes())
            .map(|(end, _)| end)
    }

    /// Runs the plan without faults, and returns its report directory.
    pub(super) fn apply(&self) -> Result<String, Unfinished> {
        let task = plan().to_string();
        let (end, answer) = self.oneact(&[], "", task.as_bytes())?;
        let not_even = |said: &str| Unfinished::NotEven(said.to_owned());
        if let End::Failure(said) = end {
            return Err(not_even(&said));
        }
        let reports = self.root.join("agent_outputs/reports");
        let listed = fs::read_dir(&reports).map_err(failed("list", &reports))?;
        let name = listed
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .find(|name| !name.starts_with('.'));
        name.map(|name| format!("agent_outputs/reports/{name}"))
            .ok_or_else(|| not_even(&answer))
    }

    pub(super) fn recover(&self, faults: &str) -> Result<End, Unfinished> {
        self.oneact(&["recover", "--json"], faults, b"")
            .map(|(end, _)| end)
    }

    pub(super) fn rollback(&self, plan: &str, faults: &str) -> Result<End, Unfinished> {
        self.oneact(&["rollback", "--json", plan], faults, b"")
            .map(|(end, _)| end)
    }

    /// Whether a plan is recorded as unfinished.
    pub(super) fn unfinished(&self) -> Result<bool, Unfinished> {
        let notes = self.root.join("agent_outputs/reports/.unfinished");
        match fs::read_dir(&notes) {
            Ok(mut notes) => Ok(notes.next().is_some()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(failed("list", &notes)(error)),
        }
    }

    pub(super) fn tree(&self) -> Result<Tree, Unfinished> {
        let mut tree = Tree::new();
        walk(&self.root, &self.root, &mut tree)?;
        Ok(tree)
    }

    fn oneact(
        &self,
        arguments: &[&str],
        faults: &str,
        input: &[u8],
    ) -> Result<(End, String), Unfinished> {
        let own = own_program();
        let mut child = self
            .command(&own, faults)
            .args(arguments)
            .spawn()
            .map_err(failed("start", Utf8Path::new(&own)))?;
        if let Some(mut stdin) = child.stdin.take() {
            // The program may end before it reads its input.
            let _ = stdin.write_all(input);
        }
        let output = child
            .wait_with_output()
            .map_err(failed("wait for", Utf8Path::new(&own)))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let end = if output.status.success() {
            End::Success
        } else if output.status.signal().is_some() {
            End::Killed
        } else {
            End::Failure(said.clone())
        };
        Ok((end, said))
    }

    /// A program in the tree. It gets none of the user's settings of oneact, which can name a real ledger.
    fn command(&self, program: &str, faults: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs(plain_environment())
            .env("ONEACT_ROOT", &self.root)
            .env("ONEACT_FAULTS", faults)
            .current_dir(&self.root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        die_with_us(&mut command);
        command
    }
}

fn plan() -> Value {
    let actions = json!([
        {"action_id": "a001", "action_type": "FILE_MODIFY", "target": "a.txt",
         "operation": {"type": "text_replace", "pattern": "one", "replacement": "eins"}},
        {"action_id": "a002", "action_type": "FILE_MODIFY", "target": "b.txt",
         "operation": {"type": "text_replace", "pattern": "two", "replacement": "zwei"}},
        {"action_id": "a003", "action_type": "FILE_MODIFY", "target": "sub/data.json",
         "operation": {"type": "json_add_property", "path": "$", "key": "new", "value": 1}},
        {"action_id": "a004", "action_type": "FILE_DELETE", "target": "gone.txt",
         "operation": {"type": "delete"}},
        {"action_id": "a005", "action_type": "FILE_RENAME", "target": "old.txt",
         "operation": {"type": "rename", "new_path": "sub/new.txt"}},
        {"action_id": "a006", "action_type": "FILE_CREATE", "target": "x/y/n.txt",
         "operation": {"type": "create", "content": "new\n", "mode": "0640"}},
        {"action_id": "a007", "action_type": "FILE_CREATE", "target": "old.txt",
         "operation": {"type": "create", "content": "another\n"}},
    ]);
    json!({"protocol_validation": true, "task_plan": {"plan_id": "selftest", "action_plan": actions}})
}

fn walk(dir: &Utf8Path, root: &Utf8Path, tree: &mut Tree) -> Result<(), Unfinished> {
    let entries = dir.read_dir_utf8().map_err(failed("list", dir))?;
    for entry in entries {
        let entry = entry.map_err(failed("list", dir))?;
        let path = entry.path();
        let ours = entry.file_name().starts_with("agent_") || entry.file_name() == ".oneact";
        if dir == root && ours {
            continue;
        }
        let facts = fs::symlink_metadata(path).map_err(failed("look at", path))?;
        let seen = if facts.is_dir() {
            walk(path, root, tree)?;
            Seen::Dir
        } else {
            Seen::File {
                mode: facts.mode() & 0o7777,
                names: facts.nlink(),
                untouched: facts.modified().ok() == Some(UNIX_EPOCH + LONG_AGO),
                content: fs::read(path).map_err(failed("read", path))?,
            }
        };
        let name = path.strip_prefix(root).unwrap_or(path);
        tree.insert(name.to_owned(), seen);
    }
    Ok(())
}

pub(super) fn failed(
    operation: &'static str,
    path: &Utf8Path,
) -> impl FnOnce(io::Error) -> Unfinished {
    let path = path.to_owned();
    move |source| Unfinished::File {
        operation,
        path,
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_under_test_gets_no_setting_of_the_user() {
        let dir = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(Utf8Path::from_path(dir.path()).unwrap()).unwrap();
        scratch.fresh().unwrap();
        let output = scratch.command("/usr/bin/env", "").output().unwrap();
        let output = String::from_utf8(output.stdout).unwrap();
        let names: Vec<&str> = output
            .lines()
            .filter_map(|line| line.split('=').next())
            .collect();
        let set: Vec<&str> = names
            .iter()
            .copied()
            .filter(|name| name.starts_with("ONEACT_"))
            .collect();
        assert_eq!(set, ["ONEACT_FAULTS", "ONEACT_ROOT"]);
        // Cargo sets it for a test.
        assert!(!names.contains(&"CARGO_MANIFEST_DIR"), "{names:?}");
    }
}
