//! Each cell of the table: what a proposal of the kind with the field, and without it, is told.

use serde_json::json;

use super::*;
use crate::envelope::fields::OF_PROPOSAL;

/// The least that a proposal of each kind has.
fn least(kind: ProposalKind) -> Map<String, Value> {
    let least = match kind {
        ProposalKind::Standard => json!({"name": "task_create"}),
        ProposalKind::Improvised => json!({"plan_summary": "Tidy up", "steps": [{"name": "a"}]}),
        ProposalKind::Suggestion => json!({"title": "Archive this"}),
        ProposalKind::Clarification => json!({"blocked_on": "the date"}),
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
fn told(
    kind: ProposalKind,
    key: &str,
    rule: &dyn Fn(ProposalKind, &str) -> FieldRule,
) -> [Result<(), String>; 2] {
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

fn cells() -> impl Iterator<Item = (ProposalKind, &'static str)> {
    let kinds = ProposalKind::ALL.into_iter();
    kinds.flat_map(|kind| OF_PROPOSAL.split(' ').map(move |key| (kind, key)))
}

#[test]
fn every_cell_is_as_the_specification_says_r_003_11_to_20() {
    let required = |kind, key| {
        [
            (ProposalKind::Standard, "name", "id of a standard action"),
            (
                ProposalKind::Improvised,
                "plan_summary",
                "person who approves",
            ),
            (ProposalKind::Improvised, "steps", "or a `grant`"),
            (ProposalKind::Suggestion, "title", "what you advise"),
            (
                ProposalKind::Clarification,
                "blocked_on",
                "exactly what is missing",
            ),
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
        (ProposalKind::Standard, "steps" | "grant") => Some("is one entry of the catalog"),
        (ProposalKind::Improvised, "parameters" | "parameters_json") => Some("`steps`"),
        (ProposalKind::Improvised, "task_plan") => Some("a task of its own"),
        (ProposalKind::Improvised, "under") => Some("under a grant"),
        (ProposalKind::Suggestion, "under") => Some("kind `standard`"),
        (ProposalKind::Clarification, "under") => Some("is never performed"),
        (
            ProposalKind::Standard | ProposalKind::Improvised | ProposalKind::Suggestion,
            "blocked_on",
        ) => Some("kind `clarification`"),
        (ProposalKind::Suggestion, key) if executable.contains(&key) => Some("kind `standard`"),
        (ProposalKind::Clarification, key) if executable.contains(&key) => {
            Some("is never performed")
        }
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
    assert!(told(ProposalKind::Suggestion, summary));
    let grant = json!({"plan_summary": "Tidy up", "grant": {"entries": ["a"]}});
    assert!(told(ProposalKind::Improvised, grant));
    for empty in [json!(null), json!(""), json!(" … "), json!([]), json!([""])] {
        assert!(!told(
            ProposalKind::Clarification,
            json!({"blocked_on": empty})
        ));
        let filled = json!({
            "title": "Archive this", "blocked_on": empty, "steps": empty, "name": empty,
            "parameters_json": "{}", "parameters": {}, "grant": {},
        });
        assert!(told(ProposalKind::Suggestion, filled), "{empty}");
    }
}
