//! Facts about items that are added, keys and items that are taken out, and whole files that are replaced.

use super::*;

const Y: &str = "a.yaml";
const J: &str = "a.json";

#[test]
fn an_item_is_added_to_an_array_like_its_neighbours() {
    for (before, place, new, after) in [
        ("[]", "$", "1", "[\n  1\n]"),
        ("{\"a\": []}", "$.a", "1", "{\"a\": [1]}"),
        ("{\"a\":[1,2]}", "$.a", "3", "{\"a\":[1,2,3]}"),
        ("[1, 2]", "$", "{\"k\": [3]}", "[1, 2, {\"k\": [3]}]"),
        (
            "[\n  1, // c\n  2 // d\n]\n",
            "$",
            "3",
            "[\n  1, // c\n  2, // d\n  3\n]\n",
        ),
        ("[\n  1,\n  2,\n]\n", "$", "3", "[\n  1,\n  2,\n  3,\n]\n"),
        ("[\r\n\t1\r\n]\r\n", "$", "[]", "[\r\n\t1,\r\n\t[]\r\n]\r\n"),
        ("[[1], [2]]", "$[-1]", "3", "[[1], [2, 3]]"),
        (
            "[\n  {\"n\": 1}\n]\n",
            "$",
            "{\"n\": 2}",
            "[\n  {\"n\": 1},\n  {\"n\": 2}\n]\n",
        ),
    ] {
        let file = if before.contains("//") { "a.jsonc" } else { J };
        assert_eq!(
            done(file, &json_append(place, new), before),
            after,
            "{before}"
        );
    }
    let (class, words) = fault(J, &json_append("$.a", "1"), "{\"a\": {}}");
    assert_eq!(class, Fault::PlaceNotFound);
    assert!(words.contains("json_append adds to arrays only"), "{words}");
}

#[test]
fn an_item_is_added_to_a_sequence_of_any_style() {
    for (before, place, new, after) in [
        ("a: []\nb: 1\n", "$.a", "1", "a: [1]\nb: 1\n"),
        ("a: [ ]\n", "$.a", "1", "a: [ 1 ]\n"),
        (
            "a: [x, y] # c\n",
            "$.a",
            "\"yes\"",
            "a: [x, y, \"yes\"] # c\n",
        ),
        (
            "a: [\n  x, # c\n  y # d\n]\n",
            "$.a",
            "{\"k\": 1}",
            "a: [\n  x, # c\n  y, # d\n  {k: 1}\n]\n",
        ),
        (
            "- a # one\n# below\n",
            "$",
            "\"b\"",
            "- a # one\n- b\n# below\n",
        ),
        ("a:\n- x\nb: 1\n", "$.a", "\"z\"", "a:\n- x\n- z\nb: 1\n"),
        (
            "a:\n    - x: 1\n\n# c\nb: 1\n",
            "$.a",
            "{\"x\": 2, \"z\": [3]}",
            "a:\n    - x: 1\n    - x: 2\n      z:\n        - 3\n\n# c\nb: 1\n",
        ),
        ("a:\n  - x", "$.a", "\"z\"", "a:\n  - x\n  - z"),
        (
            "a:\r\n  - x\r\n",
            "$.a",
            "\"y\\nz\\n\"",
            "a:\r\n  - x\r\n  - |\r\n    y\r\n    z\r\n",
        ),
        (
            "- - a\n  - b\n- c\n",
            "$[0]",
            "1",
            "- - a\n  - b\n  - 1\n- c\n",
        ),
        (
            "a: &s\n  - |\n    text\nb: *s\n",
            "$.a",
            "2",
            "a: &s\n  - |\n    text\n  - 2\nb: *s\n",
        ),
        ("a: !set\n  - x\n", "$.a", "1", "a: !set\n  - x\n  - 1\n"),
    ] {
        assert_eq!(done(Y, &yaml_append(place, new), before), after, "{before}");
    }
    let words = said(Y, &yaml_append("$.a", "2"), "a: &s [1]\nb: *s\n");
    assert!(
        words.ends_with("extended successfully (aliases of its anchor change as well)"),
        "{words}"
    );
    for (before, class, why) in [
        (
            "a: {b: 1}\n",
            Fault::PlaceNotFound,
            "it is a mapping; yaml_append adds to sequences",
        ),
        ("b: 1\n", Fault::PlaceNotFound, "the mapping has `b`"),
        ("b: &s [1]\na: *s\n", Fault::EditRefused, "is an alias"),
    ] {
        let (found, words) = fault(Y, &yaml_append("$.a", "1"), before);
        assert_eq!(found, class, "{words}");
        assert!(words.contains(why), "{words}");
    }
}

