//! Terms that the catalog writes and that other rooms act on.

use std::time::Duration;

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

/// What becomes of a request that was done before in the session (C-36).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDuplicate {
    /// The old answer, while it is good.
    Reuse {
        ttl: Option<Duration>,
        ground: Ground,
    },
    /// The old answer, saying that it was not done again; unless what it was about is known to be
    /// something else by now.
    Suppress(Unless),
    /// It is done again.
    Repeat,
}

/// Why an old answer may be good at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    /// Everything that it depends on is known by its content.
    Content,
    /// The catalog says so, of something that may read what nobody knows: until that may have changed.
    Declared,
    /// Of several steps some have the one ground, some the other.
    Both,
}

/// What makes a request with the same hash another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unless {
    /// Its inputs.
    InputsChanged,
    /// Its inputs, or the files it left: somebody has undone or gone on with what it did.
    FilesChanged,
}

/// Whether an old answer may stand for a new one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reuse {
    #[default]
    Allowed,
    /// `--no-reuse`, or `[ledger] reuse = false`.
    Off,
}
