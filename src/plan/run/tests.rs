//! Whole plans on real directories.

mod belongings;
mod exhibited;
mod inherited;
mod kept;
mod linked;
mod mounted;
mod pipelines;
mod recovered;
mod together;

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    sync::LazyLock,
};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::{
    host::{Host, Interrupts},
    plan::record::Status,
    task::{Course, Effect, State, Validation},
};

/// A root of its own, with files in it.
struct Lab {
    _dir: TempDir,
    root: Utf8PathBuf,
    host: &'static Host,
}

/// One for all: every host catches signals anew.
static HOST: LazyLock<Host> = LazyLock::new(|| Host::new(None, None, Interrupts::catch()));

/// 001 §4.1's status, as the report has it.
fn status(outcome: &Outcome) -> Option<Status> {
    let told = &outcome.execution_report.as_ref()?["status"];
    [
        Status::Success,
        Status::Partial,
        Status::Failed,
        Status::RolledBack,
        Status::Cancelled,
        Status::Stuck,
    ]
    .into_iter()
    .find(|status| json!(status) == *told)
}

/// A tree by path: what matters of each file and directory.
type Tree = BTreeMap<String, (u32, i64, String)>;

impl Lab {
    fn new(files: &[(&str, &str)]) -> Self {
        // In memory, where there is such a place: thousands of plans wait for the disk here.
        let memory = Path::new("/dev/shm");
        let dir = if memory.is_dir() {
            tempfile::tempdir_in(memory)
        } else {
            tempfile::tempdir()
        }
        .unwrap();
        let root = Utf8PathBuf::try_from(dir.path().canonicalize().unwrap()).unwrap();
        for (name, content) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, content).unwrap();
            // Old enough that nobody has to wait for the clock.
            let old = std::time::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
            fs::File::open(&path).unwrap().set_modified(old).unwrap();
        }
        let host = &*HOST;
        Self {
            _dir: dir,
            root,
            host,
        }
    }

    fn run(&self, plan: Value) -> Outcome {
        self.run_under(plan, &Bounds::default())
    }

    /// A plan in a catalog with pipelines.
    fn run_under(&self, plan: Value, bounds: &Bounds) -> Outcome {
        self.run_as(plan, &Vec::new, bounds)
    }

    fn run_as(
        &self,
        plan: Value,
        own: &(dyn Fn() -> Vec<Utf8PathBuf> + Sync),
        bounds: &Bounds,
    ) -> Outcome {
        let order = PlanOrder {
            plan,
            system_config: None,
            validation: Validation::Approved,
            salt: None,
        };
        let desk = Desk {
            host: self.host,
            root: &self.root,
            task_id: "task_1",
            operation_id: "op_1",
            begun: self.host.moment(),
            budget: None,
            own,
            course: &Course::default(),
        };
        execute(&order, bounds, None, desk)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.root.join(name)).unwrap()
    }

    /// The tree without what oneact itself keeps, in which no file has a second name.
    fn tree(&self) -> Tree {
        let tree = self.tree_under_way();
        for name in tree.keys() {
            let facts = fs::symlink_metadata(self.root.join(name)).unwrap();
            assert!(
                facts.is_dir() || facts.nlink() == 1,
                "{name} has a second name"
            );
        }
        tree
    }

    /// The same, whatever a plan is about to do.
    fn tree_under_way(&self) -> Tree {
        let mut tree = Tree::new();
        walk(self.root.as_std_path(), &self.root, &mut tree);
        tree.retain(|path, _| !path.starts_with("agent_"));
        tree
    }

    fn reports(&self) -> Vec<Utf8PathBuf> {
        let dir = self.root.join("agent_outputs/reports");
        // A plan that was stopped early has made none.
        let mut names: Vec<Utf8PathBuf> = dir
            .read_dir_utf8()
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().path().to_owned())
            .filter(|path| !path.file_name().unwrap().starts_with('.'))
            .collect();
        names.sort();
        names
    }
}

fn walk(dir: &Path, root: &Utf8Path, tree: &mut Tree) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path
            .strip_prefix(root)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        let facts = fs::symlink_metadata(&path).unwrap();
        if facts.is_dir() {
            if !name.starts_with("agent_") {
                walk(&path, root, tree);
            }
            tree.insert(name, (facts.permissions().mode(), 0, "dir".to_owned()));
        } else {
            let content = fs::read_to_string(&path).unwrap();
            let seen = (facts.permissions().mode(), facts.mtime(), content);
            tree.insert(name, seen);
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "`json!` gives values")]
fn plan(actions: Value) -> Value {
    json!({"plan_id": "plan-001", "action_plan": actions})
}

fn replace(id: &str, target: &str, pattern: &str, replacement: &str) -> Value {
    json!({"action_id": id, "action_type": "FILE_MODIFY", "target": target,
        "operation": {"type": "text_replace", "pattern": pattern, "replacement": replacement}})
}

