//! The functions that the fuzz targets call: each takes any bytes, and panics if a promise is broken.
//!
//! Compiled only for `cargo fuzz` and for tests; a test runs all seeds.

use std::sync::OnceLock;

use camino::Utf8Path;
use jiff::Zoned;
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::{
    catalog::{self, Catalog, Places},
    edit::{
        self, Budget, DiffRules, Edit, JsonEdit, JsonPath, MissingKey, Patch, YamlEdit, value_of,
    },
    envelope, evidence,
    host::{Host, Interrupts},
    mcp,
    perform::{Arrived, Mode, Project, Settings, perform},
    plan,
    task::{CapabilityTask, Course, Nameable, RelPath, State, Task},
};

/// Any input on stdin, without a catalog: it must be answered with one valid envelope, and nothing can be performed.
pub fn reader(bytes: &[u8]) {
    static HOST: OnceLock<Host> = OnceLock::new();
    static SCHEMA: OnceLock<Option<Validator>> = OnceLock::new();
    let still = "2026-02-24T10:00:00+08:00[+08:00]".parse::<Zoned>().ok();
    let host = HOST.get_or_init(|| Host::new(still, Some(1), Interrupts::catch()));
    let schema = SCHEMA.get_or_init(|| {
        let schema = include_str!("../schemas/envelope.schema.json");
        jsonschema::validator_for(&serde_json::from_str(schema).ok()?).ok()
    });
    let nowhere = Utf8Path::new("/dev/null");
    let settings = Settings {
        mode: Mode::DryRun,
        ..Settings::of(Project {
            root: nowhere.to_owned(),
            catalog: nowhere.join("catalog.toml"),
            state_dir: nowhere.join(".oneact"),
            ledger: None,
        })
    };
    let arrived = Arrived::read(Ok(bytes.to_vec()), host.moment(), host);
    let answer = perform(
        &arrived,
        &settings,
        host,
        (&Course::default(), &|_| {}),
        None,
    );
    let envelope: Value = serde_json::from_slice(&answer.line).unwrap_or_default();
    assert!(schema.is_some(), "the schema does not compile");
    let misfit = schema
        .as_ref()
        .and_then(|schema| schema.validate(&envelope).err());
    assert!(misfit.is_none(), "{misfit:?} in {envelope}");
    let unperformed = [State::Rejected, State::Advised, State::Pending];
    assert!(unperformed.contains(&answer.state) && !answer.recoverable);
    let ends = answer.line.iter().position(|byte| *byte == b'\n');
    assert_eq!(ends, Some(answer.line.len() - 1), "one line");
}

/// Any `catalog.toml`: every error must name a line, and every good entry must accept or refuse a task.
pub fn catalog(bytes: &[u8]) {
    let path = Utf8Path::new("catalog.toml");
    let placed = |text: &str| assert!(text.contains("catalog.toml:"), "{text:?} has no line");
    let catalog = match Catalog::from_bytes(path, bytes.to_vec()) {
        Ok(catalog) => catalog,
        Err(error) => return placed(&error.to_string()),
    };
    let tables = match catalog.tables() {
        Ok(tables) => tables,
        Err(error) => return placed(&error.to_string()),
    };
    let checked = catalog::check(&tables, &[]);
    for problem in &checked.problems {
        placed(&problem.text);
    }
    let places = Places {
        root: Utf8Path::new("/project"),
        staging: Utf8Path::new("/scratch"),
        session: "sess-1",
    };
    for entry in checked.capabilities.iter().take(4) {
        for attempt in [1, 3] {
            let resolved = task(&entry.id, attempt).map(|task| {
                let named = catalog::look_up_all(&task, &tables, Nameable::Entries);
                named
                    .and_then(|named| catalog::resolve(&task, named, &tables, places, None))
                    .is_ok()
            });
            // A refusal is fine: the catalog need not accept this task.
            assert!(resolved.is_some());
        }
    }
}

