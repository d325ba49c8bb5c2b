//! Reads how a plan is applied: `execution_instructions` (001 §3.3, §7.2), `system_config` as YAML text or
//! as an object (R-001-27, R-001-32), and the time limit (001 §11.1).

use std::{collections::BTreeSet, time::Duration};

use serde_json::Value;

use crate::{
    plan::{
        limits::{Constraints, PLAN_TIMEOUT},
        model::{Hashes, Instructions, OnError, OnFailure, Permissions, Rule},
    },
    task::{ActionType, Risk},
};

use super::{
    fields::{Fields, Found, NUMBER, TEXT, listed, quoted},
    findings::Findings,
    rules::{self, Files},
};

/// One of 001 §3.3's risk levels.
pub(super) fn risk(found: &Found<'_>) -> Option<Risk> {
    let words = Risk::ALL.map(|risk| risk.name().to_ascii_uppercase());
    let risks: Vec<_> = words.iter().map(String::as_str).zip(Risk::ALL).collect();
    found.word(&risks)
}

/// The instructions of the plan itself, with the defaults of 001 §7.2, and its time limit in seconds, if it has
/// one.
#[derive(Debug, Default)]
pub(super) struct Asked(Instructions, Option<u64>);

#[derive(Debug, Default)]
pub(super) struct Config {
    pub(super) constraints: Option<Constraints>,
    /// Each about a file of the plan.
    pub(super) rules: Vec<Rule>,
    /// Of the whole plan, in seconds.
    timeout: Option<u64>,
    /// Set if the configuration requires hashes.
    hashes: Option<Hashes>,
}

const NAME: &str = "system_config";

impl Asked {
    pub(super) fn read(mut fields: Fields<'_>) -> Self {
        let orders = [
            ("sequential", true),
            ("dependency_based", true),
            ("parallel", false),
        ];
        if fields.optional("execution_order", |found| found.word(&orders)) == Some(false) {
            fields.findings.note(
                "`execution_instructions.execution_order` is \"parallel\": the actions are performed in the order of \
                 their dependencies, which gives the same files",
            );
        }
        let asked = Instructions {
            on_error: unless(&mut fields, "stop_on_error", OnError::GoOn),
            on_failure: unless(&mut fields, "rollback_on_failure", OnFailure::Keep),
            permissions: unless(&mut fields, "preserve_permissions", Permissions::Fresh),
            hashes: unless(&mut fields, "verify_hashes", Hashes::Trust),
            timeout: PLAN_TIMEOUT.0,
        };
        let timeout = fields.optional("timeout_seconds", Found::whole);
        approval(&mut fields, "human_approval_required");
        fields.descriptive(&[("estimated_files_affected", NUMBER)]);
        fields.finish();
        Self(asked, timeout)
    }

    pub(super) fn under(self, config: &Config, findings: &Findings) -> Instructions {
        let Self(mut asked, timeout) = self;
        if let (Hashes::Trust, Some(by_config)) = (asked.hashes, config.hashes) {
            findings.note(
                "`execution_instructions.verify_hashes` is false, and `system_config` insists on hashes; \
                 they are verified",
            );
            asked.hashes = by_config;
        }
        let (default, most) = PLAN_TIMEOUT;
        let said = [timeout, config.timeout].into_iter().flatten().min();
        asked.timeout = seconds("the plan's timeout", said, default, most, findings);
        asked
    }
}

/// What a flag means: `off` where it is false, the default where it is true or not there.
fn unless<T: Default>(fields: &mut Fields<'_>, key: &'static str, off: T) -> T {
    match fields.optional(key, Found::flag) {
        Some(false) => off,
        _ => T::default(),
    }
}

/// The requested time, at most the maximum.
pub(super) fn seconds(
    what: &str,
    said: Option<u64>,
    default: Duration,
    most: Duration,
    findings: &Findings,
) -> Duration {
    let asked = said.map_or(default, Duration::from_secs);
    if asked > most {
        findings.note(format!(
            "{what} is {} s, and {} s is the most; the shorter time applies",
            asked.as_secs(),
            most.as_secs()
        ));
    }
    asked.min(most)
}

/// The author of the plan, or its configuration, can ask for the approval of a person.
fn approval(fields: &mut Fields<'_>, key: &'static str) {
    let Some(found) = fields.get(key) else { return };
    if found.flag() == Some(true) {
        let message = format!("`{}` is true, so the plan needs an approval", found.place);
        found.findings.asks_for_approval(message);
    }
}

impl Config {
    /// Reads the configuration; without one nothing is tightened.
    pub(super) fn read(config: Option<&Value>, files: &Files<'_>, findings: &Findings) -> Self {
        let mut read = Self::default();
        if let Some(config) = config.and_then(|config| unfolded(config, findings)) {
            read.take(&Found::new(NAME, &config, findings), files);
        }
        read
    }

