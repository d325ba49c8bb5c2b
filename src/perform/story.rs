//! What `-v` tells of a run's beginning and end; the rest is told where it is decided.

use serde_json::json;
use tracing::{Level, enabled, info};

use crate::{
    envelope::Received,
    task::{Outcome, redact_presigned},
};

/// What was read of the message.
pub(super) fn received(received: &Received) {
    if !enabled!(Level::INFO) {
        return;
    }
    if received.task.is_ok() {
        let sentence = format!(
            "Read task {:?}, attempt {}, of session {:?}.",
            received.task_id, received.attempt, received.identity.session_id
        );
        info!("{}", redact_presigned(&sentence));
    }
    for note in &received.notes {
        info!("{}", redact_presigned(note));
    }
}

/// What the run came to: the first thing that a caller acts on.
pub(super) fn end(outcome: &Outcome) {
    if !enabled!(Level::INFO) {
        return;
    }
    if let Some(failure) = &outcome.failure {
        let again = if failure.recoverable {
            "trying again may help"
        } else {
            "trying again does not help"
        };
        let name = failure.fault.name();
        info!("Stopped by {name}; {again}: {}", failure.message);
    }
    let Outcome {
        state,
        phase,
        effect,
        ..
    } = outcome;
    info!(
        "The run ends: state {}, phase {}, effect {}.",
        json!(state),
        json!(phase),
        json!(effect)
    );
}
