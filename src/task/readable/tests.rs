//! Schemas of others: what is read, what is left to the server, and what is refused.

use super::*;

const DRAFT_7: &str = "http://json-schema.org/draft-07/schema#";

const DRAFTS: [&str; 6] = [
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    DRAFT_7,
    "https://json-schema.org/draft/2019-09/schema",
    DIALECT,
    "",
];

fn of_draft(draft: &str, mut schema: Value) -> Value {
    if !draft.is_empty() {
        schema["$schema"] = draft.into();
    }
    schema
}

/// Whether a value fits, and what is left to the server.
fn judged(schema: &Value, value: &Value) -> (bool, Vec<String>) {
    let read = readable(schema, Author::Server).unwrap_or_else(|why| panic!("{schema}: {why}"));
    (read.validator.is_valid(value), read.left)
}

/// Checks what is left to the server of a schema, with values that fit and values that do not.
fn assert_left(schema: &Value, left: &[&str], good: &[Value], bad: &[Value]) {
    for (values, fits) in [(good, true), (bad, false)] {
        for value in values {
            assert_eq!(
                judged(schema, value),
                (fits, left.iter().map(|left| (*left).to_owned()).collect()),
                "{schema} {value}"
            );
        }
    }
}

#[test]
fn a_pattern_that_only_javascript_reads_is_left_to_the_server_in_every_draft() {
    for draft in DRAFTS {
        for pattern in [
            "[^]",
            r"^\uD83D\uDD27$",
            r"^[\w-.]+$",
            r"^\cé",
            "(?<=a",
            "[",
            r"\p{Script=Greek}{",
        ] {
            let schema = json!({"properties": {"a": {"type": "string", "pattern": pattern}, "b": {"maximum": 3}}});
            let schema = of_draft(draft, schema);
            let (_, left) = judged(&schema, &json!({}));
            if left.is_empty() {
                // oneact reads it after all.
                continue;
            }
            let good = [json!({"a": "x", "b": 1})];
            let bad = [json!({"a": 1}), json!({"a": "x", "b": 4})];
            assert_left(&schema, &["/properties/a/pattern"], &good, &bad);
        }
    }
}

#[test]
fn a_pattern_that_oneact_reads_is_checked_in_every_draft() {
    for draft in DRAFTS {
        for (pattern, good, bad) in [
            ("(?i)^X$", "x", "y"),
            ("^(?P<id>[0-9]+)$", "12", "a"),
            ("^x++$", "xx", "xy"),
            ("^a$", "a", "b"),
        ] {
            let schema = of_draft(draft, json!({"properties": {"a": {"pattern": pattern}}}));
            let at = |text: &str| [json!({ "a": text })];
            assert_left(&schema, &[], &at(good), &at(bad));
        }
    }
}

#[test]
fn several_patterns_that_a_dialect_refuses_are_all_checked() {
    let of = |pattern: &str| json!({"type": "string", "pattern": pattern});
    let schema = json!({
        "$schema": DRAFT_7,
        "properties": {"a": of("(?i)^x$"), "b": of("(?i)^y$"), "c": {"$ref": "#/definitions/c"}},
        "definitions": {"c": of("(?P<z>^z$)")},
    });
    let good = json!({"a": "X", "b": "Y", "c": "z"});
    let bad = [("a", "y"), ("b", "x"), ("c", "x")].map(|(name, value)| {
        let mut bad = good.clone();
        bad[name] = value.into();
        bad
    });
    assert_left(&schema, &[], &[good], &bad);
}

#[test]
fn names_that_cannot_be_read_are_left_to_the_server_with_what_depends_on_them() {
    for draft in DRAFTS {
        let schema = of_draft(
            draft,
            json!({
                "properties": {"n": {"type": "integer"}},
                "patternProperties": {"[^]": {"type": "string"}, "^s": {"type": "string"}},
                "additionalProperties": false,
            }),
        );
        let (_, left) = judged(&schema, &json!({}));
        assert!(
            left.iter()
                .all(|left| left.starts_with("/patternProperties")),
            "{left:?}"
        );
        assert_eq!(left.len(), 1, "{draft}");
        for (value, fits) in [
            (json!({"n": 1, "other": 1}), true),
            (json!({"n": "1"}), false),
            (json!({"s1": 1}), false),
        ] {
            assert_eq!(judged(&schema, &value).0, fits, "{draft} {value}");
        }
    }
}

#[test]
fn a_keyword_with_an_odd_value_is_left_to_the_server_alone() {
    for draft in DRAFTS {
        for (keyword, value) in [
            ("type", json!("string?")),
            ("type", json!(null)),
            ("minLength", json!("3")),
            ("minLength", json!(-1)),
            ("pattern", json!(7)),
            ("enum", json!("a")),
            ("required", json!(true)),
            ("properties", json!([])),
            ("additionalProperties", json!("no")),
            ("items", json!(3)),
            ("allOf", json!({})),
            ("anyOf", json!([7])),
            ("not", json!(null)),
            ("description", json!(5)),
            ("multipleOf", json!(0)),
            ("patternProperties", json!({"^x": 3})),
        ] {
            let mut odd = json!({"maxLength": 3});
            odd[keyword] = value;
            let schema = of_draft(
                draft,
                json!({"properties": {"a": odd, "b": {"type": "null"}}}),
            );
            let (good, left) = judged(&schema, &json!({"a": "xyz", "b": null}));
            assert!(good, "{schema}");
            let place = format!("/properties/a/{keyword}");
            assert!(
                left.len() < 2 && left.iter().all(|left| left.starts_with(&place)),
                "{schema}: {left:?}"
            );
            for bad in [json!({"a": "xyz!"}), json!({"b": 1})] {
                assert!(!judged(&schema, &bad).0, "{schema} {bad}");
            }
        }
    }
}

