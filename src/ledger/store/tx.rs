//! A transaction. Each of its steps is one small query or change, written once for both databases.

use std::{cell::OnceCell, rc::Rc};

use super::{
    StoreError, Trouble,
    columns::{self, Payloads, Record, Rule, must},
    sql::{Engine, Sql, Value},
};
use crate::ledger::record::{
    CHANGES_STATE, Claim, ClaimKey, Head, Link, NOTHING, Row, Seq, Session,
};

pub(crate) struct Tx<'a> {
    pub(super) engine: Engine,
    pub(super) place: &'a str,
    pub(super) db: Box<dyn Sql + 'a>,
    /// The last link, once it is known. No other transaction can add one before this one ends.
    head: OnceCell<Option<Head>>,
    /// The session that was read or opened last. A session never changes.
    session: Option<Session>,
    /// The newest links, once they were examined; none after another link was added.
    pub(super) newest: Option<Rc<[Link]>>,
}

/// The links that decide something about a request. SQLite uses the index only if this is the index's own wording.
const DECIDES: &str = "event NOT IN ('replayed', 'reused', 'suppressed')";

/// The links that claim a request, in the wording of their index.
const CLAIMS: &str = "event IN ('reserved', 'taken_over')";

impl<'a> Tx<'a> {
    pub(super) fn new(engine: Engine, place: &'a str, db: impl Sql + 'a) -> Self {
        Self {
            engine,
            place,
            db: Box::new(db),
            head: OnceCell::new(),
            session: None,
            newest: None,
        }
    }

    pub(super) fn commit(self) -> Result<(), StoreError> {
        self.db.commit()
    }

    // --- the chain ---

    pub(crate) fn head(&mut self) -> Result<Option<Head>, StoreError> {
        if let Some(known) = self.head.get() {
            return Ok(known.clone());
        }
        let table = self.table();
        let head: Option<Head> = self.one(&format!("{table} ORDER BY seq DESC LIMIT 1"), &[])?;
        self.head = OnceCell::from(head.clone());
        Ok(head)
    }

    /// Adds a link. It is refused unless it is the next one of the chain.
    pub(crate) fn append(&mut self, link: &Link) -> Result<(), StoreError> {
        // In PostgreSQL, a trigger checks this.
        if self.engine == Engine::Sqlite {
            let next = match self.head()? {
                Some(last) => link.seq == last.seq + 1 && link.prev_hash == last.entry_hash,
                None => link.seq == 0 && link.prev_hash == NOTHING,
            };
            self.keeps(must(next, "the link is not the next one"))?;
        }
        self.insert_record(link)?;
        self.newest = None;
        self.head = OnceCell::from(Some(Head {
            seq: link.seq,
            entry_hash: link.entry_hash.clone(),
        }));
        Ok(())
    }

    /// Up to `most` links, from the number `from` on, in ascending order.
    pub(crate) fn links(&mut self, from: Seq, most: usize) -> Result<Vec<Link>, StoreError> {
        let table = self.table();
        self.page(table, from, most)
    }

    /// The link of that number. It is an error if the link does not have the hash that it states.
    pub(crate) fn link(&mut self, seq: Seq) -> Result<Option<Link>, StoreError> {
        let stored = self.stored_link(seq)?;
        stored.map(|link| self.whole(link)).transpose()
    }

    /// The link that records a row; none for a row from before oneact.
    pub(crate) fn link_of(&mut self, row: &Row) -> Result<Option<Link>, StoreError> {
        row.seq.map_or(Ok(None), |seq| self.link(seq))
    }

    /// The link of that number as it is stored, whatever its hash.
    pub(crate) fn stored_link(&mut self, seq: Seq) -> Result<Option<Link>, StoreError> {
        let found = self.links(seq, 1)?.into_iter().next();
        Ok(found.filter(|link| link.seq == seq))
    }

    /// The link, if it has the hash that it states.
    pub(crate) fn whole(&self, link: Link) -> Result<Link, StoreError> {
        if link.hash() == link.entry_hash {
            return Ok(link);
        }
        Err(self.damaged(format!("link {} was changed", link.seq)))
    }

