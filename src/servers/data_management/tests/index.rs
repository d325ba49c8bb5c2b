//! `result_indexer` and `result_searcher`.

use super::*;

fn index(desk: &DataFolder, data: &Value, metadata: &Value) -> Value {
    desk.call(
        "result_indexer",
        &json!({"results_data": data, "metadata": metadata}),
    )
}

fn search(desk: &DataFolder, query: &str) -> Value {
    desk.call("result_searcher", &json!({"query": query}))
}

fn total(desk: &DataFolder, query: &str) -> i64 {
    search(desk, query)["total"].as_i64().unwrap()
}

#[test]
fn a_document_is_found_by_any_of_its_strings_and_comes_with_its_metadata() {
    let desk = DataFolder::new();
    let transcript = json!({
        "language": "en",
        "segments": [{"start": 0, "text": "The quick brown fox"}, {"start": 1.5, "text": "jumps over the lazy dog"}]
    });
    let indexed = index(&desk, &transcript, &json!({"session": "s1"}));
    assert_eq!(
        (&indexed["entries"], &indexed["duplicate"]),
        (&json!(3), &json!(false))
    );
    let found = search(&desk, "FOX lazy");
    assert_eq!(found["total"], 1);
    let hit = &found["hits"][0];
    assert_eq!(
        (&hit["index_id"], &hit["metadata"]),
        (&indexed["index_id"], &json!({"session": "s1"}))
    );
    assert!(hit["score"].as_f64().unwrap().is_finite());
    assert!(hit["snippet"].as_str().unwrap().contains("quick brown fox"));
    assert_eq!(total(&desk, "segments"), 0, "keys are not indexed");
    assert_eq!(total(&desk, "fox cat"), 0, "all words are wanted");
}

#[test]
fn the_same_document_is_indexed_once_whatever_the_order_of_its_keys() {
    let desk = DataFolder::new();
    let first = index(
        &desk,
        &json!({"a": "fox", "b": [1]}),
        &json!({"x": 1, "y": 2}),
    );
    let again = index(
        &desk,
        &json!({"b": [1], "a": "fox"}),
        &json!({"y": 2, "x": 1}),
    );
    assert_eq!(first["index_id"], again["index_id"]);
    assert_eq!(
        (&first["duplicate"], &again["duplicate"]),
        (&json!(false), &json!(true))
    );
    let other = index(&desk, &json!({"a": "fox", "b": [1]}), &json!({"x": 1}));
    assert_ne!(first["index_id"], other["index_id"]);
    assert_eq!(total(&desk, "fox"), 2);
}

#[test]
fn a_text_is_the_place_of_a_json_file() {
    let desk = DataFolder::new();
    let file = desk.path().join("ergebnis ü.json");
    fs::write(&file, r#"{"text": "hello"}"#).unwrap();
    let uri = url::Url::from_file_path(&file).unwrap();
    let by_uri = desk.call("result_indexer", &json!({"results_data": uri.as_str()}));
    let by_path = desk.call("result_indexer", &json!({"results_data": file}));
    let by_value = desk.call(
        "result_indexer",
        &json!({"results_data": {"text": "hello"}}),
    );
    assert_eq!(by_uri["index_id"], by_path["index_id"]);
    assert_eq!(by_value["duplicate"], true);
    fs::write(&file, r#"{"text": "#).unwrap();
    let problem = desk.refused("result_indexer", &json!({"results_data": file}));
    assert!(problem.contains("is not JSON"), "{problem}");
    for missing in ["/does/not/exist.json", "s3://bucket/a.json", ""] {
        desk.refused("result_indexer", &json!({"results_data": missing}));
    }
}

#[test]
fn words_are_found_whatever_their_case_accents_and_script() {
    let desk = DataFolder::new();
    index(
        &desk,
        &json!([
            "Ärger im Büro",
            "我们今天讨论机器学习",
            "வணக்கம் உலகம்",
            "Selamat pagi"
        ]),
        &json!({}),
    );
    for query in [
        "arger",
        "BÜRO",
        "机器学习",
        "讨论",
        "வணக்கம்",
        "selamat",
        "今天 büro",
    ] {
        assert_eq!(total(&desk, query), 1, "{query}");
    }
    assert_eq!(
        total(&desk, "学机"),
        0,
        "characters are found in their order"
    );
    let snippet = search(&desk, "机器")["hits"][0]["snippet"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(snippet.contains("讨论机器学习"), "{snippet:?}");
}

#[test]
fn nothing_in_a_query_is_an_operator() {
    let desk = DataFolder::new();
    index(&desk, &json!(["fox AND dog", "cat"]), &json!({}));
    for query in [
        "fox NOT cat",
        "fox OR nothing",
        "fo*",
        "text:fox",
        "^fox AND nothing",
        "NEAR(fox dog)",
        "fox\" OR \"cat\" -",
        "\"",
        "'; DROP TABLE leaf; --",
        "id:*",
        "{text}: fox",
        "nul\0l",
        "((((",
        "*",
        "- + ^ :",
        "\u{200B}",
    ] {
        assert_eq!(total(&desk, query), 0, "{query:?}");
    }
    for query in ["fox AND dog", "\"fox\"", "fox,", "(cat)"] {
        assert_eq!(total(&desk, query), 1, "{query:?}");
    }
    assert_eq!(total(&desk, &"fox ".repeat(500)), 1);
}

#[test]
fn as_many_hits_as_asked_for_best_first_and_all_are_counted() {
    let desk = DataFolder::new();
    for number in 0..12 {
        let text = format!("fox {}", "filler ".repeat(number));
        index(&desk, &json!([text]), &json!({"number": number}));
    }
    let found = desk.call("result_searcher", &json!({"query": "fox", "limit": 3}));
    let numbers: Vec<_> = found["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| &hit["metadata"]["number"])
        .collect();
    assert_eq!(
        (found["total"].as_i64(), numbers),
        (Some(12), vec![&json!(0), &json!(1), &json!(2)])
    );
    assert_eq!(search(&desk, "fox")["hits"].as_array().unwrap().len(), 10);
}

#[test]
fn an_index_nobody_filled_has_no_hits() {
    let desk = DataFolder::new();
    assert_eq!(search(&desk, "fox"), json!({"hits": [], "total": 0}));
}

/// `highlight` of FTS5 ends its text at a NUL, and begins it anew at each found word.
#[test]
fn a_snippet_is_cut_from_the_text_itself_so_that_a_nul_does_not_end_it() {
    let desk = DataFolder::new();
    index(&desk, &json!(["a\0b the FÓX ran"]), &Value::Null);
    let found = search(&desk, "fox");
    assert_eq!(found["hits"][0]["snippet"], "a\0b the FÓX ran");
}

/// The functions of SQLite that mark found words would take minutes for this document.
#[test]
fn a_word_that_a_document_repeats_a_hundred_thousand_times_is_found() {
    let desk = DataFolder::new();
    index(&desk, &json!(["the cat ".repeat(100_000)]), &Value::Null);
    let found = search(&desk, &"the ".repeat(200));
    assert_eq!(
        found["hits"][0]["snippet"],
        json!(format!("the{}…", " cat the".repeat(17)))
    );
}
