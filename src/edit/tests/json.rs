//! Facts about edits of JSON.

use super::*;

const J: &str = "a.json";

#[test]
fn a_property_is_added_in_the_words_of_the_specification() {
    // R-001-178, R-001-185
    let before = "{\n  \"properties\": {\n    \"id\": {\"type\": \"integer\"}\n  }\n}\n";
    let change = add("$.properties", "new_field", "{\"type\": \"string\"}");
    assert_eq!(
        said(J, &change, before),
        "Property 'new_field' added successfully"
    );
    assert_eq!(
        done(J, &change, before),
        "{\n  \"properties\": {\n    \"id\": {\"type\": \"integer\"},\n    \"new_field\": {\n      \
         \"type\": \"string\"\n    }\n  }\n}\n"
    );
}

#[test]
fn an_added_property_looks_like_its_neighbours() {
    for (before, after) in [
        ("{\"a\":1}", "{\"a\":1,\"k\":[1,{\"x\":2}]}"),
        ("{ \"a\": 1 }", "{ \"a\": 1, \"k\": [1, {\"x\": 2}] }"),
        (
            "{\n\t\"a\": 1\n}",
            "{\n\t\"a\": 1,\n\t\"k\": [\n\t\t1,\n\t\t{\n\t\t\t\"x\": 2\n\t\t}\n\t]\n}",
        ),
        (
            "{\r\n \"a\" : 1\r\n}\r\n",
            "{\r\n \"a\" : 1,\r\n \"k\" : [\r\n  1,\r\n  {\r\n   \"x\" : 2\r\n  }\r\n ]\r\n}\r\n",
        ),
    ] {
        assert_eq!(done(J, &add("$", "k", "[1, {\"x\": 2}]"), before), after);
    }
}

#[test]
fn an_empty_object_is_opened_by_its_own_line() {
    for (before, place, after) in [
        ("{}", "$", "{\n  \"k\": 1\n}"),
        ("{ }\n", "$", "{\n  \"k\": 1\n}\n"),
        ("{\n}", "$", "{\n  \"k\": 1\n}"),
        ("{\"o\": {}}", "$.o", "{\"o\": {\"k\": 1}}"),
        (
            "{\n    \"o\": {}\n}",
            "$.o",
            "{\n    \"o\": {\n        \"k\": 1\n    }\n}",
        ),
        (
            "{\n  \"o\": { // c\n  }\n}",
            "$.o",
            "{\n  \"o\": { // c\n    \"k\": 1\n  }\n}",
        ),
        ("{\"o\": {/* c */}}", "$.o", "{\"o\": {/* c */ \"k\": 1}}"),
    ] {
        assert_eq!(done(J, &add(place, "k", "1"), before), after);
    }
}

#[test]
fn comments_and_trailing_commas_are_kept_where_they_are() {
    let before = "{\n  // one\n  \"a\": 1, // of a\n  \"b\": 2 // of b\n  // last\n}\n";
    assert_eq!(
        done("a.jsonc", &add("$", "k", "3"), before),
        before.replace("2 // of b", "2, // of b\n  \"k\": 3")
    );
    let trailing = "{\n  \"a\": 1, // of a\n}\n";
    assert_eq!(
        done("a.jsonc", &add("$", "k", "3"), trailing),
        "{\n  \"a\": 1, // of a\n  \"k\": 3,\n}\n"
    );
    assert_eq!(
        done("a.jsonc", &add("$", "k", "3"), "{\n  \"a\": 1 // of a\n}\n"),
        "{\n  \"a\": 1, // of a\n  \"k\": 3\n}\n"
    );
}

#[test]
fn a_key_that_is_there_is_not_added() {
    let (fault_, words) = fault(J, &add("$", "a", "1"), "{\"\\u0061\": 2}");
    assert_eq!(fault_, Fault::PlaceNotFound);
    assert!(words.contains("json_update_value"), "{words}");
}

#[test]
fn nothing_is_added_to_what_is_no_object() {
    for before in ["[]", "1", "null", "\"s\""] {
        assert_eq!(
            fault(J, &add("$", "a", "1"), before).0,
            Fault::PlaceNotFound
        );
    }
}

#[test]
fn numbers_and_escapes_that_are_not_named_keep_their_text() {
    let before =
        "{\"n\": [1.0, 1e400, 123456789012345678901234567890, -0], \"s\": \"\\u00e9\", \"a\": 1}";
    assert_eq!(
        done(J, &update("$.a", "1.50e+3"), before),
        before.replace("\"a\": 1", "\"a\": 1.50e+3")
    );
}

#[test]
fn a_value_is_updated_in_place() {
    for (before, place, new, after) in [
        ("{\"a\": [1, 2, 3]}", "$.a[1]", "{}", "{\"a\": [1, {}, 3]}"),
        (
            "{\"a\": [1, 2, 3]}",
            "$.a[-1]",
            "null",
            "{\"a\": [1, 2, null]}",
        ),
        (
            "{\n  \"a\": [1, 2]\n}",
            "$.a",
            "[3, 4, 5]",
            "{\n  \"a\": [3, 4, 5]\n}",
        ),
        (
            "{\n  \"a\": 1\n}",
            "$.a",
            "[3]",
            "{\n  \"a\": [\n    3\n  ]\n}",
        ),
        (
            "{\n  \"a\": {\n    \"b\": 1\n  }\n}",
            "$.a",
            "2",
            "{\n  \"a\": 2\n}",
        ),
        (" 1 \n", "$", "\"x\"", " \"x\" \n"),
        ("\u{FEFF}{\"a\":1}\r\n", "$.a", "2", "\u{FEFF}{\"a\":2}\r\n"),
        (
            "{\"a.b\": {\"\": 1}}",
            "$['a.b']['']",
            "2",
            "{\"a.b\": {\"\": 2}}",
        ),
    ] {
        assert_eq!(done(J, &update(place, new), before), after);
    }
    assert_eq!(
        said(J, &update("$.a", "2"), "{\"a\": 1}"),
        "Value at $['a'] updated successfully"
    );
}

