//! The progress that a client gets of a call.

use std::time::Duration;

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use tokio::time::Instant;

use super::supervisor::Progress;

/// After this time without progress, a client gets a sign of life.
pub(super) const SILENCE: Duration = Duration::from_secs(25);
/// What a sign of life adds to the progress: less than a step of any tool.
const SIGN_OF_LIFE: f64 = 1e-6;

/// The progress that a client has got of one call.
#[derive(Default)]
pub(super) struct Told {
    begun: Option<Instant>,
    done: f64,
    total: Option<f64>,
}

impl Told {
    /// The progress of the tool, or, if it says nothing, a sign of life: hosts end calls that are silent for a minute. Each
    /// value is greater than the one before (MCP, Progress).
    pub(super) fn next(
        &mut self,
        token: ProgressToken,
        seen: Option<Progress>,
    ) -> ProgressNotificationParam {
        let begun = *self.begun.get_or_insert_with(|| Instant::now() - SILENCE);
        let alive = || {
            let seconds = begun.elapsed().as_secs();
            let message = format!("the call has been running for {seconds} s or longer");
            Progress {
                done: self.done + SIGN_OF_LIFE,
                total: self.total,
                message: Some(message),
            }
        };
        let Progress {
            done,
            total,
            message,
        } = seen.unwrap_or_else(alive);
        (self.done, self.total) = (done, total);
        let mut param = ProgressNotificationParam::new(token, done);
        (param.total, param.message) = (total, message);
        param
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::NumberOrString;

    use super::*;

    #[test]
    fn a_sign_of_life_is_more_than_the_last_progress_and_less_than_a_step_of_the_tool() {
        let token = || ProgressToken(NumberOrString::Number(1));
        let seen = |done| {
            Some(Progress {
                done,
                total: Some(10.0),
                message: None,
            })
        };
        let mut told = Told::default();
        let all = [None, seen(1.0), None, None, seen(2.0)];
        let sent: Vec<_> = all.map(|seen| told.next(token(), seen)).into();
        assert!(sent.windows(2).all(|two| two[0].progress < two[1].progress));
        assert_eq!(sent[3].total, Some(10.0));
        assert!(
            sent[3]
                .message
                .as_ref()
                .is_some_and(|text| text.contains("25 s"))
        );
    }
}
