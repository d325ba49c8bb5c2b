//! Whose calls are performed: the session that they belong to, and the refs that they have produced.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

/// The refs of a session and their storage URIs.
pub(super) type Refs = BTreeMap<String, String>;

/// The session of a call.
#[derive(Debug, Clone)]
pub(super) struct Session {
    /// A name that no other caller has: the ids of requests begin anew in each.
    pub(super) process: String,
    /// The session that the operator named.
    pub(super) named: Option<String>,
    /// The session of all calls: the named one, or one of their own.
    pub(super) served: String,
}

/// A client, or one request of a client without a session.
#[derive(Debug)]
pub(super) struct Caller {
    /// The session of the process.
    common: Session,
    refs_in_common: Arc<Mutex<Refs>>,
    /// The session that a client has begun over HTTP.
    own: OnceLock<Own>,
    sessions: Sessions,
}

/// Whether a client that begins a session of MCP gets a session of oneact of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sessions {
    /// On stdio there is one client.
    One,
    /// Over HTTP, unless the operator named the session.
    Each,
}

#[derive(Debug)]
struct Own {
    session: Session,
    refs: Mutex<Refs>,
}

impl Caller {
    pub(super) fn new(common: Session, refs: Arc<Mutex<Refs>>, sessions: Sessions) -> Self {
        Self {
            common,
            refs_in_common: refs,
            own: OnceLock::new(),
            sessions,
        }
    }

    /// The client has begun a session of MCP.
    pub(super) fn begins_session(&self) {
        if self.sessions == Sessions::Each && self.common.named.is_none() {
            self.own.get_or_init(|| Own {
                session: Session {
                    served: format!("sess-{}", self.common.process),
                    ..self.common.clone()
                },
                refs: Mutex::default(),
            });
        }
    }

    pub(super) fn session(&self) -> &Session {
        self.own.get().map_or(&self.common, |own| &own.session)
    }

    /// What the calls of the session have produced.
    pub(super) fn refs(&self) -> MutexGuard<'_, Refs> {
        let refs = self
            .own
            .get()
            .map_or(&*self.refs_in_common, |own| &own.refs);
        refs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
