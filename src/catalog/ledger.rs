//! `[ledger]` and `[profile.NAME]`: the place and use of the ledger, and the calling contexts.

use serde::Deserialize;

use crate::task::{CallContext, Failure, Fault, Reuse};

use super::document::{CatalogError, Tables};

/// `[profile.NAME]`: a calling context.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profile {
    pub(crate) context: CallContext,
    /// The only user who may choose the profile.
    pub(crate) uid: Option<u32>,
}

/// `[ledger]`: the place of the ledger, and how it is used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LedgerRule {
    /// `sqlite:PATH` or `postgres://…`; `None` means a file in the state directory.
    pub(crate) uri: Option<String>,
    pub(crate) reuse: Reuse,
    #[serde(rename = "required")]
    pub(crate) need: Need,
    /// An OpenSSH private key that signs the ledger's head; a relative path starts at the root.
    pub(crate) sign_key: Option<String>,
}

/// Whether a task is performed if it cannot be recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "bool")]
pub(crate) enum Need {
    #[default]
    Required,
    /// Read-only calls are performed without a record (`[ledger] required = false`).
    NotForReading,
}

impl From<bool> for Need {
    fn from(required: bool) -> Self {
        if required {
            Self::Required
        } else {
            Self::NotForReading
        }
    }
}

pub(crate) fn ledger_rule(tables: &Tables<'_>) -> Result<LedgerRule, CatalogError> {
    Ok(tables.get("ledger")?.unwrap_or_default())
}

pub(crate) fn profile(tables: &Tables<'_>, name: &str) -> Result<Profile, Failure> {
    let Some((named, profile)) = tables.entry::<Profile>("profile", name)? else {
        let names = tables.names("profile")?.join(", ");
        let known = if names.is_empty() {
            "the catalog has no profiles".to_owned()
        } else {
            format!("the catalog has only {names}")
        };
        let message = format!("--profile names `{name}`, but {known}");
        return Err(Failure::new(Fault::InvalidUsage, message));
    };
    if profile.context == CallContext::FsmInternal && profile.uid.is_none() {
        let problem = "has the context FSM_INTERNAL, so it must name the only user who may choose it; add e.g. uid = 1000";
        return Err(named.wrong(problem).into());
    }
    Ok(profile)
}

/// The profile that counts if the operator names none: the only one.
pub(crate) fn only_profile<'t>(tables: &'t Tables<'_>) -> Result<Option<&'t str>, CatalogError> {
    Ok(match tables.names("profile")?.as_slice() {
        [name] => Some(name),
        _ => None,
    })
}
