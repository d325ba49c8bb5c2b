//! Claims: which run performs a request, and what became of it. A run that is to perform its request adds a claim,
//! and each later step of the run changes its state. Claims stay.

use serde::{Deserialize, Serialize};

use super::{
    super::store::{Engine, Record, Result, Seq, Tx, Value},
    body::Body,
    link::{Event, Link, Testified},
    spelling::{name, word},
};

/// A run of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claim {
    /// The link `reserved` or `taken_over` that made it.
    pub(crate) seq: Seq,
    pub(crate) session_id: String,
    /// What it claims: the hash of the request; if duplicates are repeated, the delivery or the operation. One claim of it is
    /// open in a session at a time.
    pub(crate) claimed: String,
    pub(crate) request_hash: String,
    pub(crate) operation_id: String,
    /// The hash that names its delivery, without the attempt; none if the caller names none.
    pub(crate) delivery: Option<String>,
    pub(crate) attempt: u32,
    pub(crate) task_id: Option<String>,
    /// The claim with which the task of several steps began that this run continues; its own number otherwise.
    pub(crate) began: Seq,
    pub(crate) effects: Effects,
    /// The catalog entries, joined by `+`.
    pub(crate) action: Option<String>,
    /// The root in which a plan is performed.
    pub(crate) home: Option<String>,
    pub(crate) entry_digest: Option<String>,
    /// The hash of the action, the same in all sessions; none if the entry has no `fence`.
    pub(crate) fence: Option<String>,
    /// The name of the reason why the request is performed.
    pub(crate) reason: Option<String>,
    /// When it was made: RFC 3339, UTC, milliseconds.
    pub(crate) claimed_at: String,
    pub(crate) state: ClaimState,
    /// The operation whose grant covers the call, once it was sent.
    pub(crate) under: Option<String>,
    /// The link `dispatched`: from there on, the request may have happened. A later run goes by `state`.
    pub(crate) sent: Option<Seq>,
    /// The last link with which it may have changed what later reads return.
    pub(crate) changed: Option<Seq>,
    /// The link that ended it.
    pub(crate) ended: Option<Seq>,
}

/// What it would mean to perform a request twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Effects {
    /// It changes nothing.
    None,
    /// Twice is the same as once.
    Idempotent,
    /// It must not happen twice.
    #[default]
    Once,
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ClaimState {
    /// Nothing has happened yet.
    #[default]
    Reserved,
    /// It may have happened.
    Dispatched,
    /// It may have happened, and a person has to decide.
    Unknown,
    /// It ended with a success, or a person said that it happened.
    Succeeded,
    /// It ended in another way.
    Ended,
    /// Another run performs its request or its delivery.
    TakenOver,
    /// A person or the journal of its plan said that it did not happen.
    NotMade,
}

impl Claim {
    /// Whether it is open, and of that operation in that session. A database that crashed may have lost a claim, and may have
    /// given its number to another one.
    pub(crate) fn is_open_of(&self, session_id: &str, operation_id: &str) -> bool {
        self.is_open() && self.session_id == session_id && self.operation_id == operation_id
    }

    /// The claim after a link that settles or advances it.
    pub(crate) fn after(self, link: &Link, body: &Body) -> Self {
        let event = word(&link.event);
        let state = match event {
            Some(Event::Dispatched) => ClaimState::Dispatched,
            // The outcome is unknown, or the result is not good: a person decides before it is performed again.
            Some(Event::Unknown) => ClaimState::Unknown,
            Some(Event::TakenOver) => ClaimState::TakenOver,
            Some(Event::Resolved) if body.row.is_none() => ClaimState::NotMade,
            Some(Event::Succeeded | Event::Resolved) => ClaimState::Succeeded,
            _ => ClaimState::Ended,
        };
        let (sent, under) = match state {
            ClaimState::Dispatched => (Some(link.seq), body.under.clone()),
            _ => (self.sent, self.under),
        };
        let is_open = matches!(state, ClaimState::Dispatched | ClaimState::Unknown);
        Self {
            state,
            sent,
            under,
            changed: body.changes.as_ref().map(|_| link.seq).or(self.changed),
            ended: (!is_open).then_some(link.seq),
            ..self
        }
    }

    /// Whether it is of a once-only call that was sent, and nobody knows how it ended.
    pub(crate) fn may_have_happened(&self) -> bool {
        self.is_open() && self.state != ClaimState::Reserved && self.effects == Effects::Once
    }

    pub(crate) fn is_open(&self) -> bool {
        self.ended.is_none()
    }

    /// Whether the whole task is performed once, whoever sends it.
    pub(crate) fn is_shared(&self) -> bool {
        self.claimed == self.request_hash
    }
}

impl Record for Claim {
    const TABLE: [&'static str; 2] = ["claims", "public.oneact_claims"];
}

impl Testified for Claim {
    /// The open claim of a link `reserved` or `taken_over`.
    fn made_by(link: &Link, body: &Body) -> Option<Self> {
        if !link.is(Event::Reserved) && !link.is(Event::TakenOver) {
            return None;
        }
        let request_hash = body.request_hash.clone().unwrap_or_default();
        Some(Self {
            seq: link.seq,
            session_id: link.session_id.clone(),
            claimed: body.claimed.clone().unwrap_or_else(|| request_hash.clone()),
            request_hash,
            operation_id: link.operation_id.clone(),
            delivery: body.delivery.clone(),
            attempt: body.attempt.unwrap_or(1),
            task_id: body.task.clone(),
            began: body.continues.unwrap_or(link.seq),
            // An unreadable word counts as `Once`, the strictest.
            effects: body.effects.as_deref().and_then(word).unwrap_or_default(),
            action: body.action.clone(),
            home: body.home.clone(),
            entry_digest: body.entry_digest.clone(),
            fence: body.fence.clone(),
            reason: body.reason.clone(),
            claimed_at: link.at.clone(),
            ..Self::default()
        })
    }

