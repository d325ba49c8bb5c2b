//! The steps of a transaction. Each is one small question or change, written once for both databases.

use super::{
    Reach, StoreError, Trouble, Which,
    columns::{self, Payloads, Record},
    rules::{self, Rule},
    sql::{Engine, Sql, Value},
};
use crate::ledger::{
    canonical::sha256,
    record::{CHANGES_STATE, Claim, ClaimKey, Head, Link, Row, Seq, Session},
};

/// A transaction.
pub(crate) struct Tx<'a> {
    db: Box<dyn Sql + 'a>,
    /// The last link, once it is known. No other transaction can add one before this one ends.
    head: Option<Option<Head>>,
    /// The session that was read or opened last. A session never changes.
    session: Option<Session>,
}

/// Links that decide something about a request; as the index has it, or it is not used.
const DECIDES: &str = "event NOT IN ('replayed', 'reused', 'suppressed')";

impl<'a> Tx<'a> {
    pub(super) fn new(db: impl Sql + 'a) -> Self {
        Self {
            db: Box::new(db),
            head: None,
            session: None,
        }
    }

    pub(super) fn commit(self) -> Result<(), StoreError> {
        self.db.commit()
    }

    // --- the chain ---

    /// The last link.
    pub(crate) fn head(&mut self) -> Result<Option<Head>, StoreError> {
        if self.head.is_none() {
            self.head = Some(self.one("ORDER BY seq DESC LIMIT 1", &[])?);
        }
        Ok(self.head.clone().flatten())
    }

    /// Adds the next link; any other is refused.
    pub(crate) fn append(&mut self, link: &Link) -> Result<(), StoreError> {
        if self.db.engine() == Engine::Sqlite {
            let last = self.head()?;
            self.keeps(rules::next(link, last.as_ref()))?;
        }
        self.keeps(rules::link(link))?;
        self.insert_record(link.clone())?;
        self.head = Some(Some(Head {
            seq: link.seq,
            entry_hash: link.entry_hash.clone(),
        }));
        Ok(())
    }

    /// Up to `most` links from that number on, ascending.
    pub(crate) fn links(&mut self, from: Seq, most: usize) -> Result<Vec<Link>, StoreError> {
        self.all(
            "WHERE seq >= ?1 ORDER BY seq LIMIT ?2",
            &[Value::since(from), Value::limit(most)],
        )
    }

    /// The link of that number.
    pub(crate) fn link(&mut self, seq: Seq) -> Result<Option<Link>, StoreError> {
        let found = self.links(seq, 1)?.into_iter().next();
        Ok(found.filter(|link| link.seq == seq))
    }

    /// The hash of that link, where there is one.
    pub(crate) fn entry_hash(&mut self, seq: Seq) -> Result<Option<String>, StoreError> {
        let head: Option<Head> = self.one("WHERE seq = ?1", &[seq.into()])?;
        Ok(head.map(|head| head.entry_hash))
    }

    /// Those of a session, ascending.
    pub(crate) fn links_of(&mut self, session_id: &str) -> Result<Vec<Link>, StoreError> {
        self.all("WHERE session_id = ?1 ORDER BY seq", &[session_id.into()])
    }

    /// Those of a session that tell of that request, ascending, but for those that say that its answer was
    /// given again.
    pub(crate) fn links_about(
        &mut self,
        session_id: &str,
        request_hash: &str,
        reach: Reach,
    ) -> Result<Vec<Link>, StoreError> {
        let (from, most) = match reach {
            Reach::All => (0, usize::MAX),
            Reach::Newest(most) => (0, most),
            Reach::From(seq) => (seq, usize::MAX),
        };
        let engine = self.db.engine();
        let hint = engine.indexed_by("ledger_events_request");
        let request = engine.choose("body ->> '$.request_hash'", "public.oneact_request(body)");
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
        Ok(links)
    }

    /// Whether a link tells of something that was asked in that session.
    pub(crate) fn is_used(&mut self, session_id: &str) -> Result<bool, StoreError> {
        let found: Option<Head> = self.one(
            "WHERE session_id = ?1 AND event NOT IN ('genesis', 'keyed') LIMIT 1",
            &[session_id.into()],
        )?;
        Ok(found.is_some())
    }

