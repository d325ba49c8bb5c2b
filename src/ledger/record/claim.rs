//! Claims: which run performs a request, and what became of it. A run that is to perform its request adds a claim,
//! and each later step of the run changes its state. Claims stay.

use serde::{Deserialize, Serialize};

use super::{
    super::store::{
        StoreError, Tx,
        columns::{Column, Kind, Record, SEQ, column},
        sql::Engine,
    },
    Effects, Seq, Word, name,
};

/// A run of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Claim {
    /// The link `reserved` or `taken_over` that made it.
    pub(crate) seq: Seq,
    pub(crate) key: ClaimKey,
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

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct ClaimKey {
    pub(crate) session_id: String,
    /// The hash of the request; if duplicates are repeated, the delivery or the operation.
    pub(crate) claimed: String,
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

impl Word for ClaimState {}

impl Claim {
    /// Whether it is of a once-only call that was sent, and nobody knows how it ended.
    pub(crate) fn may_have_happened(&self) -> bool {
        self.is_open() && self.state != ClaimState::Reserved && self.effects == Effects::Once
    }

    pub(crate) fn is_open(&self) -> bool {
        self.ended.is_none()
    }

    /// Whether the whole task is performed once, whoever sends it.
    pub(crate) fn is_shared(&self) -> bool {
        self.key.claimed == self.request_hash
    }
}

impl Record for Claim {
    const COLUMNS: &'static [Column<Self>] = &[
        column(SEQ, Kind::Count, |r| &mut r.seq),
        column("session_id", Kind::Text, |r| &mut r.key.session_id),
        column("claimed", Kind::Text, |r| &mut r.key.claimed),
        column("request_hash", Kind::Text, |r| &mut r.request_hash),
        column("operation_id", Kind::Text, |r| &mut r.operation_id),
        column("delivery", Kind::Text, |r| &mut r.delivery),
        column("attempt", Kind::Count, |r| &mut r.attempt),
        column("task_id", Kind::Text, |r| &mut r.task_id),
        column("began", Kind::Count, |r| &mut r.began),
        column("effects", Kind::Text, |r| &mut r.effects),
        column("action", Kind::Text, |r| &mut r.action),
        column("home", Kind::Text, |r| &mut r.home),
        column("entry_digest", Kind::Text, |r| &mut r.entry_digest),
        column("fence", Kind::Text, |r| &mut r.fence),
        column("reason", Kind::Text, |r| &mut r.reason),
        column("claimed_at", Kind::Text, |r| &mut r.claimed_at),
        column("state", Kind::Text, |r| &mut r.state),
        column("under", Kind::Text, |r| &mut r.under),
        column("sent", Kind::Count, |r| &mut r.sent),
        column("changed", Kind::Count, |r| &mut r.changed),
        column("ended", Kind::Count, |r| &mut r.ended),
    ];

    fn table(engine: Engine) -> &'static str {
        engine.choose(["claims", "public.oneact_claims"])
    }
}

/// Takes the advisory lock of an action. A transaction takes it after the lock of its session, so no two transactions wait
/// for each other.
const FENCE: &str = "SELECT pg_catalog.pg_advisory_xact_lock(12131, pg_catalog.hashtext(?1))::text";

