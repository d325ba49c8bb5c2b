//! The reports of one plan of five actions: it creates, modifies, deletes, renames and updates a schema.

mod by_hand;
mod golden;
mod manifests;

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::*;
use crate::{
    plan::{
        change::{ChangeKind, Version},
        diff::{Pair, Side, summary},
        model::{ActionId, ReportedChange},
        record::{ActionEnd, Durability, Ending, Rollback, Run, Trouble, Undo, Verdict},
    },
    task::{ActionType, Failure, Fault, RelPath, hexadecimal},
    tree::{self, Facts, Jail},
};

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

fn id(text: &str) -> ActionId {
    ActionId(text.to_owned())
}

fn at(second: u128) -> At {
    let text = format!("2026-02-24T10:00:{second:02}.250+08:00[Asia/Singapore]");
    At::from(&text.parse::<jiff::Zoned>().unwrap())
}

fn uuid(n: u128) -> Uuid {
    Uuid::from_u128(0x1111_1111_1111_4111_8111_0000_0000_0000 | n)
}

/// UUIDs that count.
fn counting() -> impl FnMut() -> Uuid {
    let mut n = 0x100;
    move || {
        n += 1;
        uuid(n)
    }
}

fn sha(text: &str) -> String {
    hexadecimal(&Sha256::digest(text))
}

/// A second in 2026; every file of the story was last modified then.
const MODIFIED: &str = "2026-01-02T03:04:05.123456789Z";

fn file(text: &str, mode: u32) -> Version {
    let modified = MODIFIED.parse::<Timestamp>().unwrap().as_nanosecond();
    Version {
        facts: Facts {
            kind: tree::FileKind::File,
            dev: 1,
            ino: 1,
            bytes: text.len() as u64,
            mtime: modified.try_into().unwrap(),
            mode,
            uid: 0,
            gid: 0,
            nlink: 1,
            mount: 1,
            is_locked: false,
        },
        sha256: sha(text),
        attributes: String::new(),
    }
}

/// A change of the story: paths, contents (none = no file), mode.
struct Told<'a> {
    n: u128,
    action: &'a str,
    kind: ReportedChange,
    from: Option<&'a str>,
    path: &'a str,
    before: Option<&'a str>,
    after: Option<&'a str>,
    mode: u32,
}

const NAMES: [&str; 5] = [
    "new dir/it's new.txt",
    "src/a.txt",
    "old.txt",
    "name.txt",
    "schema.json",
];

const TOLD: [Told<'static>; 5] = [
    Told {
        n: 1,
        action: "a001",
        kind: ReportedChange::Create,
        from: None,
        path: NAMES[0],
        before: None,
        after: Some("new\n"),
        mode: 0o644,
    },
    Told {
        n: 2,
        action: "a002",
        kind: ReportedChange::Modify,
        from: None,
        path: NAMES[1],
        before: Some("one\ntwo\n"),
        after: Some("one\n2\nthree\n"),
        mode: 0o444,
    },
    Told {
        n: 3,
        action: "a003",
        kind: ReportedChange::Delete,
        from: None,
        path: NAMES[2],
        before: Some("old\n"),
        after: None,
        mode: 0o755,
    },
    Told {
        n: 4,
        action: "a004",
        kind: ReportedChange::Rename,
        from: Some(NAMES[3]),
        path: "src/-renamed.txt",
        before: Some("kept\n"),
        after: Some("kept\n"),
        mode: 0o600,
    },
    Told {
        n: 5,
        action: "a005",
        kind: ReportedChange::Modify,
        from: None,
        path: NAMES[4],
        before: Some("{}\n"),
        after: Some("{\"type\": \"object\"}\n"),
        mode: 0o640,
    },
];

const TYPES: [ActionType; 5] = [
    ActionType::FileCreate,
    ActionType::FileModify,
    ActionType::FileDelete,
    ActionType::FileRename,
    ActionType::SchemaUpdate,
];

fn run() -> Run {
    let waits = |waiting: &str, awaited: &[&str]| {
        (
            id(waiting),
            awaited.iter().copied().map(id).collect::<Vec<_>>(),
        )
    };
    Run {
        plan_id: "plan-001".to_owned(),
        task_id: "t1".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        directory: path("agent_outputs/reports/20260224-100000_t1"),
        began: at(0),
        actions: vec![
            waits("a001", &[]),
            waits("a002", &[]),
            waits("a003", &["a002"]),
            waits("a004", &[]),
            waits("a005", &["a003"]),
        ],
    }
}

