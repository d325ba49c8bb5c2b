//! A hundred thousand tasks that were good once: whatever was done to them, each gets one valid
//! envelope and the exit code that goes with it.

use std::{collections::BTreeMap, thread};

use fastrand::Rng;
use serde_json::{Map, Value, json};

use crate::in_process::{InProcess, fault};

const MUTANTS: usize = 100_000;
/// Each with a seed of its own, so that a failure can be repeated.
const SHARES: usize = 4;

/// Dry runs start nothing; these could not be started either.
const CATALOG: &str = r#"catalog = 1
[server.s]
command = ["/dev/null"]
[capability.ANY]
is_action = true
mcp = { server = "s", tool = "t" }
[capability.OTHER]
mcp = { server = "s", tool = "u" }
[capability.CUT]
mcp = { server = "s", tool = "cutter" }
bind = { input_uri = "input.uri", output_uri = "output.uri" }
extract = [{ from = "action", pattern = '(?P<rate>[0-9]+) Hz' }]
result = { kind = "asset", asset_type = "audio_track", format = "wav" }
retry = [{ multiply = { timeout = 2 } }]
[capability.CUT.parameter_schema_for_action]
type = "object"
required = ["input_uri"]
properties = { input_uri = { type = "string" }, output_uri = { type = "string" }, rate = {}, from = { type = "number" } }
additionalProperties = false
"#;

/// A task in each of the shapes, with everything that can be in one.
fn good() -> Vec<Value> {
    let cut = json!({
        "task_id": "task_5", "action": "Cut store_1 at 8000 Hz", "capability_ids": ["CUT"],
        "input_refs_resolved": [{"ref_id": "store_1", "storage_uri": "catalog.toml", "status": "stored"}],
        "output_refs_expected": ["derived_1"], "parameters": {"from": 1.5}, "attempt": 2,
    });
    let chain = json!({
        "task_id": "task_6", "capability_ids": ["ANY", "OTHER"],
        "input_refs_resolved": [{"ref_id": "src_1", "storage_uri": "catalog.toml", "status": "stored"}],
        "parameters": {"ANY": {"a": [1, {"b": null}]}, "OTHER": {}}, "execution_group": 1,
    });
    let metadata = json!({
        "session_id": "sess-1", "request_id": "req-1", "sequence_number": 4, "parent_message_id": null,
    });
    let resources = json!({
        "source_refs": [{"ref_id": "src_1"}], "storage_refs": [], "derived_refs": [],
    });
    let standard = json!({
        "kind": "standard", "name": "ANY", "parameters_json": "{\"a\": 1}", "rationale": "it is due",
        "confidence": 0.5, "clarifies": "op_1", "metadata": metadata,
    });
    let clarification =
        json!({"kind": "clarification", "blocked_on": ["the day"], "title": "Meet"});
    vec![
        standard,
        clarification,
        cut.clone(),
        chain.clone(),
        json!({"dispatch": cut, "metadata": metadata, "resources": resources}),
        json!({
            "message_id": "msg-1", "agent": {"name": "dispatch_agent"}, "metadata": metadata,
            "output": {"content": {"dispatch": chain}, "content_type": "task_dispatch"},
        }),
    ]
}

#[test]
fn a_hundred_thousand_mutated_tasks_get_a_hundred_thousand_valid_envelopes() {
    let shares: Vec<_> = thread::scope(|scope| {
        let shares: Vec<_> = (0..SHARES)
            .map(|seed| scope.spawn(move || share(seed)))
            .collect();
        shares
            .into_iter()
            .map(|share| share.join().unwrap())
            .collect()
    });
    let mut faults = BTreeMap::new();
    for (fault, count) in shares.into_iter().flatten() {
        *faults.entry(fault).or_insert(0) += count;
    }
    assert_eq!(faults.values().sum::<usize>(), MUTANTS);
    // They come far: some are still good, the others are refused for many a reason.
    for (reason, least) in [
        ("", 10_000),
        ("invalid_json", 10_000),
        ("invalid_shape", 10_000),
        ("kind_rule", 100),
        ("clarification_required", 1000),
        ("multiple_tasks", 100),
        ("no_capability", 100),
        ("unknown_capability", 100),
        ("params_invalid", 100),
        ("input_unresolved", 500),
        ("input_inaccessible", 100),
    ] {
        let count = faults.get(reason).copied().unwrap_or(0);
        assert!(count >= least, "{reason:?}: {count} in {faults:?}");
    }
}

/// One thread's mutants: how many ended with which fault.
fn share(seed: usize) -> BTreeMap<String, usize> {
    let oneact = InProcess::new(CATALOG);
    let good = good();
    let mut rng = Rng::with_seed(seed as u64);
    let mut faults = BTreeMap::new();
    for _ in 0..MUTANTS / SHARES {
        let mutant = mutant(&mut rng, &good);
        let envelope = oneact.answer(&mutant);
        *faults.entry(fault(&envelope).to_owned()).or_insert(0) += 1;
    }
    faults
}

