//! `file_storer`: what it stores, and where it never does.

use std::os::unix::fs::symlink;

use super::*;

fn store(desk: &DataFolder, data: &str, path: &str) -> Value {
    desk.call(
        "file_storer",
        &json!({"file_data": data, "target_path": path}),
    )
}

fn refused(desk: &DataFolder, path: &str) -> String {
    let arguments = json!({"file_data": "data:;base64,AAAA", "target_path": path});
    desk.refused("file_storer", &arguments)
}

/// Every name in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_is_stored_whole_with_the_folders_it_needs() {
    let desk = DataFolder::new();
    let medium = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/media/fox.mp4");
    let answer = store(
        &desk,
        medium.to_str().unwrap(),
        "./results/tag 1/Füchse.mp4",
    );
    let bytes = fs::read(&medium).unwrap();
    assert_eq!(
        (&answer["path"], &answer["bytes"]),
        (&json!("results/tag 1/Füchse.mp4"), &json!(bytes.len()))
    );
    let stored = desk.path().join("results/tag 1");
    assert_eq!(names(&stored), ["Füchse.mp4"]);
    assert!(fs::read(stored.join("Füchse.mp4")).unwrap() == bytes);
}

#[test]
fn bytes_come_from_a_data_uri_too() {
    let desk = DataFolder::new();
    let answer = store(
        &desk,
        "data:text/plain;charset=utf-8;base64,aGFsbG8=",
        "hallo.txt",
    );
    assert_eq!(fs::read(desk.path().join("hallo.txt")).unwrap(), b"hallo");
    assert_eq!(
        answer["sha256"],
        "d3751d33f9cd5049c4af2b462735457e4d3baf130bcbb87f389e349fbaeb20b9"
    );
    for broken in ["data:,hallo", "data:;base64,a*b=", "data:;base64"] {
        let arguments = json!({"file_data": broken, "target_path": "a"});
        assert!(
            desk.refused("file_storer", &arguments)
                .contains("data: URI")
        );
    }
    assert_eq!(names(desk.path()), ["hallo.txt"]);
}

#[test]
fn the_same_again_is_a_duplicate_and_anything_else_is_refused() {
    let desk = DataFolder::new();
    assert_eq!(
        store(&desk, "data:;base64,aGFsbG8=", "a/b")["duplicate"],
        false
    );
    assert_eq!(
        store(&desk, "data:;base64,aGFsbG8=", "a/b")["duplicate"],
        true
    );
    let own = desk.path().join("a/b");
    assert_eq!(
        store(&desk, own.to_str().unwrap(), "a/b")["duplicate"],
        true
    );
    assert!(refused(&desk, "a/b").contains("exists already with other content"));
    assert!(refused(&desk, "a").contains("not a regular file"));
    assert_eq!(fs::read(own).unwrap(), b"hallo");
    assert_eq!(names(&desk.path().join("a")), ["b"]);
}

#[test]
fn no_path_leads_out_of_the_directory() {
    let desk = DataFolder::new();
    for path in [
        "../a",
        "a/../../b",
        "a/..",
        "/tmp/a",
        "..",
        ".",
        "",
        "a/",
        "file:///tmp/a",
        "a\0b",
        "//a",
    ] {
        refused(&desk, path);
    }
    assert_eq!(names(desk.path()), Vec::<String>::new());
}

#[test]
fn no_symbolic_link_is_followed() {
    let desk = DataFolder::new();
    let outside = tempfile::tempdir().unwrap();
    symlink(outside.path(), desk.path().join("out")).unwrap();
    symlink(outside.path().join("new"), desk.path().join("dangling")).unwrap();
    assert!(refused(&desk, "out/a").contains("symbolic link"));
    assert!(refused(&desk, "out/deep/a").contains("symbolic link"));
    assert!(refused(&desk, "dangling").contains("not a regular file"));
    assert_eq!(names(outside.path()), Vec::<String>::new());
}

#[test]
fn oneacts_own_files_are_out_of_reach() {
    let desk = DataFolder::new();
    for path in [
        ".oneact/data.db",
        ".git/hooks/pre-commit",
        "lib/.git/config",
        ".GIT/config",
        "./catalog.toml",
        "docs/Catalog.toml",
        "data/ledger.sqlite-journal",
        "data/ledger.sqlite-WAL",
        "agent_outputs/reports/.unfinished/x",
        "sub/Agent_Outputs/Reports/r/journal",
        "agent_logs/executor/2026-01-01.jsonl",
    ] {
        refused(&desk, path);
    }
    assert_eq!(names(desk.path()), Vec::<String>::new());
    store(&desk, "data:;base64,AAAA", "docs/catalogue.toml");
    store(&desk, "data:;base64,AAAA", "agent_outputs/notes/reports");
}

#[test]
fn what_is_no_file_is_not_stored() {
    let desk = DataFolder::new();
    for data in ["/does/not/exist", "/tmp", "https://a.example/a"] {
        let arguments = json!({"file_data": data, "target_path": "x/a"});
        desk.refused("file_storer", &arguments);
    }
    assert_eq!(names(desk.path()), Vec::<String>::new());
}

/// Two machines that share a folder can have processes of the same number.
#[test]
fn a_file_is_not_written_under_a_name_that_another_process_may_use() {
    let desk = DataFolder::new();
    let draft = |number: u32| format!(".oneact-{}-{number}.part", std::process::id());
    for number in 0..1000 {
        fs::write(desk.path().join(draft(number)), "another's").unwrap();
    }
    store(&desk, "data:;base64,AAAA", "a.bin");
    assert_eq!(names(desk.path()).len(), 1001);
}
