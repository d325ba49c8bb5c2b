//! Which era of the protocol a server speaks, and the handshake of that era.
//!
//! `Auto` tries the legacy handshake first, though the specification would have a client ask
//! `server/discover` first. A modern server answers `initialize` with an error at once, at the
//! price of one round trip. Legacy servers are the many, and not all of them answer a first
//! request they do not know: some end, some stay silent, and one that is slow to start (`npx`)
//! cannot be told from a silent one. Guessing legacy wrongly is cheap; guessing modern wrongly
//! costs a timeout or the process.

use rmcp::{
    ServiceExt,
    model::{ErrorData, ProtocolVersion, ServerCapabilities, ServerPeerInfo},
    service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt, serve_directly},
};
use tokio::time::Instant;

use super::{
    error::{CallError, Phase},
    handler::Handler,
    session::{Alarm, Halt, Limits, Service, Session, millis},
    spec::{Caller, Protocol, ServerSpec},
};
use crate::host::Host;

/// Why a handshake failed.
enum Failure {
    /// The server answered with an error.
    Refused(ErrorData),
    Halted(Halt),
}

/// Brings the session to where requests can be sent. A server that refuses `initialize` and ends
/// is started once more.
pub(super) async fn negotiate(
    session: &mut Session,
    spec: &ServerSpec,
    host: &Host,
    alarm: &Alarm<'_>,
) -> Result<(), CallError> {
    let limits = Limits {
        idle: None,
        total: spec.startup_timeout,
        until: Instant::now() + spec.startup_timeout,
    };
    match spec.protocol {
        Protocol::Modern => {
            session.service = Some(modern(session));
        }
        Protocol::Legacy => match initialize(session, alarm, &limits).await {
            Ok(service) => session.service = Some(service),
            Err(Failure::Refused(error)) => return Err(refused(session, error)),
            Err(Failure::Halted(halt)) => {
                return Err(session.error(halt, Phase::Negotiate, "initialize"));
            }
        },
        Protocol::Auto => match initialize(session, alarm, &limits).await {
            Ok(service) => session.service = Some(service),
            Err(Failure::Refused(error)) => {
                fall_forward(session, spec, host, alarm, &limits, error).await?;
            }
            Err(Failure::Halted(halt)) => {
                return Err(session.error(halt, Phase::Negotiate, "initialize"));
            }
        },
    }
    session.timings.negotiate = millis(session.started.elapsed());
    check_version(session)
}

/// `initialize` was refused: asks the same process, or a fresh one if it has ended, in the modern
/// way. `server/discover` rather than the call itself: a process that is about to end must not
/// take the call with it.
async fn fall_forward(
    session: &mut Session,
    spec: &ServerSpec,
    host: &Host,
    alarm: &Alarm<'_>,
    limits: &Limits,
    legacy: ErrorData,
) -> Result<(), CallError> {
    let mut outcome = discover(session, alarm, limits).await;
    if matches!(outcome, Err(Failure::Halted(Halt::Gone))) {
        session.stop(spec.shutdown_grace).await;
        *session = Session::open(spec, host)?;
        outcome = discover(session, alarm, limits).await;
    }
    match outcome {
        Ok(service) => {
            session.service = Some(service);
            Ok(())
        }
        Err(Failure::Refused(modern)) => {
            let reason = format!(
                "it refused `initialize` with error {}: {}, and `server/discover` with error {}: {}",
                legacy.code.0, legacy.message, modern.code.0, modern.message
            );
            Err(CallError::ProtocolMismatch {
                server: spec.name.clone(),
                reason: session.excerpt(&reason),
            })
        }
        Err(Failure::Halted(halt)) => Err(session.error(halt, Phase::Negotiate, "server/discover")),
    }
}

/// Legacy: `initialize`, and `notifications/initialized` after the answer.
async fn initialize(
    session: &Session,
    alarm: &Alarm<'_>,
    limits: &Limits,
) -> Result<Service, Failure> {
    let handshake = handler(session, Caller::Silent).serve(session.wire.clone());
    settled(session, session.guard(alarm, limits, handshake).await).await
}

/// Modern, asked first.
async fn discover(
    session: &Session,
    alarm: &Alarm<'_>,
    limits: &Limits,
) -> Result<Service, Failure> {
    let lifecycle = ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
    };
    let handshake =
        handler(session, session.caller).serve_with_lifecycle(session.wire.clone(), lifecycle);
    settled(session, session.guard(alarm, limits, handshake).await).await
}

/// Modern, unasked: the first request is the first message.
fn modern(session: &Session) -> Service {
    let server = ServerPeerInfo::new(ProtocolVersion::V_2026_07_28, ServerCapabilities::default());
    let handler = handler(session, session.caller);
    serve_directly(handler, session.wire.clone(), Some(server))
}

fn handler(session: &Session, caller: Caller) -> Handler {
    Handler {
        desk: session.desk.clone(),
        caller,
    }
}

async fn settled(
    session: &Session,
    outcome: Result<Result<Service, ClientInitializeError>, Halt>,
) -> Result<Service, Failure> {
    match outcome {
        Err(halt) => Err(Failure::Halted(halt)),
        Ok(Ok(service)) => Ok(service),
        Ok(Err(ClientInitializeError::JsonRpcError(error))) => Err(Failure::Refused(error)),
        Ok(Err(
            ClientInitializeError::ConnectionClosed(_)
            | ClientInitializeError::TransportError { .. },
        )) => Err(Failure::Halted(session.gone().await)),
        Ok(Err(ClientInitializeError::NoCompatibleProtocolVersion {
            server_supported, ..
        })) => {
            let supported: Vec<&str> = server_supported
                .iter()
                .map(ProtocolVersion::as_str)
                .collect();
            let reason = format!("it supports {}", supported.join(", "));
            Err(Failure::Refused(ErrorData::new(
                rmcp::model::ErrorCode::UNSUPPORTED_PROTOCOL_VERSION,
                reason,
                None,
            )))
        }
        Ok(Err(other)) => Err(Failure::Halted(Halt::Malformed(other.to_string()))),
    }
}

fn refused(session: &Session, error: ErrorData) -> CallError {
    CallError::Rpc {
        server: session.server.clone(),
        method: "initialize",
        code: i64::from(error.code.0),
        message: session.secrets.cut(&error.message),
        data: error
            .data
            .map(|data| Box::new(session.secrets.cut_value(data))),
        asked: None,
    }
}

/// rmcp takes whatever version a server names.
fn check_version(session: &Session) -> Result<(), CallError> {
    let Some(peer) = session
        .service
        .as_ref()
        .and_then(|service| service.peer_info())
    else {
        return Ok(());
    };
    if ProtocolVersion::KNOWN_VERSIONS.contains(&peer.protocol_version) {
        return Ok(());
    }
    let known: Vec<&str> = ProtocolVersion::KNOWN_VERSIONS
        .iter()
        .map(ProtocolVersion::as_str)
        .collect();
    let reason = format!(
        "it wants `{}`, known here are {}",
        peer.protocol_version,
        known.join(", ")
    );
    Err(CallError::ProtocolMismatch {
        server: session.server.clone(),
        reason: session.excerpt(&reason),
    })
}
