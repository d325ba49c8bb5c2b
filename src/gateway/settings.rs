//! What the operator decides for one session of `oneact serve catalog`.

use std::sync::{Arc, Mutex};

use camino::Utf8PathBuf;

use super::{
    caller::{Caller, Refs, Session, Sessions},
    elicit::Elicit,
};

/// The operator's decisions for one session.
#[derive(Debug)]
pub(crate) struct Gateway {
    pub(crate) catalog: Utf8PathBuf,
    pub(crate) profile: Option<String>,
    /// The session of all calls, if the operator named one.
    pub(crate) session: Option<String>,
    /// A name that no other process has: JSON-RPC ids begin anew in each process.
    pub(crate) process: String,
    /// The flags of the runs that perform calls.
    pub(crate) flags: Vec<String>,
    pub(crate) elicit: Elicit,
}

impl Gateway {
    /// The caller with this number, which is empty if there is only one.
    pub(super) fn caller(
        &self,
        number: &str,
        refs: &Arc<Mutex<Refs>>,
        sessions: Sessions,
    ) -> Arc<Caller> {
        let session = Session {
            process: format!("{}{number}", self.process),
            named: self.session.clone(),
            served: match &self.session {
                Some(named) => named.clone(),
                None => format!("sess-{}", self.process),
            },
        };
        Arc::new(Caller::new(session, Arc::clone(refs), sessions))
    }
}
