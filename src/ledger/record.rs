//! The records of the ledger, a file for each kind: its columns, its rules, and the statements that write and find it.

mod after;
mod approval;
mod claim;
mod ends;
mod grant;
mod link;
mod review;
mod row;
mod session;

use crate::task::{Print, Produced};
use serde::{
    Deserialize, Serialize,
    de::{
        DeserializeOwned, IntoDeserializer as _,
        value::{Error, StrDeserializer},
    },
};

use super::store::sql::{Field, Value, Writer, text};

/// A link by its number and its hash.
pub(crate) use crate::task::LedgerRef as Head;
pub(crate) use approval::{Request, Vote};
pub(crate) use claim::{Claim, ClaimKey, ClaimState};
pub(crate) use ends::{Ends, NOTHING};
pub(crate) use grant::Grant;
pub(crate) use link::{Event, KNOTS, Link, MOST_BODY};
pub(crate) use review::Judgement;
pub(in crate::ledger) use row::{ALWAYS, RENAMED, UNRECORDED};
pub(crate) use row::{Row, RowOutcome, RowState};
pub(crate) use session::Session;

/// The number of a link in its ledger, from 1. In PostgreSQL, numbers can be missing.
pub(crate) type Seq = u64;

/// What it would mean to perform a request twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Effects {
    /// It changes nothing.
    None,
    /// Twice is the same as once.
    Idempotent,
    /// It must not happen twice.
    #[default]
    Once,
}

/// An input, as it was after the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SeenInput {
    pub(crate) print: Print,
    /// It was written during the run.
    pub(crate) changed_meanwhile: bool,
}

/// An asset or a file that was made, as it was then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Made {
    pub(crate) ref_id: String,
    pub(crate) storage_uri: String,
    pub(crate) asset_type: String,
    pub(crate) capability_id: String,
    pub(crate) parent_ref_id: Option<String>,
    pub(crate) print: Print,
}

impl Made {
    pub(crate) fn of(produced: &Produced, print: Print) -> Self {
        Self {
            ref_id: produced.ref_id.to_string(),
            storage_uri: produced.storage_uri.clone(),
            asset_type: produced.asset_type.clone(),
            capability_id: produced.capability_id.clone(),
            parent_ref_id: produced.parent_ref_id.as_ref().map(ToString::to_string),
            print,
        }
    }

    /// A file that is no asset. Its path stands for its ref.
    pub(crate) fn file(place: &str, asset_type: &str, capability_id: &str, print: Print) -> Self {
        Self {
            ref_id: place.to_owned(),
            storage_uri: place.to_owned(),
            asset_type: asset_type.to_owned(),
            capability_id: capability_id.to_owned(),
            parent_ref_id: None,
            print,
        }
    }

    pub(crate) fn is_asset(&self) -> bool {
        self.ref_id != self.storage_uri
    }
}

/// The stored name of a variant.
pub(crate) fn name(word: &impl Serialize) -> String {
    match serde_json::to_value(word) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}

/// The variant with that stored name.
pub(crate) fn word<'w, T: Deserialize<'w>>(name: &'w str) -> Option<T> {
    let name: StrDeserializer<'w, Error> = name.into_deserializer();
    T::deserialize(name).ok()
}

/// A field that is stored as a word of a list.
trait Word: Serialize + DeserializeOwned {}

impl Word for Effects {}

impl<T: Word> Field for T {
    fn put(&mut self, value: Value, _: Writer) -> Result<(), String> {
        *self = stored_word(value)?;
        Ok(())
    }

    fn take(&mut self) -> Value {
        Value::Text(name(self))
    }
}

fn stored_word<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    let name = text(value)?.unwrap_or_default();
    word(&name).ok_or_else(|| format!("is `{name}`, which is not an allowed value"))
}
