//! The requests to a collector, in the JSON of OTLP 1.x (`ExportTraceServiceRequest`, `ExportMetricsServiceRequest`). They
//! contain no parameter, no path and no text of a server or a task, except ids and names of the catalog.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::task::{Outcome, Trace};

use super::{Doing, Section, Telemetry, names};

/// A run that has ended.
pub(super) struct Run<'a> {
    pub(super) telemetry: &'a Telemetry,
    pub(super) sections: &'a [Section],
    pub(super) outcome: &'a Outcome,
    pub(super) ended: Timestamp,
}

/// `SPAN_KIND_INTERNAL` and `SPAN_KIND_CLIENT`
const INTERNAL: u8 = 1;
const CLIENT: u8 = 3;
/// `STATUS_CODE_ERROR`
const ERROR: u8 = 2;
/// `AGGREGATION_TEMPORALITY_DELTA`: each run counts for itself.
const DELTA: u8 = 1;

/// An attribute whose value is a text.
type Attribute<'a> = (&'static str, &'a str);

impl Run<'_> {
    /// The spans: the run, and in it the ledger, each start of a server, each call, and the plan.
    pub(super) fn traces(&self, trace: &Trace, random: &mut dyn FnMut() -> [u8; 16]) -> Value {
        let outcome = self.outcome;
        let span = |id: &str, parent: Option<&str>, (name, kind): (&str, u8)| {
            json!({
                "traceId": trace.id, "spanId": id, "parentSpanId": parent, "traceState": trace.state,
                "name": name, "kind": kind,
            })
        };
        let state = name_of(&json!(outcome.state));
        let effect = name_of(&json!(outcome.effect));
        let mut own = vec![(names::STATE, state.as_str()), (names::EFFECT, &effect)];
        let record = outcome.record.as_ref();
        own.extend(record.map(|record| (names::REQUEST, record.request_hash.as_str())));
        own.extend(
            outcome
                .executed
                .first()
                .map(|id| (names::CAPABILITY, id.as_str())),
        );
        let run = span(
            &trace.span,
            self.telemetry.caller.as_deref(),
            (names::RUN, INTERNAL),
        );
        let mut spans = vec![over(
            run,
            (self.telemetry.begun, self.ended),
            own,
            self.fault(),
        )];
        for (at, section) in self.sections.iter().enumerate() {
            let (attributes, name, kind) = match &section.doing {
                Doing::Ledger => (Vec::new(), names::LEDGER.to_owned(), CLIENT),
                Doing::Starting { server } => (
                    vec![(names::SERVER, server.as_str())],
                    names::start(server),
                    INTERNAL,
                ),
                Doing::Tool {
                    tool,
                    server,
                    capability,
                    operation,
                    ..
                } => {
                    let attributes = vec![
                        (names::OPERATION, names::EXECUTE_TOOL),
                        (names::TOOL, tool.as_str()),
                        (names::CALL_ID, operation),
                        (names::METHOD, names::TOOLS_CALL),
                        (names::SERVER, server),
                        (names::CAPABILITY, capability),
                    ];
                    (attributes, names::call(tool), CLIENT)
                }
                Doing::Plan { capability } => (
                    vec![(names::CAPABILITY, capability.as_str())],
                    names::PLAN.to_owned(),
                    INTERNAL,
                ),
                Doing::Storing | Doing::Other => continue,
            };
            let id = match &section.doing {
                Doing::Tool { span: Some(id), .. } => id.clone(),
                _ => trace.within(random()).span,
            };
            let named = span(&id, Some(&trace.span), (&name, kind));
            spans.push(over(
                named,
                (section.begun, self.end_of(at)),
                attributes,
                self.fault_of(at),
            ));
        }
        let scope = json!({"scope": scope(), "spans": spans});
        json!({"resourceSpans": [{"resource": self.resource(), "scopeSpans": [scope]}]})
    }

    /// The metrics: how long the run took, and each call.
    pub(super) fn metrics(&self) -> Value {
        let state = name_of(&json!(self.outcome.state));
        let run = self.point(
            (self.telemetry.begun, self.ended),
            &[(names::STATE, &state)],
            self.fault(),
        );
        let calls = self.sections.iter().enumerate();
        let calls = calls.filter_map(|(at, section)| match &section.doing {
            Doing::Tool { tool, .. } => {
                let attributes = [
                    (names::METHOD, names::TOOLS_CALL),
                    (names::TOOL, tool.as_str()),
                ];
                Some(self.point(
                    (section.begun, self.end_of(at)),
                    &attributes,
                    self.fault_of(at),
                ))
            }
            _ => None,
        });
        let histogram = |name: &str, points: Vec<Value>| json!({"name": name, "unit": "s", "histogram": {"dataPoints": points, "aggregationTemporality": DELTA}});
        let mut metrics = vec![histogram(names::RUN_DURATION, vec![run])];
        let calls: Vec<Value> = calls.collect();
        if !calls.is_empty() {
            metrics.push(histogram(names::CALL_DURATION, calls));
        }
        let scope = json!({"scope": scope(), "metrics": metrics});
        json!({"resourceMetrics": [{"resource": self.resource(), "scopeMetrics": [scope]}]})
    }

    fn resource(&self) -> Value {
        let all = self.telemetry.export.resource.iter();
        json!({"attributes": attributes(all.map(|(name, value)| (name.as_str(), value.as_str())))})
    }

    fn end_of(&self, at: usize) -> Timestamp {
        let next = self.sections.get(at + 1);
        next.map_or(self.ended, |next| next.begun)
    }

    fn fault(&self) -> Option<&'static str> {
        self.outcome
            .failure
            .as_ref()
            .map(|failure| failure.fault.name())
    }

    /// The fault of a section: that of the run, if nothing was done after it.
    fn fault_of(&self, at: usize) -> Option<&'static str> {
        let mut rest = self.sections.iter().skip(at).map(|section| &section.doing);
        let can_fail = !matches!(rest.next()?, Doing::Ledger);
        let is_last = rest.all(|doing| matches!(doing, Doing::Other));
        self.fault().filter(|_| can_fail && is_last)
    }

    /// A histogram of one duration.
    fn point(
        &self,
        (begun, ended): (Timestamp, Timestamp),
        all: &[Attribute<'_>],
        fault: Option<&'static str>,
    ) -> Value {
        let seconds = ended.max(begun).duration_since(begun).as_secs_f64();
        let bucket = names::BOUNDS.partition_point(|bound| *bound < seconds);
        let counts = (0..=names::BOUNDS.len()).map(|at| json!(u8::from(at == bucket).to_string()));
        let counts: Value = counts.collect();
        let all = all
            .iter()
            .copied()
            .chain(fault.map(|fault| (names::ERROR, fault)));
        json!({
            "startTimeUnixNano": nanoseconds(self.telemetry.begun), "timeUnixNano": nanoseconds(self.ended),
            "count": "1", "sum": seconds, "min": seconds, "max": seconds,
            "explicitBounds": names::BOUNDS, "bucketCounts": counts, "attributes": attributes(all),
        })
    }
}

