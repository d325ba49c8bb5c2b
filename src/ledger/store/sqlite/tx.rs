//! The steps of a transaction.

use rusqlite::{Connection, OptionalExtension as _, Params, Result, params};

use super::{
    columns::{Columns, Count, Since},
    errors::told,
    flaw::flaw,
    read::{claim, key, link, number, session, text},
    rows,
};
use crate::ledger::{
    chain::CHANGES_STATE,
    record::{Claim, ClaimKey, Head, Link, Row, Seq, Session},
    store::{
        Reach, StoreError, Tx, Which,
        rules::{self, Rule},
    },
};

/// The transaction that is open on a connection.
pub(super) struct Inside<'a> {
    pub(super) conn: &'a Connection,
    pub(super) place: &'a str,
}

/// In the order of the table.
const LINK: &str = "seq, operation_id, session_id, event, at, actor, body, prev_hash, entry_hash";
/// In the order of the table.
const SESSION: &str = "seq, session_id, context, profile, principal, opened_at";
/// In the order of the table.
const CLAIM: &str = "session_id, request_hash, operation_id, seq, state, effects";

/// As the index has it, or it is not used.
const DECIDES: &str = "event NOT IN ('replayed', 'reused', 'suppressed')";

const NEXT_STEP: &str = "SELECT max(step_index) + 1 FROM agent_actions WHERE session_id = ?1";
const CLAIM_GONE: &str = "DELETE FROM claims WHERE session_id = ?1 AND request_hash = ?2";
const ENTRY_HASH: &str = "SELECT entry_hash FROM ledger_events WHERE seq = ?1";

impl Inside<'_> {
    fn told<T>(&self, done: Result<T>) -> std::result::Result<T, StoreError> {
        done.map_err(|error| told(self.place, &error))
    }

    fn run(&self, text: &str, values: impl Params) -> std::result::Result<usize, StoreError> {
        let done = || self.conn.prepare_cached(text)?.execute(values);
        self.told(done())
    }

    fn one<T>(
        &self,
        text: &str,
        values: impl Params,
        read: fn(&mut Columns<'_, '_>) -> Result<T>,
    ) -> std::result::Result<Option<T>, StoreError> {
        let found = || {
            let mut statement = self.conn.prepare_cached(text)?;
            statement.query_row(values, |row| read(&mut Columns::of(row)))
        };
        self.told(found().optional())
    }

    fn all<T>(
        &self,
        text: &str,
        values: impl Params,
        read: fn(&mut Columns<'_, '_>) -> Result<T>,
    ) -> std::result::Result<Vec<T>, StoreError> {
        let found = || {
            let mut statement = self.conn.prepare_cached(text)?;
            statement
                .query_map(values, |row| read(&mut Columns::of(row)))?
                .collect()
        };
        self.told(found())
    }

    fn keeps(&self, rule: Rule) -> std::result::Result<(), StoreError> {
        rule.map_err(|why| self.refused(why))
    }

    fn refused(&self, why: &str) -> StoreError {
        StoreError::Refused {
            place: self.place.to_owned(),
            why: why.to_owned(),
        }
    }
}

