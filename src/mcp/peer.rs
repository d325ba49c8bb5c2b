//! What is known of a server that was greeted.

use serde::{Deserialize, Serialize};

/// The version that was agreed on, and the server's words about itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Peer {
    pub(super) version: String,
    pub(super) info: Option<Implementation>,
}

/// The name and version that a server gives itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Implementation {
    pub(super) name: String,
    pub(super) version: String,
}
