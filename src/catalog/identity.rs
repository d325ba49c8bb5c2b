//! When two requests are the same, and what happens to the second one (R-004-58, C-36).

use std::time::Duration;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use toml::Spanned;

use crate::task::{
    Effects, Ground, OnDuplicate, Repeatable, Unless, canonical, duration, hexadecimal,
};

use super::{
    bind::pointer,
    code::Code,
    document::{CatalogError, Named},
    entry::{Identity, ResultKind},
    raw::{RawCapability, RawDuplicateMode, RawOnDuplicate},
};

/// Keys of an entry that do not change what a call does. Entries of every kind can have them.
pub(super) const WITHOUT_EFFECT: &[&str] = &[
    "name",
    "description",
    "version",
    "is_action",
    "available_in",
    "intrinsic_amplifiers",
    "approval",
    "aliases",
    "tags",
    "examples",
    "provenance",
    "effects",
    "on_duplicate",
    "timeout",
    "timeout_max",
    // A review begins after the call. An answer from before these keys is under review by the entry of now
    // (`ledger::review`), so it is never given without the review that the entry demands.
    "requires_post_review",
    "review",
];

/// How long an answer is valid for the same content, unless `open_world = false`.
const OPEN_WORLD: Duration = Duration::from_mins(5);

/// The identity from the entry; its `effects` decide what the entry does not say.
pub(super) fn compile(
    named: Named<'_>,
    raw: &RawCapability,
    effects: Effects,
) -> Result<Identity, CatalogError> {
    Ok(Identity {
        version: raw.version,
        entry: entry(named, server(raw))?,
        volatile: raw.volatile.clone(),
        fence: fence(named, raw, effects)?,
        on_duplicate: match &raw.on_duplicate {
            Some(said) => duplicates(named, said, effects)?,
            None => unsaid(effects, raw),
        },
    })
}

/// The default of `on_duplicate` (C-35, C-36). A call that only reads, or only makes an asset, is answered from
/// the ledger while its inputs are the same. A destructive and idempotent call runs again, because an old answer
/// proves nothing about the state now. Any other call is not performed twice.
fn unsaid(effects: Effects, raw: &RawCapability) -> OnDuplicate {
    let kind = raw.result.as_ref().and_then(|result| result.kind);
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
    named: Named<'_>,
    raw: &RawCapability,
    effects: Effects,
) -> Result<Vec<String>, CatalogError> {
    let Some(said) = &raw.fence else {
        return Ok(Vec::new());
    };
    let wrong = |problem: &str| named.wrong_at(said.span().start, &format!("`fence` {problem}"));
    if effects.repeatable() == Repeatable::Yes {
        return Err(wrong(
            "is of a call that may be repeated, because `effects` says read_only or idempotent; remove one of the two",
        ));
    }
    let pointers: Vec<String> = said
        .get_ref()
        .iter()
        .map(|field| pointer_to(field))
        .collect();
    if pointers.is_empty() || pointers.iter().any(|pointer| pointer == "/") {
        return Err(wrong(
            "must name at least one parameter, e.g. [\"invoice_id\"]",
        ));
    }
    // A file can be spelt in many ways, and the final place of an asset is another one for each task.
    let is_filled = |pointer: &String| {
        let mut bound = raw.bind.keys().map(|name| self::pointer(name));
        bound.any(|bound| *pointer == bound || pointer.starts_with(&format!("{bound}/")))
    };
    if let Some(filled) = pointers.iter().find(|pointer| is_filled(pointer)) {
        return Err(wrong(&format!(
            "names `{filled}`, which `bind` fills: name a parameter of the task"
        )));
    }
    Ok(pointers)
}

fn pointer_to(field: &str) -> String {
    if field.starts_with('/') {
        field.to_owned()
    } else {
        pointer(field)
    }
}

pub(super) fn duplicates(
    named: Named<'_>,
    said: &Spanned<RawOnDuplicate>,
    effects: Effects,
) -> Result<OnDuplicate, CatalogError> {
    let wrong = |at: usize, problem: &str| named.wrong_at(at, &format!("`on_duplicate` {problem}"));
    let (at, said) = (said.span().start, said.get_ref());
    let ttl = said
        .ttl
        .as_ref()
        .map(|text| duration(text.get_ref()).map_err(|problem| wrong(text.span().start, &problem)));
    let ttl = ttl.transpose()?;
    match said.mode {
        RawDuplicateMode::Reuse => {
            // A missing hint counts as the worst.
            if !effects.is_harmless() && effects.read_only != Some(true) {
                return Err(wrong(
                    at,
                    "cannot be `reuse` for a capability that may be destructive or may not be idempotent; \
                     write `suppress`, or declare its `effects`",
                )
                .coded(Code::CAT033));
            }
            if ttl.is_none() && effects.open_world != Some(false) {
                return Err(wrong(
                    at,
                    "needs a `ttl`, because the open world changes; add e.g. ttl = \"5m\", or add open_world \
                     = false to `effects`",
                )
                .coded(Code::CAT032));
            }
            Ok(OnDuplicate::Reuse {
                ttl,
                ground: Ground::Declared,
            })
        }
        RawDuplicateMode::Suppress | RawDuplicateMode::Repeat if ttl.is_some() => Err(wrong(
            at,
            "has a `ttl`, which is allowed only with `reuse`; remove it",
        )),
        RawDuplicateMode::Suppress => Ok(OnDuplicate::Suppress(Unless::InputsChanged)),
        RawDuplicateMode::Repeat => Ok(OnDuplicate::Repeat),
    }
}

impl Identity {
    /// SHA-256 over the entry and its server.
    pub(crate) fn digest(&self) -> String {
        hexadecimal(&Sha256::digest(&self.entry))
    }
}

fn server(raw: &RawCapability) -> Option<&str> {
    Some(raw.mcp.as_ref()?.server.get_ref())
}

/// The entry and its server as the catalog writes them, without the keys of `WITHOUT_EFFECT`.
pub(super) fn entry(named: Named<'_>, server: Option<&str>) -> Result<String, CatalogError> {
    written(named, server, WITHOUT_EFFECT)
}

/// SHA-256 over all keys of the entry and of its server.
pub(super) fn whole(named: Named<'_>, raw: &RawCapability) -> Result<String, CatalogError> {
    let text = written(named, server(raw), &[])?;
    Ok(hexadecimal(&Sha256::digest(text)))
}

fn written(
    named: Named<'_>,
    server: Option<&str>,
    without: &[&str],
) -> Result<String, CatalogError> {
    let table = |group: &str, name: &str| -> Result<Value, CatalogError> {
        let found = named.tables.entry::<Map<String, Value>>(group, name)?;
        Ok(found.map_or(Value::Null, |(_, table)| Value::Object(table)))
    };
    let mut entry = table(named.group, named.name)?;
    if let Some(keys) = entry.as_object_mut() {
        keys.retain(|key, _| !without.contains(&key.as_str()));
    }
    let server = server.map_or(Ok(Value::Null), |name| table("server", name))?;
    let text = canonical(&Value::Array(vec![entry, server]));
    // Every number of TOML is a double or a 64-bit integer, so each table has a canonical form.
    Ok(text.unwrap_or_default())
}
