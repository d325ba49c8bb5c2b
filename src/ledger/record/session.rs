//! Sessions: their columns, and how they are opened and found.

use serde::{Deserialize, Serialize};

use super::{
    super::store::{ColumnType, Record, Result, RuleResult, Seq, Tx, must},
    body::Body,
    link::{Link, Testified},
    spelling::word,
};
use crate::task::CallContext;

/// A session. Its opener fixes who may use it; a payload never does (R-004-03).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::struct_field_names,
    reason = "the name that it has everywhere else"
)]
pub(crate) struct Session {
    /// The link that opened it.
    pub(crate) seq: Seq,
    pub(crate) session_id: String,
    /// The context of the calls: `AGENT_AUTONOMOUS`.
    pub(crate) context: String,
    pub(crate) profile: String,
    /// `uid:1000`
    pub(crate) principal: String,
    pub(crate) opened_at: String,
}

impl Record for Session {
    const TABLE: [&'static str; 2] = ["sessions", "public.oneact_sessions"];
    const TYPES: &'static [(&'static str, ColumnType)] = &[
        ("session_id", ColumnType::Key),
        ("opened_at", ColumnType::Moment),
    ];

    fn rule(&self) -> RuleResult {
        let context: Option<CallContext> = word(&self.context);
        must(context.is_some(), "the context of a session is unknown")
    }
}

impl Testified for Session {
    fn made_by(link: &Link, body: &Body) -> Option<Self> {
        let seal = body.session.as_ref()?;
        Some(Self {
            seq: link.seq,
            session_id: link.session_id.clone(),
            context: seal.context.clone(),
            profile: seal.profile.clone(),
            principal: link.actor.clone(),
            opened_at: link.at.clone(),
        })
    }
}

impl Tx<'_> {
    pub(crate) fn session(&mut self, id: &str) -> Result<Option<Session>> {
        let key = self.engine.choose(["session_id", "session_key"]);
        self.one(&format!("WHERE {key} = ?1"), &[id.into()])
    }

    pub(crate) fn newest_session(&mut self) -> Result<Option<Session>> {
        self.one("ORDER BY seq DESC LIMIT 1", &[])
    }
}
