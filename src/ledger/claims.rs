//! Claims: which run performs a request. The table of claims is a copy for fast searches; the links decide.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::task::OnDuplicate;

use super::{
    canonical::{canonical, sha256},
    chain::Body,
    record::{Claim, ClaimKey, ClaimState, Event, Link, Seq, word},
    store::{StoreError, Tx},
    words::{Ask, Who},
};

/// The number of links that are read at once.
pub(super) const PAGE: usize = 1024;

/// The open claims, by the number of the link that made them.
pub(super) type Opened = BTreeMap<Seq, Claim>;

/// The open claim of a delivery, which may be of another request. It is an error if the table says that it was sent, and
/// no link of that number claims it: then links were removed, and others may have taken their numbers.
pub(super) fn of_delivery(tx: &mut Tx<'_>, key: &ClaimKey) -> Result<Option<Claim>, StoreError> {
    let Some(said) = tx.claim(key)? else {
        return Ok(None);
    };
    let claims = |link: Link| {
        (link.is(Event::Reserved) || link.is(Event::TakenOver))
            && link.operation_id == said.operation_id
    };
    if said.may_have_happened() && !tx.link(said.seq)?.is_some_and(claims) {
        return Err(removed(tx, &said));
    }
    Ok(linked(tx, &said)?.filter(|claim| claim.key == *key))
}

/// The links that claim requests for the same delivery, the newest first. The links that were `examined` must be among
/// them.
pub(super) fn of_same_delivery(
    tx: &mut Tx<'_>,
    who: &Who<'_>,
    examined: &[Link],
) -> Result<Vec<(Link, Body)>, StoreError> {
    let Some(name) = name_of(who) else {
        return Ok(Vec::new());
    };
    let links = tx.links_of_delivery(who.session_id, &name)?;
    must_have(tx, &links, examined, |link| link.delivers(&name))?;
    let fits = |body: &Body| fits_attempt(who, body.attempt);
    let runs = links.into_iter().rev();
    let runs = runs.filter_map(|link| Some((link.body().filter(fits)?, link)));
    Ok(runs.map(|(body, link)| (link, body)).collect())
}

/// A key names a delivery whatever the attempt. If the caller does not count, every attempt fits.
pub(super) fn fits_attempt(who: &Who<'_>, attempt: Option<u32>) -> bool {
    who.idempotency_key.is_some() || who.attempt.is_none() || who.attempt == attempt
}

/// It is an error if an index did not lead to each of the `examined` links that are wanted.
pub(super) fn must_have(
    tx: &Tx<'_>,
    found: &[Link],
    examined: &[Link],
    is_wanted: impl Fn(&Link) -> bool,
) -> Result<(), StoreError> {
    let is_found = |seq| found.binary_search_by_key(&seq, |link| link.seq).is_ok();
    let mut wanted = examined.iter().filter(|link| is_wanted(link));
    match wanted.find(|link| !is_found(link.seq)) {
        Some(lost) => Err(tx.damaged(format!("no index leads to link {}", lost.seq))),
        None => Ok(()),
    }
}

/// The hash that names the delivery in links, the same for every attempt.
pub(super) fn name_of(who: &Who<'_>) -> Option<String> {
    let each = Who {
        attempt: None,
        ..*who
    };
    delivery_of(&each)
}

/// Makes the claim in the table that of the links, unless the table says that the request was sent, and the links do not.
pub(super) fn restore(tx: &mut Tx<'_>, claim: &Claim) -> Result<(), StoreError> {
    let said = tx.claim(&claim.key)?;
    if said.as_ref() == Some(claim) {
        return Ok(());
    }
    if let Some(said) = said.filter(|said| said.seq == claim.seq && said.may_have_happened())
        && !claim.may_have_happened()
    {
        return Err(removed(tx, &said));
    }
    tx.restore_claim(claim)
}

/// Writes the claim of a new link. If another claim has its number, links were removed, or somebody added that claim.
pub(super) fn put(tx: &mut Tx<'_>, claim: &Claim) -> Result<(), StoreError> {
    match tx.claim_at(claim.seq)? {
        Some(said) if said.may_have_happened() => Err(removed(tx, &said)),
        Some(_) => tx.restore_claim(claim),
        None => tx.put_claim(claim),
    }
}

fn removed(tx: &mut Tx<'_>, claim: &Claim) -> StoreError {
    tx.damaged(format!(
        "the claim of operation {} says that its request was sent, but link {} does not claim it: links were removed, or \
         the claim was added by another program",
        claim.operation_id, claim.seq
    ))
}

