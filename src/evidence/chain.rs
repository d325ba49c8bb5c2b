//! The hash chains: every link contains the hash of the previous one of its session, so whoever changes a link must also
//! change all later ones. From time to time a knot contains a hash over all links since the knot before, and the next
//! link of each session contains the hash of the knot.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{canonical::canonical, exact, sha256};
use crate::{
    ledger::{
        Claim, ClaimKey, Effects, Event, Head, Link, Row, Seq, Session, StoreError, Tx,
        record::{KNOTS, MOST_BODY, name, word},
        store::{Record as _, Sealed},
    },
    task::{Effect, Granted, hexadecimal},
};

/// The body of a link: hashes and names, never parameters, in at most 4 KiB. Its JSON is canonical and leaves out
/// empty members.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Body {
    /// The other operation or row that this link is about.
    pub(crate) about: Option<String>,
    /// The catalog entries of a claim. If the owner dies, there is no row with them.
    pub(crate) action: Option<String>,
    /// The id of the approval that this link requests, gives, denies, uses or ends.
    pub(crate) approval: Option<String>,
    /// What an approval has to be for.
    pub(crate) asked: Option<AskedApproval>,
    /// Of a claim or a repeated answer with a delivery: the attempt.
    pub(crate) attempt: Option<u32>,
    /// `state` if the request may change what later reads return.
    pub(crate) changes: Option<String>,
    /// The number of the claim that this link settles or advances.
    pub(crate) claim: Option<Seq>,
    /// The key of a claim, if that is not the request's hash.
    pub(crate) claimed: Option<String>,
    /// Of a claim of a task of several steps: the claim with which the unfinished task began that this run continues.
    pub(crate) continues: Option<Seq>,
    /// Of a claim or a repeated answer: the hash that names its delivery, without the attempt.
    pub(crate) delivery: Option<String>,
    /// Of a claim: the name of its [`Effects`](super::Effects).
    pub(crate) effects: Option<String>,
    pub(crate) entry_digest: Option<String>,
    /// Of a claim: the hash of the action, if the entry has a `fence`.
    pub(crate) fence: Option<String>,
    /// The grant that the answer opens.
    pub(crate) grant: Option<Granted>,
    /// The root in which a claimed plan is performed, or in which a grant was opened.
    pub(crate) home: Option<String>,
    /// The host that told the decision of its user.
    pub(crate) host: Option<String>,
    /// SHA-256 of the key for secrets that was made.
    pub(crate) key: Option<String>,
    /// The reason that a person gave.
    pub(crate) note: Option<String>,
    /// The name of the reason why the request was performed, or not.
    pub(crate) reason: Option<String>,
    pub(crate) request_hash: Option<String>,
    pub(crate) row: Option<RowSeal>,
    pub(crate) rows: Vec<String>,
    pub(crate) session: Option<SessionSeal>,
    /// The signature of a decision, without its armour.
    pub(crate) signature: Option<String>,
    pub(crate) task: Option<String>,
    /// Of a knot: SHA-256 over the hashes of the knot before and of all links since.
    pub(crate) tied: Option<String>,
    /// Of an answer.
    pub(crate) told: Option<Told>,
    /// The operation whose grant covers the dispatched call.
    pub(crate) under: Option<String>,
}

impl Body {
    /// The effects of a claim. An unreadable word counts as `Once`, the strictest.
    fn effects(&self) -> Effects {
        self.effects.as_deref().and_then(word).unwrap_or_default()
    }