impl Tx<'_> {
    /// Adds a claim. It is refused while another claim of its key is open.
    pub(crate) fn put_claim(&mut self, claim: &Claim) -> Result<(), StoreError> {
        self.insert_record(claim)
    }

    /// Writes how far a run has come.
    pub(crate) fn advance(&mut self, claim: &Claim) -> Result<(), StoreError> {
        let table = Claim::table(self.engine);
        let text = format!(
            "UPDATE {table} SET state = ?2, under = ?3, sent = ?4, changed = ?5, ended = ?6 WHERE seq = ?1"
        );
        let values = [
            claim.seq.into(),
            name(&claim.state).as_str().into(),
            claim.under.as_deref().into(),
            claim.sent.into(),
            claim.changed.into(),
            claim.ended.into(),
        ];
        self.db.add(&text, &values)
    }

    pub(crate) fn claim(&mut self, seq: Seq) -> Result<Option<Claim>, StoreError> {
        self.one("WHERE seq = ?1", &[seq.into()])
    }

    /// The open claim of that key.
    pub(crate) fn open_claim(&mut self, key: &ClaimKey) -> Result<Option<Claim>, StoreError> {
        self.one(
            "WHERE session_id = ?1 AND claimed = ?2 AND ended IS NULL",
            &[key.session_id.as_str().into(), key.claimed.as_str().into()],
        )
    }

    /// The open claims of an action in all sessions, in ascending order. Until this transaction ends, no other one can ask
    /// this about the action: in SQLite because it writes alone.
    pub(crate) fn open_claims_of_action(&mut self, fence: &str) -> Result<Vec<Claim>, StoreError> {
        if self.engine == Engine::Postgres {
            self.db.run(FENCE, &[fence.into()])?;
        }
        self.all(
            "WHERE fence = ?1 AND ended IS NULL ORDER BY seq",
            &[fence.into()],
        )
    }

    /// The open claims of a session, or of all sessions, in ascending order.
    pub(crate) fn open_claims(
        &mut self,
        session_id: Option<&str>,
    ) -> Result<Vec<Claim>, StoreError> {
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
    ) -> Result<Vec<Claim>, StoreError> {
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
    ) -> Result<Vec<Claim>, StoreError> {
        self.all(
            "WHERE session_id = ?1 AND request_hash = ?2 ORDER BY seq",
            &[session_id.into(), request_hash.into()],
        )
    }

    /// The newest success of a request under that key.
    pub(crate) fn success_of(
        &mut self,
        key: &ClaimKey,
        request_hash: &str,
    ) -> Result<Option<Claim>, StoreError> {
        self.one(
            "WHERE session_id = ?1 AND request_hash = ?2 AND claimed = ?3 AND state = 'succeeded' \
             ORDER BY seq DESC LIMIT 1",
            &[
                key.session_id.as_str().into(),
                request_hash.into(),
                key.claimed.as_str().into(),
            ],
        )
    }

    /// The claims of the operations whose ids begin with `text`, in ascending order.
    pub(crate) fn claims_named(&mut self, text: &str) -> Result<Vec<Claim>, StoreError> {
        let last = self.engine.choose(["char(1114111)", "chr(1114111)"]);
        self.all(
            &format!("WHERE operation_id >= ?1 AND operation_id < ?1 || {last} ORDER BY seq"),
            &[text.into()],
        )
    }

    /// The operations of the calls that were sent under a grant, in their order. A call that was sent twice is there
    /// twice.
    pub(crate) fn calls_under(&mut self, operation_id: &str) -> Result<Vec<String>, StoreError> {
        let calls: Vec<Claim> =
            self.all("WHERE under = ?1 ORDER BY sent", &[operation_id.into()])?;
        Ok(calls.into_iter().map(|call| call.operation_id).collect())
    }

    /// Whether an operation of the session has begun or ended after the link `seq` that may change what later reads
    /// return. The operation `but` and its steps are left out.
    pub(crate) fn changed_since(
        &mut self,
        seq: Seq,
        session_id: &str,
        but: &str,
    ) -> Result<bool, StoreError> {
        let steps = self.engine.choose([
            "instr(operation_id, ?3 || '.') = 1",
            "strpos(operation_id, ?3 || '.') = 1",
        ]);
        let changed: Option<Claim> = self.one(
            &format!(
                "WHERE session_id = ?1 AND changed > ?2 AND operation_id <> ?3 AND NOT ({steps}) LIMIT 1"
            ),
            &[session_id.into(), seq.into(), but.into()],
        )?;
        Ok(changed.is_some())
    }

    /// Up to `most` claims, from that of the link `from` on, in ascending order.
    pub(crate) fn claims(&mut self, from: Seq, most: usize) -> Result<Vec<Claim>, StoreError> {
        self.page(from, most)
    }
}