impl Tx for Inside<'_> {
    fn head(&mut self) -> std::result::Result<Option<Head>, StoreError> {
        self.one(
            "SELECT seq, entry_hash FROM ledger_events ORDER BY seq DESC LIMIT 1",
            [],
            |columns| {
                Ok(Head {
                    seq: columns.count()?,
                    entry_hash: columns.next()?,
                })
            },
        )
    }

    fn append(&mut self, link: &Link) -> std::result::Result<(), StoreError> {
        let last = self.head()?;
        self.keeps(rules::link(link, last.as_ref()))?;
        self.run(
            "INSERT INTO ledger_events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                Count(link.seq),
                link.operation_id,
                link.session_id,
                link.event,
                link.at,
                link.actor,
                link.body,
                link.prev_hash,
                link.entry_hash,
            ],
        )?;
        Ok(())
    }

    fn links(&mut self, from: Seq, most: usize) -> std::result::Result<Vec<Link>, StoreError> {
        self.all(
            &format!("SELECT {LINK} FROM ledger_events WHERE seq >= ?1 ORDER BY seq LIMIT ?2"),
            params![Since(from), limit(most)],
            link,
        )
    }

    fn entry_hash(&mut self, seq: Seq) -> std::result::Result<Option<String>, StoreError> {
        self.one(ENTRY_HASH, [Count(seq)], text)
    }

    fn links_of(&mut self, session_id: &str) -> std::result::Result<Vec<Link>, StoreError> {
        self.all(
            &format!("SELECT {LINK} FROM ledger_events WHERE session_id = ?1 ORDER BY seq"),
            [session_id],
            link,
        )
    }

    fn changed_since(
        &mut self,
        seq: Seq,
        session_id: &str,
        but: &str,
    ) -> std::result::Result<Option<Seq>, StoreError> {
        self.one(
            "SELECT seq FROM ledger_events INDEXED BY ledger_events_session \
             WHERE session_id = ?1 AND seq > ?2 AND operation_id <> ?3 AND instr(body, ?4) ORDER BY seq LIMIT 1",
            params![session_id, Count(seq), but, CHANGES_STATE],
            number,
        )
    }

    fn links_about(
        &mut self,
        session_id: &str,
        request_hash: &str,
        reach: Reach,
    ) -> std::result::Result<Vec<Link>, StoreError> {
        let (from, most) = reach.bounds();
        let mut links = self.all(
            &format!(
                "SELECT {LINK} FROM ledger_events INDEXED BY ledger_events_request \
                 WHERE session_id = ?1 AND body ->> '$.request_hash' = ?2 AND seq >= ?3 \
                 AND {DECIDES} ORDER BY seq DESC LIMIT ?4"
            ),
            params![session_id, request_hash, Since(from), limit(most)],
            link,
        )?;
        links.reverse();
        Ok(links)
    }

    fn is_used(&mut self, session_id: &str) -> std::result::Result<bool, StoreError> {
        let found = self.one(
            "SELECT seq FROM ledger_events WHERE session_id = ?1 AND event NOT IN ('genesis', 'keyed') LIMIT 1",
            [session_id],
            number,
        )?;
        Ok(found.is_some())
    }

    fn session(&mut self, id: &str) -> std::result::Result<Option<Session>, StoreError> {
        self.one(
            &format!("SELECT {SESSION} FROM sessions WHERE session_id = ?1"),
            [id],
            session,
        )
    }

    fn open_session(&mut self, session: &Session) -> std::result::Result<(), StoreError> {
        self.keeps(rules::session(session))?;
        self.run(
            "INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?)",
            params![
                Count(session.seq),
                session.session_id,
                session.context,
                session.profile,
                session.principal,
                session.opened_at,
            ],
        )?;
        Ok(())
    }

    fn answers(&mut self, session_id: &str) -> std::result::Result<u64, StoreError> {
        let count = "SELECT count(*) FROM agent_actions WHERE session_id = ?1";
        Ok(self.one(count, [session_id], number)?.unwrap_or_default())
    }

    fn next_step(&mut self, session_id: &str) -> std::result::Result<u64, StoreError> {
        let next = self.one(NEXT_STEP, [session_id], |columns| {
            columns.next::<Option<Count>>()
        })?;
        Ok(next.flatten().map_or(0, |next| next.0))
    }

    fn sessions(
        &mut self,
        from: Seq,
        most: usize,
    ) -> std::result::Result<Vec<Session>, StoreError> {
        self.all(
            &format!("SELECT {SESSION} FROM sessions WHERE seq >= ?1 ORDER BY seq LIMIT ?2"),
            params![Since(from), limit(most)],
            session,
        )
    }

    fn newest_session(&mut self) -> std::result::Result<Option<Session>, StoreError> {
        self.one(
            &format!("SELECT {SESSION} FROM sessions ORDER BY seq DESC LIMIT 1"),
            [],
            session,
        )
    }

    fn insert(&mut self, row: &Row) -> std::result::Result<(), StoreError> {
        self.keeps(rules::row(row))?;
        let at_home = match row.state {
            Some(_) => self.session(&row.session_id)?.is_some(),
            None => self.head()?.is_none(),
        };
        if !at_home {
            return Err(self.refused("a row is of a session, or of before the first link"));
        }
        self.told(rows::insert(self.conn, row))
    }

    fn rows(
        &mut self,
        which: &Which<'_>,
        most: usize,
    ) -> std::result::Result<Vec<Row>, StoreError> {
        self.told(rows::select(self.conn, which, most))
    }

    fn steps(
        &mut self,
        which: &Which<'_>,
        most: usize,
    ) -> std::result::Result<Vec<u64>, StoreError> {
        self.told(rows::steps(self.conn, which, most))
    }

    fn revoke(&mut self, row_id: &str, by: Seq) -> std::result::Result<(), StoreError> {
        let rows = self.run(
            "UPDATE agent_actions SET revoked_by = ?2 WHERE id = ?1 AND coalesce(revoked_by, ?2) = ?2",
            params![row_id, Count(by)],
        )?;
        match rows {
            0 => Err(self.refused("there is no such row that could be taken back")),
            _ => Ok(()),
        }
    }

    fn prune(&mut self, row_id: &str) -> std::result::Result<(), StoreError> {
        let rows = self.run(
            "UPDATE agent_actions SET request = NULL, response = NULL WHERE id = ?1",
            [row_id],
        )?;
        match rows {
            0 => Err(self.refused("there is no such row")),
            _ => Ok(()),
        }
    }

    fn outside(&mut self) -> std::result::Result<u64, StoreError> {
        let found = self.one(
            "SELECT count(*) FROM agent_actions WHERE seq IS NULL AND state IS NULL",
            [],
            number,
        )?;
        Ok(found.unwrap_or_default())
    }

    fn unlinked(&mut self) -> std::result::Result<Option<String>, StoreError> {
        self.one(
            "SELECT id FROM agent_actions WHERE seq IS NULL AND state IS NOT NULL LIMIT 1",
            [],
            text,
        )
    }

    fn flaw(&mut self) -> std::result::Result<Option<String>, StoreError> {
        self.told(flaw(self.conn))
    }

    fn damaged(&self, why: String) -> StoreError {
        StoreError::Corrupt {
            place: self.place.to_owned(),
            why,
        }
    }

    fn claim(&mut self, key: &ClaimKey) -> std::result::Result<Option<Claim>, StoreError> {
        self.one(
            &format!("SELECT {CLAIM} FROM claims WHERE session_id = ?1 AND request_hash = ?2"),
            [&key.session_id, &key.request_hash],
            claim,
        )
    }

    fn claims(&mut self) -> std::result::Result<Vec<Claim>, StoreError> {
        self.all(
            &format!("SELECT {CLAIM} FROM claims ORDER BY seq"),
            [],
            claim,
        )
    }

    fn put_claim(&mut self, claim: &Claim) -> std::result::Result<(), StoreError> {
        // Both in one statement would take longer to compile than all three do.
        let text = match self.claim(&claim.key)? {
            Some(_) => {
                "UPDATE claims SET operation_id = ?3, seq = ?4, state = ?5, effects = ?6 \
                 WHERE session_id = ?1 AND request_hash = ?2"
            }
            None => "INSERT INTO claims VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        };
        self.run(
            text,
            params![
                claim.key.session_id,
                claim.key.request_hash,
                claim.operation_id,
                Count(claim.seq),
                claim.state.name(),
                claim.effects.name(),
            ],
        )?;
        Ok(())
    }

    fn drop_claim(
        &mut self,
        key: &ClaimKey,
        seq: Seq,
    ) -> std::result::Result<Option<Claim>, StoreError> {
        let ours = self.claim(key)?.filter(|claim| claim.seq == seq);
        if ours.is_some() {
            self.run(CLAIM_GONE, [&key.session_id, &key.request_hash])?;
        }
        Ok(ours)
    }

    fn secret_key(&mut self) -> std::result::Result<Option<[u8; 32]>, StoreError> {
        self.one(
            "SELECT key FROM ledger_keys WHERE name = 'secrets'",
            [],
            key,
        )
    }

    fn keyed(&mut self) -> std::result::Result<Option<Link>, StoreError> {
        self.one(
            &format!("SELECT {LINK} FROM ledger_events WHERE event = 'keyed' ORDER BY seq LIMIT 1"),
            [],
            link,
        )
    }

    fn put_secret_key(&mut self, key: &[u8; 32]) -> std::result::Result<(), StoreError> {
        self.run(
            "INSERT INTO ledger_keys (name, key) VALUES ('secrets', ?1)",
            [key],
        )?;
        Ok(())
    }
}

fn limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}
