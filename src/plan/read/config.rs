//! `system_config`, as YAML text or as an object (R-001-27, R-001-32).

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    plan::{
        limits::Constraints,
        model::{Hashes, Rule},
    },
    task::{ActionType, Fault, Risk},
};

use super::{
    fields::{Fields, Shape, listed, quoted},
    findings::Findings,
    rules::{self, Files},
};

/// What the configuration says that matters here.
#[derive(Debug, Default)]
pub(super) struct Config {
    pub(super) constraints: Option<Constraints>,
    /// Each about a file of the plan.
    pub(super) rules: Vec<Rule>,
    /// Of the whole plan, in seconds.
    pub(super) timeout: Option<u64>,
    /// If it insists.
    pub(super) hashes: Option<Hashes>,
}

/// 001 §3.3's risk levels.
pub(super) const RISKS: [(&str, Risk); 4] = [
    ("LOW", Risk::Low),
    ("MEDIUM", Risk::Medium),
    ("HIGH", Risk::High),
    ("CRITICAL", Risk::Critical),
];

const NAME: &str = "system_config";

/// Reads the configuration; without one nothing is tightened.
pub(super) fn read(config: Option<&Value>, files: &Files<'_>, findings: &mut Findings) -> Config {
    let Some(config) = config else {
        return Config::default();
    };
    let Some(config) = unfolded(config, findings) else {
        return Config::default();
    };
    let Some(mut fields) = Fields::of(NAME, &config, findings) else {
        return Config::default();
    };
    let mut read = Config::default();
    if let Some(workflow) = fields.inner("workflow_configuration", findings) {
        read.timeout = workflow_configuration(workflow, findings);
    }
    if let Some(constraints) = fields.inner("execution_constraints", findings) {
        read.constraints = Some(execution_constraints(constraints, findings));
    }
    match fields.get("validation_rules") {
        Some((place, Value::Array(items))) => {
            read.rules = rules::read(&place, items, None, files, findings);
        }
        Some((place, value)) => {
            if let Some(inner) = Fields::of(&place, value, findings) {
                validation_rules(inner, files, &mut read, findings);
            }
        }
        None => {}
    }
    fields.descriptive(
        &[
            ("version", Shape::Text),
            ("config_id", Shape::Text),
            ("plan_id", Shape::Text),
            ("created_at", Shape::Text),
        ],
        findings,
    );
    fields.finish(findings);
    read
}

/// The configuration as a value. A message tells where YAML is wrong, not what is written there.
fn unfolded(config: &Value, findings: &mut Findings) -> Option<Value> {
    let Value::String(text) = config else {
        return Some(config.clone());
    };
    let value = match serde_saphyr::from_str::<Value>(text) {
        Ok(value) => value,
        Err(error) => {
            let problem = error.without_snippet().to_string();
            let problem = problem.replace(char::is_control, " ");
            findings.invalid(format!("`{NAME}` is not valid YAML: {problem}"));
            return None;
        }
    };
    if value.is_null() {
        findings.invalid(format!(
            "`{NAME}` is empty; leave it out if nothing is meant"
        ));
        return None;
    }
    Some(value)
}

fn workflow_configuration(mut fields: Fields<'_>, findings: &mut Findings) -> Option<u64> {
    let place = fields.place("requires_approval");
    if fields.flag("requires_approval", findings) == Some(true) {
        approval_wanted(&place, findings);
    }
    fields.word("approval_threshold", &RISKS, findings);
    let modes = [("sequential", ()), ("parallel", ()), ("mixed", ())];
    fields.word("execution_mode", &modes, findings);
    if let Some(mut retries) = fields.inner("retry_policy", findings) {
        retries.descriptive(
            &[
                ("max_retries", Shape::Number),
                ("backoff_multiplier", Shape::Number),
                ("initial_delay_ms", Shape::Number),
            ],
            findings,
        );
        retries.finish(findings);
        findings.note(format!(
            "`{}` has no effect: a plan is tried once, and whoever sent it may send it again",
            fields.place("retry_policy")
        ));
    }
    let timeout = fields.whole("timeout_seconds", findings);
    fields.finish(findings);
    timeout
}

/// The plan waits for a person, and there is no way yet to answer for one.
pub(super) fn approval_wanted(place: &str, findings: &mut Findings) {
    findings.problem(
        Fault::NotValidated,
        format!(
            "`{place}` is true, and oneact cannot record a person's approval of a plan yet; have the plan approved \
             where it is made, and send it without this key"
        ),
    );
}

fn execution_constraints(mut fields: Fields<'_>, findings: &mut Findings) -> Constraints {
    let owned = |texts: Option<Vec<&str>>| {
        texts
            .unwrap_or_default()
            .into_iter()
            .map(str::to_owned)
            .collect()
    };
    let constraints = Constraints {
        max_files: fields.whole("max_files_modified", findings),
        operations: allowed_operations(&mut fields, findings),
        max_file_bytes: fields.whole("max_file_size_bytes", findings),
        forbidden: owned(fields.texts("forbidden_patterns", findings)),
        protected: owned(fields.texts("protected_files", findings)),
    };
    fields.finish(findings);
    constraints
}

/// With and without `FILE_`, as the origin and 001 write them.
fn allowed_operations(
    fields: &mut Fields<'_>,
    findings: &mut Findings,
) -> Option<BTreeSet<ActionType>> {
    let place = fields.place("allowed_operations");
    let texts = fields.texts("allowed_operations", findings)?;
    let mut operations = BTreeSet::new();
    for text in texts {
        let named = |operation: &ActionType| {
            operation.name() == text || operation.name().strip_prefix("FILE_") == Some(text)
        };
        match ActionType::ALL.into_iter().find(named) {
            Some(operation) => {
                operations.insert(operation);
            }
            None => findings.invalid(format!(
                "`{place}` names {}, which is no operation; known are {}",
                quoted(text),
                listed(ActionType::ALL.iter().map(|operation| operation.name()))
            )),
        }
    }
    Some(operations)
}

/// The origin's flags. What they ask for is done whether they say so or not, so that they can only
/// insist.
fn validation_rules(
    mut fields: Fields<'_>,
    files: &Files<'_>,
    read: &mut Config,
    findings: &mut Findings,
) {
    match fields.flag("verify_file_hashes", findings) {
        Some(true) => read.hashes = Some(Hashes::Verify),
        Some(false) => findings.note(format!(
            "`{}` has no effect: only the plan's own `verify_hashes: false` leaves hashes unchecked",
            fields.place("verify_file_hashes")
        )),
        None => {}
    }
    for (key, done) in [
        (
            "run_syntax_check",
            "JSON and YAML are parsed again after every edit",
        ),
        (
            "run_schema_validation",
            "what SCHEMA_UPDATE leaves must be a valid schema",
        ),
    ] {
        if fields.flag(key, findings) == Some(false) {
            findings.note(format!("`{}` has no effect: {done}", fields.place(key)));
        }
    }
    if let Some((place, items)) = fields.list("custom_validators", findings) {
        read.rules = rules::read(&place, items, None, files, findings);
    }
    fields.finish(findings);
}