/// A claim as the links record it; none if it is not open by the links.
pub(super) fn linked(tx: &mut Tx<'_>, said: &Claim) -> Result<Option<Claim>, StoreError> {
    let link = tx.link(said.seq)?;
    match link.and_then(|link| Some((link.body()?.request_hash?, link.session_id))) {
        Some((request_hash, session_id)) => open(tx, &session_id, &request_hash, said.seq),
        None => Ok(None),
    }
}

/// The claim that link `seq` made, as the later links record it; none if it is not open by the links.
pub(super) fn open(
    tx: &mut Tx<'_>,
    session_id: &str,
    request_hash: &str,
    seq: Seq,
) -> Result<Option<Claim>, StoreError> {
    let links = tx.links_about(session_id, request_hash, seq, usize::MAX)?;
    let claim = tx.link(seq)?.filter(|link| link.session_id == session_id);
    must_have(tx, &links, claim.as_slice(), |link| {
        link.tells_of(request_hash)
    })?;
    let mut opened = Opened::new();
    for link in links {
        match link.body() {
            Some(body) => follow(&mut opened, &link, &body),
            None => return Err(tx.damaged(format!("link {} cannot be read", link.seq))),
        }
    }
    Ok(opened.remove(&seq))
}

/// All open claims, by the links alone. A row of `claims` that was changed could lead to another operation.
pub(super) fn opened(tx: &mut Tx<'_>) -> Result<Opened, StoreError> {
    let mut opened = Opened::new();
    let mut from = 0;
    loop {
        let links = tx.links(from, PAGE)?;
        for link in &links {
            if link.hash() != link.entry_hash {
                return Err(tx.damaged(format!("link {} was changed", link.seq)));
            }
            if let Some(body) = link.body() {
                follow(&mut opened, link, &body);
            }
        }
        match links.last() {
            Some(last) => from = last.seq + 1,
            None => return Ok(opened),
        }
    }
}

/// Settles this run's claim and returns it; none if it was taken over.
pub(super) fn settle(
    tx: &mut Tx<'_>,
    key: &ClaimKey,
    request_hash: &str,
    seq: Seq,
) -> Result<Option<Claim>, StoreError> {
    let ours = open(tx, &key.session_id, request_hash, seq)?.filter(|claim| claim.key == *key);
    tx.drop_claim(key, Some(seq))?;
    Ok(ours)
}

pub(super) fn follow(opened: &mut Opened, link: &Link, body: &Body) {
    if let Some(seq) = body.claim {
        let state = match word(&link.event) {
            Some(Event::Dispatched) => Some(ClaimState::Dispatched),
            Some(Event::Unknown) => Some(ClaimState::Unknown),
            _ => None,
        };
        match (state, opened.get_mut(&seq)) {
            (Some(state), Some(claim)) => claim.state = state,
            (Some(_), None) => {}
            (None, _) => drop(opened.remove(&seq)),
        }
    }
    if link.is(Event::Reserved) || link.is(Event::TakenOver) {
        let claimed = body.claimed.as_ref().or(body.request_hash.as_ref());
        let claim = Claim {
            key: ClaimKey {
                session_id: link.session_id.clone(),
                request_hash: claimed.cloned().unwrap_or_default(),
            },
            operation_id: link.operation_id.clone(),
            seq: link.seq,
            state: ClaimState::Reserved,
            effects: body.effects(),
        };
        opened.insert(link.seq, claim);
    }
}

/// The key that a run claims: the request. If duplicates are repeated, it is the delivery, or the operation if the
/// caller names no delivery.
pub(super) fn claim_key(ask: &Ask<'_>, request_hash: &str) -> ClaimKey {
    let who = &ask.who;
    let claimed = match ask.on_duplicate {
        OnDuplicate::Reuse { .. } | OnDuplicate::Suppress(_) => request_hash.to_owned(),
        OnDuplicate::Repeat => delivery_of(who).unwrap_or_else(|| who.operation_id.to_owned()),
    };
    ClaimKey {
        session_id: who.session_id.to_owned(),
        request_hash: claimed,
    }
}

/// The hash of what names the delivery; none if the caller names none.
pub(super) fn delivery_of(who: &Who<'_>) -> Option<String> {
    match (who.idempotency_key, who.task_id) {
        (None, None) => None,
        (Some(key), _) => Some(keyed(key)),
        (None, Some(task_id)) => Some(delivery(&json!({
            "request_id": who.request_id,
            "task_id": task_id,
            "attempt": who.attempt,
        }))),
    }
}

/// The name of the delivery with that key.
pub(super) fn keyed(key: &str) -> String {
    delivery(&json!({"idempotency_key": key}))
}

pub(super) fn delivery(named: &Value) -> String {
    format!("delivery:{}", sha256(canonical(named)))
}