    /// The clause that makes SQLite read links from the table itself, whatever indexes another program added.
    fn table(&self) -> &'static str {
        self.engine.choose(["NOT INDEXED", ""])
    }

    /// The hash of the link of that number.
    pub(crate) fn entry_hash(&mut self, seq: Seq) -> Result<Option<String>, StoreError> {
        let table = self.table();
        let head: Option<Head> = self.one(&format!("{table} WHERE seq = ?1"), &[seq.into()])?;
        Ok(head.map(|head| head.entry_hash))
    }

    /// The links of a session, in ascending order.
    pub(crate) fn links_of(&mut self, session_id: &str) -> Result<Vec<Link>, StoreError> {
        self.all("WHERE session_id = ?1 ORDER BY seq", &[session_id.into()])
    }

    /// The newest `most` links of a session, from the number `from` on, that decide something about a request, in
    /// ascending order. Links that only record a repeated answer decide nothing.
    pub(crate) fn links_about(
        &mut self,
        session_id: &str,
        request_hash: &str,
        from: Seq,
        most: usize,
    ) -> Result<Vec<Link>, StoreError> {
        let hint = self.engine.indexed_by("ledger_events_request");
        let request = self
            .engine
            .choose(["body ->> '$.request_hash'", "public.oneact_request(body)"]);
        let mut links = self.all(
            &format!(
                "{hint} WHERE session_id = ?1 AND {request} = ?2 AND seq >= ?3 AND {DECIDES} \
                 ORDER BY seq DESC LIMIT ?4"
            ),
            &[
                session_id.into(),
                request_hash.into(),
                Value::since(from),
                Value::limit(most),
            ],
        )?;
        links.reverse();
        self.found(links, session_id, |link| link.tells_of(request_hash))
    }

    /// The links of a session that claim requests of a delivery, in ascending order.
    pub(crate) fn links_of_delivery(
        &mut self,
        session_id: &str,
        delivery: &str,
    ) -> Result<Vec<Link>, StoreError> {
        let hint = self.engine.indexed_by("ledger_events_delivery");
        let named = self
            .engine
            .choose(["body ->> '$.delivery'", "public.oneact_delivery(body)"]);
        let links = self.all(
            &format!("{hint} WHERE session_id = ?1 AND {named} = ?2 AND {CLAIMS} ORDER BY seq"),
            &[session_id.into(), delivery.into()],
        )?;
        self.found(links, session_id, |link| link.delivers(delivery))
    }

    /// The links to which an index led, unless the index was changed.
    fn found(
        &self,
        links: Vec<Link>,
        session_id: &str,
        is_wanted: impl Fn(&Link) -> bool,
    ) -> Result<Vec<Link>, StoreError> {
        let mut of_another = links.iter();
        if let Some(link) =
            of_another.find(|link| link.session_id != session_id || !is_wanted(link))
        {
            return Err(self.misled(&format!("link {}", link.seq)));
        }
        links.into_iter().map(|link| self.whole(link)).collect()
    }

    /// The reviews of a session from the number `from` on, as they are stored.
    pub(crate) fn reviews(&mut self, session_id: &str, from: Seq) -> Result<Vec<Link>, StoreError> {
        self.all(
            "WHERE session_id = ?1 AND seq >= ?2 AND event = 'reviewed' ORDER BY seq",
            &[session_id.into(), Value::since(from)],
        )
    }

    /// The links of a session after the number `from` that dispatch a call and name that operation.
    pub(crate) fn links_naming(
        &mut self,
        session_id: &str,
        from: Seq,
        operation_id: &str,
    ) -> Result<Vec<Link>, StoreError> {
        self.named("event = 'dispatched'", session_id, from, operation_id)
    }

    /// The links of a session that record an old answer and name that request, in ascending order.
    pub(crate) fn links_repeating(
        &mut self,
        session_id: &str,
        request_hash: &str,
    ) -> Result<Vec<Link>, StoreError> {
        let repeats = "event IN ('reused', 'suppressed')";
        self.named(repeats, session_id, 0, request_hash)
    }

    /// The links of a session after the number `from` for which a condition holds, and whose body contains a text.
    fn named(
        &mut self,
        condition: &str,
        session_id: &str,
        from: Seq,
        text: &str,
    ) -> Result<Vec<Link>, StoreError> {
        let hint = self.engine.indexed_by("ledger_events_session");
        let names = self
            .engine
            .choose(["instr(body, ?3)", "strpos(body, ?3) > 0"]);
        let links: Vec<Link> = self.all(
            &format!(
                "{hint} WHERE session_id = ?1 AND seq > ?2 AND {condition} AND {names} ORDER BY seq"
            ),
            &[session_id.into(), from.into(), text.into()],
        )?;
        links.into_iter().map(|link| self.whole(link)).collect()
    }

    /// Whether a link of `prune` before that link names the row. These links belong to no session.
    pub(crate) fn is_pruned(&mut self, row_id: &str, before: Seq) -> Result<bool, StoreError> {
        let hint = self.engine.indexed_by("ledger_events_session");
        let names = self
            .engine
            .choose(["instr(body, ?1)", "strpos(body, ?1) > 0"]);
        let links: Vec<Link> = self.all(
            &format!("{hint} WHERE session_id = '' AND event = 'pruned' AND {names} ORDER BY seq"),
            &[row_id.into()],
        )?;
        for link in links.into_iter().filter(|link| link.seq < before) {
            let body = self.whole(link)?.body().unwrap_or_default();
            if body.rows.iter().any(|id| id == row_id) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The newest links that request an approval, in descending order.
    pub(crate) fn requests_for_approval(&mut self, most: usize) -> Result<Vec<Link>, StoreError> {
        let newest = "WHERE event = 'approval_requested' ORDER BY seq DESC LIMIT ?1";
        let links: Vec<Link> = self.all(newest, &[Value::limit(most)])?;
        links.into_iter().map(|link| self.whole(link)).collect()
    }

    /// Whether any link records a request in that session.
    pub(crate) fn is_used(&mut self, session_id: &str) -> Result<bool, StoreError> {
        let found: Option<Head> = self.one(
            "WHERE session_id = ?1 AND event NOT IN ('genesis', 'keyed') LIMIT 1",
            &[session_id.into()],
        )?;
        Ok(found.is_some())
    }

    /// The first link of a session after `seq` that begins or ends something which may change what later reads
    /// return. Links of the operation `but` and of its steps are left out.
    pub(crate) fn changed_since(
        &mut self,
        seq: Seq,
        session_id: &str,
        but: &str,
    ) -> Result<Option<Seq>, StoreError> {
        let hint = self.engine.indexed_by("ledger_events_session");
        let changes = self
            .engine
            .choose(["instr(body, ?4)", "strpos(body, ?4) > 0"]);
        let steps = self.engine.choose([
            "instr(operation_id, ?3 || '.') = 1",
            "strpos(operation_id, ?3 || '.') = 1",
        ]);
        let found: Option<Head> = self.one(
            &format!(
                "{hint} WHERE session_id = ?1 AND seq > ?2 AND operation_id <> ?3 AND NOT ({steps}) AND {changes} \
                 ORDER BY seq LIMIT 1"
            ),
            &[
                session_id.into(),
                seq.into(),
                but.into(),
                CHANGES_STATE.into(),
            ],
        )?;
        Ok(found.map(|head| head.seq))
    }

    // --- sessions ---

    pub(crate) fn session(&mut self, id: &str) -> Result<Option<Session>, StoreError> {
        if !matches!(&self.session, Some(known) if known.session_id == id) {
            let key = self.engine.choose(["session_id", "session_key"]);
            self.session = self.one(&format!("WHERE {key} = ?1"), &[id.into()])?;
        }
        Ok(self.session.clone())
    }

    /// Opens a session. It is refused if the session is open already.
    pub(crate) fn open_session(&mut self, session: &Session) -> Result<(), StoreError> {
        self.insert_record(session)?;
        self.session = Some(session.clone());
        Ok(())
    }

    /// Up to `most` sessions, from the one that link `from` opened on, in ascending order.
    pub(crate) fn sessions(&mut self, from: Seq, most: usize) -> Result<Vec<Session>, StoreError> {
        self.page("", from, most)
    }

    pub(crate) fn newest_session(&mut self) -> Result<Option<Session>, StoreError> {
        self.one("ORDER BY seq DESC LIMIT 1", &[])
    }

    // --- the database ---

    pub(crate) fn place(&self) -> &str {
        self.place
    }

    pub(crate) fn flaw(&mut self) -> Result<Option<String>, StoreError> {
        self.db.flaw()
    }

    /// The error that an index led to a wrong record.
    pub(super) fn misled(&self, to: &str) -> StoreError {
        self.damaged(format!("an index leads to {to}, which is the wrong record"))
    }

    /// The error that something in the ledger is not what was recorded.
    pub(crate) fn damaged(&self, why: String) -> StoreError {
        Trouble::Corrupt.with(self.place, why)
    }

    // --- claims ---

    pub(crate) fn claim(&mut self, key: &ClaimKey) -> Result<Option<Claim>, StoreError> {
        let condition = "WHERE session_id = ?1 AND request_hash = ?2";
        self.one(condition, &values_of(key))
    }

    pub(crate) fn claim_at(&mut self, seq: Seq) -> Result<Option<Claim>, StoreError> {
        self.one("WHERE seq = ?1", &[seq.into()])
    }

    pub(crate) fn claims(&mut self) -> Result<Vec<Claim>, StoreError> {
        self.all("ORDER BY seq", &[])
    }

    /// Writes a claim, and replaces the one with the same key.
    pub(crate) fn put_claim(&mut self, claim: &Claim) -> Result<(), StoreError> {
        let (mut text, values) = columns::insert(self.engine, claim);
        match self.engine {
            // SQLite takes longer to compile an upsert than to compile both statements.
            Engine::Sqlite => self.drop_claim(&claim.key, None)?,
            Engine::Postgres => text.push_str(
                " ON CONFLICT (session_id, request_hash) DO UPDATE SET operation_id = excluded.operation_id, \
                 seq = excluded.seq, state = excluded.state, effects = excluded.effects",
            ),
        }
        self.db.run(&text, &values).map(drop)
    }

    /// Writes a claim that was changed or removed. A row with its number may have another key.
    pub(crate) fn restore_claim(&mut self, claim: &Claim) -> Result<(), StoreError> {
        let text = format!("DELETE FROM {} WHERE seq = ?1", Claim::table(self.engine));
        self.db.run(&text, &[claim.seq.into()])?;
        self.put_claim(claim)
    }

    /// Removes the claim of that key; with a number, only if it still has that number.
    pub(crate) fn drop_claim(
        &mut self,
        key: &ClaimKey,
        seq: Option<Seq>,
    ) -> Result<(), StoreError> {
        let table = Claim::table(self.engine);
        let text = format!(
            "DELETE FROM {table} WHERE session_id = ?1 AND request_hash = ?2 AND seq = COALESCE(?3, seq)"
        );
        let [session, hash] = values_of(key);
        self.db.run(&text, &[session, hash, seq.into()]).map(drop)
    }

    // --- what the steps have in common ---

    /// The records that a condition and an order select.
    fn all<R: Record>(&mut self, rest: &str, values: &[Value]) -> Result<Vec<R>, StoreError> {
        let columns = columns::list::<R>(self.engine, Payloads::Kept);
        let table = R::table(self.engine);
        let text = format!("SELECT {columns} FROM {table} {rest}");
        let found = self.db.run(&text, values)?;
        self.records(found)
    }

    pub(super) fn one<R: Record>(
        &mut self,
        rest: &str,
        values: &[Value],
    ) -> Result<Option<R>, StoreError> {
        Ok(self.all(rest, values)?.into_iter().next())
    }

    fn page<R: Record>(
        &mut self,
        table: &str,
        from: Seq,
        most: usize,
    ) -> Result<Vec<R>, StoreError> {
        self.all(
            &format!("{table} WHERE seq >= ?1 ORDER BY seq LIMIT ?2"),
            &[Value::since(from), Value::limit(most)],
        )
    }

    pub(super) fn records<R: Record>(&self, found: Vec<Vec<Value>>) -> Result<Vec<R>, StoreError> {
        let record = |values| columns::record(self.engine, values).map_err(|why| self.damaged(why));
        found.into_iter().map(record).collect()
    }

    pub(super) fn insert_record<R: Record>(&mut self, record: &R) -> Result<(), StoreError> {
        self.keeps(record.rule())?;
        let (text, values) = columns::insert(self.engine, record);
        self.db.run(&text, &values).map(drop)
    }

    pub(super) fn keeps(&self, rule: Rule) -> Result<(), StoreError> {
        rule.map_err(|why| Trouble::Refused.with(self.place, why))
    }
}

fn values_of(key: &ClaimKey) -> [Value; 2] {
    [&key.session_id, &key.request_hash].map(|text| text.as_str().into())
}
