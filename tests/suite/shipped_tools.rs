//! The shipped catalog's entries of built-in tools, from a task to its result.

use std::{fs, thread};

use camino::Utf8Path;
use serde_json::{Value, json};

use crate::program::{Answer, Root, fresh};

const SHIPPED: &str = include_str!("../../catalog.toml");

/// A root with the shipped catalog and a film of its own.
fn root() -> Root {
    let root = Root::with_catalog(SHIPPED);
    let film = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/media/fox.mp4");
    fs::copy(film, root.path.join("fox.mp4")).unwrap();
    root
}

fn perform(root: &Root, capability: &str, input: &str, parameters: &Value) -> Answer {
    root.run(&json!({
        "dispatch": {
            "task_id": "task_1", "action": "", "capability_ids": [capability], "attempt": 1,
            "input_refs_resolved": [{"ref_id": "store_1", "storage_uri": input, "status": "stored"}],
            "output_refs_expected": [], "parameters": parameters, "salt": fresh(),
        },
        "metadata": {"session_id": "sess-1", "request_id": fresh(), "sequence_number": 1},
    }))
}

fn result(root: &Root, capability: &str, input: &str, parameters: &Value) -> Value {
    let answer = perform(root, capability, input, parameters);
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    answer.result_data().clone()
}

#[test]
fn uploads_are_registered_and_stored_files_are_looked_into() {
    let root = root();
    let upload = perform(&root, "CAP-ACQ-005", "fox.mp4", &json!({}));
    assert_eq!(upload.exit, 0, "{}", upload.envelope);
    let uri = upload.at("/output/content/task_result/output_refs_produced/0/storage_uri");
    let uri = uri.as_str().unwrap();
    let whole = result(
        &root,
        "CAP-ACQ-006",
        uri,
        &json!({"expected_format": "mp4"}),
    );
    assert_eq!(
        (&whole["valid"], &whole["problems"]),
        (&json!(true), &json!([]))
    );
    let about = result(&root, "CAP-ACQ-007", uri, &json!({}));
    assert_eq!(about["tracks"][1]["codec"], "aac");
    let film = fs::read(root.path.join("fox.mp4")).unwrap();
    fs::write(root.path.join("half.mp4"), &film[..film.len() / 2]).unwrap();
    let half = result(&root, "CAP-ACQ-006", "half.mp4", &json!({}));
    assert_eq!(
        (&half["valid"], &half["format"]),
        (&json!(false), &json!("mp4"))
    );
}

#[test]
fn results_are_indexed_once_and_files_stored_once() {
    let root = root();
    fs::write(
        root.path.join("a.json"),
        r#"{"text": "The quick brown fox"}"#,
    )
    .unwrap();
    for duplicate in [false, true] {
        let indexed = result(
            &root,
            "CAP-DAT-001",
            "a.json",
            &json!({"metadata": {"session": "s"}}),
        );
        assert_eq!(
            (&indexed["entries"], &indexed["duplicate"]),
            (&json!(1), &json!(duplicate))
        );
        let place = json!({"target_path": "results/a.json"});
        let stored = result(&root, "CAP-DAT-002", "a.json", &place);
        assert_eq!(
            (&stored["path"], &stored["duplicate"]),
            (&json!("results/a.json"), &json!(duplicate))
        );
    }
    let refused = perform(
        &root,
        "CAP-DAT-002",
        "fox.mp4",
        &json!({"target_path": ".oneact/data.db"}),
    );
    assert_eq!(refused.exit, 1, "{}", refused.envelope);
    let far = perform(&root, "CAP-DAT-001", "s3://bucket/a.json", &json!({}));
    // There are no credentials for a copy.
    assert_eq!((far.exit, far.fault()), (1, &json!("input_inaccessible")));
}

#[test]
fn sixteen_processes_cache_in_one_database_at_once() {
    let root = root();
    fs::write(root.path.join("a.json"), r#"{"speakers": 2}"#).unwrap();
    thread::scope(|scope| {
        for number in 0..16 {
            let root = &root;
            scope.spawn(move || {
                let parameters = json!({"cache_key": format!("key {}", number % 8), "ttl": 60});
                let cached = result(root, "CAP-DAT-003", "a.json", &parameters);
                assert_eq!(cached["cached"], true);
            });
        }
    });
    let again = result(
        &root,
        "CAP-DAT-003",
        "a.json",
        &json!({"cache_key": "key 7"}),
    );
    assert_eq!(again["replaced"], true);
    assert_eq!(root.processes(), Vec::<i32>::new());
}
