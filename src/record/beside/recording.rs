//! The end of a request: its answer is recorded, with what it says about an approval and a review.

use super::{
    super::{ended, review},
    run_ledger::Recording,
};
use crate::{
    approval::{Asks, Pass, SentTask, root},
    executor::Executed,
    ledger::{ApprovalNote, Effects, Recorded, TaskRun, Why},
    task::{Fault, Outcome, Record, ReuseReport},
};

impl Recording<'_, '_> {
    /// What the steps of the request need, if it is a task of several.
    pub(crate) fn run(&self) -> Option<TaskRun> {
        self.running.task.clone()
    }

    /// Records how the request ended, and adds the link to the outcome. The ledger is closed after the answer is
    /// printed.
    pub(crate) fn finish(mut self, mut executed: Executed) -> Executed {
        let of = self.of;
        let sent = SentTask {
            received: self.received,
            caller: &of.caller,
            hidden: &self.hidden,
        };
        let asks = of.approvals.of_plan(
            &executed.outcome,
            (&mut self.ledger, &self.ask),
            sent,
            self.context,
        );
        let Some(Pass::Held(held, asks)) = asks else {
            let kept = Asks::kept(
                &executed.outcome,
                &mut self.ledger,
                (&self.ask, &self.running),
                self.context,
            );
            return self.end(executed, kept);
        };
        executed.outcome = Outcome {
            notes: executed.outcome.notes,
            ..*held
        };
        self.end(executed, asks)
    }

    /// Records the end, with what it says about an approval.
    pub(super) fn end(self, mut executed: Executed, asks: Option<Box<Asks>>) -> Executed {
        let Self {
            mut ledger,
            mut ask,
            running,
            hidden,
            inputs,
            received,
            context,
            of,
        } = self;
        let outcome = &mut executed.outcome;
        // A plan of unknown outcome can be settled by its journal.
        let called = !outcome.invocations.is_empty();
        if called
            && ended::is_in_doubt(outcome, &ask)
            && let Some(failure) = &mut outcome.failure
        {
            let settled = format!(
                " `oneact resolve {}` settles it.",
                context.desk.operation_id
            );
            failure.message.push_str(&settled);
        }
        let now = context.desk.host.timestamp();
        review::open(outcome, ask.review, context.desk.operation_id, now);
        let mut end = ended::of(outcome, received, inputs, &ask, &hidden, context);
        end.approval = outcome.opened.clone().map(|granted| ApprovalNote::Opens {
            granted,
            home: root(context),
        });
        if let Some(asks) = &asks {
            end.approval = Some(asks.note.clone());
            ask.request = asks.request.clone().unwrap_or(ask.request);
        }
        if let (Some(risk), Some(admission)) = (&outcome.raised, &of.approvals.admission) {
            ask.request = ended::raised(ask.request, admission.clone(), risk.clone());
        }
        let request_hash = running.hashes.request_hash.clone();
        let (why, attempt) = (running.why, running.attempt);
        let recorded = match end.fault {
            // The ledger could not be used for a step, perhaps because of a full disk. The delivery has no answer yet.
            Some(Fault::LedgerUnavailable | Fault::DiskFull)
                if ask.effects != Effects::Once
                    && (end.fault != Some(Fault::DiskFull) || ask.parts > 0) =>
            {
                ledger.let_go(running);
                let note = "This failure is not recorded. If the task is sent again, it goes on from its finished steps.";
                Recorded {
                    head: None,
                    notes: vec![note.to_owned()],
                }
            }
            _ => ledger.finish(&ask, running, end),
        };
        tracing::debug!("recorded as attempt {attempt}");
        outcome.notes.extend(recorded.notes);
        let tell = |asks: Box<Asks>| of.approvals.notify(asks.told.as_ref()?, "request", context);
        outcome.notes.extend(asks.and_then(tell));
        outcome.record = Some(Record {
            request_hash,
            reuse: (why != Why::New).then(|| ReuseReport {
                why: why.name(),
                operation_id: None,
                answered_at: None,
                step_index: None,
            }),
            ledger: recorded.head,
            response: None,
        });
        review::release(outcome);
        of.leave(ledger, executed)
    }
}
