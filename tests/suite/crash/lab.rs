//! A small tree, a plan with every kind of change, and the binary at work on them.

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    os::unix::{
        fs::{MetadataExt, PermissionsExt, symlink},
        process::ExitStatusExt,
    },
    path::Path,
    process::{Command, Output, Stdio},
    time::{Duration, UNIX_EPOCH},
};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};
use tempfile::TempDir;

use nix::errno::Errno;

use crate::{
    program::ONEACT,
    tracer::{Act, Call, Ended, Follow, nth, traced_with},
};

/// How old every file of a new tree is: a file that is younger was written since.
const LONG_AGO: Duration = Duration::from_secs(1_700_000_000);

/// Where nothing has to wait for a disk.
pub(crate) fn memory() -> &'static Path {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        memory
    } else {
        Path::new("/tmp")
    }
}

/// Whether the long way was asked for: `ONEACT_CRASH=all`.
#[expect(
    clippy::disallowed_methods,
    reason = "how thorough to be is said from outside"
)]
pub(crate) fn all() -> bool {
    std::env::var("ONEACT_CRASH").is_ok_and(|what| what == "all")
}

/// What matters of a file, directory or link.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    mode: u32,
    /// Names of the file; of a directory nothing.
    names: u64,
    age: Age,
    content: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Age {
    /// As old as the tree.
    Untouched,
    Young,
    /// Of directories and links.
    NotAsked,
}

impl std::fmt::Debug for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = String::from_utf8_lossy(&self.content);
        write!(
            f,
            "{:o} {:?} {} names {text:?}",
            self.mode, self.age, self.names
        )
    }
}

/// By path, without what oneact keeps for itself.
pub(crate) type Tree = BTreeMap<String, Seen>;

/// A root with a tree in it.
pub(crate) struct Lab {
    dir: TempDir,
    pub(crate) root: Utf8PathBuf,
}

/// What happens to a run from outside, at a call of its plan that changes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// It is killed before the n-th call.
    Kill(u64),
    /// The n-th call fails.
    Once(Errno, u64),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct End {
    /// `None` = by a signal.
    pub(crate) exit: Option<i32>,
    pub(crate) killed: bool,
    /// Whether something happened to it from outside.
    pub(crate) met: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Lab {
    /// The tree that [`everything`] changes.
    pub(crate) fn new(place: &Path) -> Self {
        let lab = Self::empty(place);
        for (name, content) in [
            ("a.txt", "one\n"),
            ("run.sh", "two\n"),
            ("sub/data.json", "{\n  \"old\": 1.0\n}\n"),
            ("gone.txt", "gone\n"),
            ("old.txt", "old\n"),
            ("plain.txt", "plain\n"),
            ("beside.txt", "not of the plan\n"),
        ] {
            lab.write(name, content);
        }
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(lab.root.join("run.sh"), executable).unwrap();
        symlink("a.txt", lab.root.join("link")).unwrap();
        lab
    }

    pub(crate) fn empty(place: &Path) -> Self {
        let dir = TempDir::with_prefix_in("oneact-crash-", place).unwrap();
        let root = Utf8PathBuf::try_from(dir.path().canonicalize().unwrap()).unwrap();
        Self { dir, root }
    }

    /// Leaves the directory to whoever ends its disk.
    pub(crate) fn keep(self) -> Utf8PathBuf {
        let root = self.root.clone();
        let _ = self.dir.keep();
        root
    }

    /// A file that is as old as the tree.
    pub(crate) fn write(&self, name: &str, content: &str) {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        let file = fs::File::open(&path).unwrap();
        file.set_modified(UNIX_EPOCH + LONG_AGO).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.root.join(name)).unwrap()
    }

    pub(crate) fn run(&self, task: &Value, fault: Fault) -> End {
        run_under(oneact(&self.root), &self.root, task, fault)
    }

    pub(crate) fn rollback(&self, report: &str, fault: Fault) -> End {
        let mut command = oneact(&self.root);
        command.args(["rollback", "--json", report]);
        run_under(command, &self.root, &Value::Null, fault)
    }

    /// What the next start finds: one of the two trees, and nothing left of the plan but its report.
    pub(crate) fn settled(&self, told: &str) -> Tree {
        settled(&self.root, told)
    }

    pub(crate) fn tree(&self) -> Tree {
        tree(&self.root)
    }
}

/// The binary in that root, and nothing of our environment.
pub(crate) fn oneact(root: &Utf8Path) -> Command {
    let mut command = Command::new(ONEACT);
    around(&mut command, root);
    command
}

