//! Grants. The row of the answer that opened a grant says whether it was closed, and the claims of the calls name it.

use serde::{Deserialize, Serialize};

use super::{
    super::store::{Record, Result, Seq, Tx},
    body::Body,
    link::{Link, Testified},
};
use crate::task::Granted;

/// The consent to a limited number of calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Grant {
    /// The link of the answer that opened it.
    pub(crate) seq: Seq,
    pub(crate) operation_id: String,
    pub(crate) session_id: String,
    /// The row of that answer.
    pub(crate) row_id: String,
    /// The name of the root in which it was opened.
    pub(crate) home: Option<String>,
    pub(crate) granted: Granted,
}

impl Record for Grant {
    const TABLE: [&'static str; 2] = ["grants", "public.oneact_grants"];
}

impl Testified for Grant {
    fn made_by(link: &Link, body: &Body) -> Option<Self> {
        let row = body.row.as_ref();
        Some(Self {
            seq: link.seq,
            operation_id: link.operation_id.clone(),
            session_id: link.session_id.clone(),
            row_id: row.map(|row| row.id.clone()).unwrap_or_default(),
            home: body.home.clone(),
            granted: body.grant.clone()?,
        })
    }
}

impl Tx<'_> {
    /// The grant that the answer of this row opened.
    pub(crate) fn grant(&mut self, row_id: &str) -> Result<Option<Grant>> {
        self.one("WHERE row_id = ?1", &[row_id.into()])
    }
}
