//! A receipt of one answer, which somebody without the ledger can check against an anchor: a Statement of in-toto
//! (<https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md>). docs/evidence.md describes it.

use serde_json::{Value, json};

use crate::ledger::{
    Anchor, Link, Row, StoreError, Tx,
    record::{KNOTS, name},
};

const STATEMENT: &str = "https://in-toto.io/Statement/v1";
const PREDICATE: &str = "urn:oneact:receipt:v1";

/// The links that lead from an answer to an anchor. Each contains the hash of the one before. A first one that is a knot
/// contains a hash over many hashes, that of the answer's link among them.
#[derive(Debug)]
pub(crate) struct Path {
    tied: Vec<String>,
    links: Vec<Link>,
}

/// The path from the link of an answer to the first of these anchors that vouches for it; none if none does. Without anchors,
/// it leads to the first knot after the answer, or else to the last link of its session.
pub(crate) fn path(
    tx: &mut Tx<'_>,
    own: &Link,
    anchors: &[Anchor],
) -> Result<Option<Path>, StoreError> {
    if anchors.is_empty() {
        let end = match tx.link_after(KNOTS, own.seq)? {
            Some(knot) => Some(knot),
            None => tx.last_link(&own.session_id)?,
        };
        return path_to(tx, own, end.as_ref().unwrap_or(own));
    }
    let mut anchors: Vec<&Anchor> = anchors.iter().filter(|note| note.seq >= own.seq).collect();
    anchors.sort_by_key(|note| note.seq);
    for anchor in anchors {
        let Some(end) = tx.link(anchor.seq)? else {
            continue;
        };
        if end.entry_hash == anchor.entry_hash
            && let Some(path) = path_to(tx, own, &end)?
        {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

fn path_to(tx: &mut Tx<'_>, own: &Link, end: &Link) -> Result<Option<Path>, StoreError> {
    let mut links = tx.links_between(KNOTS, own.seq, end.seq)?;
    let (tied, after) = match (links.first(), links.last()) {
        (Some(first), Some(last)) => (tx.tied_by(first.seq)?, last.seq),
        _ if end.session_id != own.session_id => return Ok(None),
        _ => (Vec::new(), own.seq),
    };
    links.extend(tx.links_between(&end.session_id, after, end.seq)?);
    Ok(Some(Path { tied, links }))
}

/// The receipt of a row that matches its link.
pub(crate) fn statement(row: &Row, own: &Link, path: &Path) -> Value {
    let subject = |name: &str, sha256: &str| json!({"name": name, "digest": {"sha256": sha256}});
    // Of the files that were made, the chain has BLAKE3 hashes, which stand in the row.
    let subjects = [
        subject("response", &row.response_sha256),
        subject("request", &row.request_sha256),
    ];
    let told = own.body().and_then(|body| body.told);
    let end = path.links.last().unwrap_or(own);
    json!({
        "_type": STATEMENT,
        "subject": subjects,
        "predicateType": PREDICATE,
        "predicate": {
            "operation_id": row.operation_id,
            "capability": row.action_type,
            "request_hash": row.request_hash,
            "entry_digest": row.entry_digest,
            "state": row.state.map(|state| name(&state)),
            "effect": told.map(|told| name(&told.effect)),
            "row": row.sealed_text(),
            "link": own,
            "tied": path.tied,
            "links": path.links,
            "anchor": {"seq": end.seq, "entry_hash": end.entry_hash},
        },
    })
}
