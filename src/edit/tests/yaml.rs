//! Facts about edits of YAML.

use super::*;

const Y: &str = "a.yaml";

#[test]
fn a_value_is_set_and_everything_else_stays() {
    // R-001-188
    for (before, place, new, after) in [
        ("a: 1 # c\nb: 2\n", "$.a", "3", "a: 3 # c\nb: 2\n"),
        ("a:   1   # c\n", "$.a", "\"x\"", "a:   x   # c\n"),
        ("a: 'x'\n", "$.a", "\"it's\"", "a: 'it''s'\n"),
        ("a: \"x\"\n", "$.a", "\"y\"", "a: \"y\"\n"),
        ("a: {b: 1, c: 2}\n", "$.a.b", "9", "a: {b: 9, c: 2}\n"),
        ("a: [1, 2, 3]\n", "$.a[-1]", "\"z\"", "a: [1, 2, z]\n"),
        (
            "a:\n  - x # one\n  - y\n",
            "$.a[0]",
            "5",
            "a:\n  - 5 # one\n  - y\n",
        ),
        (
            "a.b: 1\na:\n  b: 2\n",
            "$['a.b']",
            "3",
            "a.b: 3\na:\n  b: 2\n",
        ),
        ("1: x\n'1.5': y\n", "$['1']", "\"z\"", "1: z\n'1.5': y\n"),
        ("a: 1\r\nb: 2\r\n", "$.b", "3", "a: 1\r\nb: 3\r\n"),
        (
            "a: 1\r\nb: 2\nc: 3\r\n",
            "$.c",
            "4",
            "a: 1\r\nb: 2\nc: 4\r\n",
        ),
        ("\u{FEFF}a: 1", "$.a", "2", "\u{FEFF}a: 2"),
        ("---\na: 1\n...\n", "$.a", "2", "---\na: 2\n...\n"),
        ("a:\n", "$.a", "2", "a: 2\n"),
        ("a: &x 1\nb: *x\n", "$.b", "2", "a: &x 1\nb: 2\n"),
        ("{a: &x , b: *x}\n", "$.a", "2", "{a: &x 2 , b: *x}\n"),
        ("{a, b: }\n", "$.a", "2", "{a: 2, b: }\n"),
        ("-\n- 1\n", "$[0]", "{\"k\": 1}", "- k: 1\n- 1\n"),
        (
            "a: |\n  one\n  two\nb: 1\n",
            "$.a",
            "\"x\\ny\\n\"",
            "a: |\n  x\n  y\nb: 1\n",
        ),
    ] {
        assert_eq!(done(Y, &yaml_update(place, new), before), after, "{before}");
    }
    assert_eq!(
        said(Y, &yaml_update("$.a", "2"), "a: 1\n"),
        "Value at $['a'] updated successfully"
    );
}

#[test]
fn collections_are_written_in_the_style_of_their_place() {
    let new = "{\"x\": [1, \"yes\"], \"z\": {}}";
    assert_eq!(
        done(Y, &yaml_update("$.a", new), "a: 1\nb: 2\n"),
        "a:\n  x:\n    - 1\n    - \"yes\"\n  z: {}\nb: 2\n"
    );
    assert_eq!(
        done(Y, &yaml_update("$.a.b", new), "a: {b: 1}\n"),
        "a: {b: {x: [1, \"yes\"], z: {}}}\n"
    );
    assert_eq!(
        done(
            Y,
            &yaml_update("$.a.b", "{\"c\": {\"d\": 1}}"),
            "a:\n    b: 1\n    z: 2\n"
        ),
        "a:\n    b:\n      c:\n        d: 1\n    z: 2\n"
    );
}

#[test]
fn a_value_of_one_line_replaces_a_sequence_at_the_column_of_its_key_below_a_comment() {
    for (before, new, after) in [
        ("d:\n# c\n- 1\n", "\"x\"", "d:\n# c\n  x\n"),
        ("d:\n# c\n- 1\n- 2\nz: 1\n", "[]", "d:\n# c\n  []\nz: 1\n"),
        (
            "d: # c\n# e\n- 1\n",
            "\"x\\ny\"",
            "d: # c\n# e\n  |-\n  x\n  y\n",
        ),
        ("d: &a\n# c\n- 1\n", "{}", "d: &a\n# c\n  {}\n"),
        ("d:\r\n# c\r\n- 1\r\n", "5", "d:\r\n# c\r\n  5\r\n"),
        // A sequence stays where it is.
        ("d:\n# c\n- 1\n", "[3]", "d:\n# c\n- 3\n"),
        ("d:\n- 1\n", "5", "d: 5\n"),
    ] {
        assert_eq!(done(Y, &yaml_update("$.d", new), before), after, "{before}");
    }
    assert_eq!(
        done(
            Y,
            &yaml_update("$.k.d", "5"),
            "k:\n  d:\n  # c\n  - 1\nz: 1\n"
        ),
        "k:\n  d:\n  # c\n    5\nz: 1\n"
    );
}