/// The surroundings of a run, for whatever program starts it.
pub(crate) fn around(command: &mut Command, root: &Utf8Path) {
    command
        .current_dir(root)
        .env_clear()
        .env("ONEACT_ROOT", root)
        .env("HOME", root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
}

/// Runs it to its end, whatever that is.
pub(crate) fn run(mut command: Command, task: &Value) -> End {
    let mut child = command.spawn().unwrap();
    // It may be gone before it has read anything.
    let _ = child
        .stdin
        .take()
        .unwrap()
        .write_all(task.to_string().as_bytes());
    End::of(&child.wait_with_output().unwrap(), false)
}

/// The same while a fault happens to it.
pub(crate) fn run_under(command: Command, root: &Utf8Path, task: &Value, fault: Fault) -> End {
    match fault {
        Fault::None => run(command, task),
        Fault::Kill(n) => run_deciding(&command, root, task, nth(Call::is_of_plan, n, Act::Kill)),
        Fault::Once(errno, n) => {
            let act = Act::Fail(errno);
            run_deciding(&command, root, task, nth(Call::is_of_plan, n, act))
        }
    }
}

/// The same while a test decides about each call.
pub(crate) fn run_deciding(
    command: &Command,
    root: &Utf8Path,
    task: &Value,
    decide: impl FnMut(&Call) -> Act + Send + 'static,
) -> End {
    run_following((command, Follow::Run), root, task, decide)
}

pub(crate) fn run_following(
    command: (&Command, Follow),
    root: &Utf8Path,
    task: &Value,
    decide: impl FnMut(&Call) -> Act + Send + 'static,
) -> End {
    let Ended { output, met, .. } = traced_with(command, root, task, decide);
    End::of(&output, !met.is_empty())
}

impl End {
    fn of(output: &Output, met: bool) -> Self {
        Self {
            met,
            exit: output.status.code(),
            killed: output.status.signal().is_some(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    pub(crate) fn envelope(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|_| panic!("no envelope: {self:?}"))
    }

    /// The word for what went wrong.
    pub(crate) fn fault(&self) -> Value {
        self.envelope()["output"]["content"]["oneact"]["fault"].clone()
    }

    /// Whether it answered that nothing was changed; an answer that could not be printed says nothing.
    pub(crate) fn says_nothing_changed(&self) -> bool {
        let envelope = serde_json::from_str::<Value>(&self.stdout).unwrap_or_default();
        envelope["output"]["content"]["oneact"]["effect"] == "none"
    }

    pub(crate) fn succeeded(&self, told: &str) {
        assert_eq!(
            self.exit,
            Some(0),
            "{told}: {}\n{}",
            self.stdout,
            self.stderr
        );
    }
}

/// Recovers: no plan is unfinished after it.
pub(crate) fn recovered(root: &Utf8Path, told: &str) {
    let mut command = oneact(root);
    command.args(["recover", "--json"]);
    let recovered = run(command, &Value::Null);
    recovered.succeeded(told);
    let marks = root.join("agent_outputs/reports/.unfinished");
    let left: Vec<_> = marks.read_dir_utf8().into_iter().flatten().collect();
    assert!(
        left.is_empty(),
        "{told}: {left:?} after {}",
        recovered.stdout
    );
}

/// Recovers, and sees that nothing but reports is left of the plan.
pub(crate) fn settled(root: &Utf8Path, told: &str) -> Tree {
    recovered(root, told);
    let reports = root.join("agent_outputs/reports");
    for report in reports.read_dir_utf8().into_iter().flatten().flatten() {
        let staged = report.path().join("staged");
        assert!(!staged.exists(), "{told}: {staged}");
    }
    tree(root)
}

/// What is below a root.
pub(crate) fn tree(root: &Utf8Path) -> Tree {
    let mut tree = Tree::new();
    walk(root, root, &mut tree);
    tree
}

fn walk(dir: &Utf8Path, root: &Utf8Path, tree: &mut Tree) {
    for entry in dir.read_dir_utf8().unwrap() {
        let entry = entry.unwrap();
        let path = entry.path();
        let name = path.strip_prefix(root).unwrap().to_string();
        if name.starts_with("agent_") || name == ".oneact" || name == ".cache" {
            continue;
        }
        let facts = fs::symlink_metadata(path).unwrap();
        let plain = |content| Seen {
            mode: facts.permissions().mode(),
            names: 0,
            age: Age::NotAsked,
            content,
        };
        let seen = if facts.is_dir() {
            walk(path, root, tree);
            plain(Vec::new())
        } else if facts.is_symlink() {
            plain(
                fs::read_link(path)
                    .unwrap()
                    .into_os_string()
                    .into_encoded_bytes(),
            )
        } else {
            let old = facts.modified().unwrap() == UNIX_EPOCH + LONG_AGO;
            Seen {
                names: facts.nlink(),
                age: if old { Age::Untouched } else { Age::Young },
                ..plain(fs::read(path).unwrap())
            }
        };
        tree.insert(name, seen);
    }
}

/// What is where it was not, or not as it was; for people.
fn differences(wanted: &Tree, found: &Tree) -> String {
    let paths: std::collections::BTreeSet<&String> = wanted.keys().chain(found.keys()).collect();
    let differs = paths
        .iter()
        .filter(|path| wanted.get(**path) != found.get(**path));
    differs
        .map(|path| {
            format!(
                "  {path}: {:?}, not {:?}\n",
                found.get(*path),
                wanted.get(*path)
            )
        })
        .collect::<Vec<String>>()
        .concat()
}

/// An approved task of these actions.
pub(crate) fn approved(actions: &Value) -> Value {
    json!({"protocol_validation": true, "task_plan": {"plan_id": "plan-001", "action_plan": actions}})
}

pub(crate) fn replace(id: &str, target: &str, pattern: &str, replacement: &str) -> Value {
    json!({"action_id": id, "action_type": "FILE_MODIFY", "target": target,
        "operation": {"type": "text_replace", "pattern": pattern, "replacement": replacement}})
}

pub(crate) fn create(id: &str, target: &str, content: &str) -> Value {
    json!({"action_id": id, "action_type": "FILE_CREATE", "target": target,
        "operation": {"type": "create", "content": content}})
}

pub(crate) fn delete(id: &str, target: &str) -> Value {
    json!({"action_id": id, "action_type": "FILE_DELETE", "target": target, "operation": {"type": "delete"}})
}

pub(crate) fn rename(id: &str, target: &str, to: &str) -> Value {
    json!({"action_id": id, "action_type": "FILE_RENAME", "target": target,
        "operation": {"type": "rename", "new_path": to}})
}

/// Every kind of change in one plan.
pub(crate) fn everything() -> Value {
    approved(&json!([
        replace("a001", "a.txt", "one", "eins"),
        replace("a002", "run.sh", "two", "zwei"),
        {"action_id": "a003", "action_type": "FILE_MODIFY", "target": "sub/data.json",
            "operation": {"type": "json_add_property", "path": "$", "key": "new", "value": 1}},
        delete("a004", "gone.txt"),
        rename("a005", "old.txt", "sub/new.txt"),
        {"action_id": "a006", "action_type": "FILE_CREATE", "target": "x/y/n.txt",
            "operation": {"type": "create", "content": "new\n", "mode": "0640"}},
        rename("a007", "plain.txt", "z/plain.txt"),
        create("a008", "old.txt", "another\n"),
    ]))
}

/// The two trees there may be, and how often each was met.
pub(crate) struct Either {
    pub(crate) old: Tree,
    pub(crate) new: Tree,
    pub(crate) found: Found,
}

#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Found {
    pub(crate) old: u64,
    pub(crate) new: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    Old,
    New,
}

impl Either {
    /// Of the plan with everything, as an undisturbed run makes them.
    pub(crate) fn of_everything(place: &Path) -> Self {
        let lab = Lab::new(place);
        let old = lab.tree();
        lab.run(&everything(), Fault::None).succeeded("undisturbed");
        let new = lab.tree();
        assert_ne!(old, new);
        let found = Found::default();
        Self { old, new, found }
    }

    /// Which of the two it is; anything else fails.
    pub(crate) fn is(&mut self, tree: &Tree, told: &str) -> Which {
        self.which(tree).unwrap_or_else(|| {
            let (old, new) = (differences(&self.old, tree), differences(&self.new, tree));
            panic!("{told}: neither old nor new.\nFrom old:\n{old}From new:\n{new}");
        })
    }

    pub(crate) fn which(&mut self, tree: &Tree) -> Option<Which> {
        if *tree == self.old {
            self.found.old += 1;
            Some(Which::Old)
        } else if *tree == self.new {
            self.found.new += 1;
            Some(Which::New)
        } else {
            None
        }
    }
}
