//! The handshakes of the two eras, as rmcp makes them, and what is said when one fails.

use rmcp::{
    ServiceExt,
    model::{ErrorCode, ErrorData, ProtocolVersion, ServerCapabilities, ServerPeerInfo},
    service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt, serve_directly},
};

use super::{
    alarm::Alarm,
    bounds,
    error::{CallError, Hint},
    handler::Handler,
    session::{Halt, Limits, Service, Session, Standing},
    spec::Caller,
};
use crate::task::Phase;

/// Why a handshake failed.
pub(super) enum Failure {
    /// The server answered with an error.
    Refused(ErrorData),
    Halted(Halt),
}

impl Failure {
    /// Whether another process of the same server may do better.
    pub(super) fn is_its_end(&self) -> bool {
        matches!(self, Self::Halted(Halt::Gone))
    }
}

pub(super) fn agree(session: &mut Session, service: Service) {
    session.service = Some(service);
    session.standing = Standing::Agreed;
}

/// Modern, unasked: the first request is the first message.
pub(super) fn assume(session: &mut Session, standing: Standing) {
    let server = ServerPeerInfo::new(ProtocolVersion::V_2026_07_28, ServerCapabilities::default());
    let service = serve_directly(
        handler(session, session.caller),
        session.wire.clone(),
        Some(server),
    );
    session.service = Some(service);
    session.standing = standing;
}

/// Legacy: `initialize`, and `notifications/initialized` after the answer.
pub(super) async fn initialize(
    session: &Session,
    alarm: &Alarm<'_>,
    limits: &Limits,
) -> Result<Service, Failure> {
    // Large: not to be moved about on the stack.
    let handshake = Box::pin(handler(session, Caller::Silent).serve(session.wire.clone()));
    let outcome = session.guard(alarm, limits, handshake).await;
    settled(session, outcome).await
}

/// Modern, asked first.
pub(super) async fn discover(
    session: &Session,
    alarm: &Alarm<'_>,
    limits: &Limits,
) -> Result<Service, Failure> {
    let lifecycle = ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
    };
    let greeting =
        handler(session, session.caller).serve_with_lifecycle(session.wire.clone(), lifecycle);
    let handshake = Box::pin(greeting);
    settled(session, session.guard(alarm, limits, handshake).await).await
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
                ErrorCode::UNSUPPORTED_PROTOCOL_VERSION,
                reason,
                None,
            )))
        }
        Ok(Err(ClientInitializeError::ExpectedInitResult(other))) => {
            let other = serde_json::to_string(&other).unwrap_or_default();
            let reason = format!("its `result` is not one of a handshake: {other}");
            Err(Failure::Halted(Halt::Malformed(reason)))
        }
        Ok(Err(other)) => Err(Failure::Halted(Halt::Malformed(other.to_string()))),
    }
}

/// A failed handshake, as an error.
pub(super) fn failed(session: &Session, method: &'static str, failure: Failure) -> CallError {
    match failure {
        Failure::Halted(halt) => session.error(halt, Phase::Negotiate, method),
        Failure::Refused(error) => CallError::Rpc {
            server: session.server.clone(),
            method,
            code: i64::from(error.code.0),
            message: bounds::message(&session.secrets.cut(&error.message)),
            data: error
                .data
                .map(|data| Box::new(session.secrets.cut_value(data))),
            asked: None,
            hint: Hint::None,
        },
    }
}
