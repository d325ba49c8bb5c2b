//! `[ledger]` and `[profile.NAME]`: where the record is, and who calls.

use serde::Deserialize;

use crate::task::{CallContext, Failure, Fault, Reuse};

use super::document::{CatalogError, Tables};

/// `[ledger]`: where the record is, and what it is used for.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLedger {
    uri: Option<String>,
    reuse: Option<bool>,
    required: Option<bool>,
    sign_key: Option<String>,
}

/// `[profile.NAME]`: who calls.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProfile {
    context: CallContext,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LedgerRule {
    /// `sqlite:PATH` or `postgres://…`; none = a file in the state directory.
    pub(crate) uri: Option<String>,
    pub(crate) reuse: Reuse,
    pub(crate) need: Need,
    /// An OpenSSH private key by which the ledger's head is signed; a relative path starts at the root.
    pub(crate) sign_key: Option<String>,
}

/// What is done where nothing can be recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Need {
    #[default]
    Required,
    /// What only reads (`[ledger] required = false`).
    NotForReading,
}

pub(crate) fn ledger_rule(tables: &Tables<'_>) -> Result<LedgerRule, CatalogError> {
    let raw: RawLedger = tables.get("ledger")?.unwrap_or_default();
    Ok(LedgerRule {
        uri: raw.uri,
        reuse: match raw.reuse {
            Some(false) => Reuse::Off,
            Some(true) | None => Reuse::Allowed,
        },
        need: match raw.required {
            Some(false) => Need::NotForReading,
            Some(true) | None => Need::Required,
        },
        sign_key: raw.sign_key,
    })
}

pub(crate) fn profile(tables: &Tables<'_>, name: &str) -> Result<CallContext, Failure> {
    if let Some((_, profile)) = tables.entry::<RawProfile>("profile", name)? {
        return Ok(profile.context);
    }
    let names = tables.names("profile")?.join(", ");
    let known = if names.is_empty() {
        "the catalog has none".to_owned()
    } else {
        format!("the catalog has {names}")
    };
    let message = format!("--profile names `{name}`, and {known}");
    Err(Failure::new(Fault::InvalidUsage, message))
}