fn change(told: &Told<'_>) -> Change {
    let state = |text: Option<&str>| text.map(|text| file(text, told.mode));
    let (new, old) = (path(told.path), path(told.from.unwrap_or(told.path)));
    let side = |name, text: &'static str| Side {
        name,
        bytes: text.as_bytes(),
        mode: told.mode,
    };
    let of = |name, text: Option<&str>| {
        let text: &'static str = text?.to_owned().leak();
        Some(side(name, text))
    };
    let pair = Pair {
        before: of(&old, told.before),
        after: of(&new, told.after),
    };
    let kind = match told.kind {
        ReportedChange::Create => ChangeKind::Create,
        ReportedChange::Modify => ChangeKind::Modify,
        ReportedChange::Delete => ChangeKind::Delete,
        ReportedChange::Rename => ChangeKind::Rename { to: new.clone() },
    };
    Change {
        actions: vec![id(told.action)],
        before: state(told.before),
        after: state(told.after),
        diff: summary(pair),
        checkpoint: uuid(told.n),
        backup: told.before.map(|_| path(&backup(&old))),
        ..Change::of_dir(old, kind, path("slot"), None)
    }
}

/// Where the original of a file is kept.
fn backup(of: &RelPath) -> String {
    run().file(&format!("backups/{of}.bak"))
}

fn verdict(n: usize, end: ActionEnd) -> Verdict {
    let told = &TOLD[n];
    Verdict {
        action: id(told.action),
        action_type: Some(TYPES[n]),
        target: Some(told.from.unwrap_or(told.path).to_owned()),
        began: at(TOLD[n].n - 1),
        ended: at(TOLD[n].n),
        end,
    }
}

fn completed(n: usize) -> Verdict {
    verdict(n, ActionEnd::Completed(format!("done {}", n + 1)))
}

/// All five actions done.
fn story() -> Story {
    let made = Change::of_dir(path("new dir"), ChangeKind::MakeDir, path("slot"), None);
    let changes = TOLD.iter().map(change);
    Story {
        run: run(),
        undo: Some(Undo {
            id: uuid(99),
            created: at(1),
            expires: None,
            changes: changes.chain([made]).collect(),
        }),
        end: Ending {
            ended: at(9),
            duration_ms: 9000,
            verdicts: (0..5).map(completed).collect(),
            warnings: vec!["a note".to_owned()],
            durability: Durability::Confirmed,
            ..Story::begun(run(), Jail::Enforced).end
        },
        undone: Vec::new(),
        has_expired: false,
    }
}

/// The second of three actions fails, and the third waits for it (001 §12.2).
fn failing() -> Story {
    let failure = Failure::new(Fault::FileNotFound, "File not found");
    let mut story = story();
    story.end.verdicts = vec![
        completed(0),
        verdict(1, ActionEnd::Failed(failure)),
        verdict(2, ActionEnd::Skipped("Dependency a002 failed".to_owned())),
    ];
    story
}

/// The reports of a story.
struct Reports<'a> {
    execution: Value,
    change_log: Value,
    manifest: Option<Manifest<'a>>,
}

fn told(story: &Story) -> Reports<'_> {
    let (execution, change_log) = execution(story, &mut counting());
    Reports {
        execution,
        change_log,
        manifest: Manifest::of(story),
    }
}

/// The manifest of a story, which stays for the test.
fn manifest_of(story: Story) -> Manifest<'static> {
    Manifest::of(Box::leak(Box::new(story))).unwrap()
}

fn trouble(fault: Fault) -> Trouble {
    Trouble {
        at: at(5),
        failure: Failure::new(fault, "it broke"),
    }
}

/// Each action compared with each other and with all that are waited for, these would be 10^13 comparisons.
#[test]
fn a_long_chain_that_was_not_tried_is_reported_in_one_pass() {
    let name = |n: usize| id(&format!("a{n}"));
    let verdict = |n: usize| Verdict {
        action: name(n),
        end: ActionEnd::Skipped("Not tried".to_owned()),
        ..completed(0)
    };
    let mut story = story();
    story.undo = None;
    story.end.verdicts = (0..20_000).map(verdict).collect();
    story.run.actions = (0..20_000).map(|n| (name(n), vec![name(n + 1)])).collect();
    let (report, _) = execution(&story, &mut || uuid(1));
    // The last waits for one that is not there.
    assert_eq!(report["errors"].as_array().unwrap().len(), 19_999);
}
