//! Links of the chain: their columns, and how they are added and found.

use serde::{Deserialize, Serialize};

use super::{
    super::{
        canonical::{canonical, sha256},
        store::{End, Ends, Engine, Record, Result, RuleResult, Seq, Tx, Value, is_json, must},
    },
    Head,
    body::{Body, MOST_BODY},
    spelling::word,
};

/// One link of a chain: what happened, in hashes and names, never in payloads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Link {
    /// It grows with each link of a session. In PostgreSQL, numbers can be missing.
    pub(crate) seq: Seq,
    pub(crate) operation_id: String,
    /// Empty for a knot, which ties the chains of all sessions together.
    pub(crate) session_id: String,
    /// Its place in the chain of its session: gapless, from 0.
    pub(crate) number: u64,
    pub(crate) event: String,
    /// RFC 3339, UTC, milliseconds.
    pub(crate) at: String,
    /// Who caused it: `uid:1000`.
    pub(crate) actor: String,
    /// Canonical JSON (RFC 8785), at most 4,096 bytes.
    pub(crate) body: String,
    /// The hash of the link before it in its session, or of the newest knot if that is newer; 64 zeros without both.
    pub(crate) prev_hash: String,
    /// SHA-256 over the canonical JSON of all other fields, in lower-case hexadecimal.
    pub(crate) entry_hash: String,
}

impl Record for Link {
    const TABLE: [&'static str; 2] = ["ledger_events", "public.ledger_events"];

    fn rule(&self) -> RuleResult {
        let known: Option<Event> = word(&self.event);
        must(known.is_some(), "the event of a link is unknown")?;
        must(
            self.entry_hash.len() == 64,
            "the hash of a link has the wrong length",
        )?;
        must(
            self.body.len() <= MOST_BODY,
            "the body of a link is too long",
        )?;
        must(is_json(Some(&self.body)), "the body of a link is not JSON")
    }
}

/// The session of knots.
pub(crate) const KNOTS: &str = "";

impl Record for Head {
    const TABLE: [&'static str; 2] = Link::TABLE;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Event {
    /// A knot that records nothing else.
    Tied,
    Rejected,
    Pending,
    /// A run has claimed the request.
    Reserved,
    /// From here on, the request may have happened.
    Dispatched,
    /// A run took over the claim of a dead owner.
    TakenOver,
    Succeeded,
    Failed,
    RolledBack,
    Cancelled,
    /// It may have happened, and a person decides.
    Unknown,
    Resolved,
    Replayed,
    Reused,
    Suppressed,
    /// The answer of an owner whose claim was taken over.
    Late,
    Reviewed,
    Revoked,
    Pruned,
    /// The key for hashes of secrets was made.
    Keyed,
    /// A run found that the request needs an approval, and performed nothing.
    ApprovalRequested,
    /// A person approved the request.
    Approved,
    /// A person denied the request.
    Denied,
}

impl Link {
    /// Computes `entry_hash`: SHA-256 over the canonical JSON of all other fields.
    pub(crate) fn hash(&self) -> String {
        let mut facts = serde_json::to_value(self).unwrap_or_default();
        if let Some(facts) = facts.as_object_mut() {
            facts.remove("entry_hash");
        }
        sha256(canonical(&facts))
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

    /// The body, if the link has the hash that it states.
    pub(crate) fn sound(&self) -> Option<Body> {
        self.body().filter(|_| self.hash() == self.entry_hash)
    }

    /// The body; none if this program does not write such a body.
    pub(crate) fn body(&self) -> Option<Body> {
        serde_json::from_str(&self.body).ok()
    }

    pub(crate) fn head(&self) -> Head {
        Head {
            seq: self.seq,
            entry_hash: self.entry_hash.clone(),
        }
    }

    /// Whether it ties the chains of all sessions together.
    pub(crate) fn is_knot(&self) -> bool {
        self.session_id == KNOTS
    }
}

/// A record that a link makes.
pub(crate) trait Testified: Record + Clone + PartialEq {
    /// The record that a link makes, if it makes one.
    fn made_by(link: &Link, body: &Body) -> Option<Self>;

