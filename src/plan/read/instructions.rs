//! `execution_instructions` (001 §3.3, §7.2) and the time a plan may take (001 §11.1).

use std::time::Duration;

use crate::plan::{
    limits::PLAN_TIMEOUT,
    model::{Hashes, Instructions, OnError, OnFailure, Permissions},
};

use super::{
    config::{Config, approval_wanted},
    fields::{Fields, Shape},
    findings::Findings,
};

/// What the plan says of its execution.
#[derive(Debug, Default)]
pub(super) struct Asked {
    stop_on_error: Option<bool>,
    rollback_on_failure: Option<bool>,
    preserve_permissions: Option<bool>,
    verify_hashes: Option<bool>,
    /// Seconds.
    timeout: Option<u64>,
}

/// Reads `execution_instructions`.
pub(super) fn read(mut fields: Fields<'_>, findings: &mut Findings) -> Asked {
    let orders = [
        ("sequential", true),
        ("dependency_based", true),
        ("parallel", false),
    ];
    if fields.word("execution_order", &orders, findings) == Some(false) {
        findings.note(
            "`execution_instructions.execution_order` is \"parallel\": the actions are carried out in the order of \
             their dependencies, which gives the same files",
        );
    }
    let asked = Asked {
        stop_on_error: fields.flag("stop_on_error", findings),
        rollback_on_failure: fields.flag("rollback_on_failure", findings),
        preserve_permissions: fields.flag("preserve_permissions", findings),
        verify_hashes: fields.flag("verify_hashes", findings),
        timeout: fields.whole("timeout_seconds", findings),
    };
    let place = fields.place("human_approval_required");
    if fields.flag("human_approval_required", findings) == Some(true) {
        approval_wanted(&place, findings);
    }
    fields.descriptive(&[("estimated_files_affected", Shape::Number)], findings);
    fields.finish(findings);
    asked
}

impl Asked {
    /// The instructions under this configuration, silence filled with 001 §7.2's defaults.
    pub(super) fn under(&self, config: &Config, findings: &mut Findings) -> Instructions {
        let (default, most) = PLAN_TIMEOUT;
        let said = [self.timeout, config.timeout].into_iter().flatten().min();
        Instructions {
            on_error: match self.stop_on_error {
                Some(false) => OnError::GoOn,
                _ => OnError::Stop,
            },
            on_failure: match self.rollback_on_failure {
                Some(false) => OnFailure::Keep,
                _ => OnFailure::RollBack,
            },
            permissions: match self.preserve_permissions {
                Some(false) => Permissions::Fresh,
                _ => Permissions::Preserve,
            },
            hashes: match (self.verify_hashes, config.hashes) {
                (Some(false), None) => Hashes::Trust,
                (Some(false), Some(by_config)) => {
                    findings.note(
                        "`execution_instructions.verify_hashes` is false, and `system_config` insists on hashes; \
                         they are verified",
                    );
                    by_config
                }
                _ => Hashes::Verify,
            },
            timeout: seconds("the plan's timeout", said, default, most, findings),
        }
    }
}

/// A time that was asked for, never beyond the most.
pub(super) fn seconds(
    what: &str,
    said: Option<u64>,
    default: Duration,
    most: Duration,
    findings: &mut Findings,
) -> Duration {
    let asked = said.map_or(default, Duration::from_secs);
    if asked > most {
        findings.note(format!(
            "{what} is {} s, and {} s is the most; the shorter holds",
            asked.as_secs(),
            most.as_secs()
        ));
    }
    asked.min(most)
}
