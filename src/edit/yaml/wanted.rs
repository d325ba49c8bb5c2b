//! What is asked of a YAML document.

use serde_json::Value;

/// An edit at a place of a YAML document.
#[derive(Debug)]
pub(crate) enum YamlEdit {
    /// Another value of the place.
    Update { value: Value, missing: MissingKey },
    /// A new last item of the sequence there.
    Append { value: Value },
    /// The member or the item there is taken out.
    Remove,
}

/// What is done if a mapping does not have the last key of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingKey {
    /// It may be a typing error.
    Refused,
    Created,
}