#[test]
fn a_plan_changes_its_files_and_tells_of_it_r_001_41_to_68() {
    let lab = Lab::new(&[("a.txt", "one\n"), ("b.txt", "two\n"), ("c.txt", "three\n")]);
    let finished = lab.run(plan(json!([
        replace("a001", "a.txt", "one", "eins"),
        {"action_id": "a002", "action_type": "FILE_DELETE", "target": "b.txt", "operation": {"type": "delete"}},
        {"action_id": "a003", "action_type": "FILE_RENAME", "target": "c.txt",
            "operation": {"type": "rename", "new_path": "d/e.txt"}},
        {"action_id": "a004", "action_type": "FILE_CREATE", "target": "n.txt",
            "operation": {"type": "create", "content": "new\n"}},
    ])));
    assert_eq!(status(&finished), Some(Status::Success), "{finished:#?}");
    assert_eq!(finished.effect, Effect::Done);
    assert_eq!(lab.read("a.txt"), "eins\n");
    assert_eq!(lab.read("d/e.txt"), "three\n");
    assert_eq!(lab.read("n.txt"), "new\n");
    assert!(!lab.root.join("b.txt").exists() && !lab.root.join("c.txt").exists());
    let files = finished.reports.unwrap();
    let manifest: Value =
        serde_json::from_str(&lab.read(files.rollback_manifest.as_ref().unwrap())).unwrap();
    assert_eq!(manifest["status"], "ACTIVE");
    for point in manifest["checkpoints"].as_array().unwrap() {
        if let Some(backup) = point["backup_location"].as_str() {
            let bytes = fs::read(lab.root.join(backup)).unwrap();
            assert_eq!(point["original_hash"], crate::plan::hash::hash(&bytes));
        }
    }
    let report: Value = serde_json::from_str(&lab.read(&files.execution_report)).unwrap();
    assert_eq!(report["status"], "SUCCESS");
    assert_eq!(report["actions_summary"]["completed"], 4);
    assert!(!lab.root.join(&files.directory).join("staged").exists());
}

#[test]
fn a_plan_may_begin_with_a_rename() {
    let lab = Lab::new(&[("a.txt", "one\n"), ("c.txt", "three\n")]);
    let finished = lab.run(plan(json!([
        {"action_id": "a001", "action_type": "FILE_RENAME", "target": "c.txt",
            "operation": {"type": "rename", "new_path": "b.txt"}},
        replace("a002", "a.txt", "one", "eins"),
    ])));
    assert_eq!(status(&finished), Some(Status::Success), "{finished:#?}");
    assert_eq!(
        (lab.read("a.txt"), lab.read("b.txt")),
        ("eins\n".to_owned(), "three\n".to_owned())
    );
}

#[test]
fn a_failure_known_before_the_first_change_changes_nothing_c_24() {
    let lab = Lab::new(&[("a.txt", "one\n"), ("c.txt", "three\n")]);
    let before = lab.tree();
    let finished = lab.run(plan(json!([
        replace("a001", "a.txt", "one", "eins"),
        replace("a002", "missing.txt", "two", "zwei"),
        replace("a003", "c.txt", "three", "drei"),
    ])));
    assert_eq!(status(&finished), Some(Status::Failed), "{finished:#?}");
    assert_eq!(finished.state, State::Rejected);
    assert_eq!(lab.tree(), before);
    let report = finished.execution_report.as_ref().unwrap();
    assert_eq!(
        report["actions_summary"],
        json!({"total": 3, "completed": 1, "failed": 1, "skipped": 1})
    );
    assert_eq!(report["actions_failed"][0]["error_code"], 2001);
    assert_eq!(report["rollback_performed"], false);
}

#[test]
fn a_rule_that_does_not_hold_takes_everything_back_r_001_81_r_001_106_r_001_181() {
    let lab = Lab::new(&[("a.txt", "one\n"), ("b.txt", "two\n"), ("c.txt", "three\n")]);
    let before = lab.tree();
    let mut second = replace("a002", "b.txt", "two", "zwei");
    second["validation_rules"] = json!([{"type": "contains", "text": "two"}]);
    let finished = lab.run(plan(json!([
        replace("a001", "a.txt", "one", "eins"),
        second,
        {"action_id": "a003", "action_type": "FILE_CREATE", "target": "x/y/n.txt",
            "operation": {"type": "create", "content": "new\n"}},
    ])));
    assert_eq!(status(&finished), Some(Status::RolledBack), "{finished:#?}");
    assert_eq!(lab.tree(), before);
    assert_eq!(
        finished.execution_report.as_ref().unwrap()["rollback_performed"],
        true
    );
    assert_eq!(finished.effect, Effect::None);
}