#[test]
fn a_key_or_an_item_is_taken_out_with_its_lines_and_the_comment_behind_it() {
    for (before, place, after) in [
        ("a: 1 # c\nb: 2\n", "$.a", "b: 2\n"),
        (
            "# top\na: 1\n# of b\nb: 2\n# end\n",
            "$.b",
            "# top\na: 1\n# of b\n# end\n",
        ),
        ("a: 1\nb: 2", "$.b", "a: 1"),
        ("a: 1\r\nb: 2\r\n", "$.b", "a: 1\r\n"),
        ("a: |\n  x\nb: 2", "$.b", "a: |\n  x\n"),
        (
            "a:\n  b: 1 # c\n  c:\n    - 1\n    - 2 # d\nd: 1\n",
            "$.a.c",
            "a:\n  b: 1 # c\nd: 1\n",
        ),
        ("a:\n  b: 1\nd: 1\n", "$.a.b", "a: {}\nd: 1\n"),
        ("a: &x\n  - 1\nb: 1\n", "$.a[0]", "a: &x []\nb: 1\n"),
        ("- a: 1 # c\n  b: 2\n- c\n", "$[0].a", "- b: 2\n- c\n"),
        (
            "- a: 1 # c\n  # of b\n  b: 2\n- c\n",
            "$[0].a",
            "-\n  # of b\n  b: 2\n- c\n",
        ),
        ("- a: 1\n  b: 2\n- c\n", "$[0]", "- c\n"),
        ("- a: 1\n- c\n", "$[-1]", "- a: 1\n"),
        ("- - a\n  - b\n", "$[0][0]", "- - b\n"),
        ("a: [x, y, z]\n", "$.a[0]", "a: [y, z]\n"),
        ("a: [x, y, z]\n", "$.a[1]", "a: [x, z]\n"),
        ("a: [x, y, z]\n", "$.a[2]", "a: [x, y]\n"),
        ("a: [x, y,]\n", "$.a[1]", "a: [x,]\n"),
        ("a: [x]\n", "$.a[0]", "a: []\n"),
        ("a: {b: 1, c: 2} # c\n", "$.a.b", "a: {c: 2} # c\n"),
        ("a: {b: 1, c: 2}\n", "$.a.c", "a: {b: 1}\n"),
        (
            "a: [\n  x, # one\n  y, # two\n  z # three\n]\n",
            "$.a[1]",
            "a: [\n  x, # one\n  z # three\n]\n",
        ),
        (
            "a: [\n  x, # one\n  z # three\n]\n",
            "$.a[1]",
            "a: [\n  x # one\n]\n",
        ),
        ("# top\na: 1 # c\n", "$.a", "# top\n{}\n"),
        ("- |\n  x\n", "$[0]", "[]\n"),
        ("a: &x 1\nb: &y 2\nc: *y\n", "$.a", "b: &y 2\nc: *y\n"),
    ] {
        assert_eq!(done(Y, &yaml_remove(place), before), after, "{before}");
    }
    let merged = "base: &b {k: 1}\nuse:\n  <<: *b\n  x: 1\n";
    assert_eq!(
        done(Y, &yaml_remove("$.use['<<']"), merged),
        "base: &b {k: 1}\nuse:\n  x: 1\n"
    );
    let two = "a: 1\nb: 2\n---\na: &x 1\nb: *x\nc: 3\n";
    let second = Edit::Yaml {
        path: path("$.c"),
        document: Some(2),
        edit: YamlEdit::Remove,
    };
    assert_eq!(done(Y, &second, two), "a: 1\nb: 2\n---\na: &x 1\nb: *x\n");
    assert_eq!(
        said(Y, &yaml_remove("$.c"), two),
        "Value at $['c'] removed successfully in document 2"
    );
}

#[test]
fn what_would_change_something_else_is_not_taken_out() {
    for (before, place, class, why) in [
        (
            "a: &x 1\nb: *x\n",
            "$.a",
            Fault::EditRefused,
            "an alias elsewhere refers to",
        ),
        (
            "a: {b: &x 1}\nc: *x\n",
            "$.a",
            Fault::EditRefused,
            "an alias elsewhere refers to",
        ),
        (
            "a: &x {b: 1}\nc: *x\n",
            "$.c.b",
            Fault::EditRefused,
            "is an alias",
        ),
        ("a: 1\n", "$", Fault::EditRefused, "the whole document"),
        (
            "size: 1\n",
            "$.siz",
            Fault::PlaceNotFound,
            "the nearest of its mapping is `size`",
        ),
        ("a: [1]\n", "$.a[1]", Fault::PlaceNotFound, "has 1 items"),
    ] {
        let (found, words) = fault(Y, &yaml_remove(place), before);
        assert_eq!(found, class, "{words}");
        assert!(words.contains(why), "{words}");
    }
    assert_eq!(
        done(Y, &yaml_remove("$.a"), "a: {b: &x 1, c: *x}\nd: 1\n"),
        "d: 1\n"
    );
}

