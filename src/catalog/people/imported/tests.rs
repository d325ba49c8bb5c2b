//! The text of entries: ids, descriptions, effects and schemas.

use std::collections::BTreeSet;

use camino::Utf8Path;
use serde_json::{Value, json};

use super::{
    BEGINNING, Known, SchemaForm, Tool, Trust, appended, one_line, server_name,
    words::{described_as, id},
};
use crate::{
    catalog::{Catalog, Command, lint},
    task::{Effects, Pin},
};

fn tool(name: &str, description: &str, schema: Value) -> Tool {
    Tool {
        name: name.to_owned(),
        description: description.to_owned(),
        pin: Pin::of(name, Some(&schema), None, None),
        schema: Some(schema),
        schema_form: SchemaForm::Whole,
        hints: Effects::default(),
    }
}

fn command() -> Command {
    Command {
        argv: vec!["s".to_owned()],
        ..Command::default()
    }
}

/// A new catalog with these tools of a server, in which nothing is found.
fn catalog(server: &str, tools: &[Tool], trust: Trust) -> String {
    let (text, _) = Known::default().add((server, &command()), tools, trust);
    let catalog = appended((Utf8Path::new("catalog.toml"), BEGINNING.as_bytes()), &text).unwrap();
    let catalog = String::from_utf8(catalog).unwrap();
    let parsed = Catalog::from_text(&catalog);
    let (findings, entries) = lint(&parsed.tables().unwrap(), &|_| false).unwrap();
    assert!(findings.is_empty(), "{findings:?}\n{catalog}");
    assert_eq!(entries, tools.len());
    catalog
}

#[test]
fn an_id_is_made_of_the_names_of_server_and_tool() {
    let none = BTreeSet::new();
    for (server, tool, expected) in [
        ("filesystem", "read_file", "filesystem_read_file"),
        ("git", "git_status", "git_status"),
        ("everything", "get-sum", "everything_get_sum"),
        ("api", "getUserName", "api_get_user_name"),
        ("api", "getHTTPPage", "api_get_httppage"),
        ("My-Server", "a.b/c", "my_server_a_b_c"),
        ("git", "gitlab", "git_gitlab"),
        ("7zip", "list", "mcp_7zip_list"),
        ("s", "音声", "s_tool"),
    ] {
        let id = id(server, tool, &none);
        assert_eq!(id, expected, "{server} {tool}");
    }
}

#[test]
fn no_two_ids_are_the_same_and_none_is_too_long() {
    let long = "x".repeat(100);
    let tools: Vec<Tool> = [
        "a-b",
        "a_b",
        "a.b",
        "音声",
        "認識",
        &long,
        &format!("{long}y"),
    ]
    .iter()
    .map(|name| tool(name, "Does it.", json!({"type": "object"})))
    .collect();
    let text = catalog("server", &tools, Trust::Worst);
    let ids: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("[capability.")?.strip_suffix(']'))
        .filter(|id| !id.contains('.'))
        .collect();
    assert_eq!(ids.len(), tools.len(), "{ids:?}");
    assert!(ids.iter().all(|id| id.len() <= 64), "{ids:?}");
}

#[test]
fn an_id_or_an_alias_of_the_catalog_is_not_taken_again() {
    let old = "catalog = 1\n[server.other]\ncommand = [\"o\"]\n[capability.s_one]\nmcp = { server = \"other\", tool = \"t\" }\naliases = [\"S_Two\"]\n";
    let parsed = Catalog::from_text(old);
    let mut known = Known::of(&parsed.tables().unwrap()).unwrap();
    let tools =
        ["one", "two", "three"].map(|name| tool(name, "Does it.", json!({"type": "object"})));
    let (text, named) = known.add(("s", &command()), &tools, Trust::Worst);
    let ids: Vec<&str> = named.iter().map(|(_, id)| id.as_str()).collect();
    assert_eq!(ids, ["s_one_2", "s_two_2", "s_three"]);
    let new = appended((Utf8Path::new("catalog.toml"), old.as_bytes()), &text).unwrap();
    assert!(new.starts_with(old.as_bytes()));
}

#[test]
fn an_id_of_oneact_itself_is_not_taken() {
    for (server, name, expected) in [
        ("apply", "file_plan", "apply_file_plan_2"),
        ("run", "approved", "run_approved_2"),
        ("improvised", "action", "improvised_action"),
    ] {
        let tools = [tool(name, "Does it.", json!({"type": "object"}))];
        for mut known in [
            Known::default(),
            Known::of(&Catalog::from_text("catalog = 1\n").tables().unwrap()).unwrap(),
        ] {
            let (_, named) = known.add((server, &command()), &tools, Trust::Worst);
            assert_eq!(named[0].1, expected);
        }
    }
}

#[test]
fn the_first_of_two_tools_with_one_name_counts() {
    let tools = ["First.", "Second."].map(|said| tool("dup", said, json!({"type": "object"})));
    let (text, named) = Known::default().add(("s", &command()), &tools, Trust::Worst);
    assert_eq!(named.len(), 1);
    assert!(
        text.contains("First.") && !text.contains("Second."),
        "{text}"
    );
}

/// The same read in one session would get the first answer again. The risk stays that of the worst case.
#[test]
fn a_tool_that_says_it_only_reads_is_called_each_time() {
    let reads = Tool {
        hints: Effects {
            read_only: Some(true),
            ..Effects::default()
        },
        ..tool("t", "Reads.", json!({"type": "object"}))
    };
    let repeat = "on_duplicate = { mode = \"repeat\" }";
    for (tool, repeats) in [
        (reads, true),
        (tool("t", "Acts.", json!({"type": "object"})), false),
    ] {
        let (text, _) = Known::default().add(("s", &command()), &[tool], Trust::Worst);
        assert_eq!(text.contains(repeat), repeats, "{text}");
        assert!(text.contains("destructive = true"), "{text}");
    }
}

