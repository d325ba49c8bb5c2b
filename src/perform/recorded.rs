//! A task or a step of it, between the ledger and the ledger: seen before? — claim — execute — record.

use crate::{
    envelope::Received,
    executor::{Context, Executed, Work},
    record::{Begun, RunLedger, TaskRun},
    task::Activity,
};

/// Performs the work and records the result, unless the ledger has the answer.
pub(super) fn recorded(
    mut work: Work,
    ledger: &RunLedger<'_>,
    received: &Received,
    (context, settled): (&Context<'_>, &mut Vec<String>),
    execute: &mut dyn FnMut(Work, Option<TaskRun>) -> Executed,
) -> Executed {
    let begun = context.desk.host.moment();
    loop {
        context.begins(Activity::Ledger);
        let (executed, again) = match ledger.begin(&mut work, received, context, settled) {
            Begun::Answered(executed) => return *executed,
            Begun::Unrecorded(why) => return execute(work, None).noted(why),
            Begun::Held(executed) => (*executed, Some(work)),
            Begun::Run(recording) => {
                let mut executed = execute(work, recording.run());
                let again = executed.again.take().map(Work::Files);
                executed.outcome.bound();
                context.begins(Activity::Recording);
                (recording.finish(executed), again)
            }
        };
        if again.is_some() {
            context.begins(Activity::Approval);
        }
        match again {
            Some(again) if ledger.decided(&executed, begun, context) => work = again,
            Some(_) | None => return executed,
        }
    }
}
