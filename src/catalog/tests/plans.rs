//! Capabilities that carry file plans out: what they allow, and which plan a task means.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    catalog::{Catalog, FilePlan, Job, PlanJob, PlanSource, check, plan_entry},
    task::{
        ActionType, CapabilityTask, Carried, CarriedIn, Failure, Fault, OnDuplicate, Protection,
        RefStatus, Unless, Validation, ValidationRule,
    },
};

use super::{cut, input, job, object, ref_id, task};

const EXECUTOR: &str = "[capability.apply_file_plan]\n[capability.apply_file_plan.file_plan]\n";

/// The catalog with a `cut` and an executor: what a test adds stands on line 8.
fn catalog(more: &str) -> String {
    cut(&format!("{EXECUTOR}{more}"))
}

fn entry(catalog: &str) -> Result<FilePlan, Failure> {
    let catalog = Catalog::from_text(catalog);
    plan_entry(&catalog.tables()?)
}

fn wrong(more: &str) -> String {
    entry(&catalog(more)).unwrap_err().message
}

fn planned(more: impl FnOnce(&mut CapabilityTask)) -> Result<PlanJob, Failure> {
    let mut task = task(&["apply_file_plan"]);
    task.inputs.clear();
    more(&mut task);
    match job(&catalog(""), &task)? {
        Job::Plan(job) => Ok(*job),
        Job::Tools(job) => panic!("{job:?}"),
    }
}

fn carried(plan: Option<Value>, place: CarriedIn) -> Carried {
    Carried {
        plan,
        system_config: None,
        validation: Validation::Approved,
        place,
    }
}

#[test]
fn what_is_not_said_is_as_specification_001_has_it_r_001_174_to_177() {
    let mut said = entry(&catalog("")).unwrap();
    said.place = None;
    said.access.whole.clear();
    let programs = said.bounds.protection.executes.as_mut();
    let programs = std::mem::take(&mut programs.unwrap().programs);
    assert_eq!(
        programs,
        entry(&cut(""))
            .unwrap()
            .bounds
            .protection
            .executes
            .unwrap()
            .programs
    );
    assert_eq!(said, FilePlan::built_in());
    assert_eq!(said.bounds.max_files, 100);
    assert_eq!(said.bounds.max_file_bytes, 50 << 20);
    assert_eq!(said.bounds.max_backup_bytes, 500 << 20);
    assert_eq!(said.bounds.max_concurrency, 4);
    assert_eq!(said.bounds.longest, Duration::from_hours(1));
    assert_eq!(said.bounds.validation, ValidationRule::Required);
}

#[test]
fn what_is_said_tightens_it() {
    let said = entry(&catalog(
        r#"root = "."
reports = "agent_outputs/reports"
operations = ["FILE_MODIFY", "SCHEMA_UPDATE"]
validation = "none"
max_files = 1
max_file_size = "512 KB"
max_backup_size = "10MB"
max_concurrency = 2
protected.critical = { rule = "never" }
protected.important = {}
"#,
    ))
    .unwrap();
    let operations: Vec<ActionType> = said.bounds.operations.into_iter().collect();
    assert_eq!(
        operations,
        [ActionType::FileModify, ActionType::SchemaUpdate]
    );
    assert_eq!(said.bounds.validation, ValidationRule::None);
    assert_eq!((said.bounds.max_files, said.bounds.max_concurrency), (1, 2));
    assert_eq!(
        (said.bounds.max_file_bytes, said.bounds.max_backup_bytes),
        (512 << 10, 10 << 20)
    );
    assert_eq!(said.bounds.protection.critical.rule, Protection::Never);
    assert_eq!(said.bounds.protection.important.rule, Protection::Approval);
}

