//! Spans and metrics of a run, which are sent to an OpenTelemetry collector after the answer was printed, if the environment
//! names one (`OTEL_EXPORTER_OTLP_ENDPOINT`). A run without one costs nothing here.
//!
//! `settings` reads the environment, `names` has every name that a span, a metric or an attribute has, `document` makes
//! the requests, `protobuf` encodes them, and `post` sends them.

mod document;
mod names;
mod post;
mod protobuf;
mod settings;

use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;

use crate::{
    host::{Host, Moment},
    task::{Activity, Outcome, Trace},
};

use settings::Export;

/// What is recorded of one run, to be sent at its end.
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

/// A part of the run. It ends when the next one begins.
#[derive(Debug)]
struct Section {
    begun: Timestamp,
    doing: Doing,
}

/// What the run did in a section, if it has a span.
#[derive(Debug, Clone)]
enum Doing {
    Ledger,
    Starting {
        server: String,
    },
    Tool {
        tool: String,
        server: String,
        capability: String,
        operation: String,
        span: Option<String>,
    },
    Plan {
        capability: String,
    },
    /// What a tool made, after its call has succeeded.
    Storing,
    Other,
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
        let section = Section {
            begun: host.timestamp(),
            doing: Doing::from(activity),
        };
        let mut sections = self.sections.lock().unwrap_or_else(PoisonError::into_inner);
        sections.push(section);
    }

    /// Sends everything. This takes at most a second, and a failure is only logged.
    pub(crate) fn send(&self, outcome: &Outcome, host: &Host) {
        let sections = self.sections.lock().unwrap_or_else(PoisonError::into_inner);
        let run = document::Run {
            telemetry: self,
            sections: &sections,
            outcome,
            ended: host.timestamp(),
        };
        let traces = self.trace.as_ref();
        let traces = traces.map(|trace| run.traces(trace, &mut || host.random_bytes()));
        let requests = [
            (&self.export.traces, traces),
            (&self.export.metrics, Some(run.metrics())),
        ];
        let requests = requests
            .into_iter()
            .filter_map(|(target, document)| Some(target.as_ref()?.request(&document?)));
        post::all(requests.collect());
    }
}

impl From<Activity<'_>> for Doing {
    fn from(activity: Activity<'_>) -> Self {
        match activity {
            Activity::Ledger => Self::Ledger,
            Activity::Starting { server } => Self::Starting {
                server: server.to_owned(),
            },
            Activity::Tool(call) => Self::Tool {
                tool: call.tool.to_owned(),
                server: call.server.to_owned(),
                capability: call.capability.to_owned(),
                operation: call.operation.to_owned(),
                span: call.span.map(str::to_owned),
            },
            Activity::Plan { capability } => Self::Plan {
                capability: capability.to_owned(),
            },
            Activity::Storing => Self::Storing,
            Activity::Reading | Activity::Preparing | Activity::Approval | Activity::Recording => {
                Self::Other
            }
        }
    }
}