#[test]
fn with_neither_stop_nor_rollback_the_other_actions_are_done_r_001_128_r_001_129() {
    let lab = Lab::new(&[("a.txt", "one\n"), ("c.txt", "three\n")]);
    let mut partial = plan(json!([
        replace("a001", "a.txt", "one", "eins"),
        replace("a002", "missing.txt", "two", "zwei"),
        replace("a003", "c.txt", "three", "drei"),
    ]));
    partial["execution_instructions"] =
        json!({"stop_on_error": false, "rollback_on_failure": false});
    let finished = lab.run(partial);
    assert_eq!(status(&finished), Some(Status::Partial), "{finished:#?}");
    assert_eq!(
        (lab.read("a.txt").as_str(), lab.read("c.txt").as_str()),
        ("eins\n", "drei\n")
    );
}

#[test]
fn what_several_actions_make_of_one_file_is_one_change() {
    let lab = Lab::new(&[("a.txt", "one\n")]);
    let finished = lab.run(plan(json!([
        replace("a001", "a.txt", "one", "two"),
        replace("a002", "a.txt", "two", "three"),
        {"action_id": "a003", "action_type": "FILE_RENAME", "target": "a.txt",
            "operation": {"type": "rename", "new_path": "b.txt"}},
        replace("a004", "b.txt", "three", "four"),
    ])));
    assert_eq!(status(&finished), Some(Status::Success), "{finished:#?}");
    assert_eq!(lab.read("b.txt"), "four\n");
    assert!(!lab.root.join("a.txt").exists());
}

#[test]
fn edits_of_one_file_are_judged_by_their_common_result_r_001_162() {
    let files = [("a.json", "{\"a\": [1]}\n"), ("b.txt", "one\n")];
    let open = || replace("a001", "a.json", "[1]", "{\"b\": 1");
    let close = || replace("a003", "a.json", ": 1", ": 1}");
    let lab = Lab::new(&files);
    let finished = lab.run(plan(json!([
        open(),
        replace("a002", "b.txt", "one", "two"),
        close(),
    ])));
    assert_eq!(status(&finished), Some(Status::Success), "{finished:#?}");
    assert_eq!(lab.read("a.json"), "{\"a\": {\"b\": 1}}\n");
    // What nothing mends fails, with all edits that had a part in it.
    let lab = Lab::new(&files);
    let mut partial = plan(json!([
        open(),
        replace("a002", "b.txt", "one", "two"),
        replace("a003", "a.json", "b", "c"),
    ]));
    partial["execution_instructions"] =
        json!({"stop_on_error": false, "rollback_on_failure": false});
    let finished = lab.run(partial.clone());
    assert_eq!(status(&finished), Some(Status::Partial), "{finished:#?}");
    assert_eq!(
        finished.execution_report.as_ref().unwrap()["actions_summary"]["failed"],
        2
    );
    assert_eq!(lab.read("a.json"), files[0].1);
    assert_eq!(lab.read("b.txt"), "two\n");
    // What was done in reliance on them cannot stand.
    let lab = Lab::new(&files);
    partial["action_plan"][1]["depends_on"] = json!(["a001"]);
    let finished = lab.run(partial);
    assert_eq!(status(&finished), Some(Status::Failed), "{finished:#?}");
    assert_eq!(lab.read("b.txt"), "one\n");
    // An edit that mends does not come to its turn.
    let lab = Lab::new(&files);
    let finished = lab.run(plan(json!([
        open(),
        replace("a002", "b.txt", "three", "two"),
        close(),
    ])));
    assert_eq!(status(&finished), Some(Status::Failed), "{finished:#?}");
    assert_eq!(lab.read("a.json"), files[0].1);
}

#[test]
fn files_can_change_places() {
    let lab = Lab::new(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    let rename = |id: &str, from: &str, to: &str| {
        json!({"action_id": id, "action_type": "FILE_RENAME", "target": from,
            "operation": {"type": "rename", "new_path": to}})
    };
    let finished = lab.run(plan(json!([
        rename("a001", "a.txt", "t.txt"),
        rename("a002", "b.txt", "a.txt"),
        rename("a003", "t.txt", "b.txt"),
    ])));
    assert_eq!(status(&finished), Some(Status::Success), "{finished:#?}");
    assert_eq!(
        (lab.read("a.txt").as_str(), lab.read("b.txt").as_str()),
        ("b\n", "a\n")
    );
    assert!(!lab.root.join("t.txt").exists());
}

#[test]
fn the_checks_speak_of_the_report_c_07() {
    let lab = Lab::new(&[("a.txt", "one\n")]);
    let done = lab.run(plan(json!([replace("a001", "a.txt", "one", "two")])));
    let checks = done.checks;
    assert!(checks.output_exists && checks.output_non_empty && checks.format_valid);
    let refused = lab.run(json!({"plan_id": "p", "action_plan": []}));
    assert_eq!(refused.state, State::Rejected);
    assert_eq!(refused.checks, crate::task::Checks::default());
}