    /// The first link of a session after that one by which something that may change what later reads see
    /// was begun or ended, not counting that operation's own.
    pub(crate) fn changed_since(
        &mut self,
        seq: Seq,
        session_id: &str,
        but: &str,
    ) -> Result<Option<Seq>, StoreError> {
        let engine = self.db.engine();
        let hint = engine.indexed_by("ledger_events_session");
        let says_so = engine.choose("instr(body, ?4)", "strpos(body, ?4) > 0");
        let found: Option<Head> = self.one(
            &format!(
                "{hint} WHERE session_id = ?1 AND seq > ?2 AND operation_id <> ?3 AND {says_so} \
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

    /// The session of that id.
    pub(crate) fn session(&mut self, id: &str) -> Result<Option<Session>, StoreError> {
        if !matches!(&self.session, Some(known) if known.session_id == id) {
            let key = self.db.engine().choose("session_id", "session_key");
            self.session = self.one(&format!("WHERE {key} = ?1"), &[id.into()])?;
        }
        Ok(self.session.clone())
    }

    /// Once: nobody else can open it again.
    pub(crate) fn open_session(&mut self, session: &Session) -> Result<(), StoreError> {
        self.keeps(rules::session(session))?;
        self.insert_record(session.clone())?;
        self.session = Some(session.clone());
        Ok(())
    }

    /// How many answers it has.
    pub(crate) fn answers(&mut self, session_id: &str) -> Result<u64, StoreError> {
        let session = self.db.engine().session();
        self.count(&format!("{session} = ?1"), &[session_id.into()])
    }

    /// The number of its next one.
    pub(crate) fn next_step(&mut self, session_id: &str) -> Result<u64, StoreError> {
        // In PostgreSQL after our last; for the first of ours after those of before, but for numbers that nobody
        // can have counted to. Others may write rows of theirs at any time.
        let next = self.db.engine().choose(
            "SELECT max(step_index) + 1 FROM agent_actions WHERE session_id = ?1",
            "SELECT COALESCE((SELECT max(step_index) FROM public.agent_actions \
               WHERE COALESCE(session_key, session_id::text) = ?1 AND seq IS NOT NULL), \
              (SELECT max(step_index) FROM public.agent_actions \
               WHERE COALESCE(session_key, session_id::text) = ?1 AND step_index BETWEEN 0 AND 1073741823) \
             )::bigint + 1",
        );
        let found = self.db.run(next, &[session_id.into()])?;
        Ok(numbers(found).into_iter().next().unwrap_or_default())
    }

    /// Up to `most` that were opened by that link or a later one, ascending.
    pub(crate) fn sessions(&mut self, from: Seq, most: usize) -> Result<Vec<Session>, StoreError> {
        self.all(
            "WHERE seq >= ?1 ORDER BY seq LIMIT ?2",
            &[Value::since(from), Value::limit(most)],
        )
    }

    /// The one that was opened last.
    pub(crate) fn newest_session(&mut self) -> Result<Option<Session>, StoreError> {
        self.one("ORDER BY seq DESC LIMIT 1", &[])
    }

    // --- rows ---

    pub(crate) fn insert(&mut self, row: &Row) -> Result<(), StoreError> {
        self.keeps(rules::row(row))?;
        let at_home = match (row.state, self.db.engine()) {
            (None, _) => self.head()?.is_none(),
            (Some(_), Engine::Sqlite) => self.session(&row.session_id)?.is_some(),
            (Some(_), Engine::Postgres) => true,
        };
        if !at_home {
            return Err(self.refused("a row is of a session, or of before the first link"));
        }
        self.insert_record(row.clone())
    }

    pub(crate) fn rows(&mut self, which: &Which<'_>, most: usize) -> Result<Vec<Row>, StoreError> {
        let engine = self.db.engine();
        let payloads = match which {
            Which::ReusesOf(_) => Payloads::Left,
            Which::From(_) => Payloads::Checked,
            _ => Payloads::Kept,
        };
        let columns = columns::list::<Row>(engine, payloads);
        if engine == Engine::Postgres {
            let found = self.chosen(&columns, which, most)?;
            return self.records(found);
        }
        // Most questions of a run find nothing, and SQLite takes long to compile a statement for a whole row: the
        // rows are asked for by number once it is known which.
        let whole = format!("SELECT {columns} FROM agent_actions WHERE rowid = ?1");
        let mut rows = Vec::new();
        for number in self.chosen("rowid", which, most)? {
            let found = self.db.run(&whole, &number)?;
            rows.extend(self.records::<Row>(found)?);
        }
        Ok(rows)
    }

    /// Of the same rows in the same order nothing but their steps.
    pub(crate) fn steps(&mut self, which: &Which<'_>, most: usize) -> Result<Vec<u64>, StoreError> {
        let step = self.db.engine().choose("step_index", "step_index::bigint");
        Ok(numbers(self.chosen(step, which, most)?))
    }

    /// Marks a row as taken back by that link; the only other change is pruning.
    pub(crate) fn revoke(&mut self, row_id: &str, by: Seq) -> Result<(), StoreError> {
        self.change(
            row_id,
            "revoked_by = ?2",
            "COALESCE(revoked_by, ?2) = ?2",
            &[row_id.into(), by.into()],
        )
    }

    /// Removes request and response of a row; their hashes stay.
    pub(crate) fn prune(&mut self, row_id: &str) -> Result<(), StoreError> {
        let nothing = self.db.engine().choose(
            "request = NULL, response = NULL",
            "request = NULL, request_text = NULL, response = NULL, response_text = NULL",
        );
        self.change(row_id, nothing, "TRUE", &[row_id.into()])
    }

    /// How many rows are of before oneact: they have neither state nor link.
    pub(crate) fn outside(&mut self) -> Result<u64, StoreError> {
        self.count("seq IS NULL AND state IS NULL", &[])
    }

    /// The id of a row that says it is ours and names no link.
    pub(crate) fn unlinked(&mut self) -> Result<Option<String>, StoreError> {
        let engine = self.db.engine();
        let (table, id) = (Row::table(engine), engine.choose("id", "id::text"));
        let text =
            format!("SELECT {id} FROM {table} WHERE seq IS NULL AND state IS NOT NULL LIMIT 1");
        let found = self.db.run(&text, &[])?;
        Ok(found.into_iter().flatten().find_map(Value::text))
    }

    // --- the database ---

    /// For people.
    pub(crate) fn place(&self) -> &str {
        self.db.place()
    }

    /// What of it is not as this program makes it, where that can be known.
    pub(crate) fn flaw(&mut self) -> Result<Option<String>, StoreError> {
        self.db.flaw()
    }

    /// Something in it is not what was recorded.
    pub(crate) fn damaged(&self, why: String) -> StoreError {
        Trouble::Corrupt.with(self.db.place(), why)
    }

    // --- claims ---

    pub(crate) fn claim(&mut self, key: &ClaimKey) -> Result<Option<Claim>, StoreError> {
        self.one(
            "WHERE session_id = ?1 AND request_hash = ?2",
            &[
                key.session_id.as_str().into(),
                key.request_hash.as_str().into(),
            ],
        )
    }

    /// All of them, by their number.
    pub(crate) fn claims(&mut self) -> Result<Vec<Claim>, StoreError> {
        self.all("ORDER BY seq", &[])
    }

    /// Writes a claim, in the place of the one with the same key.
    pub(crate) fn put_claim(&mut self, claim: &Claim) -> Result<(), StoreError> {
        let (text, values) = columns::insert(self.db.engine(), claim.clone());
        match self.db.engine() {
            // SQLite compiles an upsert for longer than both of these.
            Engine::Sqlite => {
                self.delete_claim(&claim.key, None)?;
                self.db.run(&text, &values)
            }
            Engine::Postgres => self.db.run(
                &format!(
                    "{text} ON CONFLICT (session_id, request_hash) DO UPDATE SET \
                     operation_id = excluded.operation_id, seq = excluded.seq, \
                     state = excluded.state, effects = excluded.effects"
                ),
                &values,
            ),
        }
        .map(drop)
    }

    /// Removes a claim if it still has that number.
    pub(crate) fn drop_claim(&mut self, key: &ClaimKey, seq: Seq) -> Result<(), StoreError> {
        self.delete_claim(key, Some(seq))
    }

    fn delete_claim(&mut self, key: &ClaimKey, seq: Option<Seq>) -> Result<(), StoreError> {
        let table = Claim::table(self.db.engine());
        let text = format!(
            "DELETE FROM {table} WHERE session_id = ?1 AND request_hash = ?2 AND seq = COALESCE(?3, seq)"
        );
        let (session, hash) = (key.session_id.as_str(), key.request_hash.as_str());
        let values = [session.into(), hash.into(), seq.into()];
        self.db.run(&text, &values).map(drop)
    }

    // --- small things kept beside ---

    /// The key for hashes of secrets, once it was put here.
    pub(crate) fn secret_key(&mut self) -> Result<Option<[u8; 32]>, StoreError> {
        let table = self.keys();
        let text = format!("SELECT key FROM {table} WHERE name = 'secrets'");
        let found = self.db.run(&text, &[])?.into_iter().flatten().next();
        match found {
            None => Ok(None),
            Some(Value::Bytes(key)) if key.len() == 32 => Ok(key.try_into().ok()),
            Some(_) => Err(self.damaged("its key for secrets has not 32 bytes".to_owned())),
        }
    }

    /// Its SHA-256. In PostgreSQL those who may not see the key may see that.
    pub(crate) fn secret_key_sha256(&mut self) -> Result<Option<String>, StoreError> {
        if self.db.engine() == Engine::Sqlite {
            return Ok(self.secret_key()?.map(sha256));
        }
        let text = "SELECT sha256 FROM public.oneact_key_hashes WHERE name = 'secrets'";
        let found = self.db.run(text, &[])?;
        Ok(found.into_iter().flatten().find_map(Value::text))
    }

    /// The first link that says which key there is.
    pub(crate) fn keyed(&mut self) -> Result<Option<Link>, StoreError> {
        self.one("WHERE event = 'keyed' ORDER BY seq LIMIT 1", &[])
    }

    /// Puts it here: once.
    pub(crate) fn put_secret_key(&mut self, key: &[u8; 32]) -> Result<(), StoreError> {
        let table = self.keys();
        let text = format!("INSERT INTO {table} (name, key) VALUES ('secrets', ?1)");
        self.db.run(&text, &[Value::Bytes(key.to_vec())]).map(drop)
    }

    fn keys(&self) -> &'static str {
        let engine = self.db.engine();
        engine.choose("ledger_keys", "public.oneact_keys")
    }

    // --- what the steps have in common ---

    /// The records of a table that a condition and an order name.
    fn all<R: Record>(&mut self, rest: &str, values: &[Value]) -> Result<Vec<R>, StoreError> {
        let engine = self.db.engine();
        let columns = columns::list::<R>(engine, Payloads::Kept);
        let table = R::table(engine);
        let text = format!("SELECT {columns} FROM {table} {rest}");
        let found = self.db.run(&text, values)?;
        self.records(found)
    }

    fn one<R: Record>(&mut self, rest: &str, values: &[Value]) -> Result<Option<R>, StoreError> {
        Ok(self.all(rest, values)?.into_iter().next())
    }

    fn records<R: Record>(&self, found: Vec<Vec<Value>>) -> Result<Vec<R>, StoreError> {
        let engine = self.db.engine();
        let record = |values| columns::record(engine, values).map_err(|why| self.damaged(why));
        found.into_iter().map(record).collect()
    }

    /// Of the rows that are asked for these columns.
    fn chosen(
        &mut self,
        columns: &str,
        which: &Which<'_>,
        most: usize,
    ) -> Result<Vec<Vec<Value>>, StoreError> {
        let engine = self.db.engine();
        let Some(query) = which.query(engine) else {
            return Ok(Vec::new());
        };
        let (text, values) = query.statement(Row::table(engine), columns, most);
        self.db.run(&text, &values)
    }

    /// How many rows fulfil a condition.
    fn count(&mut self, condition: &str, values: &[Value]) -> Result<u64, StoreError> {
        let table = Row::table(self.db.engine());
        let text = format!("SELECT count(*) FROM {table} WHERE {condition}");
        let found = self.db.run(&text, values)?;
        Ok(numbers(found).into_iter().next().unwrap_or_default())
    }

    fn insert_record<R: Record>(&mut self, record: R) -> Result<(), StoreError> {
        let (text, values) = columns::insert(self.db.engine(), record);
        self.db.run(&text, &values).map(drop)
    }

    /// Changes a row, which has to be there; its id is the first value.
    fn change(
        &mut self,
        row_id: &str,
        set: &str,
        condition: &str,
        values: &[Value],
    ) -> Result<(), StoreError> {
        let engine = self.db.engine();
        let (table, id) = (Row::table(engine), engine.choose("?1", "?1::uuid"));
        let text = format!("UPDATE {table} SET {set} WHERE id = {id} AND {condition} RETURNING 1");
        if self.db.run(&text, values)?.is_empty() {
            return Err(self.refused(&format!("there is no row {row_id} that can be changed so")));
        }
        Ok(())
    }

    fn keeps(&self, rule: Rule) -> Result<(), StoreError> {
        rule.map_err(|why| self.refused(why))
    }

    fn refused(&self, why: &str) -> StoreError {
        Trouble::Refused.with(self.db.place(), why)
    }
}

/// The first value of each row, as a number from 0 on; what is none is none of ours.
fn numbers(found: Vec<Vec<Value>>) -> Vec<u64> {
    let number = |value| match value {
        Value::Int(number) => u64::try_from(number).unwrap_or_default(),
        _ => 0,
    };
    let first = found.into_iter().filter_map(|row| row.into_iter().next());
    first.map(number).collect()
}
