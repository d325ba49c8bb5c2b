//! The collector: what the environment says about it (OpenTelemetry, "OTLP Exporter Configuration" and "SDK Environment
//! Variables"), and how requests are sent to it. Nobody waits for them longer than a second, and what a run answers does not
//! depend on them.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use percent_encoding::percent_decode_str;
use reqwest::{Client, header::CONTENT_TYPE};

use crate::{
    host,
    web::{self, Waiting},
};

const SERVICE: &str = "service.name";

/// Where spans and metrics are sent to, and what they say about this service.
#[derive(Debug)]
pub(super) struct Export {
    pub(super) traces: Option<Target>,
    pub(super) metrics: Option<Target>,
    pub(super) resource: Vec<(String, String)>,
}

#[derive(Debug)]
pub(super) struct Target {
    /// `traces` or `metrics`
    pub(super) of: &'static str,
    pub(super) url: String,
    /// They can contain secrets.
    pub(super) headers: Vec<(String, String)>,
}

impl Export {
    /// None if nothing is to be sent.
    pub(super) fn of_environment() -> Option<Self> {
        let traces = Target::of_environment("traces");
        let metrics = Target::of_environment("metrics");
        if traces.is_none() && metrics.is_none() || is("OTEL_SDK_DISABLED", "true") {
            return None;
        }
        let mut resource: Vec<(String, String)> = vec![
            (SERVICE.into(), env!("CARGO_PKG_NAME").into()),
            ("service.version".into(), env!("CARGO_PKG_VERSION").into()),
        ];
        let said = pairs(&said("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default());
        let service = self::said("OTEL_SERVICE_NAME").map(|name| (SERVICE.to_owned(), name));
        for (name, value) in said.into_iter().chain(service) {
            resource.retain(|(other, _)| *other != name);
            resource.push((name, value));
        }
        Some(Self {
            traces,
            metrics,
            resource,
        })
    }
}

impl Target {
    fn of_environment(of: &'static str) -> Option<Self> {
        let capitals = of.to_uppercase();
        let general = |name: &str| said(&format!("OTEL_EXPORTER_OTLP_{name}"));
        let own = |name: &str| said(&format!("OTEL_EXPORTER_OTLP_{capitals}_{name}"));
        // Only the address for everything is one to which a path is added.
        let below = |url: String| format!("{}/v1/{of}", url.trim_end_matches('/'));
        let url = own("ENDPOINT").or_else(|| general("ENDPOINT").map(below))?;
        if is(&format!("OTEL_{capitals}_EXPORTER"), "none") {
            return None;
        }
        let protocol = own("PROTOCOL").or_else(|| general("PROTOCOL"));
        if protocol.is_some_and(|protocol| protocol != "http/protobuf") {
            tracing::info!("No {of} are sent: OTEL_EXPORTER_OTLP_PROTOCOL can be http/protobuf.");
            return None;
        }
        let headers = own("HEADERS").or_else(|| general("HEADERS"));
        Some(Self {
            of,
            url,
            headers: pairs(&headers.unwrap_or_default()),
        })
    }
}

/// A variable. An empty one counts as unset.
fn said(name: &str) -> Option<String> {
    host::variable(name).filter(|text| !text.trim().is_empty())
}

fn is(name: &str, value: &str) -> bool {
    said(name).is_some_and(|said| said.trim().eq_ignore_ascii_case(value))
}

/// `name=value,name=value`, percent-encoded. What is no such pair is left out.
fn pairs(text: &str) -> Vec<(String, String)> {
    let decoded = |text: &str| {
        percent_decode_str(text.trim())
            .decode_utf8_lossy()
            .into_owned()
    };
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        Some((decoded(name), decoded(value))).filter(|(name, _)| !name.is_empty())
    };
    text.split(',').filter_map(pair).collect()
}

/// How long all requests together may take.
const LONGEST: Duration = Duration::from_secs(1);

/// Sends all requests at the same time. What fails is said with `-v`, in one line.
pub(super) fn send_all(requests: Vec<(&Target, Vec<u8>)>) {
    if requests.is_empty() {
        return;
    }
    let (Ok(waiting), Ok(client)) = (Waiting::new(), web::client().build()) else {
        tracing::info!("Nothing is sent to the collector: no HTTP client can be made.");
        return;
    };
    let begun = Instant::now();
    let each = requests.into_iter();
    let sent = join_all(each.map(|(target, body)| send(&client, target, body)));
    let failed = match waiting.wait(&|| begun.elapsed() < LONGEST, sent) {
        Some(sent) => sent.into_iter().filter_map(Result::err).collect(),
        None => vec![format!("it took longer than {LONGEST:?}")],
    };
    if !failed.is_empty() {
        tracing::info!(
            "The collector did not take everything: {}.",
            failed.join("; ")
        );
    }
    waiting.leave();
}

async fn send(client: &Client, target: &Target, body: Vec<u8>) -> Result<(), String> {
    let Target { of, url, headers } = target;
    let mut post = client.post(url).body(body);
    for (name, value) in headers {
        post = post.header(name, value);
    }
    let post = post.header(CONTENT_TYPE, "application/x-protobuf");
    let response = post.send().await;
    let response = response.map_err(|error| format!("{of}: {}", web::cause(&error)))?;
    let status = response.status();
    if status.is_success() {
        Ok(())
    } else {
        Err(format!("{of}: HTTP status {status}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_percent_encoded_and_what_is_none_is_left_out() {
        let read = pairs("a=1, b = x%20y%3D,c,=d,e=,f=g=h");
        let read: Vec<_> = read
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(read, [("a", "1"), ("b", "x y="), ("e", ""), ("f", "g=h")]);
    }
}
