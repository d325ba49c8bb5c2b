//! The requests to a collector (`ExportTraceServiceRequest`, `ExportMetricsServiceRequest` of OTLP 1.x). They contain no
//! parameter, no path and no text of a server or a task, except ids and names of the catalog.
//!
//! The numbers of members are those of `opentelemetry/proto`. The names of spans, metrics and attributes are those of
//! OpenTelemetry's conventions for generative AI and MCP (0.1.0, in development), and oneact's own.

use jiff::Timestamp;
use serde_json::json;

use super::protobuf::Message;
use crate::task::{Activity, Outcome, Trace};

/// `SPAN_KIND_INTERNAL` and `SPAN_KIND_CLIENT`
const INTERNAL: u64 = 1;
const CLIENT: u64 = 3;
/// `STATUS_CODE_ERROR`
const ERROR: u64 = 2;
/// `AGGREGATION_TEMPORALITY_DELTA`: each run counts for itself.
const DELTA: u64 = 1;

const METHOD: &str = "mcp.method.name";
const TOOL: &str = "gen_ai.tool.name";
const CAPABILITY: &str = "oneact.capability";
const STATE: &str = "oneact.state";

/// The bounds that the conventions give for histograms of calls, in seconds.
const BOUNDS: [f64; 14] = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
];

/// A name with its text.
type Attribute = (&'static str, String);

/// A part of the run. It ends when the next one begins.
#[derive(Debug)]
pub(super) struct Section {
    begun: Timestamp,
    span: Option<SectionSpan>,
    /// Whether the failure of the run is that of this section, if nothing else was done after it.
    may_fail: bool,
}

#[derive(Debug)]
struct SectionSpan {
    name: String,
    kind: u64,
    /// None if nobody has to know it before the run ends.
    id: Option<String>,
    attributes: Vec<Attribute>,
}

/// The time of a section or of the run, and its fault.
#[derive(Clone, Copy)]
struct Course {
    begun: Timestamp,
    ended: Timestamp,
    fault: Option<&'static str>,
}

/// A run that has ended.
pub(super) struct EndedRun<'a> {
    pub(super) resource: &'a [(String, String)],
    /// The span of the caller, if it has one.
    pub(super) caller: Option<&'a str>,
    pub(super) begun: Timestamp,
    pub(super) ended: Timestamp,
    pub(super) sections: &'a [Section],
    pub(super) outcome: &'a Outcome,
}

impl Section {
    pub(super) fn of(activity: Activity<'_>, begun: Timestamp) -> Self {
        let span = |name: String, kind, attributes: &[(&'static str, &str)]| {
            let attributes = attributes.iter();
            Some(SectionSpan {
                name,
                kind,
                id: None,
                attributes: attributes
                    .map(|(name, text)| (*name, (*text).to_owned()))
                    .collect(),
            })
        };
        let (span, may_fail) = match activity {
            Activity::Ledger => (span("ledger".to_owned(), CLIENT, &[]), false),
            Activity::Starting { server } => {
                let name = format!("start_server {server}");
                (span(name, INTERNAL, &[("oneact.server", server)]), true)
            }
            Activity::Tool(call) => {
                let attributes = [
                    ("gen_ai.operation.name", "execute_tool"),
                    (TOOL, call.tool),
                    ("gen_ai.tool.call.id", call.operation),
                    (METHOD, "tools/call"),
                    ("oneact.server", call.server),
                    (CAPABILITY, call.capability),
                ];
                let made = span(format!("execute_tool {}", call.tool), CLIENT, &attributes);
                let id = call.span.map(str::to_owned);
                (made.map(|span| SectionSpan { id, ..span }), true)
            }
            Activity::Plan { capability } => {
                let name = "apply_file_plan".to_owned();
                (span(name, INTERNAL, &[(CAPABILITY, capability)]), true)
            }
            // What a tool made, after its call has succeeded.
            Activity::Storing => (None, true),
            Activity::Reading | Activity::Preparing | Activity::Approval | Activity::Recording => {
                (None, false)
            }
        };
        Self {
            begun,
            span,
            may_fail,
        }
    }
}

impl EndedRun<'_> {
    /// The spans: the run, and in it the ledger, each start of a server, each call, and the plan.
    pub(super) fn traces(&self, trace: &Trace, random: &mut dyn FnMut() -> [u8; 16]) -> Vec<u8> {
        let run = SectionSpan {
            name: "oneact run".to_owned(),
            kind: INTERNAL,
            id: Some(trace.span.clone()),
            attributes: self.attributes(),
        };
        let spans = self
            .sections
            .iter()
            .enumerate()
            .filter_map(|(at, section)| {
                let span = section.span.as_ref()?;
                let id = span.id.clone();
                let id = id.unwrap_or_else(|| trace.within(random()).span);
                Some(span.message(trace, (&id, Some(&trace.span)), self.course(at)))
            });
        let spans: Vec<Message> = spans.collect();
        let run = run.message(trace, (&trace.span, self.caller), self.whole());
        self.export([run].into_iter().chain(spans))
    }

