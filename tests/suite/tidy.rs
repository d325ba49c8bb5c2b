//! The house rules that no compiler knows: which room may use which, what every file begins with,
//! how long it may be.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

/// Room → the rooms it may `use crate::` from.
const EDGES: [(&str, &[&str]); 23] = [
    (
        "cli",
        &[
            "perform",
            "people",
            "record",
            "gateway",
            "catalog",
            "doctor",
            "envelope",
            "servers",
            "telemetry",
            "host",
            "task",
        ],
    ),
    (
        "perform",
        &[
            "record", "approval", "executor", "catalog", "envelope", "assets", "host", "task",
        ],
    ),
    (
        "gateway",
        &["perform", "servers", "catalog", "host", "task"],
    ),
    (
        "approval",
        &[
            "ledger", "evidence", "executor", "catalog", "envelope", "assets", "host", "task",
        ],
    ),
    (
        "record",
        &[
            "approval", "ledger", "evidence", "executor", "catalog", "envelope", "assets", "host",
            "task",
        ],
    ),
    (
        "people",
        &[
            "record", "approval", "ledger", "evidence", "executor", "catalog", "envelope",
            "assets", "host", "task",
        ],
    ),
    (
        "doctor",
        &[
            "record", "executor", "catalog", "assets", "mcp", "host", "task",
        ],
    ),
    (
        "fuzz",
        &[
            "perform", "mcp", "plan", "edit", "evidence", "catalog", "envelope", "host", "task",
        ],
    ),
    (
        "executor",
        &["catalog", "mcp", "plan", "assets", "host", "task"],
    ),
    ("ledger", &["host", "task"]),
    ("evidence", &["ledger", "host", "task"]),
    ("plan", &["edit", "tree", "host", "task"]),
    ("tree", &["host", "task"]),
    ("edit", &["task"]),
    ("mcp", &["web", "host", "task"]),
    ("assets", &["catalog", "web", "task", "host"]),
    ("catalog", &["task"]),
    ("envelope", &["task"]),
    ("servers", &["assets", "web", "task", "host"]),
    ("telemetry", &["web", "host", "task"]),
    ("web", &[]),
    ("task", &[]),
    ("host", &[]),
];

/// The hard stop; most files are far shorter.
const LONGEST: usize = 450;

pub(crate) fn sources() -> Vec<PathBuf> {
    fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut found,
    );
    found.sort();
    found
}

/// `src/mcp/wire.rs` and `src/mcp.rs` are both of the room `mcp`.
fn room(path: &Path) -> String {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let first = path.strip_prefix(src).unwrap().components().next().unwrap();
    first
        .as_os_str()
        .to_str()
        .unwrap()
        .trim_end_matches(".rs")
        .to_owned()
}

pub(crate) fn is_test(path: &Path) -> bool {
    path.file_stem().is_some_and(|stem| stem == "tests")
        || path.components().any(|part| part.as_os_str() == "tests")
}

/// The code without its unit tests.
fn code(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap()
}

#[test]
fn rooms_use_only_the_rooms_they_may() {
    let mut broken = BTreeSet::new();
    for path in sources() {
        let from = room(&path);
        if from == "lib" || from == "main" || is_test(&path) {
            continue;
        }
        let allowed = EDGES
            .iter()
            .find(|(name, _)| *name == from)
            .unwrap_or_else(|| panic!("room {from} has no row in EDGES"))
            .1;
        let text = fs::read_to_string(&path).unwrap();
        for (_, rest) in code(&text)
            .match_indices("crate::")
            .map(|(at, found)| (at, &text[at + found.len()..]))
        {
            let names: Vec<&str> = match rest.strip_prefix('{') {
                Some(group) => top_level(group),
                None => vec![rest],
            };
            for name in names {
                let to: String = name
                    .trim()
                    .chars()
                    .take_while(|c| c.is_alphanumeric() || *c == '_')
                    .collect();
                if to != from && !allowed.contains(&to.as_str()) {
                    broken.insert(format!("{}: {from} → {to}", path.display()));
                }
            }
        }
    }
    assert!(
        broken.is_empty(),
        "edges that are not allowed:\n{}",
        broken.into_iter().collect::<Vec<_>>().join("\n")
    );
}

