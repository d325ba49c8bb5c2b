//! Sends requests to collectors. Nobody waits for them longer than a second, and what a run answers does not depend on them.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::{Client, header::CONTENT_TYPE};

use super::settings::Target;
use crate::web::{self, Waiting};

/// How long all requests together may take.
const LONGEST: Duration = Duration::from_secs(1);

/// Sends all requests at the same time. What fails is said with `-v`, in one line.
pub(super) fn all(requests: Vec<(&Target, Vec<u8>)>) {
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
