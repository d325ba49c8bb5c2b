//! The handshakes of the two eras.

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use super::{
    answer,
    error::CallError,
    message::{Answer, DISCOVER, INITIALIZE, LEGACY, MODERN, client, members},
    peer::{Implementation, Peer},
    raw::Raw,
    session::Session,
    wait::Halt,
};

/// Legacy: `initialize`, and `notifications/initialized` after the answer.
pub(super) async fn initialize(session: &mut Session) -> Result<(), CallError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Initialized {
        protocol_version: String,
        #[serde(rename = "capabilities")]
        _capabilities: Map<String, Value>,
        server_info: Implementation,
    }
    let params = [
        ("protocolVersion", LEGACY.into()),
        // A server of this era would expect the answers to its questions during the call.
        ("capabilities", json!({})),
        ("clientInfo", client()),
    ];
    let answer = session.ask(INITIALIZE, members(params), &mut |_| ()).await;
    let result: Initialized = accepted(session, INITIALIZE, answer)?;
    if let Some(remote) = session.link.remote() {
        remote.agreed(&result.protocol_version);
    }
    let sent = session.notify("notifications/initialized").await;
    sent.map_err(|halt| session.error(halt, INITIALIZE))?;
    session.peer = Some(Peer {
        version: result.protocol_version,
        info: Some(result.server_info),
    });
    Ok(())
}

/// Modern, with `server/discover` as the first request.
pub(super) async fn discover(session: &mut Session) -> Result<(), CallError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Discovered {
        supported_versions: Vec<String>,
        #[serde(rename = "_meta")]
        meta: Option<Map<String, Value>>,
    }
    let answer = session.exchange(DISCOVER, Map::new()).await;
    let result: Discovered = accepted(session, DISCOVER, answer)?;
    if !result.supported_versions.iter().any(|each| each == MODERN) {
        let supported = result.supported_versions.join(", ");
        return Err(session.mismatch(&format!("it supports {supported}"), Some(String::new())));
    }
    let info = result
        .meta
        .and_then(|mut meta| meta.remove("io.modelcontextprotocol/serverInfo"))
        .and_then(|info| serde_json::from_value(info).ok());
    session.peer = Some(Peer {
        version: MODERN.to_owned(),
        info,
    });
    Ok(())
}

/// The result of a handshake.
fn accepted<T: DeserializeOwned>(
    session: &Session,
    method: &'static str,
    answer: Result<Answer<Raw>, Halt>,
) -> Result<T, CallError> {
    let answer = answer.map_err(|halt| session.error(halt, method))?;
    let raw = answer::result(session, method, answer)?;
    // serde also reads a struct from an array.
    let object = raw.get().starts_with('{');
    let result = object.then(|| serde_json::from_str(raw.get()).ok());
    result.flatten().ok_or_else(|| {
        let reason = format!("its `result` is no handshake result: {}", raw.get());
        session.malformed(method, &reason)
    })
}
