//! The ledger of the steps of a task: each is asked and recorded as a task of one capability.

use std::cell::RefCell;

use serde_json::{Map, Value};

use super::{Approvals, RunLedger, grants};
use crate::{
    executor::Ready,
    ledger::TaskRun,
    task::{Assessment, CapabilityTask, Failure, NamedAs},
};

/// A step of a task, as the ledger records it.
pub(super) struct Step {
    /// The operation of the task.
    pub(super) parent: String,
    pub(super) position: u64,
    /// Its delivery, which stands for the caller's idempotency key.
    pub(super) key: String,
    pub(super) run: TaskRun,
    pub(super) equals: usize,
    pub(super) capability: String,
    pub(super) nth: usize,
    /// The calls of the steps so far.
    calls: Vec<(String, Map<String, Value>)>,
}

impl<'h> RunLedger<'h> {
    /// The ledger of the steps of a task.
    pub(crate) fn of_steps<'s>(&self) -> RunLedger<'s>
    where
        'h: 's,
    {
        RunLedger {
            project: self.project,
            place: self.place.clone(),
            rule: self.rule.clone(),
            caller: self.caller.clone(),
            admission: None,
            // The request that `--approved` names can be that of one step.
            approvals: Approvals {
                approved: None,
                ..self.approvals.clone()
            },
            reuse: self.reuse,
            ids: self.ids.clone(),
            host: self.host,
            open: RefCell::default(),
            joined: self.joined.clone(),
            step: None,
        }
    }

    /// Turns to a step of the task: the gate admits it again, with the risk that the task and its workflow state. A step of
    /// an improvised action is covered by the approval of the whole, below high risk.
    pub(crate) fn step(
        &mut self,
        work: &Ready,
        run: &TaskRun,
        (parent, position): (&str, u64),
        (task, declared): (Option<&CapabilityTask>, Assessment),
    ) -> Result<(), Failure> {
        let entries = || work.job.steps.iter().map(|step| step.entry.gated());
        let admission = self.caller.admit(entries())?.with(declared);
        let rules = entries().map(|gated| gated.approval.clone());
        (self.admission, self.approvals.rules) = match task {
            // What the agent states is about the whole, which a person has approved.
            Some(task) if matches!(task.named_as, NamedAs::Declared(_)) => {
                (Some(admission), rules.map(grants::of_step).collect())
            }
            _ => {
                let stated = task.map(|task| task.stated).unwrap_or_default();
                let admission = admission.with(Assessment::stated(stated));
                (Some(admission), rules.collect())
            }
        };
        let mut calls = self.step.take().map(|step| step.calls).unwrap_or_default();
        let steps = work.job.steps.iter();
        let own = steps.map(|step| (step.entry.id.clone(), step.asked.clone()));
        let own: Vec<_> = own.collect();
        let equals = calls.iter().filter(|call| own.contains(call)).count();
        let capability = own.first().map(|(id, _)| id.clone()).unwrap_or_default();
        let nth = calls.iter().filter(|(id, _)| *id == capability).count();
        calls.extend(own);
        self.step = Some(Step {
            equals,
            calls,
            parent: parent.to_owned(),
            position,
            key: run.key(&capability, nth),
            capability,
            nth,
            run: run.clone(),
        });
        Ok(())
    }
}
