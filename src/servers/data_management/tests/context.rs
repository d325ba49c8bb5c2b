//! `context_cacher` and `context_reader`.

use super::*;

fn cache(desk: &DataFolder, key: &str, data: &Value) -> Value {
    desk.call(
        "context_cacher",
        &json!({"cache_key": key, "context_data": data}),
    )
}

fn read(desk: &DataFolder, key: &str) -> Value {
    desk.call("context_reader", &json!({"cache_key": key}))
}

#[test]
fn what_is_cached_is_read_back_as_it_was() {
    let mut desk = DataFolder::new();
    desk.at(0);
    let data: Value = serde_json::from_str(
        r#"{"z": 1.50, "a": [null, true, "你好 ☂ \u0000"], "n": 123456789012345678901234567890}"#,
    )
    .unwrap();
    let answer = cache(&desk, "Schlüssel 🔑", &data);
    assert_eq!(
        answer,
        json!({
            "cached": true, "cache_key": "Schlüssel 🔑", "expires_at": "2026-02-24T03:00:00Z", "replaced": false
        })
    );
    let found = read(&desk, "Schlüssel 🔑");
    assert_eq!(found["context_data"].to_string(), data.to_string());
    assert_eq!(found["expires_at"], "2026-02-24T03:00:00Z");
}

#[test]
fn a_second_value_replaces_the_first() {
    let desk = DataFolder::new();
    assert_eq!(cache(&desk, "k", &json!(1))["replaced"], false);
    assert_eq!(cache(&desk, "k", &json!(2))["replaced"], true);
    assert_eq!(read(&desk, "k")["context_data"], 2);
    assert_eq!(read(&desk, "K")["found"], false);
}

#[test]
fn an_expired_value_is_not_found_not_replaced_and_swept() {
    let mut desk = DataFolder::new();
    desk.at(0);
    let arguments = json!({"cache_key": "k", "context_data": "old", "ttl": 60});
    desk.call("context_cacher", &arguments);
    desk.at(59);
    assert_eq!(read(&desk, "k")["found"], true);
    desk.at(60);
    assert_eq!(
        read(&desk, "k"),
        json!({"found": false, "context_data": null, "expires_at": null})
    );
    cache(&desk, "other", &json!(1));
    let keys = rusqlite::Connection::open(desk.database()).and_then(|it| {
        it.query_row("SELECT group_concat(key) FROM context", (), |row| {
            row.get(0)
        })
    });
    assert_eq!(keys, Ok("other".to_owned()));
    assert_eq!(cache(&desk, "k", &json!(1))["replaced"], false);
}

#[test]
fn a_time_to_live_is_from_a_second_to_thirty_days() {
    let mut desk = DataFolder::new();
    desk.at(0);
    let with = |ttl: Value| json!({"cache_key": "k", "context_data": 1, "ttl": ttl});
    let answer = desk.call("context_cacher", &with(json!(2_592_000)));
    assert_eq!(answer["expires_at"], "2026-03-26T02:00:00Z");
    let tools = tools_at(&desk.workspace());
    let cacher = tools.iter().find(|tool| tool.name == "context_cacher");
    let schema = &cacher.unwrap().input;
    for ttl in [
        json!(0),
        json!(-1),
        json!(2_592_001),
        json!(u64::MAX),
        json!(1.5),
        json!("60"),
    ] {
        assert!(!jsonschema::is_valid(schema, &with(ttl)));
    }
}

#[test]
fn a_named_file_is_cached_by_content_and_any_other_text_as_itself() {
    let desk = DataFolder::new();
    let file = desk.path().join("a b.json");
    fs::write(&file, r#"{"speakers": 2}"#).unwrap();
    let uri = url::Url::from_file_path(&file).unwrap();
    cache(&desk, "uri", &json!(uri.as_str()));
    assert_eq!(read(&desk, "uri")["context_data"], json!({"speakers": 2}));
    fs::write(&file, "plain words").unwrap();
    cache(&desk, "path", &json!(file));
    assert_eq!(read(&desk, "path")["context_data"], "plain words");
    cache(&desk, "text", &json!("file storage is full"));
    assert_eq!(read(&desk, "text")["context_data"], "file storage is full");
    fs::write(&file, b"\xff\xfe\x00").unwrap();
    let arguments = json!({"cache_key": "k", "context_data": file});
    assert!(
        desk.refused("context_cacher", &arguments)
            .contains("neither JSON")
    );
}

#[test]
fn reading_makes_no_database() {
    let desk = DataFolder::new();
    assert_eq!(read(&desk, "k")["found"], false);
    assert!(!desk.path().join(".oneact").exists());
}
