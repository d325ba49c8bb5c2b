//! The hash chain: every link contains the hash of the previous one, so whoever changes a link must also change
//! all later ones.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::task::{Effect, Granted};

use super::{
    canonical::{canonical, exact, sha256},
    record::{Effects, Event, Head, Link, MOST_BODY, NOTHING, Row, Seq, Session, name, word},
    store::{Record as _, Sealed, StoreError, Tx},
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
    /// Of an answer.
    pub(crate) told: Option<Told>,
    /// The operation whose grant covers the dispatched call.
    pub(crate) under: Option<String>,
}

impl Body {
    /// The effects of a claim. An unreadable word counts as `Once`, the strictest.
    pub(super) fn effects(&self) -> Effects {
        self.effects.as_deref().and_then(word).unwrap_or_default()
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

pub(super) fn changes(change: Change) -> Option<String> {
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
    /// The hash of all columns except request, response and `revoked_by`.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

/// Appends a link. An empty chain gets its first link before.
pub(crate) fn append(
    tx: &mut Tx<'_>,
    event: Event,
    stamp: Stamp<'_>,
    body: &Body,
) -> Result<Head, StoreError> {
    let last = match tx.head()? {
        Some(last) => last,
        None => add(
            tx,
            (0, NOTHING.to_owned()),
            Event::Genesis,
            stamp,
            &Body::default(),
        )?,
    };
    add(tx, (last.seq + 1, last.entry_hash), event, stamp, body)
}

fn add(
    tx: &mut Tx<'_>,
    (seq, prev_hash): (Seq, String),
    event: Event,
    stamp: Stamp<'_>,
    body: &Body,
) -> Result<Head, StoreError> {
    let mut link = Link {
        seq,
        operation_id: stamp.operation_id.to_owned(),
        session_id: stamp.session_id.to_owned(),
        event: name(&event),
        at: instant(stamp.at),
        actor: stamp.actor.to_owned(),
        body: body.text(),
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

    /// Whether the link only records a repeated answer.
    pub(crate) fn repeats(&self) -> bool {
        let event = word(&self.event);
        matches!(
            event,
            Some(Event::Replayed | Event::Reused | Event::Suppressed)
        )
    }

    /// Whether the link is about that request, and does not only record a repeated answer.
    pub(crate) fn tells_of(&self, request_hash: &str) -> bool {
        // Most links are about other requests, and a search of their text is faster than parsing.
        self.body.contains(request_hash)
            && !self.repeats()
            && self.body().and_then(|body| body.request_hash).as_deref() == Some(request_hash)
    }

    /// Whether the link claims a request of that delivery.
    pub(crate) fn delivers(&self, delivery: &str) -> bool {
        self.body.contains(delivery)
            && (self.is(Event::Reserved) || self.is(Event::TakenOver))
            && self.body().and_then(|body| body.delivery).as_deref() == Some(delivery)
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

    /// The body; none if this program does not write such a body.
    pub(crate) fn body(&self) -> Option<Body> {
        serde_json::from_str(&self.body).ok()
    }
}

/// The longest name of an action in a link, in bytes.
const MOST_ACTION: usize = 2048;

impl Body {
    fn text(&self) -> String {
        let fits = |text: &String| text.len() <= MOST_BODY;
        let whole = Some(self.json()).filter(fits);
        whole.unwrap_or_else(|| {
            // Only names can be that long.
            let shortened = |action: &String| {
                let end = action.floor_char_boundary(MOST_ACTION);
                action.get(..end).unwrap_or_default().to_owned()
            };
            let short = Self {
                action: self.action.as_ref().map(shortened),
                ..self.clone()
            };
            let named = Some(short.json()).filter(fits);
            named.unwrap_or_else(|| {
                Self {
                    task: None,
                    ..short
                }
                .json()
            })
        })
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
    pub(crate) fn seal(&self) -> RowSeal {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        for column in Self::COLUMNS {
            if column.sealed == Sealed::No
                && let Some(value) = value.get_mut(column.name)
            {
                *value = Value::Null;
            }
        }
        RowSeal {
            id: self.id.clone(),
            request_sha256: self.request_sha256.clone(),
            response_sha256: self.response_sha256.clone(),
            row_sha256: sha256(canonical(&exact(value))),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
            under: text("op_2"),
        };
        let told = serde_json::to_value(&body).unwrap();
        assert_eq!(body.text(), canonical(&told));
        assert_eq!(told.as_object().unwrap().len(), 26);
        let link = Link {
            seq: 3,
            operation_id: "op_3".to_owned(),
            session_id: "s".to_owned(),
            event: "succeeded".to_owned(),
            at: "2026-02-24T10:00:00.000Z".to_owned(),
            actor: "uid:1000".to_owned(),
            body: body.text(),
            prev_hash: NOTHING.to_owned(),
            entry_hash: "not in it".to_owned(),
        };
        let hashed: Value = json!({
            "seq": link.seq, "operation_id": link.operation_id, "session_id": link.session_id, "event": link.event,
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
        let text = body.text();
        assert!(text.len() <= MOST_BODY);
        let told: Body = serde_json::from_str(&text).unwrap();
        assert_eq!(told.task, task);
    }
}
