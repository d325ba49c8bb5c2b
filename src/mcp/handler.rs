//! What we declare of ourselves, and what we answer a server that asks something back while it is
//! called: `ping`, and to all else that we have no such method. To a server of the older era we
//! declare no capabilities, and one of 2026-07-28 asks in its result, so a server that keeps the
//! protocol never asks here.

use std::sync::Arc;

use rmcp::{
    ClientHandler, ErrorData,
    model::{
        ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationCapability,
        ErrorCode, FormElicitationCapability, Implementation, ProtocolVersion,
        UrlElicitationCapability,
    },
    service::{RequestContext, RoleClient},
};

use super::{desk::Desk, spec::Caller};

/// The client's side of a session.
#[derive(Debug, Clone)]
pub(super) struct Handler {
    pub(super) desk: Arc<Desk>,
    /// Who answers questions in a later call.
    pub(super) caller: Caller,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        // rmcp's default names the version that has no `initialize`.
        ClientConfig::new(capabilities(self.caller), client)
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

    #[expect(
        deprecated,
        reason = "sampling is deprecated by 2026-07-28, but older servers ask for it"
    )]
    async fn create_message(
        &self,
        _request: rmcp::model::CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<rmcp::model::CreateMessageResult, ErrorData> {
        self.desk
            .asked("a model's answer (sampling/createMessage)".to_owned());
        Err(unknown("sampling/createMessage"))
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

/// Questions in both modes go to the caller, who knows what it can do with them.
fn capabilities(caller: Caller) -> ClientCapabilities {
    let mut capabilities = ClientCapabilities::default();
    if caller == Caller::Answers {
        let modes = ElicitationCapability::new()
            .with_form(FormElicitationCapability::new())
            .with_url(UrlElicitationCapability::new());
        capabilities.elicitation = Some(modes);
    }
    capabilities
}

fn unknown(method: &'static str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)
}
