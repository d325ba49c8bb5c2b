//! The task of a request that waits: its next run goes on in the session of the request.

use super::{super::ask, run_ledger::RunLedger};
use crate::{
    approval::{Approved, Joined, operation, root},
    envelope::Received,
    executor::{Context, Hidden, Work},
    ledger::Place,
    task::Need,
};

impl RunLedger<'_> {
    /// Goes on with the request that `--approved` names, or with an open request for the same task. Returns the task in the
    /// session of that request; none if there is no such request.
    pub(crate) fn join(
        &mut self,
        work: &mut Work,
        received: &Received,
        context: &Context<'_>,
    ) -> Option<Received> {
        let joined = match &self.approvals.approved {
            Some(Approved { joined, .. }) => joined.clone(),
            None => self.waiting(work, received, context)?,
        };
        let mut received = received.clone();
        if received.identity.session_id != joined.session_id {
            // It holds within the session that the caller meant.
            self.ids.idempotency_key = None;
            received.identity.idempotency_key = None;
            received.identity.session_id.clone_from(&joined.session_id);
        }
        if let Some(task) = &joined.task {
            self.ids.task.clone_from(task);
        }
        tracing::info!(
            "The task goes on with {} in the session {}.",
            joined.id,
            joined.session_id
        );
        self.joined = Some(joined);
        Some(received)
    }

    /// The open request for the same task. If the ledger cannot be read, the run finds that out, too.
    fn waiting(
        &mut self,
        work: &mut Work,
        received: &Received,
        context: &Context<'_>,
    ) -> Option<Joined> {
        let can_wait = match &*work {
            Work::Tools(ready) if ready.job.is_several() => true,
            Work::Tools(_) => {
                let need = self.approvals.policy().need;
                need == Need::Approval || operation(received).is_some()
            }
            Work::Files(_) | Work::Grant(_) => true,
            Work::Said(_) => false,
        };
        if !can_wait || self.place == Place::Nowhere {
            return None;
        }
        let hidden = Hidden::of(work);
        let mut ledger = self.opened().ok()?;
        let found = {
            let who = self.who(received, context);
            let allowed = (self.reuse, self.approvals.admission.as_ref());
            let ask = ask::of(work, who, allowed, received, &hidden, context)?;
            ledger.joined(&ask, &root(context)).ok()?
        };
        self.keep(ledger);
        found.as_ref().map(Joined::of)
    }
}