    /// The open claim that a link `reserved` or `taken_over` with this body makes.
    pub(super) fn claims(&self, link: &Link) -> Claim {
        let request_hash = self.request_hash.clone().unwrap_or_default();
        Claim {
            seq: link.seq,
            key: ClaimKey {
                session_id: link.session_id.clone(),
                claimed: self.claimed.clone().unwrap_or_else(|| request_hash.clone()),
            },
            request_hash,
            operation_id: link.operation_id.clone(),
            delivery: self.delivery.clone(),
            attempt: self.attempt.unwrap_or(1),
            task_id: self.task.clone(),
            began: self.continues.unwrap_or(link.seq),
            effects: self.effects(),
            action: self.action.clone(),
            home: self.home.clone(),
            entry_digest: self.entry_digest.clone(),
            fence: self.fence.clone(),
            reason: self.reason.clone(),
            claimed_at: link.at.clone(),
            ..Claim::default()
        }
    }
}

/// What an answer told its caller about the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Told {
    pub(crate) effect: Effect,
    pub(crate) recoverable: bool,
}

/// Whether a request may change what later reads return.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Change {
    #[default]
    Nothing,
    State,
}

pub(crate) fn changes(change: Change) -> Option<String> {
    match change {
        Change::Nothing => None,
        Change::State => Some("state".to_owned()),
    }
}

/// The hashes of a link's row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RowSeal {
    pub(crate) id: String,
    pub(crate) request_sha256: String,
    pub(crate) response_sha256: String,
    /// The hash of all columns except request, response, `revoked_by` and `pruned`.
    pub(crate) row_sha256: String,
}

/// The facts of the session that a link opens. The link has the opener and the time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionSeal {
    pub(crate) context: String,
    pub(crate) profile: String,
}

/// What a request for an approval is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskedApproval {
    #[serde(default)]
    pub(crate) bound: Bound,
    pub(crate) expires_at: String,
    /// The hash of everything that would be performed.
    pub(crate) intent_hash: String,
    /// A random text, so that no signature fits two requests.
    pub(crate) nonce: String,
    /// SHA-256 of the policy under which it was requested.
    pub(crate) policy: String,
    /// Of a plan: the hash of its preview.
    pub(crate) preview_hash: Option<String>,
    /// The name of the root in which it would be performed.
    pub(crate) root: Option<String>,
    /// Of a step: the `request_hash` of its task.
    #[serde(default)]
    pub(crate) whole: Option<String>,
}