    fn when_made(self) -> Self {
        Self {
            state: ClaimState::default(),
            under: None,
            sent: None,
            changed: None,
            ended: None,
            ..self
        }
    }
}

/// Takes the advisory lock of an action. A transaction takes it after the lock of its session, so no two transactions wait
/// for each other.
const FENCE: &str = "SELECT pg_catalog.pg_advisory_xact_lock(12131, pg_catalog.hashtext(?1))::text";

impl Tx<'_> {
    /// Writes how far a run has come, if a link settles or advances its claim.
    pub(crate) fn advance(&mut self, link: &Link, body: &Body) -> Result<()> {
        let Some(seq) = body.claim else {
            return Ok(());
        };
        let said = Claim::default().after(link, body);
        let text = format!(
            "UPDATE {} SET state = ?2, under = COALESCE(?3, under), sent = COALESCE(?4, sent), \
             changed = COALESCE(?5, changed), ended = ?6 WHERE seq = ?1",
            self.table::<Claim>()
        );
        let values = [
            seq.into(),
            name(&said.state).as_str().into(),
            said.under.as_deref().into(),
            said.sent.into(),
            said.changed.into(),
            said.ended.into(),
        ];
        self.db.add(&text, &values)
    }

    pub(crate) fn claim(&mut self, seq: Seq) -> Result<Option<Claim>> {
        self.of(seq)
    }

    /// The open claim of what is claimed.
    pub(crate) fn open_claim(&mut self, session_id: &str, claimed: &str) -> Result<Option<Claim>> {
        self.one(
            "WHERE session_id = ?1 AND claimed = ?2 AND ended IS NULL",
            &[session_id.into(), claimed.into()],
        )
    }

    /// The open claims of an action in all sessions, in ascending order. Until this transaction ends, no other one can ask
    /// this about the action: in SQLite because it writes alone.
    pub(crate) fn open_claims_of_action(&mut self, fence: &str) -> Result<Vec<Claim>> {
        if self.engine == Engine::Postgres {
            self.db.run(FENCE, &[fence.into()])?;
        }
        self.all(
            "WHERE fence = ?1 AND ended IS NULL ORDER BY seq",
            &[fence.into()],
        )
    }

    /// The open claims of a session, or of all sessions, in ascending order.
    pub(crate) fn open_claims(&mut self, session_id: Option<&str>) -> Result<Vec<Claim>> {
        self.all(
            "WHERE ended IS NULL AND session_id = COALESCE(?1, session_id) ORDER BY seq",
            &[session_id.into()],
        )
    }

    /// The claims of a delivery, the newest first.
    pub(crate) fn claims_of_delivery(
        &mut self,
        session_id: &str,
        delivery: &str,
    ) -> Result<Vec<Claim>> {
        self.all(
            "WHERE session_id = ?1 AND delivery = ?2 ORDER BY seq DESC",
            &[session_id.into(), delivery.into()],
        )
    }

    /// The claims of a request, in ascending order.
    pub(crate) fn claims_of_request(
        &mut self,
        session_id: &str,
        request_hash: &str,
    ) -> Result<Vec<Claim>> {
        self.all(
            "WHERE session_id = ?1 AND request_hash = ?2 ORDER BY seq",
            &[session_id.into(), request_hash.into()],
        )
    }

    /// The newest success of a request under that key.
    pub(crate) fn success_of(
        &mut self,
        session_id: &str,
        request_hash: &str,
        claimed: &str,
    ) -> Result<Option<Claim>> {
        self.one(
            "WHERE session_id = ?1 AND request_hash = ?2 AND claimed = ?3 AND state = 'succeeded' \
             ORDER BY seq DESC LIMIT 1",
            &[session_id.into(), request_hash.into(), claimed.into()],
        )
    }

    /// The claims of the operations whose ids begin with `text`, in ascending order.
    pub(crate) fn claims_named(&mut self, text: &str) -> Result<Vec<Claim>> {
        self.all(
            "WHERE operation_id >= ?1 AND operation_id < ?2 ORDER BY seq",
            &Value::beginning(text),
        )
    }

    /// The operations of the calls that were sent under a grant, in their order. A call that was sent twice is there
    /// twice.
    pub(crate) fn calls_under(&mut self, operation_id: &str) -> Result<Vec<String>> {
        let calls: Vec<Claim> =
            self.all("WHERE under = ?1 ORDER BY sent", &[operation_id.into()])?;
        Ok(calls.into_iter().map(|call| call.operation_id).collect())
    }

    /// Whether an operation of the session has begun or ended after the link `seq` that may change what later reads
    /// return. The operation `but` and its steps are left out.
    pub(crate) fn changed_since(&mut self, seq: Seq, session_id: &str, but: &str) -> Result<bool> {
        let [first, last] = Value::beginning(&format!("{but}."));
        let changed: Option<Claim> = self.one(
            "WHERE session_id = ?1 AND changed > ?2 AND operation_id <> ?3 \
             AND NOT (operation_id >= ?4 AND operation_id < ?5) LIMIT 1",
            &[session_id.into(), seq.into(), but.into(), first, last],
        )?;
        Ok(changed.is_some())
    }
}
