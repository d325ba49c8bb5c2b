//! The database file: whose it is, which version, who may read it.

use std::{os::unix::fs::PermissionsExt, thread};

use super::*;

fn cache(desk: &DataFolder) -> Result<Value, ToolError> {
    desk.try_raw(
        "context_cacher",
        &json!({"cache_key": "k", "context_data": 1}),
    )
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn it_is_for_its_owner_alone_and_keeps_a_write_ahead_log() {
    let desk = DataFolder::new();
    cache(&desk).unwrap();
    assert_eq!(
        (mode(&desk.path().join(".oneact")), mode(&desk.database())),
        (0o700, 0o600)
    );
    let journal: String = rusqlite::Connection::open(desk.database())
        .and_then(|it| it.pragma_query_value(None, "journal_mode", |row| row.get(0)))
        .unwrap();
    assert_eq!(journal, "wal");
}

#[test]
fn one_of_another_version_is_refused_and_not_written() {
    let desk = DataFolder::new();
    cache(&desk).unwrap();
    rusqlite::Connection::open(desk.database())
        .and_then(|it| it.pragma_update(None, "user_version", 7))
        .unwrap();
    let before = fs::read(desk.database()).unwrap();
    let problem = cache(&desk).unwrap_err().to_string();
    assert!(
        problem.contains("version 7") && problem.contains("reads version 2"),
        "{problem}"
    );
    assert!(fs::read(desk.database()).unwrap() == before);
}

#[test]
fn one_of_another_program_is_refused_and_not_written() {
    let desk = DataFolder::new();
    fs::create_dir(desk.path().join(".oneact")).unwrap();
    rusqlite::Connection::open(desk.database())
        .and_then(|it| it.execute_batch("CREATE TABLE mine (a); INSERT INTO mine VALUES (1)"))
        .unwrap();
    let before = fs::read(desk.database()).unwrap();
    let problem = cache(&desk).unwrap_err().to_string();
    assert!(problem.contains("of another program"), "{problem}");
    assert!(fs::read(desk.database()).unwrap() == before);
}

#[test]
fn a_file_that_is_no_database_is_refused_and_not_written() {
    let desk = DataFolder::new();
    fs::create_dir(desk.path().join(".oneact")).unwrap();
    fs::write(desk.database(), "words ".repeat(1000)).unwrap();
    let problem = cache(&desk).unwrap_err().to_string();
    assert!(
        problem.contains("data.db") && problem.contains("not a database"),
        "{problem}"
    );
    assert_eq!(
        fs::read(desk.database()).unwrap(),
        "words ".repeat(1000).as_bytes()
    );
}

#[test]
fn sixteen_writers_at_once_all_succeed_on_a_database_none_of_them_found() {
    let desk = DataFolder::new();
    let place = Workspace {
        database: desk.database(),
        directory: desk.path().to_owned(),
        clock: Clock::System,
    };
    thread::scope(|scope| {
        for number in 0..16 {
            let place = place.clone();
            scope.spawn(move || {
                let tools = tools_at(&place);
                let run = Run {
                    cancelled: &AtomicBool::new(false),
                    report: &|_| {},
                };
                for (tool, arguments) in [
                    (
                        3,
                        json!({"cache_key": format!("k{number}"), "context_data": number}),
                    ),
                    (
                        0,
                        json!({"results_data": {"speech": format!("fox{number} and all")}}),
                    ),
                ] {
                    (tools[tool].call)(arguments.as_object().unwrap(), &run).unwrap();
                }
            });
        }
    });
    let found = desk.call(
        "result_searcher",
        &json!({"query": "and all", "limit": 100}),
    );
    assert_eq!(
        (&found["total"], found["hits"].as_array().unwrap().len()),
        (&json!(16), 16)
    );
    for number in 0..16 {
        let found = desk.call(
            "context_reader",
            &json!({"cache_key": format!("k{number}")}),
        );
        assert_eq!(found["context_data"], number);
    }
}
