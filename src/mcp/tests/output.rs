//! Good answers against the schema that the tool publishes for them.

use super::*;

fn typed(mode: &str, arguments: Value) -> Stage {
    let mut stage = Stage::new(mode).checked();
    stage.call.arguments = object(arguments);
    stage
}

#[test]
fn an_answer_that_fits_is_good() {
    let end = typed("typed", json!({"text": "a", "n": 7})).run();
    assert!(end.result.is_ok());
    assert_eq!(end.course.output, OutputCheck::Fits);
}

#[test]
fn an_answer_that_does_not_is_told_with_the_place_and_kept() {
    let end = typed("typed", json!({"text": "a", "n": "seven"})).run();
    let OutputCheck::Breaks(misfits) = &end.course.output else {
        panic!("{:?}", end.course.output)
    };
    assert_eq!(misfits.len(), 1);
    assert_eq!(misfits[0].pointer, "/n");
    let kept = structured(end.result.as_ref().unwrap()).unwrap();
    assert_eq!(kept["n"], "seven");
}

#[test]
fn an_answer_without_structured_content_breaks_any_output_schema() {
    let end = typed("typed:bare", json!({"text": "a"})).run();
    assert!(
        matches!(&end.course.output, OutputCheck::Breaks(misfits) if misfits[0].pointer.is_empty())
    );
}

#[test]
fn what_a_tool_says_of_its_own_failure_has_no_schema() {
    let end = typed("typed:failed", json!({"text": "a", "n": "seven"})).run();
    assert!(end.result.unwrap().is_error);
    assert_eq!(end.course.output, OutputCheck::None);
}

#[test]
fn no_list_is_asked_for_an_output_schema_unless_the_entry_wants_it() {
    let mut stage = typed("typed", json!({"text": "a", "n": "seven"}));
    stage.call.check_arguments = ArgumentCheck::Done;
    let end = stage.run();
    assert_eq!(end.course.output, OutputCheck::None);
    assert!(!stage.methods().contains(&"tools/list".to_owned()));

    stage.call.output_schema = OutputSchema::Check;
    let end = stage.run();
    assert!(matches!(end.course.output, OutputCheck::Breaks(_)));
}

#[test]
fn an_entry_may_take_what_the_schema_does_not() {
    let mut stage = typed("typed", json!({"text": "a", "n": "seven"}));
    stage.call.output_schema = OutputSchema::Ignore;
    assert_eq!(stage.run().course.output, OutputCheck::None);
}

#[test]
fn an_output_schema_from_elsewhere_is_not_fetched_and_no_reason_to_fail() {
    let end = typed("typed:remote", json!({"text": "a"})).run();
    assert!(end.result.is_ok());
    assert!(
        matches!(&end.course.output, OutputCheck::Unusable(reason) if reason.contains("example.invalid")),
        "{:?}",
        end.course.output
    );
}

#[test]
fn an_entry_that_wants_a_check_which_cannot_be_made_is_told_before_the_call() {
    for mode in ["typed:remote", "echo"] {
        let mut stage = typed(mode, json!({"text": "a"}));
        stage.call.output_schema = OutputSchema::Check;
        let end = stage.run();
        assert_eq!(end.effect, Effect::None);
        assert!(
            matches!(end.result, Err(CallError::OutputSchemaUnusable { .. })),
            "{mode}: {:?}",
            end.result
        );
    }
}

#[test]
fn an_output_schema_that_means_years_of_work_is_given_up_and_the_answer_kept() {
    let kept = TempDir::new().unwrap();
    let folder = Utf8Path::from_path(kept.path()).unwrap();
    // The thread that works on it ends with its process only.
    assert!(client("typed:endless", folder).status().unwrap().success());
    let outcome = fs::read_to_string(folder.join("outcome")).unwrap();
    assert!(
        outcome.starts_with("Done Ok(") && outcome.contains("Unusable(\"a check against it takes"),
        "{outcome}"
    );
}

#[test]
fn a_constraint_of_an_output_schema_that_oneact_cannot_read_is_not_checked_and_told() {
    let end = typed("typed:javascript", json!({"text": "a", "n": 7})).run();
    assert_eq!(end.course.output, OutputCheck::Fits);
    assert!(
        end.course.notes[0].contains("output schema of echo"),
        "{:?}",
        end.course.notes
    );
    let end = typed("typed:javascript", json!({"text": "a", "n": "7"})).run();
    assert!(matches!(end.course.output, OutputCheck::Breaks(_)));
}
