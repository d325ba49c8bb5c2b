//! Arguments of `oneact call`, and what is wrong with them.

use std::fs;

use serde_json::json;

use super::*;

fn schema() -> Value {
    json!({
        "type": "object",
        "required": ["name"],
        "$defs": {"level": {"enum": ["low", "high"]}},
        "properties": {
            "name": {"type": "string"},
            "count": {"type": "integer"},
            "share": {"type": "number"},
            "sure": {"type": "boolean"},
            "gone": {"type": "null"},
            "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "either": {"type": ["string", "integer"]},
            "level": {"$ref": "#/$defs/level"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "sizes": {"type": "array", "items": {"type": "integer"}},
            "some": {"anyOf": [{"type": "array", "items": {"type": "number"}}, {"type": "null"}]},
            "one_or_more": {"type": ["string", "array"]},
            "options": {"type": "object"},
            "any": {},
        },
    })
}

fn typed(words: &[&str]) -> Result<Value, String> {
    let schema = schema();
    let arguments = words.iter().map(|word| CallArgument::parse(word));
    let arguments = arguments.collect::<Result<Vec<_>, _>>();
    let typed = arguments.and_then(|arguments| parameters(&arguments, Some(&schema), "tool"));
    typed.map(Value::Object).map_err(|failure| failure.message)
}

#[test]
fn the_schema_decides_the_type_of_a_value_and_a_text_stays_a_text() {
    for (word, value) in [
        ("name=true", json!({"name": "true"})),
        ("name=5", json!({"name": "5"})),
        ("name=", json!({"name": ""})),
        ("name=a=b", json!({"name": "a=b"})),
        ("name=--foo", json!({"name": "--foo"})),
        ("count=-5", json!({"count": -5})),
        ("share=0.5", json!({"share": 0.5})),
        ("share=2", json!({"share": 2})),
        ("sure=false", json!({"sure": false})),
        ("gone=null", json!({"gone": null})),
        ("maybe=null", json!({"maybe": null})),
        ("maybe=7", json!({"maybe": 7})),
        ("either=7", json!({"either": "7"})),
        ("level=low", json!({"level": "low"})),
        ("any=5", json!({"any": "5"})),
        ("one_or_more=a", json!({"one_or_more": "a"})),
        ("options:={\"a\": [1]}", json!({"options": {"a": [1]}})),
        ("name:=\"@x\"", json!({"name": "@x"})),
    ] {
        assert_eq!(typed(&[word]), Ok(value), "{word}");
    }
}

#[test]
fn a_large_integer_is_kept_exactly() {
    let large = "count=123456789012345678901234567890";
    let typed = typed(&[large]).unwrap();
    assert_eq!(typed["count"].to_string(), &large[6..]);
}

#[test]
fn a_list_is_given_by_its_items_or_as_json() {
    for (words, value) in [
        (&["tags=a"][..], json!({"tags": ["a"]})),
        (
            &["tags=a", "name=n", "tags=b"],
            json!({"tags": ["a", "b"], "name": "n"}),
        ),
        (&["tags:=[\"a\"]"], json!({"tags": ["a"]})),
        (&["sizes=1", "sizes=2"], json!({"sizes": [1, 2]})),
        (&["some=0.5"], json!({"some": [0.5]})),
        (&["some=null"], json!({"some": null})),
        (
            &["one_or_more=a", "one_or_more=b"],
            json!({"one_or_more": ["a", "b"]}),
        ),
    ] {
        assert_eq!(typed(words), Ok(value), "{words:?}");
    }
}

#[test]
fn a_wrong_value_is_told_with_what_is_expected() {
    for (words, told) in [
        (&["count=abc"][..], "`count` of tool must be a whole number"),
        (&["count=1.0"], "must be a whole number"),
        (&["count= 1"], "must be a whole number"),
        (&["count="], "must be a whole number"),
        (&["sure=yes"], "must be true or false"),
        (&["share=NaN"], "must be a number"),
        (&["maybe=x"], "must be a whole number or null"),
        (
            &["sizes=a"],
            "is a list (of a whole number); give sizes=ITEM once for each item, or sizes:='[…]'",
        ),
        (&["tags=[a, b]"], "is a list (of text)"),
        (
            &["options=a"],
            "must be an object; give options:='{…}', or options:=@FILE.json",
        ),
        (&["name=a", "name=b"], "is given twice, but is no list"),
        (
            &["name:=abc"],
            "is no JSON: expected value at line 1, column 1; a text is given as name=TEXT",
        ),
        (&["name:="], "is empty"),
        (
            &["nam=x"],
            "tool has no parameter `nam`; did you mean `name`? its parameters: name (text), count (a whole number)",
        ),
        (
            &["zzz=x"],
            "tool has no parameter `zzz`; its parameters: name (text)",
        ),
        (
            &["name"],
            "`name` is no parameter; write KEY=VALUE, e.g. name=…, or KEY:=JSON",
        ),
        (
            &["--name=x"],
            "`--name` is no flag of `oneact call`; a parameter has no dashes: name=…",
        ),
        (&["=x"], "`=x` names no parameter before `=`"),
        (
            &["name=@/nowhere"],
            "cannot read the file \"/nowhere\" of the parameter `name`",
        ),
        (
            &["name=@/nowhere"],
            "a text that begins with `@` is given as name:='\"@…\"'",
        ),
    ] {
        let problem = typed(words).unwrap_err();
        assert!(problem.contains(told), "{words:?}: {problem}");
    }
}

#[test]
fn the_content_of_a_file_is_a_value() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| format!("{}/{name}", dir.path().display());
    fs::write(path("text"), "two\nlines\n").unwrap();
    fs::write(path("json"), "{\"a\": 1}\n").unwrap();
    fs::write(path("bytes"), [0xff, 0xfe]).unwrap();
    let text = typed(&[&format!("name=@{}", path("text"))]);
    assert_eq!(text, Ok(json!({"name": "two\nlines\n"})));
    let object = typed(&[&format!("options:=@{}", path("json"))]);
    assert_eq!(object, Ok(json!({"options": {"a": 1}})));
    let problem = typed(&[&format!("options:=@{}", path("text"))]).unwrap_err();
    assert!(problem.contains("which is no JSON"), "{problem}");
    let problem = typed(&[&format!("name=@{}", path("bytes"))]).unwrap_err();
    assert!(problem.contains("not UTF-8"), "{problem}");
}

#[test]
fn a_schema_that_allows_other_keys_allows_them() {
    let arguments = [
        CallArgument::parse("other=5").unwrap(),
        CallArgument::parse("n=5").unwrap(),
    ];
    for (schema, value) in [
        (
            json!({"properties": {"n": {"type": "integer"}}, "additionalProperties": true}),
            json!({"other": "5", "n": 5}),
        ),
        (
            json!({"properties": {}, "additionalProperties": {"type": "integer"}}),
            json!({"other": 5, "n": 5}),
        ),
        (json!({"type": "object"}), json!({"other": "5", "n": "5"})),
    ] {
        let typed = parameters(&arguments, Some(&schema), "tool").unwrap();
        assert_eq!(Value::Object(typed), value, "{schema}");
    }
}

#[test]
fn a_schema_that_refers_to_itself_ends() {
    let schema = json!({"$ref": "#/properties/a", "properties": {"a": {"$ref": "#/properties/a"}}});
    let arguments = [CallArgument::parse("a=1").unwrap()];
    let typed = parameters(&arguments, Some(&schema), "tool").unwrap();
    assert_eq!(Value::Object(typed), json!({"a": "1"}));
}
