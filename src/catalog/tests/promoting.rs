//! What becomes of the values of calls when a workflow is made of them (R-003-09).

use serde_json::json;

use super::super::{Performed, Said, Trace, promote};
use super::*;

const CATALOG: &str = r#"catalog = 1
[server.s]
command = ["s"]
[capability.send]
description = "Send."
effects = { destructive = false, open_world = false }
mcp = { server = "s", tool = "send" }
[capability.fetch]
effects = { destructive = false, open_world = false }
mcp = { server = "s", tool = "fetch" }
bind = { url = "source.uri", to = "output.path" }
result = { kind = "asset", asset_type = "video", format = "mp4" }
[capability.cut]
effects = { destructive = false, open_world = false }
mcp = { server = "s", tool = "cut" }
bind = { from = "input.path", session = "session.id" }
[workflow.both]
step = [{ id = "one", run = "send" }]
"#;

fn call(entry: &str, parameters: &Value, result: &Value) -> Performed {
    Performed {
        id: String::new(),
        entry: entry.to_owned(),
        parameters: object(parameters),
        said: Said::Values,
        inputs: Vec::new(),
        asset: None,
        result: Some(result.clone()),
    }
}

fn sends(parameters: &Value, result: &Value) -> Performed {
    call("send", parameters, result)
}

fn made(catalog: &str, mut calls: Vec<Performed>) -> Result<String, String> {
    for (number, call) in (1..).zip(&mut calls) {
        call.id = format!("step_{number}");
    }
    let trace = Trace {
        operation: "op_1".to_owned(),
        link: 7,
        entry_hash: "abc".to_owned(),
        calls,
    };
    let path = Utf8Path::new("catalog.toml");
    let about = (Utf8Path::new("/root"), "2026-02-24T10:00:00Z");
    let made = promote((path, catalog.as_bytes()), "again", &trace, about);
    let made = made.map_err(|error| error.to_string())?;
    assert_eq!(made.catalog, [catalog, &made.text].concat().into_bytes());
    Ok(made.text)
}

/// The parameters of the steps, as they are written.
fn withs(calls: Vec<Performed>) -> Vec<String> {
    let text = made(CATALOG, calls).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix("with = "));
    lines.map(ToOwned::to_owned).collect()
}

#[test]
fn a_value_that_an_earlier_result_had_first_becomes_a_reference() {
    let result = json!({"id": "t-77", "no": 16000, "short": "abc", "list": [{"a.b": "dotted"}, "item"], "same": "told"});
    let calls = vec![
        sends(&json!({"what": "told"}), &result),
        sends(
            &json!({"a": "t-77", "b": [16000, {"c": "item"}], "d": "abc", "e": "dotted", "f": "16000"}),
            &json!({}),
        ),
        sends(
            &json!({"what": "told", "id": "xt-77"}),
            &json!({"id": "t-77"}),
        ),
        sends(&json!({"id": "t-77"}), &json!({})),
    ];
    assert_eq!(
        withs(calls),
        [
            r#"{ what = "told" }"#,
            r#"{ a = "{step_1.output.id}", b = ["{step_1.output.no}", { c = "{step_1.output.list.1}" }], d = "abc", e = "dotted", f = "16000" }"#,
            r#"{ what = "told", id = "xt-77" }"#,
            r#"{ id = "{step_1.output.id}" }"#,
        ]
    );
}

#[test]
fn an_input_becomes_a_parameter_and_an_asset_a_reference() {
    let input = |id: &str, uri: &str| vec![(id.to_owned(), uri.to_owned())];
    let fetched = Performed {
        inputs: input("src_1", "https://h/v"),
        asset: Some("file:///store/v.mp4".to_owned()),
        ..call(
            "fetch",
            &json!({"url": "https://h/v", "to": "/scratch/v.mp4"}),
            &json!({}),
        )
    };
    let cut = |id: &str, uri: &str, from: &str| Performed {
        inputs: input(id, uri),
        ..call(
            "cut",
            &json!({"from": from, "session": "s", "rate": 8}),
            &json!({}),
        )
    };
    let calls = vec![
        fetched,
        cut("derived_1", "file:///store/v.mp4", "/store/v.mp4"),
        cut("step_1.x", "media/a.wav", "/root/media/a.wav"),
        cut("step_1.x", "media/b.wav", "/root/media/b.wav"),
        cut("other", "media/a.wav", "/root/media/a.wav"),
    ];
    let text = made(CATALOG, calls).unwrap();
    for line in [
        "with = {}",
        r#"with = { from = "{step_1.output.path}", rate = 8 }"#,
        r#"with = { from = "{step_1_x.path}", rate = 8 }"#,
        r#"with = { from = "{step_1_x_.path}", rate = 8 }"#,
        r#"with = { from = "{other.path}", rate = 8 }"#,
        r#"required = ["step_1_x", "step_1_x_", "other"]"#,
        "link = 7\nentry_hash = \"abc\"\npromoted_at = \"2026-02-24T10:00:00Z\"",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn what_a_catalog_cannot_say_is_refused() {
    let sent = |parameters: Value| vec![sends(&parameters, &json!({}))];
    let fetched = |uri: &str| call("fetch", &json!({"url": uri}), &json!({}));
    let cut = call("cut", &json!({"from": "/elsewhere"}), &json!({}));
    let huge: Value = serde_json::from_str("1e999").unwrap();
    let large: Value = serde_json::from_str("99999999999999999999").unwrap();
    for (calls, why) in [
        (Vec::new(), "no call of op_1 succeeded"),
        (
            sent(json!({"a": null})),
            "null, which TOML does not have, in `a`",
        ),
        (
            sent(json!({"a": [huge]})),
            "which TOML does not have, in `a`",
        ),
        (sent(json!({"a": large})), "the number 99999999999999999999"),
        (sent(json!({"a": "Bearer ***"})), "a secret"),
        (sent(json!({"a": {"$blob": {"bytes": 9}}})), "too long"),
        (sent(json!({"a": {"b": "{x}"}})), "as a reference"),
        (
            vec![call("both", &json!({}), &json!({}))],
            "no call of a tool",
        ),
        (
            vec![call("gone", &json!({}), &json!({}))],
            "no call of a tool",
        ),
        (vec![cut], "got `from` from an asset"),
        (
            vec![fetched("https://a"), fetched("https://b")],
            "another source",
        ),
        ((0..17).flat_map(|_| sent(json!({}))).collect(), "1 to 16"),
    ] {
        let told = made(CATALOG, calls).expect_err(why);
        assert!(told.contains(why), "{why}: {told}");
    }
    let secret = CATALOG.replace("tool = \"send\" }", "tool = \"send\" }\nsecret = [\"/a\"]");
    let told = made(&secret, sent(json!({"a": "pw"}))).unwrap_err();
    assert!(told.contains("a secret") && !told.contains("pw"), "{told}");
    // An error that the catalog has already is not that of the workflow.
    let broken = format!("{CATALOG}[capability.broken]\n");
    assert!(made(&broken, sent(json!({}))).is_ok());
}
