//! Which names a proposal may have (R-003-01, R-003-04), and what a text is enough for (R-003-21).

use serde_json::json;

use super::super::{enough_for, must_not_be};
use super::*;
use crate::task::{Declared, DeclaredStep, Fault, Nameable};

const CATALOG: &str = r#"catalog = 1
[server.s]
command = ["s"]
[capability.task_create]
is_action = true
aliases = ["create task", "wb/Todo"]
examples = ["Create a new task"]
defaults = { due = "today" }
bind = { session = "session.id" }
mcp = { server = "s", tool = "t" }
parameter_schema_for_action = { type = "object", required = ["task_text", "due", "session"] }
[capability.mail_send]
is_action = true
aliases = ["send mail"]
mcp = { server = "s", tool = "t" }
parameter_schema_for_action = { type = "object", required = ["to", "text"] }
[capability.task_delete]
aliases = ["delete task"]
mcp = { server = "s", tool = "t" }
[capability.broken]
is_action = "yes"
"#;

fn resolved(catalog: &str, name: &str, named_as: NamedAs) -> Result<(), (Fault, String)> {
    let catalog = Catalog::from_text(catalog);
    let task = CapabilityTask {
        named_as,
        parameters: vec![object(&json!({"task_text": "a", "to": "b", "text": "c"}))],
        inputs: Vec::new(),
        ..task(&[name])
    };
    let places = Places {
        root: Utf8Path::new("/root"),
        staging: Utf8Path::new("/root/.oneact/staging/op_1"),
        session: "sess-1",
    };
    let tables = catalog.tables().unwrap();
    let named = look_up_all(&task, &tables, Nameable::Entries);
    let job = named.and_then(|named| resolve(&task, named, &tables, places, None));
    job.map(|_| ())
        .map_err(|failure| (failure.fault, failure.message))
}

fn proposed(name: &str) -> (Fault, String) {
    resolved(CATALOG, name, NamedAs::StandardAction).expect_err(name)
}

#[test]
fn only_an_entry_that_says_so_is_a_standard_action_r_003_27() {
    for named_as in [NamedAs::StandardAction, NamedAs::Capability] {
        assert_eq!(resolved(CATALOG, "mail_send", named_as), Ok(()));
    }
    assert_eq!(
        resolved(CATALOG, "task_delete", NamedAs::Capability),
        Ok(())
    );
    let (fault, message) = proposed("task_delete");
    assert_eq!(fault, Fault::KindRule);
    assert!(
        message.contains("task_delete") && message.contains("`is_action = true`"),
        "{message}"
    );
}

#[test]
fn a_name_is_never_corrected_and_the_error_says_what_was_meant() {
    for (name, fault, said) in [
        (
            "create task",
            Fault::KindRule,
            r#"write its id: "name": "task_create""#,
        ),
        ("wb/Todo", Fault::KindRule, "task_create"),
        (
            "task_crate",
            Fault::UnknownCapability,
            "did you mean task_create?",
        ),
        (
            "Send_Mail",
            Fault::UnknownCapability,
            "did you mean mail_send?",
        ),
        // No standard action is like it, and others are not proposed.
        (
            "task_delete_all",
            Fault::UnknownCapability,
            "the standard actions of the catalog are",
        ),
        ("CAP-SYN-001", Fault::MisroutedSynthesis, "reasoning_agent"),
    ] {
        let (found, message) = proposed(name);
        assert_eq!(found, fault, "{name}: {message}");
        assert!(message.contains(said), "{name}: {message}");
        assert!(!message.contains("task_delete?"), "{message}");
    }
    let without = "catalog = 1\n[capability.a]\nmcp = { server = \"s\", tool = \"t\" }\n";
    let (_, message) = resolved(without, "b", NamedAs::StandardAction).unwrap_err();
    assert!(
        message.contains("no entry of the catalog says"),
        "{message}"
    );
}

#[test]
fn the_name_of_an_improvised_action_is_none_of_the_catalog() {
    let catalog = Catalog::from_text(CATALOG);
    let tables = catalog.tables().unwrap();
    let refused = |name| must_not_be(&tables, Some(name)).unwrap_err();
    for (name, id) in [
        ("task_delete", "task_delete"),
        ("create task", "task_create"),
    ] {
        let refused = refused(name);
        assert_eq!(refused.fault, Fault::KindRule);
        assert!(refused.message.contains(&format!("names {id},")), "{name}");
    }
    assert_eq!(must_not_be(&tables, Some("tidy_up")), Ok(()));
    assert_eq!(must_not_be(&tables, None), Ok(()));
}

#[test]
fn a_text_is_enough_for_an_action_that_needs_one_parameter_r_003_21() {
    let catalog = Catalog::from_text(CATALOG);
    let tables = catalog.tables().unwrap();
    let enough = |text: &str| enough_for(&tables, &[text.to_owned()]).unwrap();
    for text in [
        "wb/Todo X",
        "WB/todo: call Ada",
        "create a NEW task ",
        "create task",
    ] {
        assert_eq!(enough(text).as_deref(), Some("task_create"), "{text}");
    }
    for text in [
        "send mail",
        "wb/todos",
        "delete task",
        "Create a new task for Ada",
        "",
    ] {
        assert_eq!(enough(text), None, "{text}");
    }
}

/// What `bind` fills is the operator's: a declared step can only put the asset of an earlier step in the place of an
/// input (R-000-62, R-000-140, R-003-06).
#[test]
fn a_declared_step_sets_no_parameter_that_oneact_fills() {
    const CATALOG: &str = r#"catalog = 1
[server.s]
command = ["s"]
[capability.look]
mcp = { server = "s", tool = "look" }
[capability.convert]
mcp = { server = "s", tool = "convert" }
bind = { from = "input.uri", to = "output.path", session = "session.id" }
result = { kind = "asset", asset_type = "audio", format = "wav" }
"#;
    let catalog = Catalog::from_text(CATALOG);
    let tables = catalog.tables().unwrap();
    let declares = |parameters: &Value| {
        let step = |id: &str, entry: &str, parameters: &Value| DeclaredStep {
            id: id.to_owned(),
            entry: entry.to_owned(),
            parameters: object(parameters),
        };
        let steps = vec![
            step("made", "convert", &json!({})),
            step("seen", "look", &json!({})),
            step("last", "convert", parameters),
        ];
        let task = CapabilityTask {
            named_as: NamedAs::Declared(Declared { name: None, steps }),
            ..task(&["improvised"])
        };
        look_up_all(&task, &tables, Nameable::Entries).map(|_| ())
    };
    for (name, value) in [
        ("from", "file:///etc/passwd"),
        ("from", "{seen.output.uri}"),
        ("to", "/etc/x.wav"),
        ("to", "{made.output.path}"),
        ("session", "other"),
    ] {
        let refused = declares(&json!({name: value})).expect_err(value);
        assert_eq!(refused.fault, Fault::ParamsInvalid);
        let why = format!("sets `{name}` of convert, which oneact fills");
        assert!(refused.message.contains(&why), "{}", refused.message);
    }
    declares(&json!({"from": "{made.output.uri}"})).unwrap();
}
