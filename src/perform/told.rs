//! What `-v` says when a run begins and ends.

use serde_json::json;
use tracing::{Level, enabled, info};

use crate::{
    envelope::Received,
    task::{Outcome, redact_presigned},
};

/// Logs what was read, for `-v`.
pub(super) fn tell_begin(received: &Received) {
    if !enabled!(Level::INFO) {
        return;
    }
    if received.task.is_ok() {
        let sentence = format!(
            "Read task {:?}, attempt {}, of session {:?}.",
            received.task_id,
            received.attempt.unwrap_or(1),
            received.identity.session_id
        );
        info!("{}", redact_presigned(&sentence));
    }
    for note in &received.notes {
        info!("{}", redact_presigned(note));
    }
}

/// Logs how the run ended, for `-v`.
pub(super) fn tell_end(outcome: &Outcome) {
    if !enabled!(Level::INFO) {
        return;
    }
    if let Some(failure) = &outcome.failure {
        let again = if failure.recoverable {
            "a retry may help"
        } else {
            "a retry does not help"
        };
        let name = failure.fault.name();
        info!("Stopped by {name}; {again}: {}", failure.message);
    }
    info!(
        "The run ends: state {}, phase {}, effect {}.",
        json!(outcome.state),
        json!(outcome.phase),
        json!(outcome.effect)
    );
}