#[test]
fn what_follows_a_block_scalar_of_one_blank_line_stands_behind_it() {
    for (before, place, after) in [
        ("- 1\n- |+\n\n", "$", "- 1\n- |+\n\n- 1\n"),
        ("a:\n  - |+\n\nc: 1\n", "$.a", "a:\n  - |+\n\n  - 1\nc: 1\n"),
    ] {
        assert_eq!(done(Y, &yaml_append(place, "1"), before), after);
    }
    let before = "a: 1\nb: |+\n\n";
    assert_eq!(
        done(Y, &yaml_update("$.zz", "1"), before),
        "a: 1\nb: |+\n\nzz: 1\n"
    );
}

#[test]
fn a_member_with_an_explicit_key_is_removed_with_its_mark() {
    for (before, place, after) in [
        ("? a\n: 1\n? b\n: 2\n", "$.a", "? b\n: 2\n"),
        ("{? a : 1, b: 2}\n", "$.a", "{b: 2}\n"),
    ] {
        assert_eq!(done(Y, &yaml_remove(place), before), after);
    }
}

#[test]
fn a_key_is_created_in_a_mapping_that_is_there() {
    for (before, place, new, after) in [
        ("a: 1\n", "$.b", "2", "a: 1\nb: 2\n"),
        ("a: 1", "$.b", "2", "a: 1\nb: 2"),
        ("a: {b: 1}\n", "$.a.c", "2", "a: {b: 1, c: 2}\n"),
        ("a: {}\n", "$.a.c", "2", "a: {c: 2}\n"),
        (
            "a:\n  b: 1\nz: 1\n",
            "$.a['no']",
            "2",
            "a:\n  b: 1\n  \"no\": 2\nz: 1\n",
        ),
        ("a: 1\r\n", "$.b", "2", "a: 1\r\nb: 2\r\n"),
    ] {
        assert_eq!(done(Y, &yaml_update(place, new), before), after, "{before}");
    }
    assert_eq!(
        said(Y, &yaml_update("$.b", "2"), "a: 1\n"),
        "Value at $['b'] created successfully"
    );
}

#[test]
fn text_that_some_reader_takes_for_something_else_is_quoted() {
    for word in [
        "2024-01-01",
        "12:30:45",
        "1_000",
        "=",
        "<<",
        "yes",
        "No",
        "ON",
        "off",
        "~",
        "null",
        "Null",
        "true",
        "0x1F",
        "0o17",
        "0644",
        ".inf",
        "-.INF",
        ".nan",
        "1",
        "1.5",
        "1e5",
        "-1",
        "+1",
        ".5",
        "",
        " x",
        "x ",
        "# c",
        "a: b",
        "a #b",
        "a:",
        "- x",
        "? x",
        "*a",
        "&a",
        "!t",
        "%",
        "@",
        "`",
        "{",
        "[",
        "\u{a0}x",
        "\t",
        "1,000",
        "y",
        "N",
        "---",
        "...",
        "-",
        "a\u{2028}b",
        "\u{feff}",
        "\"",
        "'",
        "|",
        ">",
    ] {
        let new = serde_json::to_string(word).unwrap();
        let after = done(Y, &yaml_update("$.a", &new), "a: 1\n");
        assert!(after.starts_with("a: \""), "{word:?}: {after}");
        let read: Value = serde_saphyr::from_str(&after).unwrap();
        assert_eq!(read["a"], *word);
    }
    for word in [
        "x",
        "hello world",
        "1st",
        "v1.2.3",
        "/usr/bin",
        "größe",
        "Node",
        "a-b_c",
        "C3PO",
    ] {
        let after = done(Y, &yaml_update("$.a", &format!("{word:?}")), "a: 1\n");
        assert_eq!(after, format!("a: {word}\n"));
    }
}

#[test]
fn an_anchor_stays_and_the_answer_says_who_follows() {
    let before = "a: &x 1\nb: *x\nc: &y\n  d: 1\ne:\n  <<: *y\n";
    let change = yaml_update("$.a", "2");
    assert_eq!(done(Y, &change, before), before.replace("&x 1", "&x 2"));
    assert!(said(Y, &change, before).contains("aliases"));
    let change = yaml_update("$.c.d", "2");
    assert_eq!(done(Y, &change, before), before.replace("d: 1", "d: 2"));
    assert!(said(Y, &change, before).contains("aliases"));
}

