//! Grants. The row of the answer that opened a grant says whether it was closed, and the claims of the calls name it.

use super::{Link, Seq};
use crate::{
    evidence::Body,
    ledger::store::{
        StoreError, Tx,
        columns::{Column, Kind, Record, SEQ, column},
        sql::{Engine, Field, Value, Writer, text},
    },
    task::Granted,
};

/// The consent to a limited number of calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
    const COLUMNS: &'static [Column<Self>] = &[
        column(SEQ, Kind::Count, |r| &mut r.seq),
        column("operation_id", Kind::Text, |r| &mut r.operation_id),
        column("session_id", Kind::Text, |r| &mut r.session_id),
        column("row_id", Kind::Text, |r| &mut r.row_id),
        column("home", Kind::Text, |r| &mut r.home),
        column("granted", Kind::Text, |r| &mut r.granted),
    ];

    fn table(engine: Engine) -> &'static str {
        engine.choose(["grants", "public.oneact_grants"])
    }
}

impl Grant {
    /// The grant that the answer of a link opens.
    pub(crate) fn made_by(link: &Link, body: &Body) -> Self {
        let row = body.row.as_ref();
        Self {
            seq: link.seq,
            operation_id: link.operation_id.clone(),
            session_id: link.session_id.clone(),
            row_id: row.map(|row| row.id.clone()).unwrap_or_default(),
            home: body.home.clone(),
            granted: body.grant.clone().unwrap_or_default(),
        }
    }
}

/// It is stored as JSON.
impl Field for Granted {
    fn put(&mut self, value: Value, _: Writer) -> Result<(), String> {
        let json = text(value)?.unwrap_or_default();
        *self = serde_json::from_str(&json).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn take(&mut self) -> Value {
        Value::Text(serde_json::to_string(self).unwrap_or_default())
    }
}

impl Tx<'_> {
    /// The grant that the answer of this row opened.
    pub(crate) fn grant(&mut self, row_id: &str) -> Result<Option<Grant>, StoreError> {
        self.one("WHERE row_id = ?1", &[row_id.into()])
    }
}
