//! What a call may do, as its entry says it.

use serde::Deserialize;

/// MCP's hints about the tool, from the entry; `None` for a hint that is missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effects {
    pub read_only: Option<bool>,
    pub destructive: Option<bool>,
    pub idempotent: Option<bool>,
    pub open_world: Option<bool>,
}

impl Effects {
    /// What MCP assumes of a tool of which nothing is known.
    pub const WORST: Self = Self {
        read_only: Some(false),
        destructive: Some(true),
        idempotent: Some(false),
        open_world: Some(true),
    };

    /// What several calls do together: the worst that is said of one of them.
    pub fn worst(calls: impl Iterator<Item = Self>) -> Self {
        let calls: Vec<Self> = calls.collect();
        let worst = |hint: fn(&Self) -> Option<bool>, bad: bool| {
            let mut said = calls.iter().map(hint);
            if said.clone().all(|said| said == Some(!bad)) {
                return Some(!bad);
            }
            said.any(|said| said == Some(bad)).then_some(bad)
        };
        Self {
            read_only: worst(|call| call.read_only, false),
            destructive: worst(|call| call.destructive, true),
            idempotent: worst(|call| call.idempotent, false),
            open_world: worst(|call| call.open_world, true),
        }
    }

    pub fn is_harmless(self) -> bool {
        self.idempotent == Some(true) && self.destructive != Some(true)
    }

    pub fn repeatable(self) -> Repeatable {
        match (self.read_only, self.idempotent) {
            (Some(true), _) | (_, Some(true)) => Repeatable::Yes,
            _ => Repeatable::Once,
        }
    }
}

/// Whether another run may repeat a call that was sent and not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeatable {
    /// Yes: the entry says `read_only = true` or `idempotent = true`.
    Yes,
    /// No: a person must find out what happened.
    Once,
}