#[test]
fn a_place_that_is_not_there_is_told_with_what_is() {
    let before = "{\"a\": [1], \"b\": \"s\"}";
    for (place, word) in [
        ("$.c", "the object has `a`, `b`"),
        ("$.a[1]", "the array has 1 items"),
        ("$.a[-2]", "the array has 1 items"),
        ("$.b.c", "a string at $['b']"),
        ("$.a.c", "an array at $['a']"),
        ("$[0]", "an object at $"),
    ] {
        let (fault_, words) = fault(J, &update(place, "1"), before);
        assert_eq!(fault_, Fault::PlaceNotFound);
        assert!(words.contains(word), "{words}");
    }
}

#[test]
fn a_property_is_removed_with_one_comma() {
    for (before, key, after) in [
        (
            "{\"a\": 1, \"b\": 2, \"c\": 3}",
            "a",
            "{\"b\": 2, \"c\": 3}",
        ),
        (
            "{\"a\": 1, \"b\": 2, \"c\": 3}",
            "b",
            "{\"a\": 1, \"c\": 3}",
        ),
        (
            "{\"a\": 1, \"b\": 2, \"c\": 3}",
            "c",
            "{\"a\": 1, \"b\": 2}",
        ),
        ("{ \"a\": 1 }", "a", "{}"),
        ("{\n  \"a\": 1\n}", "a", "{}"),
        ("{\n  \"a\": 1,\n  \"b\": 2\n}", "a", "{\n  \"b\": 2\n}"),
        ("{\n  \"a\": 1,\n  \"b\": 2\n}", "b", "{\n  \"a\": 1\n}"),
        ("{\n  \"a\": 1\n  , \"b\": 2\n}", "b", "{\n  \"a\": 1\n}"),
        (
            "{\r\n  \"a\": [\r\n    1\r\n  ],\r\n  \"b\": 2\r\n}",
            "a",
            "{\r\n  \"b\": 2\r\n}",
        ),
        (
            "{\n  \"a\": 1, // of a\n  // of b\n  \"b\": 2\n}",
            "a",
            "{\n  // of b\n  \"b\": 2\n}",
        ),
        (
            "{\n  \"a\": 1, // of a\n  \"b\": 2 // of b\n}",
            "b",
            "{\n  \"a\": 1 // of a\n}",
        ),
        ("{\n  // c\n  \"a\": 1\n}", "a", "{\n  // c\n}"),
        ("{\"a\": 1, \"b\": 2,}", "b", "{\"a\": 1, }"),
    ] {
        assert_eq!(done(J, &remove("$", key), before), after, "{before}");
    }
    assert_eq!(
        said(J, &remove("$", "a"), "{\"a\": 1}"),
        "Property 'a' removed successfully"
    );
}

#[test]
fn an_item_is_removed_by_its_index() {
    assert_eq!(
        done(J, &remove("$.a", "0"), "{\"a\": [1, 2]}"),
        "{\"a\": [2]}"
    );
    assert_eq!(
        done(J, &remove("$", "1"), "[\n  1,\n  2\n]\n"),
        "[\n  1\n]\n"
    );
    for key in ["2", "-1", "x", "+1", "01"] {
        assert_eq!(
            fault(J, &remove("$", key), "[1, 2]").0,
            Fault::PlaceNotFound
        );
    }
    assert_eq!(fault(J, &remove("$", "a"), "{}").0, Fault::PlaceNotFound);
    assert_eq!(fault(J, &remove("$", "a"), "1").0, Fault::PlaceNotFound);
}

#[test]
fn a_broken_document_is_not_edited() {
    for before in [
        "",
        "{",
        "{\"a\": 1, \"a\": 2}",
        "{\"b\": {\"a\": 1, \"a\": 2}}",
        "{} x",
    ] {
        let (fault_, words) = fault(J, &update("$", "1"), before);
        assert_eq!(fault_, Fault::ContentInvalid, "{before}");
        assert!(words.starts_with("the file is not valid JSON"), "{words}");
    }
    let (_, words) = fault(J, &update("$", "1"), "{\n \"a\": 1,\n \"a\": 2\n}");
    assert!(
        words.contains("duplicate key `a` at line 3, column 2"),
        "{words}"
    );
}

#[test]
fn the_operations_keep_to_their_languages() {
    assert_eq!(
        fault("a.yaml", &update("$", "1"), "1").0,
        Fault::PlanInvalid
    );
    assert_eq!(
        fault("a.yaml", &add("$", "a", "1"), "{}").0,
        Fault::PlanInvalid
    );
    assert_eq!(
        fault("a.yaml", &remove("$", "a"), "{}").0,
        Fault::PlanInvalid
    );
    assert_eq!(
        fault("a.json", &yaml_update("$.a", "1"), "{}").0,
        Fault::PlanInvalid
    );
    assert_eq!(
        done(".eslintrc", &update("$.a", "1"), "{\"a\": 2}"),
        "{\"a\": 1}"
    );
}
