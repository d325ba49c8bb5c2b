//! Sessions: their columns, and how they are opened and found.

use serde::Serialize;

use super::{
    super::store::{
        StoreError, Tx,
        columns::{Column, Kind, Record, Rule, SEQ, column, must},
        sql::Engine,
    },
    Seq, word,
};
use crate::task::CallContext;

/// A session. Its opener fixes who may use it; a payload never does (R-004-03).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
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
    const COLUMNS: &'static [Column<Self>] = &[
        column(SEQ, Kind::Count, |r| &mut r.seq),
        column("session_id", Kind::Key, |r| &mut r.session_id),
        column("context", Kind::Text, |r| &mut r.context),
        column("profile", Kind::Text, |r| &mut r.profile),
        column("principal", Kind::Text, |r| &mut r.principal),
        column("opened_at", Kind::Moment, |r| &mut r.opened_at),
    ];

    fn table(engine: Engine) -> &'static str {
        engine.choose(["sessions", "public.oneact_sessions"])
    }

    fn rule(&self) -> Rule {
        let context: Option<CallContext> = word(&self.context);
        must(context.is_some(), "the context of a session is unknown")
    }
}

impl Tx<'_> {
    pub(crate) fn session(&mut self, id: &str) -> Result<Option<Session>, StoreError> {
        let key = self.engine.choose(["session_id", "session_key"]);
        self.one(&format!("WHERE {key} = ?1"), &[id.into()])
    }

    /// Opens a session. It is refused if the session is open already.
    pub(crate) fn open_session(&mut self, session: &Session) -> Result<(), StoreError> {
        self.insert_record(session)
    }

    /// Up to `most` sessions, from the one that link `from` opened on, in ascending order.
    pub(crate) fn sessions(&mut self, from: Seq, most: usize) -> Result<Vec<Session>, StoreError> {
        self.page(from, most)
    }

    pub(crate) fn newest_session(&mut self) -> Result<Option<Session>, StoreError> {
        self.one("ORDER BY seq DESC LIMIT 1", &[])
    }
}
