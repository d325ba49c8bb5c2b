//! What is recorded of one run, to be sent at its end.

use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;

use super::{
    collector::{Export, send_all},
    document::{EndedRun, Section},
};
use crate::{
    host::{Host, Moment},
    task::{Activity, Outcome, Trace},
};

#[derive(Debug)]
pub(crate) struct Telemetry {
    export: Export,
    /// The trace, in the span of the run; none if the run sends no spans.
    trace: Option<Trace>,
    /// The span of the caller, if it has one.
    caller: Option<String>,
    begun: Timestamp,
    sections: Mutex<Vec<Section>>,
}

impl Telemetry {
    /// Begins to record a run, if the environment names a collector. `caller` is the trace to which the run belongs.
    pub(crate) fn of_environment(
        caller: Option<&Trace>,
        begun: Moment,
        host: &Host,
    ) -> Option<Self> {
        let export = Export::of_environment()?;
        let now = host.timestamp();
        let trace = match caller {
            Some(caller) => caller.clone(),
            None => Trace::new(host.random_bytes()),
        };
        let sends = export.traces.is_some() && trace.is_sampled();
        Some(Self {
            export,
            trace: sends.then(|| trace.within(host.random_bytes())),
            caller: caller.map(|trace| trace.span.clone()),
            begun: now.checked_sub(begun.elapsed()).unwrap_or(now),
            sections: Mutex::default(),
        })
    }

    /// The trace in the span of the run; none if the run sends no spans.
    pub(crate) fn trace(&self) -> Option<&Trace> {
        self.trace.as_ref()
    }

    pub(crate) fn begins(&self, activity: Activity<'_>, host: &Host) {
        let section = Section::of(activity, host.timestamp());
        let mut sections = self.sections.lock().unwrap_or_else(PoisonError::into_inner);
        sections.push(section);
    }

    /// Sends everything. This takes at most a second, and a failure is only logged.
    pub(crate) fn send(&self, outcome: &Outcome, host: &Host) {
        let sections = self.sections.lock().unwrap_or_else(PoisonError::into_inner);
        let run = EndedRun {
            resource: &self.export.resource,
            caller: self.caller.as_deref(),
            begun: self.begun,
            ended: host.timestamp(),
            sections: &sections,
            outcome,
        };
        let traces = self.trace.as_ref();
        let traces = traces.map(|trace| run.traces(trace, &mut || host.random_bytes()));
        let bodies = [
            self.export.traces.as_ref().zip(traces),
            self.export.metrics.as_ref().zip(Some(run.metrics())),
        ];
        send_all(bodies.into_iter().flatten().collect());
    }
}