#[test]
fn what_cannot_be_done_safely_is_refused() {
    for (before, place, word) in [
        ("a: &x {b: 1}\nc: *x\n", "$.c.b", "alias"),
        ("a: !Ref x\n", "$.a", "tag"),
        ("a:\n  b: &x 1\nc: *x\n", "$.a", "anchors"),
        ("a: 1\n---\na: 2\n", "$.a", "documents 1, 2"),
        ("", "$.a", "no YAML document"),
        ("a: 1\n", "$", "whole document"),
    ] {
        let (fault_, words) = fault(Y, &yaml_update(place, "5"), before);
        assert_eq!(fault_, Fault::EditRefused, "{before}: {words}");
        assert!(words.contains(word), "{words}");
    }
}

#[test]
fn a_place_that_is_not_there_is_refused() {
    for (before, place) in [
        ("a: 1\n", "$.b.c"),
        ("a: 1\n", "$.a.c"),
        ("a: [1]\n", "$.a[1]"),
        ("a: [1]\n", "$.a.b"),
        ("a:\n", "$.a.b"),
        ("a: 1\n", "$[0]"),
    ] {
        assert_eq!(
            fault(Y, &yaml_update(place, "5"), before).0,
            Fault::PlaceNotFound,
            "{before}"
        );
    }
}

#[test]
fn a_broken_document_is_not_edited() {
    for before in [
        "a: 1\na: 2\n",
        "a:\n\tb: 1\n",
        "a: b: c\n",
        "a: [1\n",
        "a: *x\n",
        "%\n",
    ] {
        let (fault_, words) = fault(Y, &yaml_update("$.a", "5"), before);
        assert_eq!(fault_, Fault::ContentInvalid, "{before}");
        assert!(words.starts_with("the file is not valid YAML"), "{words}");
    }
    let (_, words) = fault(Y, &yaml_update("$.a", "5"), "a: 1\nb: 2\n\"a\": 3\n");
    assert!(
        words.contains("duplicate key `a` at line 3, column 1"),
        "{words}"
    );
}

#[test]
fn a_comment_stays_where_it_is() {
    for (before, place, new, after) in [
        (
            "a:\n  # why\n  1\nb: 2\n",
            "$.a",
            "3",
            "a:\n  # why\n  3\nb: 2\n",
        ),
        (
            "a:\n  # why\n  1 # c\nb: 2\n",
            "$.a",
            "{\"x\": 1, \"z\": 2}",
            "a:\n  # why\n  x: 1 # c\n  z: 2\nb: 2\n",
        ),
        (
            "a: [1, # one\n    2] # two\n",
            "$.a[0]",
            "9",
            "a: [9, # one\n    2] # two\n",
        ),
        (
            "a: [\n  # first\n  1, # one\n  2, # two\n]\n",
            "$.a[1]",
            "9",
            "a: [\n  # first\n  1, # one\n  9, # two\n]\n",
        ),
        (
            "a: {\n  b: 1, # one\n  c: 2 # two\n}\n",
            "$.a.d",
            "3",
            "a: {\n  b: 1, # one\n  c: 2, # two\n  d: 3\n}\n",
        ),
        ("a: 1 # c\n", "$.a", "[1]", "a: # c\n  - 1\n"),
        ("a: # c\n  b: 1\n", "$.a", "1", "a: 1 # c\n"),
        (
            "- 1 # c\n",
            "$[0]",
            "{\"x\": 1, \"z\": 2}",
            "- x: 1 # c\n  z: 2\n",
        ),
        ("a: | # c\n  x\n# d\n", "$.a", "1", "a: 1 # c\n# d\n"),
        (
            "a: | # c\n  x\n\nb: 1\n",
            "$.a",
            "\"y\\nz\"",
            "a: |- # c\n  y\n  z\n\nb: 1\n",
        ),
        (
            "a: # c\nb: 1\n",
            "$.a",
            "\"y\\nz\\n\"",
            "a: | # c\n  y\n  z\nb: 1\n",
        ),
    ] {
        assert_eq!(done(Y, &yaml_update(place, new), before), after, "{before}");
    }
}

#[test]
fn an_item_that_ends_in_a_block_scalar_is_replaced() {
    let before = "steps:\n  - name: a\n    run: |\n      x\n\n      y\n\n  # next\n  - b\n";
    assert_eq!(
        done(Y, &yaml_update("$.steps[0]", "{\"run\": \"z\\n\"}"), before),
        "steps:\n  - run: |\n      z\n\n  # next\n  - b\n"
    );
    assert_eq!(
        done(Y, &yaml_update("$.steps[0]", "1"), before),
        "steps:\n  - 1\n\n  # next\n  - b\n"
    );
    assert_eq!(
        done(Y, &yaml_update("$.steps[0].if", "\"a\""), before),
        before.replace("      y\n", "      y\n    if: a\n")
    );
}