/// A good task after one to three changes of its structure, of its bytes, or of both.
fn mutant(rng: &mut Rng, good: &[Value]) -> Vec<u8> {
    let mut task = rng.choice(good).unwrap().clone();
    let way = rng.u8(0..3);
    if way < 2 {
        for _ in 0..rng.u8(1..=3) {
            let other = rng.choice(good).unwrap();
            change(rng, &mut task, other);
        }
    }
    let mut bytes = task.to_string().into_bytes();
    if way > 0 && rng.u8(0..4) > 0 {
        for _ in 0..rng.u8(1..=3) {
            corrupt(rng, &mut bytes);
        }
    }
    bytes
}

/// Changes one value somewhere in it.
fn change(rng: &mut Rng, task: &mut Value, other: &Value) {
    let mut inner = other.clone();
    let graft = pick(rng, &mut inner).take();
    let spot = pick(rng, task);
    match rng.u8(0..6) {
        0 => *spot = odd(rng),
        1 => *spot = graft,
        2 => *spot = json!([spot.take()]),
        3 => {
            let name = rng.choice(NAMES).unwrap();
            *spot = json!({ *name: spot.take() });
        }
        4 => match spot {
            Value::Object(members) => lose(rng, members),
            Value::Array(items) => drop(items.pop()),
            plain => *plain = odd(rng),
        },
        _ => match spot {
            Value::Object(members) => {
                let name = rng.choice(NAMES).unwrap();
                let value = if rng.bool() { graft } else { odd(rng) };
                members.insert((*name).to_owned(), value);
            }
            Value::Array(items) => items.extend([graft, odd(rng)]),
            Value::String(text) => text.push(rng.char(..)),
            plain => *plain = graft,
        },
    }
}

fn lose(rng: &mut Rng, members: &mut Map<String, Value>) {
    let names: Vec<String> = members.keys().cloned().collect();
    if let Some(name) = rng.choice(&names) {
        members.remove(name);
    }
}

/// A value somewhere in it: the deeper, the less often.
fn pick<'a>(rng: &mut Rng, value: &'a mut Value) -> &'a mut Value {
    let inner = match value {
        Value::Object(members) => members.len(),
        Value::Array(items) => items.len(),
        _ => 0,
    };
    if inner == 0 || rng.u8(0..6) == 0 {
        return value;
    }
    let at = rng.usize(..inner);
    let next = match value {
        Value::Object(members) => members.values_mut().nth(at),
        Value::Array(items) => items.get_mut(at),
        _ => None,
    };
    pick(rng, next.unwrap())
}

/// Names that mean something somewhere.
const NAMES: &[&str] = &[
    "kind",
    "name",
    "task_id",
    "capability_ids",
    "dispatch",
    "output",
    "content",
    "metadata",
    "session_id",
    "sequence_number",
    "resources",
    "source_refs",
    "input_refs_resolved",
    "output_refs_expected",
    "ref_id",
    "storage_uri",
    "status",
    "attempt",
    "parameters",
    "action",
    "tasks",
    "input_uri",
    "",
];

/// A value where nobody expects it.
fn odd(rng: &mut Rng) -> Value {
    match rng.u8(0..16) {
        0 => Value::Null,
        1 => json!(rng.bool()),
        2 => json!(0),
        3 => json!(-1),
        4 => json!(u64::MAX),
        5 => serde_json::from_str("1e4000").unwrap(),
        6 => serde_json::from_str("12345678901234567890123456789012345678.9").unwrap(),
        7 => json!(""),
        8 => json!("\u{0}\u{7f}\u{2028}\u{fffd}\u{10ffff}"),
        9 => json!("x".repeat(rng.usize(..3000))),
        10 => json!("../../etc/passwd"),
        11 => json!("file:///%00/%zz"),
        12 => json!([]),
        13 => json!({}),
        14 => (0..rng.usize(..80)).fold(json!(1), |inner, _| json!([inner])),
        _ => json!(rng.choice([
            "src_1",
            "store_1",
            "derived_9",
            "stored",
            "CUT",
            "CAP-SYN-1"
        ])),
    }
}

/// Bytes that are cut short, doubled, flipped, or have others put among them.
fn corrupt(rng: &mut Rng, bytes: &mut Vec<u8>) {
    let from = rng.usize(..=bytes.len());
    let to = (from + rng.usize(..20)).min(bytes.len());
    match rng.u8(0..5) {
        0 => bytes.truncate(from),
        1 => drop(bytes.drain(from..to)),
        2 => {
            let twice = bytes[from..to].to_vec();
            bytes.splice(from..from, twice);
        }
        3 => {
            if let Some(byte) = bytes.get_mut(from) {
                *byte ^= 1 << rng.u8(0..8);
            }
        }
        _ => {
            let token = rng.choice(TOKENS).unwrap();
            bytes.splice(from..from, token.iter().copied());
        }
    }
}

const TOKENS: &[&[u8]] = &[
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"\\",
    b",",
    b":",
    b"null",
    b"NaN",
    b"-0",
    b"1e9999",
    b"\0",
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"\\ud800",
    b"\\u0000",
    b"//",
    b"\n",
    b"\"task_id\":\"again\",",
    b"$serde_json::private::Number",
];