    /// The metrics: how long the run took, and each call.
    pub(super) fn metrics(&self) -> Vec<u8> {
        let state = self.attributes().into_iter();
        let state = state.filter(|(name, _)| *name == STATE).collect();
        let run = self.point(self.whole(), state);
        let calls = self
            .sections
            .iter()
            .enumerate()
            .filter_map(|(at, section)| {
                let attributes = section.span.as_ref()?.attributes.iter();
                let named = attributes.filter(|(name, _)| [METHOD, TOOL].contains(name));
                let named: Vec<_> = named.cloned().collect();
                (!named.is_empty()).then(|| self.point(self.course(at), named))
            });
        let calls: Vec<Message> = calls.collect();
        let calls = (!calls.is_empty()).then(|| histogram("mcp.client.operation.duration", calls));
        let run = histogram("oneact.run.duration", vec![run]);
        self.export([run].into_iter().chain(calls))
    }

    /// A request with these spans or metrics.
    fn export(&self, all: impl Iterator<Item = Message>) -> Vec<u8> {
        let scope = Message::default()
            .text(1, env!("CARGO_PKG_NAME"))
            .text(2, env!("CARGO_PKG_VERSION"));
        let resource = self.resource.iter();
        let resource = resource.map(|(name, text)| attribute(name, text));
        let of_resource = Message::default()
            .message(1, &Message::default().messages(1, resource))
            .message(2, &Message::default().message(1, &scope).messages(2, all));
        Message::default().message(1, &of_resource).into_bytes()
    }

    /// What the span of the run says.
    fn attributes(&self) -> Vec<Attribute> {
        let outcome = self.outcome;
        let shown = |member: serde_json::Value| member.as_str().unwrap_or_default().to_owned();
        let hash = outcome.record.as_ref().map(|record| &record.request_hash);
        let capability = outcome.executed.first();
        let known = [
            Some((STATE, shown(json!(outcome.state)))),
            Some(("oneact.effect", shown(json!(outcome.effect)))),
            hash.map(|hash| ("oneact.request_hash", hash.as_str().to_owned())),
            capability.map(|id| (CAPABILITY, id.as_str().to_owned())),
        ];
        known.into_iter().flatten().collect()
    }

    fn whole(&self) -> Course {
        let failure = self.outcome.failure.as_ref();
        Course {
            begun: self.begun,
            ended: self.ended,
            fault: failure.map(|failure| failure.fault.name()),
        }
    }

    fn course(&self, at: usize) -> Course {
        let rest = self.sections.get(at..).unwrap_or_default();
        let (section, later) = rest.split_first().unzip();
        let mut later = later.into_iter().flatten();
        let whole = self.whole();
        Course {
            begun: section.map_or(self.begun, |section| section.begun),
            ended: later.clone().next().map_or(self.ended, |next| next.begun),
            fault: whole.fault.filter(|_| {
                let is_last = later.all(|next| next.span.is_none() && !next.may_fail);
                is_last && section.is_some_and(|section| section.may_fail)
            }),
        }
    }

    /// A histogram of one duration.
    fn point(&self, course: Course, attributes: Vec<Attribute>) -> Message {
        let ended = course.ended.max(course.begun);
        let seconds = ended.duration_since(course.begun).as_secs_f64();
        let bucket = BOUNDS.partition_point(|bound| *bound < seconds);
        let counts = (0..=BOUNDS.len()).map(|at| u64::from(at == bucket).to_le_bytes());
        Message::default()
            .eight(2, nanoseconds(self.begun))
            .eight(3, nanoseconds(self.ended))
            .eight(4, 1_u64.to_le_bytes())
            .eight(5, seconds.to_le_bytes())
            .eights(6, counts)
            .eights(7, BOUNDS.map(f64::to_le_bytes).into_iter())
            .messages(9, course.attributes(attributes))
            .eight(11, seconds.to_le_bytes())
            .eight(12, seconds.to_le_bytes())
    }
}

impl SectionSpan {
    fn message(
        &self,
        trace: &Trace,
        (id, parent): (&str, Option<&str>),
        course: Course,
    ) -> Message {
        let status = course.fault.map(|_| Message::default().number(3, ERROR));
        Message::default()
            .bytes(1, &octets(&trace.id))
            .bytes(2, &octets(id))
            .text(3, trace.state.as_deref().unwrap_or_default())
            .bytes(4, &octets(parent.unwrap_or_default()))
            .text(5, &self.name)
            .number(6, self.kind)
            .eight(7, nanoseconds(course.begun))
            .eight(8, nanoseconds(course.ended.max(course.begun)))
            .messages(9, course.attributes(self.attributes.clone()))
            .messages(15, status.into_iter())
    }
}

impl Course {
    /// With the fault.
    fn attributes(self, all: Vec<Attribute>) -> impl Iterator<Item = Message> {
        let fault = self.fault.map(|fault| ("error.type", fault.to_owned()));
        let all = all.into_iter().chain(fault);
        all.map(|(name, text)| attribute(name, &text))
    }
}

fn attribute(name: &str, text: &str) -> Message {
    let value = Message::default().text(1, text);
    Message::default().text(1, name).message(2, &value)
}

/// A metric in seconds.
fn histogram(name: &str, points: Vec<Message>) -> Message {
    let points = Message::default().messages(1, points.into_iter());
    Message::default()
        .text(1, name)
        .text(3, "s")
        .message(9, &points.number(2, DELTA))
}

/// The bytes that hexadecimal digits stand for.
fn octets(digits: &str) -> Vec<u8> {
    let octet = |at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    (0..digits.len()).step_by(2).map_while(octet).collect()
}

/// Nanoseconds since 1970.
fn nanoseconds(at: Timestamp) -> [u8; 8] {
    let since = u64::try_from(at.as_nanosecond());
    since.unwrap_or_default().to_le_bytes()
}