#[test]
fn a_text_that_ends_with_the_file_stays_as_it_is() {
    // Its last line has no line end: what follows it would give it one.
    for (before, place, after) in [
        ("a: |\n  x", "$.b", "b: 1\na: |\n  x"),
        ("a: |-\n  x", "$.b", "a: |-\n  x\nb: 1"),
        ("c: 1\n# d\na: >\n  x", "$.b", "c: 1\n# d\nb: 1\na: >\n  x"),
        ("- a: |+\n    x", "$[0].b", "- b: 1\n  a: |+\n    x"),
        ("a: |\n  x\n", "$.b", "a: |\n  x\nb: 1\n"),
        ("a: |+\n  x\n\n", "$.b", "a: |+\n  x\n\nb: 1\n"),
    ] {
        assert_eq!(done(Y, &yaml_update(place, "1"), before), after);
    }
    // An item cannot go before the last one.
    let (class, _) = fault(Y, &yaml_append("$", "1"), "- |\n  x");
    assert_eq!(class, Fault::EditRefused);
    assert_eq!(
        done(Y, &yaml_update("$.a", "\"x\\ny\\n\""), "a: 1"),
        "a: \"x\\ny\\n\""
    );
}

#[test]
fn one_of_several_documents_is_edited() {
    let before = "a: 1\n---\n# c\nb: 2\n---\nb: 3\n...\n";
    let numbered = |document, place: &str| yaml_update_at(path(place), Some(document), value("9"));
    assert_eq!(
        done(Y, &yaml_update("$.a", "9"), before),
        before.replace("a: 1", "a: 9")
    );
    assert_eq!(
        done(Y, &numbered(3, "$.b"), before),
        before.replace("b: 3", "b: 9")
    );
    assert_eq!(
        done(Y, &numbered(1, "$.b"), before),
        before.replace("a: 1\n", "a: 1\nb: 9\n")
    );
    assert!(said(Y, &numbered(3, "$.b"), before).ends_with("in document 3"));
    let (fault_, words) = fault(Y, &yaml_update("$.b", "9"), before);
    assert_eq!(fault_, Fault::EditRefused);
    assert!(words.contains("documents 2, 3"), "{words}");
    let (fault_, words) = fault(Y, &numbered(4, "$.b"), before);
    assert_eq!(fault_, Fault::PlaceNotFound);
    assert!(words.contains("no document 4"), "{words}");
    assert_eq!(
        fault(Y, &yaml_update("$.x.y", "9"), before).0,
        Fault::PlaceNotFound
    );
    // An empty document counts.
    assert_eq!(
        done(Y, &numbered(3, "$.b"), "a: 1\n---\n# none\n---\nb: 1\n"),
        "a: 1\n---\n# none\n---\nb: 9\n"
    );
    // The last key is made in the only document that has the rest of the path.
    let before = "a: 1\n---\nb:\n  c: 1\n";
    assert_eq!(
        done(Y, &yaml_update("$.b.d", "2"), before),
        "a: 1\n---\nb:\n  c: 1\n  d: 2\n"
    );
}

#[test]
fn a_carriage_return_alone_ends_a_line() {
    let tab = error("a.yaml", &yaml_update("$.a", "1"), "a:\r  \tb: 1\r").to_string();
    assert!(tab.contains("a tab in the indentation"), "{tab}");
    for (before, place, after) in [
        ("a: |\r  b\r", "$.c", "a: |\r  b\nc: 1\r"),
        ("a:\r  b: 2\rc: 3\r", "$.a.d", "a:\r  b: 2\n  d: 1\rc: 3\r"),
        ("? a # b: c\r: 2\r", "$.a", "? a # b: c\r: 1\r"),
        ("a: # b\rc: 2\r", "$.a", "a: 1 # b\rc: 2\r"),
    ] {
        assert_eq!(done("a.yaml", &yaml_update(place, "1"), before), after);
    }
}

#[test]
fn an_indentation_can_be_long() {
    let pad = " ".repeat(70_000);
    let before = format!("-{pad}a:\n {pad}  b: 1\n");
    assert_eq!(
        done(Y, &yaml_update("$[0].a", "[1]"), &before),
        format!("-{pad}a:\n {pad}  - 1\n")
    );
    assert_eq!(
        done(Y, &yaml_update("$[0].c", "{\"d\": 2}"), &before),
        format!("{before} {pad}c:\n {pad}  d: 2\n")
    );
}
