//! Plans with pipelines: what is before, what is after, and what stays.

use super::*;
use crate::task::{Argument, Effects, Network, Pipeline, PipelineApproval, SharedMemory};

fn bounds(script: &str) -> Bounds {
    let fixed = |text: &str| Argument::Fixed(text.to_owned());
    Bounds {
        pipelines: vec![Pipeline {
            name: "etl".to_owned(),
            description: String::new(),
            command: vec![fixed("/bin/sh"), fixed("-c"), fixed(script)],
            parameters: json!({"type": "object"}),
            writes: vec![RelPath::parse("out").unwrap()],
            env_pass: Vec::new(),
            network: Network::Refused,
            shared_memory: SharedMemory::Refused,
            timeout: Duration::from_mins(1),
            effects: Effects::default(),
            approval: PipelineApproval::NotNeeded,
            catalog: "catalog.toml".into(),
            seal: "seal".to_owned(),
        }],
        ..Bounds::default()
    }
}

fn etl(id: &str) -> Value {
    json!({"action_id": id, "action_type": "PIPELINE_RUN", "target": "etl",
        "operation": {"type": "pipeline_run"}})
}

fn run(lab: &Lab, script: &str, actions: Value) -> Outcome {
    lab.run_under(plan(actions), &bounds(script))
}

fn lab() -> Lab {
    Lab::new(&[("a.txt", "one\n"), ("b.txt", "two\n")])
}

#[test]
fn a_pipeline_sees_the_changes_before_it_and_what_follows_sees_its_own_r_001_93() {
    let lab = lab();
    let outcome = run(
        &lab,
        "cat a.txt > out/copy.txt; echo told",
        json!([
            replace("a001", "a.txt", "one", "eins"),
            etl("a002"),
            replace("a003", "out/copy.txt", "eins", "uno"),
            replace("a004", "b.txt", "two", "zwei"),
        ]),
    );
    assert_eq!(status(&outcome), Some(Status::Success), "{outcome:#?}");
    assert_eq!(
        (lab.read("out/copy.txt"), lab.read("b.txt")),
        ("uno\n".to_owned(), "zwei\n".to_owned())
    );
    let report = outcome.execution_report.unwrap();
    let told = &report["pipelines"][0];
    assert_eq!(
        (&told["status"], &told["output"]),
        (&json!("SUCCESS"), &json!("told\n"))
    );
    assert_eq!(told["files_changed"], json!(["out/copy.txt"]));
    assert_eq!(report["actions_summary"]["completed"], 4);
    assert!(report["warnings"].to_string().contains("cannot be undone"));
    assert!(!lab.root.join("agent_outputs/reports/.scratch").exists());
}

#[test]
fn a_failure_after_a_pipeline_undoes_the_files_and_names_what_stays_r_001_122() {
    for (script, status_of_it, effect) in [
        ("echo new > out/new.txt", "SUCCESS", Effect::Unknown),
        ("echo new > out/new.txt; exit 3", "FAILED", Effect::Unknown),
    ] {
        let lab = lab();
        let outcome = run(
            &lab,
            script,
            json!([
                replace("a001", "a.txt", "one", "eins"),
                etl("a002"),
                replace("a003", "out/x.txt", "a", "b")
            ]),
        );
        assert_eq!(status(&outcome), Some(Status::RolledBack), "{outcome:#?}");
        assert_eq!(
            (outcome.effect, lab.read("a.txt")),
            (effect, "one\n".to_owned())
        );
        assert_eq!(lab.read("out/new.txt"), "new\n");
        let report = outcome.execution_report.unwrap();
        assert_eq!(report["pipelines"][0]["status"], status_of_it);
        let warnings = report["warnings"].to_string();
        assert!(
            warnings.contains("It is not undone; these files were changed meanwhile: out/new.txt."),
            "{warnings}"
        );
        assert!(!outcome.failure.unwrap().recoverable);
    }
}

#[test]
fn what_can_be_known_is_found_out_before_the_pipeline_starts() {
    let lab = lab();
    let outcome = run(
        &lab,
        "echo new > out/new.txt",
        json!([
            replace("a001", "a.txt", "one", "eins"),
            etl("a002"),
            replace("a003", "b.txt", "missing", "b")
        ]),
    );
    assert_eq!(
        (status(&outcome), outcome.effect),
        (Some(Status::Failed), Effect::None)
    );
    assert!(!lab.root.join("out").exists());
    assert_eq!(outcome.failure.unwrap().fault, Fault::PatternNotFound);
}

#[test]
fn a_file_is_changed_on_one_side_of_a_pipeline_only() {
    let outcome = run(
        &lab(),
        "true",
        json!([
            replace("a001", "a.txt", "one", "eins"),
            etl("a002"),
            replace("a003", "a.txt", "eins", "uno")
        ]),
    );
    assert_eq!(outcome.failure.unwrap().fault, Fault::PlanConflict);
}

#[test]
fn a_pipeline_that_waits_for_a_failed_action_is_not_run() {
    let lab = lab();
    let mut waiting = etl("a002");
    waiting["depends_on"] = json!(["a001"]);
    let mut plan = plan(json!([
        replace("a001", "a.txt", "missing", "x"),
        waiting,
        replace("a003", "b.txt", "two", "zwei"),
    ]));
    plan["execution_instructions"] = json!({"stop_on_error": false, "rollback_on_failure": false});
    let outcome = lab.run_under(plan, &bounds("echo > out/x"));
    assert_eq!(status(&outcome), Some(Status::Partial), "{outcome:#?}");
    assert_eq!(lab.read("b.txt"), "zwei\n");
    assert!(!lab.root.join("out").exists());
}

#[test]
fn a_plan_of_one_pipeline_that_fails_has_rolled_nothing_back() {
    let outcome = run(&lab(), "exit 1", json!([etl("a001")]));
    assert_eq!(
        (status(&outcome), outcome.effect),
        (Some(Status::Failed), Effect::Unknown)
    );
    let done = run(&lab(), "true", json!([etl("a001")]));
    assert_eq!(
        (status(&done), done.effect),
        (Some(Status::Success), Effect::Done)
    );
}

#[test]
fn a_pipeline_that_needs_an_approval_waits_for_it() {
    let lab = lab();
    let mut bounds = bounds("true");
    bounds.pipelines[0].approval = PipelineApproval::Needed;
    let outcome = lab.run_under(plan(json!([etl("a001")])), &bounds);
    assert_eq!(outcome.failure.unwrap().fault, Fault::ApprovalRequired);
}

#[test]
fn what_a_pipeline_leaves_in_its_own_directory_is_removed_whatever_it_is() {
    let lab = lab();
    let script = "mkdir -p $TMPDIR/a/b; touch $TMPDIR/a/b/$(printf '\\377'); chmod 555 $TMPDIR/a/b; chmod 0 $TMPDIR/a";
    let outcome = run(&lab, script, json!([etl("a001")]));
    assert_eq!(status(&outcome), Some(Status::Success), "{outcome:#?}");
    assert!(!lab.root.join("agent_outputs/reports/.scratch").exists());
}