#[test]
fn a_missing_last_key_is_made_only_if_the_plan_says_so() {
    let before = "spec:\n  replicas: 1\n  image: web\n";
    let (class, words) = fault(Y, &yaml_set("$.spec.replica", "2"), before);
    assert_eq!(class, Fault::PlaceNotFound);
    assert_eq!(
        words,
        "$['spec']['replica']: there is no such key; the nearest of its mapping is `replicas`; \
         `\"create\": true` adds a new key"
    );
    assert_eq!(
        done(Y, &yaml_update("$.spec.replica", "2"), before),
        format!("{before}  replica: 2\n")
    );
    let (_, words) = fault(Y, &yaml_set("$.a.b", "2"), "a: {}\n");
    assert!(words.contains("the mapping is empty"), "{words}");
    // Several edits of one document.
    let mut draft = Draft::begin(&yaml_set("$.a", "1"), &name(Y), b"a: 1\n", &FREE).unwrap();
    let first = draft.edit(&yaml_set("$.a", "{\"b\": 1}"), &name(Y), &FREE);
    assert!(first.unwrap().is_some());
    let missing = draft.edit(&yaml_set("$.a.c", "2"), &name(Y), &FREE);
    assert!(!matches!(missing, Ok(Some(_))), "{missing:?}");
    assert!(draft.settle(&FREE).unwrap().is_some());
    let missing = draft.edit(&yaml_set("$.a.c", "2"), &name(Y), &FREE);
    assert!(missing.is_err());
    let created = draft.edit(&yaml_update("$.a.c", "2"), &name(Y), &FREE);
    assert!(created.unwrap().is_some());
}

/// Texts and numbers that readers of YAML 1.1 and of YAML 1.2 would take for different things, and how they are
/// written. `PyYAML` and ruamel.yaml read all of them as the same value.
#[test]
fn values_and_keys_mean_the_same_in_yaml_1_1_and_1_2() {
    for (new, written) in [
        ("1e-5", "1.0e-5"),
        ("1e5", "1.0e+5"),
        ("1E+3", "1.0e+3"),
        ("-2.5E3", "-2.5e+3"),
        ("1.5e-7", "1.5e-7"),
        ("0.5", "0.5"),
        ("-0", "-0"),
        ("100", "100"),
    ] {
        assert_eq!(
            done(Y, &yaml_update("$.a", new), "a: 0\n"),
            format!("a: {written}\n")
        );
        assert_eq!(
            done(Y, &yaml_append("$", new), "[]\n"),
            format!("[{written}]\n")
        );
    }
    for text in [
        "1e5",
        "1E+3",
        "1.0e-5",
        ".5",
        "0o17",
        "017",
        "1_000",
        "12:30:45",
        "190:20",
        "2001-12-14",
        "2001-12-14 21:59:43.10 -5",
        "yes",
        "No",
        "on",
        "OFF",
        "y",
        "N",
        "~",
        "null",
        "Null",
        "=",
        "<<",
        ".inf",
        "-.Inf",
        ".NaN",
        "0x1F",
        "0b11",
        "+1",
        "-1",
        "1.",
        "true",
        "FALSE",
        "",
    ] {
        let value = serde_json::to_string(text).unwrap();
        assert_eq!(
            done(Y, &yaml_update("$.a", &value), "a: x\n"),
            format!("a: {value}\n")
        );
        let key = format!("{{{value}: 1}}");
        assert_eq!(
            done(Y, &yaml_update("$.a", &key), "a: {}\n"),
            format!("a: {{{value}: 1}}\n")
        );
    }
}

#[test]
fn a_whole_file_is_replaced_whatever_it_was() {
    let change = |content: &str| Edit::ReplaceContent(content.as_bytes().to_vec());
    let made = edit(&change("new\n"), &name("a.bin"), b"\0\xff").unwrap();
    assert_eq!((made.bytes.as_slice(), made.broken), (&b"new\n"[..], None));
    assert_eq!(done(J, &change("{\"a\": 1}"), "{broken"), "{\"a\": 1}");
    let (class, words) = fault(J, &change("{\"a\": 1,}"), "{}");
    assert_eq!(class, Fault::ContentInvalid);
    assert!(
        words.starts_with("the result would be not valid JSON"),
        "{words}"
    );
    let small = Budget { most: 3, ..FREE };
    let large = crate::edit::edit(&change("1234"), &name("a"), b"", b"", &small);
    assert_eq!(large, Err(EditError::TooLarge { most: 3 }));
}

#[test]
fn the_messages_of_an_edit_speak_of_its_keys() {
    let change = Edit::TextReplace {
        pattern: Pattern::literal("red").unwrap(),
        replacement: "blue".to_owned(),
        count: Count::Exactly(1),
        sought: Sought::OldString,
    };
    let (_, words) = fault("a.txt", &change, "red, red");
    assert!(
        words.starts_with("`old_string` was found 2 times"),
        "{words}"
    );
    assert!(
        words.ends_with("or write `\"replace_all\": true`"),
        "{words}"
    );
    let (_, words) = fault("a.txt", &change, "green");
    assert!(
        words.starts_with("`old_string` is nowhere in the file"),
        "{words}"
    );
}
