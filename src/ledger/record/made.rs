//! What a row says of the inputs and of what was made.

use serde::{Deserialize, Serialize};

use crate::task::{Print, Produced};

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