fn scope() -> Value {
    json!({"name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION")})
}

/// Adds the time, the attributes and the fault of a span.
fn over(
    mut span: Value,
    (begun, ended): (Timestamp, Timestamp),
    mut all: Vec<Attribute<'_>>,
    fault: Option<&'static str>,
) -> Value {
    all.extend(fault.map(|fault| (names::ERROR, fault)));
    if let Value::Object(span) = &mut span {
        span.insert("startTimeUnixNano".to_owned(), nanoseconds(begun));
        span.insert("endTimeUnixNano".to_owned(), nanoseconds(ended.max(begun)));
        span.insert("attributes".to_owned(), attributes(all.into_iter()));
        let status = fault.map(|_| json!({"code": ERROR}));
        span.extend(status.map(|status| ("status".to_owned(), status)));
        span.retain(|_, value| !value.is_null());
    }
    span
}

/// The name of a member of an enum, as answers show it.
fn name_of(member: &Value) -> String {
    member.as_str().unwrap_or_default().to_owned()
}

fn attributes<'a>(all: impl Iterator<Item = (&'a str, &'a str)>) -> Value {
    all.map(|(key, value)| json!({"key": key, "value": {"stringValue": value}}))
        .collect()
}

/// Nanoseconds since 1970. The JSON of OTLP writes 64 bits as a text.
fn nanoseconds(at: Timestamp) -> Value {
    Value::String(at.as_nanosecond().max(0).to_string())
}