    /// The record, whatever became of it.
    fn when_made(self) -> Self {
        self
    }
}

impl Tx<'_> {
    /// Adds the record that a link makes, if it makes one.
    pub(crate) fn testify<R: Testified>(&mut self, link: &Link, body: &Body) -> Result<()> {
        R::made_by(link, body).map_or(Ok(()), |record| self.put(&record))
    }

    /// Whether the record of this link is the one that it made. Otherwise it widens what may be done, and does not count.
    pub(crate) fn is_testified<R: Testified>(&mut self, seq: Seq, record: &R) -> Result<bool> {
        let said = self.link(seq)?;
        let said = said.and_then(|link| R::made_by(&link, &link.sound()?));
        Ok(said == Some(record.clone().when_made()))
    }

    /// What the next link of a session follows. If the transaction has the lock of the session, no other one can add one
    /// before it ends. In PostgreSQL this takes a number, so it fails in a transaction that reads.
    pub(crate) fn ends(&mut self, session_id: &str) -> Result<Ends> {
        if let Some(known) = self.ends.as_ref().filter(|of| of.session_id == session_id) {
            return Ok(known.clone());
        }
        let links = self.table::<Link>();
        let first = "(SELECT COALESCE(max(seq), 0) + 1 FROM ledger_events)";
        let next = self.engine.choose([first, NEXT]);
        let end = |session: &str| {
            format!(
                "(SELECT seq, number, entry_hash FROM {links} WHERE session_id = {session} ORDER BY number DESC LIMIT 1)"
            )
        };
        let (own, knot) = (end("?1"), end("''"));
        let text = format!(
            "SELECT {next}, own.seq, own.number, own.entry_hash, knot.seq, knot.number, knot.entry_hash, \
             (SELECT at FROM {links} WHERE seq > COALESCE(knot.seq, -1) ORDER BY seq LIMIT 1) \
             FROM (SELECT 1) AS one LEFT JOIN {own} AS own ON TRUE LEFT JOIN {knot} AS knot ON TRUE"
        );
        let found = self.db.run(&text, &[session_id.into()])?;
        let mut values = found.into_iter().flatten();
        let ends = Ends {
            session_id: session_id.to_owned(),
            next: values.next().and_then(|next| next.number()),
            own: end_of(&mut values),
            knot: end_of(&mut values),
            untied_since: values.next().and_then(Value::text),
        };
        self.ends = Some(ends.clone());
        Ok(ends)
    }

    /// The number that the next link of a session gets.
    pub(crate) fn next_seq(&mut self, session_id: &str) -> Result<Seq> {
        let ends = self.ends(session_id)?;
        if let Some(next) = ends.next {
            return Ok(next);
        }
        let found = self.db.run(&format!("SELECT {NEXT}"), &[])?;
        let next = found.iter().flatten().next().and_then(Value::number);
        let next = next.ok_or_else(|| self.damaged("it gives links no numbers".to_owned()))?;
        self.ends = Some(Ends {
            next: Some(next),
            ..ends
        });
        Ok(next)
    }

    /// Adds a link. It is refused unless it is the next one of its session.
    pub(crate) fn append(&mut self, link: &Link) -> Result<()> {
        let ends = self.ends(&link.session_id)?;
        // In PostgreSQL, a trigger checks this.
        if self.engine == Engine::Sqlite {
            let is_next = Some(link.seq) == ends.next
                && ends.follow() == (link.number, link.prev_hash.clone());
            self.keeps(must(is_next, "the link is not the next one"))?;
        }
        self.put(link)?;
        let own = Some(End {
            seq: link.seq,
            number: link.number,
            entry_hash: link.entry_hash.clone(),
        });
        let (knot, untied_since) = if link.is_knot() {
            (own.clone(), None)
        } else {
            (ends.knot, ends.untied_since.or(Some(link.at.clone())))
        };
        self.ends = Some(Ends {
            own,
            knot,
            untied_since,
            next: match self.engine {
                Engine::Sqlite => Some(link.seq + 1),
                Engine::Postgres => None,
            },
            session_id: ends.session_id,
        });
        Ok(())
    }

