//! The hash chains: every link contains the hash of the previous one of its session, so whoever changes a link must also
//! change all later ones. From time to time a knot contains a hash over all links since the knot before, and the next
//! link of each session contains the hash of the knot.

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};

use super::{
    record::{
        Body, Claim, Event, Grant, Head, Judgement, KNOTS, Link, Request, Session, Testified as _,
        Vote, name,
    },
    store::{Result, Tx},
};
use crate::task::hexadecimal;

/// Who causes a link, and when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stamp<'a> {
    pub(crate) operation_id: &'a str,
    pub(crate) session_id: &'a str,
    pub(crate) at: Timestamp,
    pub(crate) actor: &'a str,
}

/// How old a link becomes before a run that ends ties it. A link from the future is tied as well.
const TIE_AFTER: SignedDuration = SignedDuration::from_secs(10);

/// Whether a knot is to be made, because a link of that time has none yet.
pub(crate) fn is_due(untied_since: Option<&str>, now: Timestamp) -> bool {
    let since = untied_since.and_then(|at| at.parse::<Timestamp>().ok());
    since.is_some_and(|since| now.duration_since(since).abs() >= TIE_AFTER)
}

/// Ties the chains of all sessions together, if it is time. No other transaction may write meanwhile.
pub(crate) fn tie(tx: &mut Tx<'_>, stamp: Stamp<'_>) -> Result<()> {
    let ends = tx.ends(KNOTS)?;
    if !is_due(ends.untied_since.as_deref(), stamp.at) {
        return Ok(());
    }
    let stamp = Stamp {
        session_id: KNOTS,
        ..stamp
    };
    append(tx, Event::Tied, stamp, &Body::default()).map(drop)
}

/// Appends a link, and changes the tables as it says. Rows of `agent_actions` are the caller's.
pub(crate) fn add_link(
    tx: &mut Tx<'_>,
    event: Event,
    stamp: Stamp<'_>,
    body: &Body,
) -> Result<Head> {
    let link = next(tx, event, stamp, body)?;
    tx.advance(&link, body)?;
    tx.testify::<Claim>(&link, body)?;
    tx.testify::<Session>(&link, body)?;
    if let Some(request) = Request::made_by(&link, body) {
        tx.put_request(&request)?;
    }
    tx.settle_request(&link, body)?;
    tx.testify::<Vote>(&link, body)?;
    tx.testify::<Grant>(&link, body)?;
    tx.testify::<Judgement>(&link, body)?;
    Ok(link.head())
}

/// Appends a link that changes no table.
pub(crate) fn append(tx: &mut Tx<'_>, event: Event, stamp: Stamp<'_>, body: &Body) -> Result<Head> {
    Ok(next(tx, event, stamp, body)?.head())
}

/// Adds the next link of a session. A link without a session is a knot; no other transaction may write meanwhile.
fn next(tx: &mut Tx<'_>, event: Event, stamp: Stamp<'_>, body: &Body) -> Result<Link> {
    let seq = tx.next_seq(stamp.session_id)?;
    let ends = tx.ends(stamp.session_id)?;
    let (number, prev_hash) = ends.follow();
    let mut body = body.clone();
    if stamp.session_id == KNOTS {
        let since = ends.knot.map_or(0, |knot| knot.seq);
        let mut tied = Tied::default();
        for entry_hash in tx.entry_hashes(since)? {
            tied.add(&entry_hash);
        }
        body.tied = Some(tied.hash());
    }
    let mut link = Link {
        seq,
        operation_id: stamp.operation_id.to_owned(),
        session_id: stamp.session_id.to_owned(),
        number,
        event: name(&event),
        at: instant(stamp.at),
        actor: stamp.actor.to_owned(),
        body: body.json(),
        prev_hash,
        entry_hash: String::new(),
    };
    link.entry_hash = link.hash();
    tx.append(&link)?;
    Ok(link)
}

