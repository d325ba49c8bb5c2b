//! Terms that the catalog writes and that other rooms act on.

use serde::Deserialize;

/// Who calls (specification 003). It is fixed by the launch, never by a payload (C-32).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum CallContext {
    AgentConversation,
    AgentAutonomous,
    FsmInternal,
    ActionProposal,
    UserInvocation,
}

impl CallContext {
    /// The specification's spelling.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AgentConversation => "AGENT_CONVERSATION",
            Self::AgentAutonomous => "AGENT_AUTONOMOUS",
            Self::FsmInternal => "FSM_INTERNAL",
            Self::ActionProposal => "ACTION_PROPOSAL",
            Self::UserInvocation => "USER_INVOCATION",
        }
    }
}

/// What an entry says that its tool does, in MCP's terms; `None` where it says nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effects {
    pub read_only: Option<bool>,
    pub destructive: Option<bool>,
    pub idempotent: Option<bool>,
    pub open_world: Option<bool>,
}

impl Effects {
    /// Idempotent and not destructive.
    pub fn is_harmless(self) -> bool {
        self.idempotent == Some(true) && self.destructive != Some(true)
    }
}

/// Whether an old answer may stand for a new one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reuse {
    #[default]
    Allowed,
    /// `--no-reuse`, or `[ledger] reuse = false`.
    Off,
}

/// The era of MCP that a server speaks (MCP, Versioning).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Found out when the server starts.
    #[default]
    Auto,
    /// 2026-07-28: no handshake; everything that a request needs is in its `_meta`.
    Modern,
    /// `initialize`, up to 2025-11-25.
    Legacy,
}

impl Protocol {
    /// The word in the catalog.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Modern => "modern",
            Self::Legacy => "legacy",
        }
    }
}

/// Whether a good answer must fit the output schema that the tool publishes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputSchema {
    /// If the tool is listed anyway: for its input schema, or for its pin.
    #[default]
    IfListed,
    /// Always; the tool is listed for it.
    Check,
    /// Never.
    Ignore,
}

/// Whether a call that was sent and never answered may be sent again by another run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeatable {
    /// Yes: the entry says `read_only = true` or `idempotent = true`.
    Yes,
    /// No: a person has to find out what happened.
    Once,
}