#[test]
fn nothing_is_refused_because_a_part_of_it_is_left_to_the_server() {
    let odd = json!({"pattern": "["});
    for schema in [
        json!({"not": odd}),
        json!({"not": {"not": {"not": odd}}}),
        json!({"oneOf": [odd, {"type": "string"}]}),
        json!({"if": odd, "then": false}),
        json!({"contains": odd, "maxContains": 0}),
        json!({"$defs": {"d": odd}, "not": {"$ref": "#/$defs/d"}}),
        json!({"$defs": {"d": odd}, "oneOf": [{"$ref": "#/$defs/d"}, true]}),
        json!({"$defs": {"d": odd}, "if": {"$ref": "#/$defs/d"}, "then": false}),
        json!({"anyOf": [{"type": "null"}, odd], "oneOf": [{"pattern": "("}, true]}),
        json!({"properties": {"not": {"$ref": "#/$defs/d"}}, "$defs": {"d": odd}, "additionalProperties": false}),
        json!({"prefixItems": 5, "items": false}),
        json!({"contains": true, "minContains": "0"}),
        json!({"allOf": [{"if": odd, "then": {"properties": {"not": true}}}], "unevaluatedProperties": false}),
    ] {
        for value in [json!("x"), json!(["x"]), json!([]), json!({"not": "x"})] {
            let (fits, left) = judged(&schema, &value);
            assert!(fits && !left.is_empty(), "{schema} {value}: {left:?}");
        }
    }
}

#[test]
fn what_is_around_a_constraint_that_is_left_to_the_server_is_still_checked() {
    let odd = json!({"type": "string", "pattern": "["});
    for (schema, bad) in [
        (json!({"oneOf": [odd, {"type": "integer"}]}), json!(null)),
        (
            json!({"$defs": {"d": odd}, "additionalProperties": {"$ref": "#/$defs/d"}}),
            json!({"a": 1}),
        ),
        (
            json!({"properties": {"not": odd}, "enum": [{"not": "a"}]}),
            json!({"not": "b"}),
        ),
        (
            json!({"items": odd, "uniqueItems": true}),
            json!(["y", "y"]),
        ),
    ] {
        let (fits, left) = judged(&schema, &bad);
        assert_eq!((fits, left.len()), (false, 1), "{schema} {bad}");
    }
}

#[test]
fn a_schema_that_is_broken_as_a_whole_is_refused() {
    for schema in [
        json!(7),
        json!(null),
        json!([]),
        json!({"$ref": "https://example.invalid/schema.json"}),
        json!({"properties": {"a": {"$ref": "other.json"}}}),
        json!({"properties": {"a": {"$ref": "#/$defs/none"}}}),
    ] {
        assert!(readable(&schema, Author::Server).is_err(), "{schema}");
    }
    let many: Map<String, Value> = (0..=MOST)
        .map(|n| (format!("p{n}"), json!({"pattern": "["})))
        .collect();
    let schema = json!({ "properties": many });
    assert!(readable(&schema, Author::Server).is_err());
}

#[test]
fn an_operator_can_correct_everything_but_the_dialect_of_a_pattern() {
    for (schema, read) in [
        (json!({"pattern": "["}), true),
        (json!({"patternProperties": {"[": true}}), true),
        (
            json!({"$schema": DRAFT_7, "patternProperties": {"[": true}}),
            true,
        ),
        (json!({"type": "strng"}), false),
        (json!({"pattern": 5}), false),
        (json!({"minLength": "3"}), false),
    ] {
        let compiled = readable(&schema, Author::Operator);
        assert_eq!(compiled.is_ok(), read, "{schema}");
    }
}

#[test]
fn base64url_needs_no_padding() {
    for media in [json!({}), json!({"contentMediaType": "application/json"})] {
        let mut schema = of_draft(DRAFT_7, media);
        schema["contentEncoding"] = "base64url".into();
        let [good, bad] = [["eyJhIjoxfQ", "eyJhIjoxfQ=="], ["ey+J", "e"]];
        assert_left(&schema, &[], &good.map(Value::from), &bad.map(Value::from));
    }
}

#[test]
fn a_note_names_a_few_of_many() {
    let many: Map<String, Value> = (0..8)
        .map(|n| (format!("p{n}"), json!({"pattern": "["})))
        .collect();
    let read = readable(&json!({ "properties": many }), Author::Server).unwrap();
    let note = read.note("schema").unwrap();
    assert!(
        note.contains(", /properties/p4/pattern, and 3 more"),
        "{note}"
    );
}

#[test]
fn the_operators_own_schema_is_never_weaker_than_it_says() {
    let schema = json!({
        "properties": {"path": {"type": "string"}, "name": {"pattern": "^[^]+$"}},
        "not": {"properties": {"path": {"pattern": "^/etc"}}, "required": ["path"]},
    });
    let refused = readable(&schema, Author::Operator).unwrap_err();
    assert!(
        refused.contains("only if all of it can be read"),
        "{refused}"
    );
    let note = readable(&schema, Author::Server)
        .unwrap()
        .note("schema")
        .unwrap();
    assert!(note.contains("so are `not`"), "{note}");
}