/// What a knot states about the links before it: SHA-256 over their hashes in the order of their numbers, each with a line
/// feed after it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tied(Sha256);

impl Tied {
    pub(crate) fn add(&mut self, entry_hash: &str) {
        self.0.update(entry_hash);
        self.0.update("\n");
    }

    pub(crate) fn hash(&self) -> String {
        hexadecimal(&self.0.clone().finalize())
    }
}

/// A time as the ledger writes it: RFC 3339, UTC, milliseconds.
pub(crate) fn instant(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        ledger::{
            AskedApproval, Bound, NOTHING, StateChange, Told,
            canonical::{canonical, sha256},
            record::{RowSeal, SessionSeal, changes},
        },
        task::{Effect, Granted},
    };

    #[test]
    fn what_is_hashed_and_what_a_link_says_are_written_as_rfc_8785_has_them() {
        let text = |text: &str| Some(text.to_owned());
        let body = Body {
            about: text("op_1"),
            approval: text("apr_1"),
            asked: Some(AskedApproval {
                bound: Bound::Call,
                expires_at: "t".to_owned(),
                intent_hash: "i".to_owned(),
                nonce: "n".to_owned(),
                policy: "p".to_owned(),
                preview_hash: None,
                root: text("/r"),
                whole: text("sha256:2"),
            }),
            signature: text("s"),
            action: text("\"é\u{1f}"),
            changes: changes(StateChange::State),
            told: Some(Told {
                effect: Effect::None,
                recoverable: true,
            }),
            claim: Some(7),
            attempt: Some(3),
            claimed: text("delivery:1"),
            continues: Some(2),
            delivery: text("delivery:2"),
            effects: text("once"),
            entry_digest: text("d"),
            fence: text("hmac-sha256:1"),
            grant: Some(Granted {
                entries: [("e".to_owned(), "s".to_owned())].into(),
                max_calls: 2,
                until: "u".to_owned(),
            }),
            home: text("/r"),
            host: text("h"),
            key: text("k"),
            note: text("n\n/"),
            reason: text("new"),
            request_hash: text("sha256:1"),
            row: Some(RowSeal {
                id: "i".to_owned(),
                request_sha256: "1".to_owned(),
                response_sha256: "2".to_owned(),
                row_sha256: "3".to_owned(),
            }),
            rows: vec!["a".to_owned()],
            session: Some(SessionSeal {
                context: "c".to_owned(),
                profile: "p".to_owned(),
            }),
            task: text("t"),
            tied: text("k"),
            under: text("op_2"),
        };
        let told = serde_json::to_value(&body).unwrap();
        assert_eq!(body.json(), canonical(&told));
        assert_eq!(told.as_object().unwrap().len(), 28);
        let link = Link {
            seq: 3,
            operation_id: "op_3".to_owned(),
            session_id: "s".to_owned(),
            number: 2,
            event: "succeeded".to_owned(),
            at: "2026-02-24T10:00:00.000Z".to_owned(),
            actor: "uid:1000".to_owned(),
            body: body.json(),
            prev_hash: NOTHING.to_owned(),
            entry_hash: "not in it".to_owned(),
        };
        let hashed: serde_json::Value = json!({
            "seq": link.seq, "operation_id": link.operation_id, "session_id": link.session_id, "number": link.number,
            "event": link.event,
            "at": link.at, "actor": link.actor, "body": link.body, "prev_hash": link.prev_hash,
        });
        assert_eq!(link.hash(), sha256(canonical(&hashed)));
    }

    #[test]
    fn a_long_action_does_not_hide_the_task_of_its_link() {
        let task = Some("t".repeat(512));
        let body = Body {
            action: Some("a".repeat(4160)),
            task: task.clone(),
            home: Some("/h".repeat(100)),
            ..Body::default()
        };
        let text = body.fitting().json();
        assert!(text.len() <= 4096);
        let told: Body = serde_json::from_str(&text).unwrap();
        assert_eq!(told.task, task);
    }
}