#[test]
fn the_name_of_a_server_needs_no_quotes() {
    assert_eq!(server_name("files").as_deref(), Some("files"));
    assert_eq!(
        server_name("my server.v2 ").as_deref(),
        Some("my-server-v2")
    );
    assert_eq!(server_name("音声"), None);
}

#[test]
fn hints_that_lower_the_risk_count_only_if_they_are_believed() {
    let hinted = |hints| Tool {
        hints,
        ..tool("t", "Does it.", json!({"type": "object"}))
    };
    let reads = hinted(Effects {
        read_only: Some(true),
        ..Effects::default()
    });
    let worst = "effects = { destructive = true, open_world = true }\n";
    let text = catalog("s", std::slice::from_ref(&reads), Trust::Worst);
    assert!(text.contains(worst), "{text}");
    assert!(
        text.contains(
            "# hinted by the server, not confirmed: { read_only = true, open_world = true }\n"
        ),
        "{text}"
    );
    let text = catalog("s", &[reads], Trust::Hints);
    assert!(
        text.contains("\neffects = { read_only = true, open_world = true }\n")
            && !text.contains("hinted"),
        "{text}"
    );
    let worse = hinted(Effects {
        read_only: Some(false),
        destructive: Some(true),
        idempotent: Some(false),
        open_world: Some(true),
    });
    assert!(!worse.hints_lower());
    let contradicts = hinted(Effects {
        read_only: Some(true),
        destructive: Some(true),
        ..Effects::default()
    });
    let text = catalog("s", &[contradicts], Trust::Hints);
    assert!(text.contains(worst) && !text.contains("repeat"), "{text}");
    let text = catalog("s", &[worse], Trust::Worst);
    let said = "effects = { read_only = false, destructive = true, idempotent = false, open_world = true }\n";
    assert!(text.contains(said), "{text}");
}

/// The schema of the parameters in the catalog.
fn written(text: &str) -> Option<Value> {
    let table: toml::Table = text.parse().unwrap();
    let entries = table["capability"].as_table().unwrap();
    let entry = entries.values().next().unwrap();
    let schema = entry.get("parameter_schema_for_action")?;
    Some(serde_json::to_value(schema).unwrap())
}

#[test]
fn a_schema_is_written_as_it_is_or_not_at_all() {
    let plain = json!({
        "$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": ["path"],
        "properties": {"path": {"type": "string", "description": "\"a\"\n\u{202e}b {id}"}, "a b": {"type": "number", "minimum": 0.5, "maximum": 1e9},
            "list": {"type": "array", "items": {"$ref": "#/$defs/item"}}},
        "$defs": {"item": {"type": "string", "enum": ["x", "y"]}},
    });
    let text = catalog("s", &[tool("t", "Does it.", plain.clone())], Trust::Worst);
    assert_eq!(written(&text), Some(plain), "{text}");
    assert!(!text.contains('\u{202e}'));

    let optional = json!({"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null}}});
    let text = catalog("s", &[tool("t", "Does it.", optional)], Trust::Worst);
    let expected = json!({"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}});
    assert_eq!(written(&text), Some(expected));

    let long = json!({"type": "object", "description": "x".repeat(9000)});
    let null = json!({"type": "object", "properties": {"a": {"enum": ["x", null]}}});
    let large =
        json!({"type": "object", "properties": {"a": {"maximum": 18_446_744_073_709_551_615_u64}}});
    let unreadable = json!({"type": "object", "properties": {"a": {"type": "text"}}});
    for (schema, why) in [
        (long, "is long"),
        (null, "TOML"),
        (large, "TOML"),
        (unreadable, "cannot read"),
        (json!(true), "no object"),
    ] {
        let text = catalog("s", &[tool("t", "Does it.", schema)], Trust::Worst);
        assert_eq!(written(&text), None, "{why}");
        assert!(
            text.contains("# without parameter_schema_for_action: ") && text.contains(why),
            "{text}"
        );
    }
    let cut = Tool {
        schema_form: SchemaForm::Cut,
        ..tool(
            "t",
            "Does it.",
            json!({"type": "object", "properties": {"***_id": {"type": "string"}}}),
        )
    };
    let text = catalog("s", &[cut], Trust::Worst);
    assert!(
        written(&text).is_none() && text.contains("looks like a secret"),
        "{text}"
    );
}

#[test]
fn a_description_is_one_short_line_that_steers_nothing() {
    for (said, expected) in [
        (
            "Reads a file.\n\n  It must exist.",
            "Reads a file. It must exist.",
        ),
        ("# Read\nReads a file", "Read. Reads a file"),
        ("one\ntwo", "one two"),
        ("", "The tool t of its server."),
        ("\x1b[2Jgone", "^[[2Jgone"),
    ] {
        assert_eq!(described_as("t", said), expected, "{said:?}");
    }
    let long = format!("{}. Then it ends.", "word ".repeat(100).trim_end());
    let long = described_as("t", &long);
    let first = long.split(". ").next().unwrap();
    assert!(
        first.chars().count() <= 160 && long.ends_with(" …. Then it ends."),
        "{long}"
    );
    let endless = described_as("t", &"音".repeat(5000));
    assert!(endless.chars().count() <= 162, "{endless}");
    let text = catalog(
        "s",
        &[tool(
            "t",
            &"It does a thing. ".repeat(500),
            json!({"type": "object"}),
        )],
        Trust::Worst,
    );
    assert!(text.len() < 2000);
    assert_eq!(one_line("a\r\nB"), "a. B");
}
