//! The ledger of the steps of a task: each is asked and recorded as a task of one capability.

use std::{cell::RefCell, rc::Rc};

use serde_json::{Map, Value};

use super::run_ledger::RunLedger;
use crate::{
    approval::{Approvals, of_step},
    executor::Ready,
    ledger::{Ledger, Part, TaskRun},
    task::{ApprovalRule, Assessment, CapabilityTask, Failure, NamedAs},
};

/// The ledgers of the steps of a task, one after the other. They share a connection.
pub(crate) struct StepLedgers<'r, 'h> {
    of: &'r RunLedger<'h>,
    run: TaskRun,
    open: Rc<RefCell<Option<Ledger<'h>>>>,
    /// The calls of the steps so far.
    calls: Vec<(String, Map<String, Value>)>,
}

impl<'h> RunLedger<'h> {
    /// The ledgers of the steps of a task that this run performs.
    pub(crate) fn of_steps(&self, run: TaskRun) -> StepLedgers<'_, 'h> {
        StepLedgers {
            of: self,
            run,
            open: Rc::default(),
            calls: Vec::new(),
        }
    }
}

impl<'h> StepLedgers<'_, 'h> {
    /// The ledger of the next step: the gate admits it again, with the risk that the task and its workflow state. A step of
    /// an improvised action is covered by the approval of the whole, below high risk.
    pub(crate) fn next(
        &mut self,
        work: &Ready,
        (parent, position): (&str, u64),
        (task, declared): (Option<&CapabilityTask>, Assessment),
    ) -> Result<RunLedger<'h>, Failure> {
        let of = self.of;
        let entries = || work.job.steps.iter().map(|step| step.entry.gated());
        let admission = of.caller.admit(entries())?.with(declared);
        let rules = entries().map(|gated| gated.approval.clone());
        let (admission, rules): (_, Vec<ApprovalRule>) = match task {
            // What the agent states is about the whole, which a person has approved.
            Some(task) if matches!(task.named_as, NamedAs::Declared(_)) => {
                (admission, rules.map(of_step).collect())
            }
            _ => {
                let stated = task.map(|task| task.stated).unwrap_or_default();
                (admission.with(Assessment::stated(stated)), rules.collect())
            }
        };
        let calls = &mut self.calls;
        let steps = work.job.steps.iter();
        let own = steps.map(|step| (step.entry.id.clone(), step.asked.clone()));
        let own: Vec<_> = own.collect();
        let equals = calls.iter().filter(|call| own.contains(call)).count();
        let capability = own.first().map(|(id, _)| id.clone()).unwrap_or_default();
        let nth = calls.iter().filter(|(id, _)| *id == capability).count();
        calls.extend(own);
        Ok(RunLedger {
            approvals: Approvals {
                admission: Some(admission),
                rules,
                // The request that `--approved` names can be that of one step.
                approved: None,
                ..of.approvals.clone()
            },
            open: Rc::clone(&self.open),
            step: Some(Part {
                equals,
                parent: parent.to_owned(),
                position,
                key: self.run.key(&capability, nth),
                capability,
                nth,
                run: self.run.clone(),
            }),
            ..of.clone()
        })
    }
}
