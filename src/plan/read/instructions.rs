//! Reads how a plan is applied: `execution_instructions` (001 §3.3, §7.2), `system_config` as YAML text or
//! as an object (R-001-27, R-001-32), and the time limit (001 §11.1).

use std::{borrow::Cow, collections::BTreeSet, time::Duration};

use serde_json::Value;

use crate::{
    plan::{
        limits::{Constraints, PLAN_TIMEOUT},
        model::{FileRule, Hashes, Instructions, OnError, OnFailure, Permissions},
    },
    task::{ActionType, Failure, Fault, Found, PathPattern, Risk},
};

use super::{
    fields::{Fields, NUMBER, TEXT},
    findings::Findings,
    rules,
};

/// One of 001 §3.3's risk levels.
pub(super) fn risk(found: &Found<'_>) -> Result<Risk, Failure> {
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
    pub(super) rules: Vec<FileRule>,
    /// Of the whole plan, in seconds.
    timeout: Option<u64>,
    /// Set if the configuration requires hashes.
    hashes: Option<Hashes>,
}

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
            on_error: fields.unless("stop_on_error", OnError::GoOn),
            on_failure: fields.unless("rollback_on_failure", OnFailure::Keep),
            permissions: fields.unless("preserve_permissions", Permissions::Fresh),
            hashes: fields.unless("verify_hashes", Hashes::Trust),
            timeout: PLAN_TIMEOUT.0,
        };
        let timeout = fields.optional("timeout_seconds", Found::whole);
        approval(&mut fields, "human_approval_required");
        fields.descriptive("estimated_files_affected", NUMBER);
        fields.finish();
        Self(asked, timeout)
    }

    pub(super) fn under(self, config: &Config, findings: Findings<'_>) -> Instructions {
        let Self(mut asked, timeout) = self;
        if let (Hashes::Trust, Some(by_config)) = (asked.hashes, config.hashes) {
            findings.note(
                "`execution_instructions.verify_hashes` is false, and `system_config` insists on hashes; \
                 they are verified",
            );
            asked.hashes = by_config;
        }
        let said = [timeout, config.timeout].into_iter().flatten().min();
        asked.timeout = seconds("the plan's timeout", said, PLAN_TIMEOUT, findings);
        asked
    }
}

/// The requested time, or the default, at most the maximum.
pub(super) fn seconds(
    what: &str,
    said: Option<u64>,
    (default, most): (Duration, Duration),
    findings: Findings<'_>,
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
    if fields.optional(key, Found::flag) == Some(true) {
        let place = fields.place(key);
        let message = format!("`{place}` is true, so the plan needs an approval");
        fields.findings.asks_for_approval(message);
    }
}

impl Config {
    /// Reads the configuration; without one nothing is tightened.
    pub(super) fn read(config: Option<&Value>, findings: Findings<'_>) -> Option<Self> {
        let config = findings.good(unfolded(config?))?;
        let config = Found::new(NAME, &config, Fault::PlanInvalid);
        let mut fields = Fields::of(&config, findings)?;
        let workflow = fields.inner("workflow_configuration");
        let constraints = fields.inner("execution_constraints");
        let mut read = Self {
            timeout: workflow.and_then(workflow_configuration),
            constraints: constraints.map(execution_constraints),
            ..Self::default()
        };
        match fields.get("validation_rules") {
            Some(list) if list.value.is_array() => {
                read.rules = rules::read(&list, None, findings);
            }
            Some(flags) => read.validation_rules(Fields::of(&flags, findings)?),
            None => {}
        }
        fields.descriptive("version config_id plan_id created_at", TEXT);
        fields.finish();
        Some(read)
    }

    /// Reads the flags of the origin's configuration. The checks that they name are always made; a flag cannot
    /// switch one off.
    fn validation_rules(&mut self, mut fields: Fields<'_>) {
        for (key, done) in [
            (
                "verify_file_hashes",
                "only the plan's own `verify_hashes: false` leaves hashes unchecked",
            ),
            (
                "run_syntax_check",
                "JSON and YAML are parsed again after every edit",
            ),
            (
                "run_schema_validation",
                "what SCHEMA_UPDATE leaves must be a valid schema",
            ),
        ] {
            match fields.optional(key, Found::flag) {
                Some(true) if key == "verify_file_hashes" => self.hashes = Some(Hashes::Verify),
                Some(false) => no_effect(&fields, key, done),
                Some(true) | None => {}
            }
        }
        if let Some(list) = fields.get("custom_validators") {
            self.rules = rules::read(&list, None, fields.findings);
        }
        fields.finish();
    }
}

fn no_effect(fields: &Fields<'_>, key: &str, why: &str) {
    let note = format!("`{}` has no effect: {why}", fields.place(key));
    fields.findings.note(note);
}

const NAME: &str = "system_config";

/// The configuration as a value. The message about invalid YAML contains the place, but no text of the
/// configuration.
fn unfolded(config: &Value) -> Result<Cow<'_, Value>, Failure> {
    let Value::String(text) = config else {
        return Ok(Cow::Borrowed(config));
    };
    let found = Found::new(NAME, config, Fault::PlanInvalid);
    match serde_saphyr::from_str::<Value>(text) {
        Ok(Value::Null) => Err(found.wrong("is empty; leave it out if nothing is meant")),
        Ok(value) => Ok(Cow::Owned(value)),
        Err(error) => {
            let problem = error.without_snippet().to_string();
            let problem = problem.replace(char::is_control, " ");
            Err(found.wrong(format!("is not valid YAML: {problem}")))
        }
    }
}

fn workflow_configuration(mut fields: Fields<'_>) -> Option<u64> {
    approval(&mut fields, "requires_approval");
    fields.optional("approval_threshold", risk);
    let modes = [("sequential", ()), ("parallel", ()), ("mixed", ())];
    fields.optional("execution_mode", |found| found.word(&modes));
    if let Some(mut retries) = fields.inner("retry_policy") {
        retries.descriptive("max_retries backoff_multiplier initial_delay_ms", NUMBER);
        retries.finish();
        let why = "a plan is tried once, and whoever sent it may send it again";
        no_effect(&fields, "retry_policy", why);
    }
    let timeout = fields.optional("timeout_seconds", Found::whole);
    fields.finish();
    timeout
}

fn execution_constraints(mut fields: Fields<'_>) -> Constraints {
    let pattern = |found: &Found<'_>| found.fits(PathPattern::parse(found.text()?));
    let mut patterns = |key| {
        fields
            .optional(key, |list| list.each(pattern))
            .unwrap_or_default()
    };
    let (forbidden, protected) = (patterns("forbidden_patterns"), patterns("protected_files"));
    let operations = fields.optional("allowed_operations", |list| list.each(operation));
    let constraints = Constraints {
        max_files: fields.optional("max_files_modified", Found::whole),
        operations: operations.map(BTreeSet::from_iter),
        max_file_bytes: fields.optional("max_file_size_bytes", Found::whole),
        forbidden,
        protected,
    };
    fields.finish();
    constraints
}

/// With and without `FILE_`, as the origin and 001 write it.
fn operation(found: &Found<'_>) -> Result<ActionType, Failure> {
    let text = found.text()?;
    let is_named = |operation: &ActionType| {
        operation.name() == text || operation.name().strip_prefix("FILE_") == Some(text)
    };
    let operation = ActionType::ALL.into_iter().find(is_named);
    operation.ok_or_else(|| found.unknown(text, ActionType::ALL.map(ActionType::name)))
}