#[test]
fn the_programs_of_the_servers_are_named_by_their_commands() {
    let text = format!(
        "{}[server.x]\ncommand = [\"python3\", \"tools/s.py\", \"--x=@{{root}}/c.json\", \"-r./r.js\", \"file:///a/u.ts\", \"m.py:main\"]\n\
         cwd = \"sub\"\n[server.y]\nurl = \"https://y.example/\"\nbearer_command = [\"sh\", \"token.sh\"]\nca_file = \"ca.pem\"\n[approval]\nnotify = [\"sh\", \"tell.sh\"]\n",
        catalog("protected.executes = { except = [\"*.md\"], paths = [\"Makefile\"] }\n")
    );
    let executes = entry(&text).unwrap().bounds.protection.executes.unwrap();
    for program in [
        "sub/tools/s.py",
        "c.json",
        "sub/./r.js",
        "///a/u.ts",
        "sub/m.py",
        "tell.sh",
        "token.sh",
        "ca.pem",
    ] {
        assert!(
            executes.programs.iter().any(|path| path == program),
            "{executes:?}"
        );
    }
    assert!(!executes.programs.iter().any(|path| path == "sub/main"));
    assert_eq!(executes.class.paths[0].text(), "Makefile");
    assert_eq!(executes.except[0].text(), "*.md");
}

#[test]
fn a_plan_may_be_repeated_and_is_never_answered_from_the_record() {
    let on_duplicate = |mode: &str| {
        let text = catalog("").replace(
            "[capability.apply_file_plan]\n",
            &format!("[capability.apply_file_plan]\nversion = 2\non_duplicate = {{ mode = \"{mode}\" }}\n"),
        );
        entry(&text)
    };
    let said = on_duplicate("repeat").unwrap();
    assert_eq!(
        (said.on_duplicate, said.common.version),
        (OnDuplicate::Repeat, Some(2))
    );
    assert_eq!(
        on_duplicate("suppress").unwrap().on_duplicate,
        OnDuplicate::Suppress(Unless::FilesChanged)
    );
    let message = on_duplicate("reuse").unwrap_err().message;
    assert!(message.contains("cannot be `reuse`"), "{message}");
}

#[test]
fn what_says_something_of_a_tool_is_refused_beside_a_plan() {
    for key in [
        "volatile = [\"run\"]",
        "output_schema = \"ignore\"",
        "secret = [\"/a\"]",
    ] {
        let text = catalog("").replace(
            "[capability.apply_file_plan]\n",
            &format!("[capability.apply_file_plan]\n{key}\n"),
        );
        let message = entry(&text).unwrap_err().message;
        assert!(message.contains("is a setting of a tool"), "{message}");
    }
}

#[test]
fn nothing_widens_it_and_the_message_names_line_and_key() {
    for (more, key) in [
        ("max_files = 101", "max_files"),
        ("max_files = 0", "max_files"),
        ("max_file_size = \"51 MB\"", "max_file_size"),
        ("max_file_size = \"1 GB\"", "max_file_size"),
        ("max_file_size = \"0 B\"", "max_file_size"),
        ("max_file_size = \"MB\"", "max_file_size"),
        (
            "max_file_size = \"99999999999999999999 MB\"",
            "max_file_size",
        ),
        ("max_backup_size = \"501 MB\"", "max_backup_size"),
        ("max_concurrency = 5", "max_concurrency"),
        ("root = \"/\"", "root"),
        ("reports = \"out\"", "reports"),
        ("operations = []", "operations"),
        ("operations = [\"FILE_CHMOD\"]", "FILE_CHMOD"),
        ("validation = \"maybe\"", "maybe"),
        ("max_filez = 1", "max_files"),
        ("protected.critical = { except = [\"x\"] }", "except"),
        (
            "protected.important = { paths = [\"!x\"] }",
            "important.paths",
        ),
        (
            "protected.executes = { except = [\"a[\"] }",
            "executes.except",
        ),
        ("protected.other = { rule = \"never\" }", "other"),
    ] {
        let message = wrong(more);
        assert!(message.starts_with("catalog.toml:8: "), "{message}");
        assert!(message.contains(key), "{message}");
    }
}

#[test]
fn a_capability_has_one_executor_and_no_keys_of_the_other() {
    for key in [
        "mcp = { server = \"s\", tool = \"t\" }",
        "defaults = { a = 1 }",
        "parameter_schema_for_action = { type = \"object\" }",
        "retry = [{ timeout = \"x2\" }]",
        "result = { kind = \"metadata\" }",
    ] {
        let text = cut(&format!(
            "[capability.apply_file_plan]\n{key}\nfile_plan = {{}}\n"
        ));
        let message = entry(&text).unwrap_err().message;
        let name = key.split(' ').next().unwrap();
        assert!(message.contains(&format!("`{name}`")), "{message}");
    }
}

