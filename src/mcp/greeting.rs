//! The handshakes of the two eras.

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use super::{
    error::CallError,
    message::{
        Answer, DISCOVER, Extent, INITIALIZE, LEGACY, MODERN, RpcError, UNSUPPORTED_VERSION,
        client, members,
    },
    peer::{Implementation, Peer},
    raw::Raw,
    session::{Session, Standing},
    wait::Halt,
};

/// Modern, without a handshake: the first request is the first message.
pub(super) fn assume(session: &mut Session, standing: Standing) {
    session.peer = Some(Peer {
        version: MODERN.to_owned(),
        info: None,
    });
    session.standing = standing;
}

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
    session.link.agreed(&result.protocol_version);
    let sent = session.notify("notifications/initialized").await;
    sent.map_err(|halt| session.error(halt, INITIALIZE))?;
    agree(session, result.protocol_version, Some(result.server_info));
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
        let error = RpcError {
            code: UNSUPPORTED_VERSION,
            message: format!("it supports {}", result.supported_versions.join(", ")),
            data: None,
            extent: Extent::Whole,
        };
        return Err(session.rpc(DISCOVER, &error));
    }
    let info = result
        .meta
        .and_then(|mut meta| meta.remove("io.modelcontextprotocol/serverInfo"))
        .and_then(|info| serde_json::from_value(info).ok());
    agree(session, MODERN.to_owned(), info);
    Ok(())
}

fn agree(session: &mut Session, version: String, info: Option<Implementation>) {
    session.peer = Some(Peer { version, info });
    session.standing = Standing::Agreed;
}

/// The result of a handshake.
fn accepted<T: DeserializeOwned>(
    session: &Session,
    method: &'static str,
    answer: Result<Answer<Raw>, Halt>,
) -> Result<T, CallError> {
    let raw = match answer.map_err(|halt| session.error(halt, method))? {
        Answer::Result(raw) => raw,
        Answer::Malformed(reason) => return Err(session.malformed(method, &reason)),
        Answer::Error(error) => return Err(session.rpc(method, &error)),
    };
    // serde also reads a struct from an array.
    let object = raw.get().starts_with('{');
    let result = object.then(|| serde_json::from_str(raw.get()).ok());
    result.flatten().ok_or_else(|| {
        let reason = format!("its `result` is no handshake result: {}", raw.get());
        session.malformed(method, &reason)
    })
}
