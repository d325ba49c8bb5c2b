//! What we answer a server that asks something back: `ping`, and to all else that we have no such
//! method. We declare no capabilities, so a server that keeps the protocol never asks.

use std::sync::Arc;

use rmcp::{
    ClientHandler, ErrorData,
    model::{
        ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ErrorCode,
        Implementation, ProtocolVersion,
    },
    service::{RequestContext, RoleClient},
};

use super::desk::Desk;

/// The client's side of a session.
#[derive(Debug, Clone)]
pub(super) struct Handler {
    pub(super) desk: Arc<Desk>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        // rmcp's default names the version that has no `initialize`.
        ClientConfig::new(ClientCapabilities::default(), client)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    // rmcp would answer with an empty list, and so claim a capability we have not.
    #[expect(
        deprecated,
        reason = "roots are deprecated by 2026-07-28, but older servers ask for them"
    )]
    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<rmcp::model::ListRootsResult, ErrorData> {
        Err(unknown("roots/list"))
    }

    // rmcp would decline in a person's name. Nobody was asked.
    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.desk.asked(match request {
            ElicitRequestParams::FormElicitationParams { message, .. } => message,
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                format!("{message} {url}")
            }
            _ => "a question of a kind unknown here".to_owned(),
        });
        Err(unknown("elicitation/create"))
    }
}

fn unknown(method: &'static str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)
}