#[test]
fn a_plan_takes_an_hour_at_most_r_001_173() {
    let long = |timeout: &str| {
        entry(&cut(&format!(
            "[capability.apply_file_plan]\ntimeout = \"{timeout}\"\nfile_plan = {{}}\n"
        )))
    };
    assert_eq!(long("90s").unwrap().bounds.longest, Duration::from_secs(90));
    assert!(long("61m").unwrap_err().message.contains("one hour"));
}

#[test]
fn a_tool_under_the_executors_name_takes_no_bare_plans() {
    let text = cut("[capability.apply_file_plan]\nmcp = { server = \"s\", tool = \"t\" }\n");
    assert_eq!(entry(&text).unwrap_err().fault, Fault::CatalogInvalid);
}

#[test]
fn the_plan_of_a_task_is_beside_it_in_its_parameters_or_in_a_file() {
    for place in [CarriedIn::Task, CarriedIn::Parameters] {
        let job = planned(|task| task.carried = Some(carried(Some(json!({})), place))).unwrap();
        assert!(matches!(job.plan, PlanSource::Inline(plan) if plan == json!({})));
    }
    let stored = input("store_1", "plans/p.json", RefStatus::Stored);
    let job = planned(|task| {
        task.inputs = vec![stored.clone()];
        task.carried = Some(carried(None, CarriedIn::Task));
    })
    .unwrap();
    assert_eq!(job.validation, Validation::Approved);
    assert!(matches!(job.plan, PlanSource::Ref(input) if input == stored));
}

#[test]
fn a_task_of_a_plan_that_says_more_or_less_is_refused() {
    let plan = || Some(carried(Some(json!({})), CarriedIn::Task));
    let none = planned(|_| ()).unwrap_err();
    assert!(none.fault == Fault::InvalidShape && none.message.contains("task_plan"));
    let two = planned(|task| {
        task.inputs = vec![
            input("store_1", "a", RefStatus::Stored),
            input("store_2", "b", RefStatus::Stored),
        ];
    });
    assert_eq!(two.unwrap_err().fault, Fault::InvalidShape);
    let source = planned(|task| task.inputs = vec![input("src_1", "a", RefStatus::Reference)]);
    assert_eq!(source.unwrap_err().fault, Fault::InputUnresolved);
    let several = planned(|task| {
        task.carried = plan();
        task.capability_ids.push("cut".to_owned());
    });
    assert_eq!(several.unwrap_err().fault, Fault::InvalidShape);
    let assets = planned(|task| {
        task.carried = plan();
        task.expected = vec![ref_id("derived_1")];
    });
    assert_eq!(assets.unwrap_err().fault, Fault::InvalidShape);
    let parameters = planned(|task| {
        task.carried = plan();
        task.parameters = vec![object(&json!({"force": true}))];
    });
    assert_eq!(parameters.unwrap_err().fault, Fault::ParamsInvalid);
}

#[test]
fn a_plan_beside_a_tool_is_not_lost_in_silence() {
    let of = |carried| {
        let mut task = task(&["cut"]);
        task.carried = Some(carried);
        job(&catalog(""), &task)
    };
    let lost = of(carried(Some(json!({})), CarriedIn::Task)).unwrap_err();
    assert_eq!(lost.fault, Fault::InvalidShape);
    let Ok(Job::Tools(said)) = of(carried(None, CarriedIn::Task)) else {
        panic!("a tool");
    };
    assert!(
        said.reasoning
            .join(" ")
            .contains("Ignored the plan settings")
    );
    assert!(of(carried(Some(json!({})), CarriedIn::Parameters)).is_ok());
}

#[test]
fn the_check_counts_executors_beside_tools() {
    let text = catalog("");
    let catalog = Catalog::from_text(&text);
    let checked = check(&catalog.tables().unwrap(), &[]);
    assert_eq!((checked.capabilities.len(), checked.plans.len()), (1, 1));
    assert_eq!(checked.problems, []);
}