    /// The hashes of the link `seq` and of all later ones, in ascending order.
    pub(crate) fn entry_hashes(&mut self, seq: Seq) -> Result<Vec<String>> {
        let heads: Vec<Head> = self.all("WHERE seq >= ?1 ORDER BY seq", &[seq.into()])?;
        Ok(heads.into_iter().map(|head| head.entry_hash).collect())
    }

    pub(crate) fn newest_knot(&mut self) -> Result<Option<Head>> {
        self.one(
            "WHERE session_id = ?1 ORDER BY number DESC LIMIT 1",
            &[KNOTS.into()],
        )
    }

    /// The last links of the sessions that have links after the link `seq`, in ascending order.
    pub(crate) fn ends_since(&mut self, seq: Seq) -> Result<Vec<Head>> {
        let links = self.table::<Link>();
        let last = format!(
            "WHERE seq IN (SELECT max(seq) FROM {links} WHERE seq > ?1 GROUP BY session_id) ORDER BY seq"
        );
        self.all(&last, &[seq.into()])
    }

    /// The link that has this number in its session.
    pub(crate) fn numbered(&mut self, session_id: &str, number: u64) -> Result<Option<Head>> {
        self.one(
            "WHERE session_id = ?1 AND number = ?2",
            &[session_id.into(), number.into()],
        )
    }

    /// The link of that number as it is stored, whatever its hash.
    pub(crate) fn link(&mut self, seq: Seq) -> Result<Option<Link>> {
        self.of(seq)
    }

    /// The hashes that a knot ties: of the knot before, and of all links between the two.
    pub(crate) fn tied_by(&mut self, knot: Seq) -> Result<Vec<String>> {
        let links = self.table::<Link>();
        let since = format!(
            "WHERE seq < ?1 AND seq >= COALESCE((SELECT max(seq) FROM {links} WHERE session_id = ?2 AND seq < ?1), 0) \
             ORDER BY seq"
        );
        let heads: Vec<Head> = self.all(&since, &[knot.into(), KNOTS.into()])?;
        Ok(heads.into_iter().map(|head| head.entry_hash).collect())
    }

    /// The first link of a session after that link.
    pub(crate) fn link_after(&mut self, session_id: &str, seq: Seq) -> Result<Option<Link>> {
        self.one(
            "WHERE session_id = ?1 AND seq > ?2 ORDER BY number LIMIT 1",
            &[session_id.into(), seq.into()],
        )
    }

    pub(crate) fn last_link(&mut self, session_id: &str) -> Result<Option<Link>> {
        self.one(
            "WHERE session_id = ?1 ORDER BY number DESC LIMIT 1",
            &[session_id.into()],
        )
    }

    /// The links of a session after the link `after` up to the link `until`, in ascending order.
    pub(crate) fn links_between(
        &mut self,
        session_id: &str,
        after: Seq,
        until: Seq,
    ) -> Result<Vec<Link>> {
        self.all(
            "WHERE session_id = ?1 AND seq > ?2 AND seq <= ?3 ORDER BY number",
            &[session_id.into(), after.into(), until.into()],
        )
    }

    /// The links of a session, in ascending order.
    pub(crate) fn links_of(&mut self, session_id: &str) -> Result<Vec<Link>> {
        self.all(
            "WHERE session_id = ?1 ORDER BY number",
            &[session_id.into()],
        )
    }
}

/// PostgreSQL's next number for a link. A transaction that is dropped leaves a gap.
const NEXT: &str = "nextval('public.oneact_links')";

fn end_of(values: &mut impl Iterator<Item = Value>) -> Option<End> {
    let [seq, number, entry_hash] = [values.next()?, values.next()?, values.next()?];
    Some(End {
        seq: seq.number()?,
        number: number.number()?,
        entry_hash: entry_hash.text()?,
    })
}
