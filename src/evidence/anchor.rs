//! Reads anchors from files, and checks the signatures of copies of links.

use std::io::BufReader;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use super::signature::{PublicKey, Purpose, SignatureError, check};
use crate::{host, ledger::Anchor};

/// Why a file of anchors cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AnchorError {
    #[error("the anchor {path} cannot be read: {why}")]
    Unreadable { path: Utf8PathBuf, why: String },
    #[error(
        "{path} contains no anchor: neither a line of `oneact verify --anchor-out` nor an envelope with `output.content.oneact.ledger`"
    )]
    None { path: Utf8PathBuf },
}

/// The anchors of a file: lines of `--anchor-out`, envelopes, or both. Other JSON is skipped.
pub(crate) fn read_anchors(path: &Utf8Path) -> Result<Vec<Anchor>, AnchorError> {
    let unreadable = |why: String| AnchorError::Unreadable {
        path: path.to_owned(),
        why,
    };
    let file = host::open_named(path).map_err(|error| unreadable(error.to_string()))?;
    let values = serde_json::Deserializer::from_reader(BufReader::new(file)).into_iter::<Value>();
    let mut anchors = Vec::new();
    for value in values {
        let mut value = value.map_err(|error| unreadable(error.to_string()))?;
        let told = value.pointer_mut("/output/content/oneact/ledger");
        let told = told.map(Value::take);
        anchors.extend(Anchor::of(told.unwrap_or(value)));
    }
    if anchors.is_empty() {
        let path = path.to_owned();
        return Err(AnchorError::None { path });
    }
    Ok(anchors)
}

/// The key that signed a copy, or why the signature is refused; none without a signature.
pub(super) fn signer(
    anchor: &Anchor,
    signers: &[PublicKey],
) -> Option<Result<PublicKey, SignatureError>> {
    let signature = anchor.signature.as_ref()?;
    let text = anchor.text();
    Some(check(signature, &text, signers, Purpose::Ledger))
}
