//! Gives a tool the objects that it cannot read by itself: copies in the scratch directory, and presigned URLs.

use serde_json::{Map, Value};

use crate::{
    assets::{Staging, Store, StoreError, Why},
    catalog::{Step, Way, put},
    task::{Failure, Fault},
};

use super::context::Context;

/// The arguments of a call, and the URLs in them that nothing may record.
pub(super) struct Arguments {
    pub(super) sent: Map<String, Value>,
    pub(super) secrets: Vec<String>,
}

/// Makes the copies and URLs of a step.
pub(super) fn hand(
    step: &Step,
    staging: &Staging,
    store: &Store,
    context: &Context<'_>,
) -> Result<Arguments, Failure> {
    let mut arguments = Arguments {
        sent: step.parameters.clone(),
        secrets: Vec::new(),
    };
    if !step.handed.is_empty() && !staging.is_in_place() {
        let message =
            "a tool removed or replaced the scratch directory: no input can be copied there";
        return Err(Failure::new(Fault::ToolError, message.to_owned()));
    }
    let go_on = || context.go_on().is_ok();
    let failed = |error: StoreError| context.stopped().unwrap_or_else(|| of_input(error));
    let mut copied = Vec::new();
    for handed in &step.handed {
        let uri = &handed.uri;
        match &handed.way {
            Way::Copy(path) if copied.contains(&path) => {}
            Way::Copy(path) => {
                let bytes = store.objects().copy(uri, path, &go_on).map_err(failed)?;
                tracing::info!("Copied {}, {bytes} bytes, to {path}.", uri.redacted());
                copied.push(path);
            }
            Way::Presigned(to) => {
                let url = store.objects().presigned(uri, &go_on);
                let url = url.map_err(|error| failed(error.into()))?;
                tracing::info!("Made a presigned URL of {}.", uri.redacted());
                put(&mut arguments.sent, to, Some(url.as_str().into()));
                arguments.secrets.extend(parts(&url));
            }
        }
    }
    Ok(arguments)
}

/// An input that is gone is no fault of the catalog's store.
fn of_input(error: StoreError) -> Failure {
    // Another attempt takes the object that is there now.
    let recoverable = matches!(&error, StoreError::Object(error) if error.why == Why::Changed);
    let failure = Failure::from(error);
    match failure.fault {
        Fault::HashMismatch => Failure {
            recoverable,
            ..failure
        },
        Fault::CatalogInvalid | Fault::PermissionDenied | Fault::FileNotFound => {
            Failure::new(Fault::InputInaccessible, failure.message)
        }
        _ => failure,
    }
}

/// The URL, and the values of its query, which a server may repeat alone.
fn parts(url: &str) -> Vec<String> {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let values = query.split('&').filter_map(|pair| pair.split_once('='));
    // A short value, such as a number of seconds, is no secret.
    let values = values.filter(|(_, value)| value.len() >= 16);
    let values = values.map(|(_, value)| value.to_owned());
    values.chain([url.to_owned()]).collect()
}
