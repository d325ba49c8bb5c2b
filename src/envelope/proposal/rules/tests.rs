//! Each cell of the table: what a proposal of the kind with the field, and without it, is told.

use serde_json::json;

use super::*;
use crate::envelope::fields::OF_PROPOSAL;

/// The least that a proposal of each kind has.
fn least(kind: Kind) -> Map<String, Value> {
    let least = match kind {
        Kind::Standard => json!({"name": "task_create"}),
        Kind::Improvised => json!({"plan_summary": "Tidy up", "steps": [{"name": "a"}]}),
        Kind::Suggestion => json!({"title": "Archive this"}),
        Kind::Clarification => json!({"blocked_on": "the date"}),
    };
    least.as_object().unwrap().clone()
}

fn value(key: &str) -> Value {
    match key {
        "parameters" | "task_plan" | "grant" => json!({"a": 1}),
        "steps" => json!([{"name": "a"}]),
        "confidence" => json!(0.5),
        "risk_amplifier" => json!(false),
        "parameters_json" => json!(r#"{"a": 1}"#),
        _ => json!("text"),
    }
}

/// What the least proposal of the kind is told, once with the field and once without it.
fn told(kind: Kind, key: &str, rule: &dyn Fn(Kind, &str) -> FieldRule) -> [Result<(), String>; 2] {
    let (mut with, mut without) = (least(kind), least(kind));
    with.insert(key.to_owned(), value(key));
    without.remove(key);
    [with, without].map(|proposal| {
        check_with(kind, &proposal, rule).map_err(|failure| {
            assert_eq!(failure.fault, Fault::KindRule);
            failure.message
        })
    })
}

fn cells() -> impl Iterator<Item = (Kind, &'static str)> {
    let kinds = Kind::ALL.into_iter();
    kinds.flat_map(|kind| OF_PROPOSAL.split(' ').map(move |key| (kind, key)))
}

#[test]
fn every_cell_is_as_the_specification_says_r_003_11_to_20() {
    let required = |kind, key| {
        [
            (Kind::Standard, "name", "id of a standard action"),
            (Kind::Improvised, "plan_summary", "person who approves"),
            (Kind::Improvised, "steps", "or a `grant`"),
            (Kind::Suggestion, "title", "what you advise"),
            (Kind::Clarification, "blocked_on", "exactly what is missing"),
        ]
        .into_iter()
        .find(|row| (row.0, row.1) == (kind, key))
        .map(|row| row.2)
    };
    let executable = [
        "name",
        "parameters_json",
        "parameters",
        "task_plan",
        "steps",
        "grant",
    ];
    let forbidden = |kind, key| match (kind, key) {
        (Kind::Standard, "steps" | "grant") => Some("is one entry of the catalog"),
        (Kind::Improvised, "parameters" | "parameters_json") => Some("`steps`"),
        (Kind::Improvised, "task_plan") => Some("a task of its own"),
        (Kind::Improvised, "under") => Some("under a grant"),
        (Kind::Suggestion, "under") => Some("kind `standard`"),
        (Kind::Clarification, "under") => Some("is never performed"),
        (Kind::Standard | Kind::Improvised | Kind::Suggestion, "blocked_on") => {
            Some("kind `clarification`")
        }
        (Kind::Suggestion, key) if executable.contains(&key) => Some("kind `standard`"),
        (Kind::Clarification, key) if executable.contains(&key) => Some("is never performed"),
        _ => None,
    };
    for (kind, key) in cells() {
        let [with, without] = told(kind, key, &rule);
        for (told, wanted) in [(with, forbidden(kind, key)), (without, required(kind, key))] {
            match (told, wanted) {
                (Ok(()), None) => {}
                (Err(told), Some(wanted)) => {
                    assert!(told.contains(wanted), "{kind:?} {key}: {told}");
                    assert!(told.contains(&format!("`{key}`")), "{told}");
                }
                (told, wanted) => panic!("{kind:?} {key}: {told:?} instead of {wanted:?}"),
            }
        }
    }
}

#[test]
fn with_another_rule_in_a_cell_a_case_of_the_cell_changes() {
    for cell in cells() {
        let other = match rule(cell.0, cell.1) {
            Allowed => Forbidden("leave it out"),
            Required(_) | RequiredWithout(..) | Forbidden(_) => Allowed,
        };
        let others = |kind, key: &str| {
            let changed = ((kind, key) == cell).then_some(other);
            changed.unwrap_or_else(|| rule(kind, key))
        };
        let (now, then) = (told(cell.0, cell.1, &rule), told(cell.0, cell.1, &others));
        assert_ne!(now, then, "{cell:?}");
    }
}

#[test]
fn each_field_of_a_proposal_has_one_row() {
    let rows = RULES.map(|(field, _)| field).join(" ");
    assert_eq!(rows, OF_PROPOSAL);
}

#[test]
fn one_of_two_fields_is_enough_and_an_empty_one_counts_as_missing() {
    let told = |kind, proposal: Value| check(kind, proposal.as_object().unwrap()).is_ok();
    let summary = json!({"plan_summary": "Archive this"});
    assert!(told(Kind::Suggestion, summary));
    let grant = json!({"plan_summary": "Tidy up", "grant": {"entries": ["a"]}});
    assert!(told(Kind::Improvised, grant));
    for empty in [json!(null), json!(""), json!(" … "), json!([]), json!([""])] {
        assert!(!told(Kind::Clarification, json!({"blocked_on": empty})));
        let filled = json!({
            "title": "Archive this", "blocked_on": empty, "steps": empty, "name": empty,
            "parameters_json": "{}", "parameters": {}, "grant": {},
        });
        assert!(told(Kind::Suggestion, filled), "{empty}");
    }
}
