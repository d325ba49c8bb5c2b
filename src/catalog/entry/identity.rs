//! When two requests are the same, and what happens to the second one (R-004-58, C-36).

use std::time::Duration;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{
    bind::{Bound, first_part, pointer},
    common::{COMMON, Common},
    rules::ResultKind,
};
use crate::{
    catalog::file::document::{CatalogError, Named},
    task::{Effects, Ground, OnDuplicate, Repeatable, Unless, canonical, hexadecimal},
};

/// What makes two requests of this entry the same, and what happens to the second one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// A person raises it so that the same request is performed again.
    pub(crate) version: Option<u32>,
    /// Everything in the catalog that decides what a call does, as canonical JSON (RFC 8785).
    pub(crate) entry: String,
    /// Parameters that differ between runs and are not part of the request.
    pub(crate) volatile: Vec<String>,
    /// JSON Pointers into the parameters. Two once-only calls with the same values there are the same action.
    pub(crate) fence: Vec<String>,
    pub(crate) on_duplicate: OnDuplicate,
}

/// The keys of a tool's entry that decide when two requests are the same.
pub(crate) struct SameKeys<'a> {
    pub(crate) volatile: &'a [String],
    pub(crate) fence: Option<&'a [String]>,
    pub(crate) bind: &'a [Bound],
    pub(crate) result: Option<ResultKind>,
}

/// How long an answer is valid for the same content, unless `open_world = false`.
const OPEN_WORLD: Duration = Duration::from_mins(5);

/// The identity from the entry; its `effects` decide what the entry does not say.
pub(crate) fn compile(
    named: &Named<'_>,
    common: &Common,
    said: &SameKeys<'_>,
    server: &str,
) -> Result<Identity, CatalogError> {
    let effects = common.effects.unwrap_or_default();
    Ok(Identity {
        version: common.version,
        entry: entry(named, Some(server))?,
        volatile: said.volatile.to_vec(),
        fence: fence(named, said, effects)?,
        on_duplicate: match &common.on_duplicate {
            Some(said) => said.rule(effects, named)?,
            None => unsaid(effects, said.result),
        },
    })
}

/// The default of `on_duplicate` (C-35, C-36). A call that only reads, or only makes an asset, is answered from
/// the ledger while its inputs are the same. A destructive and idempotent call runs again, because an old answer
/// proves nothing about the state now. Any other call is not performed twice.
fn unsaid(effects: Effects, kind: Option<ResultKind>) -> OnDuplicate {
    let makes_asset = matches!(kind, Some(ResultKind::Asset | ResultKind::Analysis));
    if effects.read_only == Some(true) || (effects.is_harmless() && makes_asset) {
        let ttl = (effects.open_world != Some(false)).then_some(OPEN_WORLD);
        let ground = Ground::Content;
        return OnDuplicate::Reuse { ttl, ground };
    }
    match (effects.idempotent, effects.destructive) {
        (Some(true), Some(true)) => OnDuplicate::Repeat,
        _ => OnDuplicate::Suppress(Unless::InputsChanged),
    }
}

/// The pointers of `fence`. The name of a parameter stands for its pointer.
fn fence(
    named: &Named<'_>,
    said: &SameKeys<'_>,
    effects: Effects,
) -> Result<Vec<String>, CatalogError> {
    let Some(fence) = said.fence else {
        return Ok(Vec::new());
    };
    let wrong = |problem: &str| named.wrong_in("fence", &format!("`fence` {problem}"));
    if effects.repeatable() == Repeatable::Yes {
        return Err(wrong(
            "is of a call that may be repeated, because `effects` says read_only or idempotent; remove one of the two",
        ));
    }
    let pointer_to = |field: &String| {
        if field.starts_with('/') {
            field.clone()
        } else {
            pointer(field)
        }
    };
    let pointers: Vec<String> = fence.iter().map(pointer_to).collect();
    if pointers.is_empty() || pointers.iter().any(|pointer| pointer == "/") {
        return Err(wrong(
            "must name at least one parameter, e.g. [\"invoice_id\"]",
        ));
    }
    // A file can be spelt in many ways, and the final place of an asset is another one for each task.
    let is_filled = |pointer: &&String| {
        let mut bound = said.bind.iter();
        bound.any(|bound| first_part(pointer) == bound.parameter)
    };
    match pointers.iter().find(is_filled) {
        Some(filled) => Err(wrong(&format!(
            "names `{filled}`, which `bind` fills: name a parameter of the task"
        ))),
        None => Ok(pointers),
    }
}

impl Identity {
    /// SHA-256 over the entry and its server.
    pub(crate) fn digest(&self) -> String {
        hexadecimal(&Sha256::digest(&self.entry))
    }
}

/// The entry and its server as the catalog writes them, without the keys that do not change what a call does.
pub(crate) fn entry(named: &Named<'_>, server: Option<&str>) -> Result<String, CatalogError> {
    written(named, server, |key| {
        !COMMON.contains(&key) && key != "provenance"
    })
}

/// SHA-256 over all keys of the entry and of its server.
pub(crate) fn whole(named: &Named<'_>, server: Option<&str>) -> Result<String, CatalogError> {
    let text = written(named, server, |_| true)?;
    Ok(hexadecimal(&Sha256::digest(text)))
}

fn written(
    named: &Named<'_>,
    server: Option<&str>,
    counts: fn(&str) -> bool,
) -> Result<String, CatalogError> {
    let mut entry = named.keys()?;
    entry.retain(|key, _| counts(key));
    let server = server.map(|name| named.tables.named("server", name));
    let server = match server.transpose()?.flatten() {
        Some(server) => server.keys()?.into(),
        None => Value::Null,
    };
    let text = canonical(&Value::Array(vec![entry.into(), server]));
    // Every number of TOML is a double or a 64-bit integer, so each table has a canonical form.
    Ok(text.unwrap_or_default())
}