/// To what an approval is bound, beside the effective call, the root and the asker: to that which the caller named.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Bound {
    /// To the session and the task.
    #[default]
    Task,
    /// To the session.
    Session,
    /// To the call alone.
    Call,
}

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
pub(crate) fn tie(tx: &mut Tx<'_>, stamp: Stamp<'_>) -> Result<(), StoreError> {
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

/// Appends a link to the chain of its session. A link without a session is a knot; no other transaction may write meanwhile.
pub(crate) fn append(
    tx: &mut Tx<'_>,
    event: Event,
    stamp: Stamp<'_>,
    body: &Body,
) -> Result<Head, StoreError> {
    let seq = tx.next_seq(stamp.session_id)?;
    let ends = tx.ends(stamp.session_id)?;
    let (number, prev_hash) = ends.follow();
    let body = if stamp.session_id == KNOTS {
        let since = ends.knot.map_or(0, |knot| knot.seq);
        let mut tied = Tied::default();
        for entry_hash in tx.entry_hashes(since)? {
            tied.add(&entry_hash);
        }
        Body {
            tied: Some(tied.hash()),
            ..body.clone()
        }
        .json()
    } else {
        body.json()
    };
    let mut link = Link {
        seq,
        operation_id: stamp.operation_id.to_owned(),
        session_id: stamp.session_id.to_owned(),
        number,
        event: name(&event),
        at: instant(stamp.at),
        actor: stamp.actor.to_owned(),
        body,
        prev_hash,
        entry_hash: String::new(),
    };
    link.entry_hash = link.hash();
    tx.append(&link)?;
    Ok(Head {
        seq,
        entry_hash: link.entry_hash,
    })
}

/// What a knot states about the links before it: SHA-256 over their hashes in the order of their numbers, each with a line
/// feed after it.
#[derive(Debug, Clone, Default)]
pub(super) struct Tied(Sha256);

impl Tied {
    pub(super) fn add(&mut self, entry_hash: &str) {
        self.0.update(entry_hash);
        self.0.update("\n");
    }

    pub(super) fn hash(&self) -> String {
        hexadecimal(&self.0.clone().finalize())
    }
}

/// A time as the ledger writes it: RFC 3339, UTC, milliseconds.
pub(crate) fn instant(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

impl Link {
    /// Computes `entry_hash`: SHA-256 over the canonical JSON of all other fields.
    pub(crate) fn hash(&self) -> String {
        // Texts and a number always serialize.
        sha256(serde_json::to_string(self).unwrap_or_default())
    }

    pub(crate) fn is(&self, event: Event) -> bool {
        word(&self.event) == Some(event)
    }

    pub(crate) fn revokes(&self, row_id: &str) -> bool {
        let about = self.body().and_then(|body| body.about);
        self.is(Event::Revoked) && about.as_deref() == Some(row_id)
    }

    pub(crate) fn prunes(&self, row_id: &str) -> bool {
        let rows = self.body().unwrap_or_default().rows;
        self.is(Event::Pruned) && rows.iter().any(|id| id == row_id)
    }

    /// Whether the link only records a repeated answer.
    pub(crate) fn repeats(&self) -> bool {
        let event = word(&self.event);
        matches!(
            event,
            Some(Event::Replayed | Event::Reused | Event::Suppressed)
        )
    }

    pub(crate) fn opens(&self, body: &Body) -> Option<Session> {
        let seal = body.session.as_ref()?;
        Some(Session {
            seq: self.seq,
            session_id: self.session_id.clone(),
            context: seal.context.clone(),
            profile: seal.profile.clone(),
            principal: self.actor.clone(),
            opened_at: self.at.clone(),
        })
    }

    /// The body, if the link has the hash that it states.
    pub(crate) fn sound(&self) -> Option<Body> {
        self.body().filter(|_| self.hash() == self.entry_hash)
    }

    /// The body; none if this program does not write such a body.
    pub(crate) fn body(&self) -> Option<Body> {
        serde_json::from_str(&self.body).ok()
    }
}

/// The longest name of an action in a link, in bytes.
const MOST_ACTION: usize = 2048;

impl Body {
    /// The body with names that fit into a link. Only names can be too long.
    pub(crate) fn fitting(self) -> Self {
        let fits = |body: &Self| body.json().len() <= MOST_BODY;
        if fits(&self) {
            return self;
        }
        let shortened = |action: String| {
            let end = action.floor_char_boundary(MOST_ACTION);
            action.get(..end).unwrap_or_default().to_owned()
        };
        let short = Self {
            action: self.action.map(shortened),
            ..self
        };
        if fits(&short) {
            return short;
        }
        Self {
            task: None,
            ..short
        }
    }

    fn json(&self) -> String {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        if let Some(members) = value.as_object_mut() {
            members.retain(|_, member| !member.is_null() && *member != Value::Array(Vec::new()));
        }
        canonical(&value)
    }
}

impl Row {
    /// What the seal of the row covers: all columns, without request, response, `revoked_by` and `pruned`.
    pub(super) fn sealed_text(&self) -> String {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        for column in Self::COLUMNS {
            if column.sealed == Sealed::No
                && let Some(value) = value.get_mut(column.name)
            {
                *value = Value::Null;
            }
        }
        canonical(&exact(value))
    }

    pub(crate) fn seal(&self) -> RowSeal {
        RowSeal {
            id: self.id.clone(),
            request_sha256: self.request_sha256.clone(),
            response_sha256: self.response_sha256.clone(),
            row_sha256: sha256(self.sealed_text()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ledger::NOTHING;

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
            changes: changes(Change::State),
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
        let hashed: Value = json!({
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
        assert!(text.len() <= MOST_BODY);
        let told: Body = serde_json::from_str(&text).unwrap();
        assert_eq!(told.task, task);
    }
}
