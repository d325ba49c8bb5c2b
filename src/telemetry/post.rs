//! Sends requests to collectors. Nobody waits for them longer than a second, and what a run answers does not depend on them.

use std::time::Duration;

use futures_util::future::join_all;
use reqwest::{
    Client,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use tokio::{runtime::Builder, time::timeout};

use crate::web;

/// How long all requests together may take.
const LONGEST: Duration = Duration::from_secs(1);

pub(super) struct Request<'a> {
    /// What is sent.
    pub(super) of: &'static str,
    pub(super) url: &'a str,
    pub(super) headers: &'a [(String, String)],
    pub(super) content_type: &'static str,
    pub(super) body: Vec<u8>,
}

/// Sends all requests at the same time. What fails is said with `-v`, in one line.
pub(super) fn all(requests: Vec<Request<'_>>) {
    if requests.is_empty() {
        return;
    }
    let runtime = Builder::new_current_thread().enable_all().build();
    let (Ok(runtime), Ok(client)) = (runtime, web::client().build()) else {
        tracing::info!("Nothing is sent to the collector: no HTTP client can be made.");
        return;
    };
    let sent = async {
        let each = requests.into_iter().map(|request| send(&client, request));
        timeout(LONGEST, join_all(each)).await
    };
    let failed = match runtime.block_on(sent) {
        Ok(sent) => sent.into_iter().filter_map(Result::err).collect(),
        Err(_) => vec![format!("it took longer than {LONGEST:?}")],
    };
    if !failed.is_empty() {
        tracing::info!(
            "The collector did not take everything: {}.",
            failed.join("; ")
        );
    }
    // A look-up of a name that still runs is not waited for.
    runtime.shutdown_background();
}

async fn send(client: &Client, request: Request<'_>) -> Result<(), String> {
    let of = request.of;
    let failed = |error: &reqwest::Error| format!("{of}: {}", web::cause(error));
    let mut headers = HeaderMap::new();
    for (name, value) in request.headers {
        let pair = (HeaderName::try_from(name), HeaderValue::try_from(value));
        let (Ok(name), Ok(value)) = pair else {
            return Err(format!(
                "{of}: a header of OTEL_EXPORTER_OTLP_HEADERS is invalid"
            ));
        };
        headers.insert(name, value);
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(request.content_type));
    let post = client.post(request.url).headers(headers).body(request.body);
    let response = post.send().await.map_err(|error| failed(&error))?;
    let status = response.status();
    if status.is_success() {
        Ok(())
    } else {
        Err(format!("{of}: HTTP status {status}"))
    }
}