/// A task with the inputs and outputs that most capabilities need.
fn task(id: &str, attempt: u32) -> Option<CapabilityTask> {
    let task = json!({"dispatch": {
        "task_id": "task_5",
        "action": "Extract 16 kHz audio from store_1 and save as derived_1",
        "capability_ids": [id],
        "input_refs_resolved": [{"ref_id": "store_1", "storage_uri": "a/b.mp4", "status": "stored"}],
        "output_refs_expected": ["derived_1"],
        "attempt": attempt,
    }});
    let bytes = serde_json::to_vec(&task).ok()?;
    match envelope::read(&bytes, String::new).task.ok()? {
        Task::Capabilities(task) => Some(*task),
        _ => None,
    }
}

/// A secret in the first line, and a server's stdout in the others.
pub fn message(bytes: &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let (secret, stdout) = bytes.split_at(end);
    let plain = secret.len() >= 4 && secret.iter().all(u8::is_ascii_alphanumeric);
    let secret = std::str::from_utf8(secret).ok().filter(|_| plain);
    mcp::overhear(stdout, secret.unwrap_or("hunter2"));
}

/// A path in the first line, a value in the second, and a document in the others: an update that is made leaves a valid
/// document, which has the value there, and the same update changes nothing more.
pub fn edits(bytes: &[u8]) {
    let mut parts = bytes.splitn(3, |byte| *byte == b'\n');
    let mut part = || parts.next().unwrap_or_default();
    let (path, value, document) = (part(), part(), part());
    let path = std::str::from_utf8(path).map(JsonPath::parse);
    let (Ok(Ok(path)), Ok(value)) = (path, serde_json::from_slice::<Value>(value)) else {
        return;
    };
    let budget = Budget {
        most: 1 << 20,
        stopped: &|| None,
    };
    let (missing, new) = (MissingKey::Created, || value.clone());
    let (json, yaml) = (
        JsonEdit::Update { value: new() },
        YamlEdit::Update {
            value: new(),
            missing,
        },
    );
    let json = Edit::Json {
        path: path.clone(),
        edit: json,
    };
    let yaml = Edit::Yaml {
        path,
        document: None,
        edit: yaml,
    };
    for (name, edit) in [("a.jsonc", json), ("a.yaml", yaml)] {
        let Ok(name) = RelPath::parse(name) else {
            return;
        };
        let update = |document: &[u8]| edit::edit(&edit, &name, document, document, &budget);
        let Ok(edited) = update(document) else {
            continue;
        };
        let checked = edit::check_syntax(&name, &edited.bytes, budget.stopped);
        assert!(checked.is_ok() && edited.broken.is_none(), "{checked:?}");
        let again =
            update(&edited.bytes).map(|again| value_of(&name, &again.bytes, budget.stopped));
        let once = value_of(&name, &edited.bytes, budget.stopped);
        assert_eq!(again, Ok(once), "the same update again");
    }
}

/// Any diff: what is wrong with it is said of one of its lines, and the hunks of a file are read by the action `patch`.
pub fn diff(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let rules = DiffRules::default();
    let (files, problems) = edit::diff::read(text, rules);
    let lines = 1..=text.split('\n').count() + 1;
    assert!(
        problems.iter().all(|problem| lines.contains(&problem.line)),
        "{problems:?}"
    );
    for file in files {
        assert!(lines.contains(&file.line), "{file:?}");
        if let (Some(text), Ok(name)) = (&file.text, RelPath::parse("a")) {
            let patch = Patch::parse(text, &name, rules);
            assert!(patch.is_ok(), "{patch:?} of {file:?}");
        }
    }
}

/// The events of a journal, a line each.
pub fn journal(bytes: &[u8]) {
    plan::fuzzed_journal(bytes);
}

/// A message in the first line, and a signature in the others.
pub fn signature(bytes: &[u8]) {
    evidence::signature::fuzzed(bytes);
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    type Target = (&'static str, fn(&[u8]));

    #[test]
    fn every_seed_keeps_every_promise() {
        let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds");
        let targets: [Target; 7] = [
            ("reader", super::reader),
            ("catalog", super::catalog),
            ("message", super::message),
            ("edits", super::edits),
            ("diff", super::diff),
            ("journal", super::journal),
            ("signature", super::signature),
        ];
        for (name, target) in targets {
            let mut seen = 0;
            for seed in fs::read_dir(seeds.join(name)).unwrap() {
                target(&fs::read(seed.unwrap().path()).unwrap());
                seen += 1;
            }
            assert!(seen > 5, "{name} has seeds");
        }
    }
}