/// The items of a `{…}` group, nested groups kept whole.
fn top_level(group: &str) -> Vec<&str> {
    let mut items = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                items.push(&group[start..at]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items.retain(|item| !item.trim().is_empty());
    items
}

#[test]
fn every_file_says_what_it_knows() {
    for path in sources().iter().filter(|path| !is_test(path)) {
        let text = fs::read_to_string(path).unwrap();
        assert!(
            text.starts_with("//!"),
            "{} does not begin with `//!`",
            path.display()
        );
    }
}

#[test]
fn no_file_is_longer_than_one_can_hold_in_mind() {
    for path in sources().iter().filter(|path| !is_test(path)) {
        let text = fs::read_to_string(path).unwrap();
        let lines = code(&text).lines().count();
        assert!(
            lines <= LONGEST,
            "{} has {lines} lines without its tests; at most {LONGEST}",
            path.display()
        );
    }
}

#[test]
fn nothing_is_left_undone() {
    for path in sources() {
        let text = fs::read_to_string(&path).unwrap();
        for word in [
            "todo!",
            "unimplemented!",
            "TODO",
            "FIXME",
            "XXX",
            "dbg!",
            "#[allow(",
        ] {
            assert!(!text.contains(word), "{} holds `{word}`", path.display());
        }
    }
}

#[test]
fn errors_carry_path_and_operation_and_never_a_bare_io_error() {
    for path in sources() {
        let text = fs::read_to_string(&path).unwrap();
        for shape in [
            "#[from] io::Error",
            "#[from] std::io::Error",
            "impl From<io::Error>",
            "impl From<std::io::Error>",
        ] {
            assert!(!text.contains(shape), "{} holds `{shape}`", path.display());
        }
    }
}

#[test]
fn nothing_between_reading_and_answering_asks_for_the_dialect() {
    for path in sources().iter().filter(|path| room(path) != "envelope") {
        let text = fs::read_to_string(path).unwrap().to_lowercase();
        assert!(
            !text.contains("dialect::") && !text.contains("match dialect"),
            "{}",
            path.display()
        );
    }
}

/// The names of all properties in a schema.
fn properties(schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Object(object) => {
            let own = object.get("properties").and_then(Value::as_object);
            names.extend(own.into_iter().flat_map(serde_json::Map::keys).cloned());
            object.values().for_each(|value| properties(value, names));
        }
        Value::Array(items) => items.iter().for_each(|value| properties(value, names)),
        _ => {}
    }
}

#[test]
fn every_key_of_a_catalog_is_described() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let schema = fs::read_to_string(root.join("schemas/catalog.schema.json")).unwrap();
    let described = fs::read_to_string(root.join("docs/catalog.md")).unwrap();
    let mut names = BTreeSet::new();
    properties(&serde_json::from_str(&schema).unwrap(), &mut names);
    // As a word of its own, not a part of another.
    let words: BTreeSet<&str> = described
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .collect();
    names.retain(|name| !words.contains(name.as_str()));
    assert_eq!(names, BTreeSet::new());
}

#[test]
fn the_map_names_every_room() {
    let map = Path::new(env!("CARGO_MANIFEST_DIR")).join("ARCHITECTURE.md");
    let map = fs::read_to_string(map).unwrap();
    for (room, _) in EDGES {
        assert!(
            map.contains(&format!("\n| `{room}` |")),
            "ARCHITECTURE.md does not describe `{room}`"
        );
    }
}

#[test]
fn every_path_that_the_map_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let map = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let paths = map.split('`').filter(|quoted| quoted.starts_with("src/"));
    let mut count = 0;
    for path in paths {
        // `a/{b,c}.rs` names two files.
        let (before, rest) = path.split_once('{').unwrap_or((path, "}"));
        let (names, after) = rest.split_once('}').unwrap();
        for name in names.split(',') {
            let path = format!("{before}{name}{after}");
            assert!(root.join(&path).exists(), "ARCHITECTURE.md names {path}");
            count += 1;
        }
    }
    assert!(count > 30, "only {count} paths");
}
