//! Spans and metrics of a run, which are sent to an OpenTelemetry collector after the answer was printed, if the environment
//! names one (`OTEL_EXPORTER_OTLP_ENDPOINT`). A run without one costs nothing here.

mod collector;
mod document;
mod protobuf;
mod record;

pub(crate) use record::Telemetry;