    fn take(&mut self, config: &Found<'_>, files: &Files<'_>) -> Option<()> {
        let mut fields = config.fields()?;
        if let Some(workflow) = fields.optional("workflow_configuration", Found::fields) {
            self.timeout = workflow_configuration(workflow);
        }
        if let Some(constraints) = fields.optional("execution_constraints", Found::fields) {
            self.constraints = Some(execution_constraints(constraints));
        }
        match fields.get("validation_rules") {
            Some(list) if list.value.is_array() => self.rules = rules::read(&list, None, files),
            Some(flags) => {
                if let Some(inner) = flags.fields() {
                    self.validation_rules(inner, files);
                }
            }
            None => {}
        }
        fields.descriptive(&[
            ("version", TEXT),
            ("config_id", TEXT),
            ("plan_id", TEXT),
            ("created_at", TEXT),
        ]);
        fields.finish();
        Some(())
    }

    /// Reads the flags of the origin's configuration. The checks that they name are always made; a flag cannot
    /// switch one off.
    fn validation_rules(&mut self, mut fields: Fields<'_>, files: &Files<'_>) {
        match fields.optional("verify_file_hashes", Found::flag) {
            Some(true) => self.hashes = Some(Hashes::Verify),
            Some(false) => no_effect(
                &fields,
                "verify_file_hashes",
                "only the plan's own `verify_hashes: false` leaves hashes unchecked",
            ),
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
            if fields.optional(key, Found::flag) == Some(false) {
                no_effect(&fields, key, done);
            }
        }
        if let Some(list) = fields.get("custom_validators") {
            self.rules = rules::read(&list, None, files);
        }
        fields.finish();
    }
}

fn no_effect(fields: &Fields<'_>, key: &str, why: &str) {
    let place = fields.place(key);
    let note = format!("`{place}` has no effect: {why}");
    fields.findings.note(note);
}

/// The configuration as a value. The message about invalid YAML contains the place, but no text of the
/// configuration.
fn unfolded(config: &Value, findings: &Findings) -> Option<Value> {
    let Value::String(text) = config else {
        return Some(config.clone());
    };
    let found = Found::new(NAME, config, findings);
    match serde_saphyr::from_str::<Value>(text) {
        Ok(Value::Null) => found.invalid("is empty; leave it out if nothing is meant"),
        Ok(value) => Some(value),
        Err(error) => {
            let problem = error.without_snippet().to_string();
            let problem = problem.replace(char::is_control, " ");
            found.invalid(format!("is not valid YAML: {problem}"))
        }
    }
}

fn workflow_configuration(mut fields: Fields<'_>) -> Option<u64> {
    approval(&mut fields, "requires_approval");
    fields.optional("approval_threshold", risk);
    let modes = [("sequential", ()), ("parallel", ()), ("mixed", ())];
    fields.optional("execution_mode", |found| found.word(&modes));
    if let Some(mut retries) = fields.optional("retry_policy", Found::fields) {
        retries.descriptive(&[
            ("max_retries", NUMBER),
            ("backoff_multiplier", NUMBER),
            ("initial_delay_ms", NUMBER),
        ]);
        retries.finish();
        let why = "a plan is tried once, and whoever sent it may send it again";
        no_effect(&fields, "retry_policy", why);
    }
    let timeout = fields.optional("timeout_seconds", Found::whole);
    fields.finish();
    timeout
}

fn execution_constraints(mut fields: Fields<'_>) -> Constraints {
    let owned = |texts: Option<Vec<&str>>| {
        let texts = texts.unwrap_or_default().into_iter();
        texts.map(str::to_owned).collect()
    };
    let constraints = Constraints {
        max_files: fields.optional("max_files_modified", Found::whole),
        operations: fields.optional("allowed_operations", allowed_operations),
        max_file_bytes: fields.optional("max_file_size_bytes", Found::whole),
        forbidden: owned(fields.optional("forbidden_patterns", Found::texts)),
        protected: owned(fields.optional("protected_files", Found::texts)),
    };
    fields.finish();
    constraints
}

/// With and without `FILE_`, as the origin and 001 write them.
fn allowed_operations(found: &Found<'_>) -> Option<BTreeSet<ActionType>> {
    let mut operations = BTreeSet::new();
    for text in found.texts()? {
        let named = |operation: &ActionType| {
            operation.name() == text || operation.name().strip_prefix("FILE_") == Some(text)
        };
        let operation = ActionType::ALL.into_iter().find(named);
        operations.extend(operation.or_else(|| {
            found.invalid(format!(
                "names {}, which is no operation; known are {}",
                quoted(text),
                listed(ActionType::ALL.iter().map(|operation| operation.name()))
            ))
        }));
    }
    Some(operations)
}
