//! Tools as an MCP server on stdin and stdout, in both eras of the protocol: `initialize` up to
//! 2025-11-25, and 2026-07-28 with `server/discover`.
//!
//! The process ends when stdin does: a tool that is still running sees `cancelled`, has
//! [`LAST_WORDS`] to clean up, and is then left behind.

mod handler;
mod wire;

use std::time::Duration;

use rmcp::{ServiceExt, service::ServerInitializeError};
use tokio::sync::watch;

use super::tool::Tool;
use handler::{Handler, HandlerError};
use wire::Wire;

/// How long tools may take to clean up once the client has gone.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Why a built-in server could not serve.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    #[error("no built-in server is called `{name}`; there is: {known}")]
    Unknown { name: String, known: String },
    #[error("could not start the runtime of server `{name}`: {source}")]
    Runtime {
        name: &'static str,
        source: std::io::Error,
    },
    #[error("server `{name}` has a broken tool definition: {source}")]
    Definition {
        name: &'static str,
        source: HandlerError,
    },
    #[error("server `{name}` could not agree with its client: {source}")]
    Handshake {
        name: &'static str,
        source: Box<ServerInitializeError>,
    },
    #[error("server `{name}` stopped by a fault of its own: {source}")]
    Stopped {
        name: &'static str,
        source: tokio::task::JoinError,
    },
}

/// Serves `tools` on stdin and stdout until stdin ends. Blocks.
pub(super) fn serve(name: &'static str, tools: Vec<Box<dyn Tool>>) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| ServeError::Runtime { name, source })?;
    let served = runtime.block_on(serve_on(
        name,
        tools,
        tokio::io::stdin(),
        tokio::io::stdout(),
    ));
    runtime.shutdown_timeout(LAST_WORDS);
    served
}

/// Serves `tools` on any pair of streams.
async fn serve_on<R, W>(
    name: &'static str,
    tools: Vec<Box<dyn Tool>>,
    read: R,
    write: W,
) -> Result<(), ServeError>
where
    R: tokio::io::AsyncRead + Send + Unpin + 'static,
    W: tokio::io::AsyncWrite + Send + Unpin + 'static,
{
    let (gone, client_gone) = watch::channel(());
    let handler = Handler::new(name, tools, client_gone)
        .map_err(|source| ServeError::Definition { name, source })?;
    match handler.serve(Wire::new(read, write, gone)).await {
        Ok(service) => {
            let reason = service
                .waiting()
                .await
                .map_err(|source| ServeError::Stopped { name, source })?;
            tracing::debug!(?reason, "server ends");
            Ok(())
        }
        // A client that leaves before it said anything is no failure of ours.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(source) => Err(ServeError::Handshake {
            name,
            source: Box::new(source),
        }),
    }
}

#[cfg(test)]
mod tests;
