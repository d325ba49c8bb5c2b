//! The small steps, each one statement.

use std::cell::RefCell;

use tokio_postgres::Row as Found;

use super::{
    super::{Reach, StoreError, Tx, Which},
    line::Line,
    rows,
    trouble::Trouble,
    value::{Value, Word},
};
use crate::ledger::{
    chain::CHANGES_STATE,
    record::{Claim, ClaimKey, ClaimState, Effects, Head, Link, Row, Seq, Session},
};

const LINKS: &str = "SELECT seq, operation_id, session_id, event, at, actor, body, prev_hash, entry_hash \
    FROM public.ledger_events";

/// An open transaction.
pub(super) struct PgTx<'a> {
    line: &'a Line,
    place: &'a str,
    /// What a step of it failed with: nothing can be kept after that.
    failed: RefCell<Option<String>>,
}

impl<'a> PgTx<'a> {
    pub(super) fn new(line: &'a Line, place: &'a str) -> Self {
        Self {
            line,
            place,
            failed: RefCell::new(None),
        }
    }

    /// Whether every step succeeded. A `COMMIT` after one that did not takes all back without a word.
    pub(super) fn sound(&self) -> Result<(), StoreError> {
        match self.failed.take() {
            None => Ok(()),
            Some(why) => Err(self.refused(format!("a step of it failed: {why}"))),
        }
    }

    fn refused(&self, why: String) -> StoreError {
        StoreError::Refused {
            place: self.place.to_owned(),
            why,
        }
    }

    fn ask(&self, statement: &str, values: &[Value<'_>]) -> Result<Vec<Found>, StoreError> {
        self.line.rows(statement, values).map_err(|failure| {
            let error = Trouble::Working.of(self.place, &failure);
            *self.failed.borrow_mut() = Some(error.to_string());
            error
        })
    }

    fn first<T>(
        &self,
        statement: &str,
        values: &[Value<'_>],
        read: impl Fn(&Found) -> Result<T, tokio_postgres::Error>,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.all(statement, values, read)?.into_iter().next())
    }

    fn all<T>(
        &self,
        statement: &str,
        values: &[Value<'_>],
        read: impl Fn(&Found) -> Result<T, tokio_postgres::Error>,
    ) -> Result<Vec<T>, StoreError> {
        let found = self.ask(statement, values)?;
        let read = |row| {
            read(row).map_err(|error| StoreError::Corrupt {
                place: self.place.to_owned(),
                why: error.to_string(),
            })
        };
        found.iter().map(read).collect()
    }

    /// Of the rows that are asked for these columns.
    fn chosen<T>(
        &self,
        columns: &str,
        which: &Which<'_>,
        most: usize,
        read: impl Fn(&Found) -> Result<T, tokio_postgres::Error>,
    ) -> Result<Vec<T>, StoreError> {
        let Some((condition, mut values)) = rows::which(which) else {
            return Ok(Vec::new());
        };
        values.push(Value::int(most));
        let statement = format!(
            "SELECT {columns} FROM public.agent_actions {condition} LIMIT ${}",
            values.len()
        );
        self.all(&statement, &values, read)
    }

    /// A change that must find something.
    fn change(&self, what: &str, statement: &str, values: &[Value<'_>]) -> Result<(), StoreError> {
        if self.ask(statement, values)?.is_empty() {
            return Err(self.refused(format!("there is no {what}")));
        }
        Ok(())
    }
}

impl Tx for PgTx<'_> {
    fn head(&mut self) -> Result<Option<Head>, StoreError> {
        self.first(
            "SELECT seq, entry_hash FROM public.ledger_events ORDER BY seq DESC LIMIT 1",
            &[],
            |row| {
                Ok(Head {
                    seq: rows::number(row, 0)?,
                    entry_hash: row.try_get(1)?,
                })
            },
        )
    }

    fn append(&mut self, link: &Link) -> Result<(), StoreError> {
        let values = [
            Value::int(link.seq),
            Value::text(&link.operation_id),
            Value::text(&link.session_id),
            Value::text(&link.event),
            Value::text(&link.at),
            Value::text(&link.actor),
            Value::text(&link.body),
            Value::text(&link.prev_hash),
            Value::text(&link.entry_hash),
        ];
        self.ask(
            "INSERT INTO public.ledger_events \
               (seq, operation_id, session_id, event, at, actor, body, prev_hash, entry_hash) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            &values,
        )
        .map(drop)
    }

    fn links(&mut self, from: Seq, most: usize) -> Result<Vec<Link>, StoreError> {
        self.all(
            &format!("{LINKS} WHERE seq >= $1 ORDER BY seq LIMIT $2"),
            &[Value::since(from), Value::int(most)],
            link,
        )
    }

    fn links_of(&mut self, session_id: &str) -> Result<Vec<Link>, StoreError> {
        self.all(
            &format!("{LINKS} WHERE session_id = $1 ORDER BY seq"),
            &[Value::text(session_id)],
            link,
        )
    }

    fn changed_since(
        &mut self,
        seq: Seq,
        session_id: &str,
        but: &str,
    ) -> Result<Option<Seq>, StoreError> {
        self.first(
            "SELECT seq FROM public.ledger_events \
             WHERE session_id = $1 AND seq > $2 AND operation_id <> $3 AND strpos(body, $4) > 0 \
             ORDER BY seq LIMIT 1",
            &[
                Value::text(session_id),
                Value::int(seq),
                Value::text(but),
                Value::text(CHANGES_STATE),
            ],
            |row| rows::number(row, 0),
        )
    }

    fn links_about(
        &mut self,
        session_id: &str,
        request_hash: &str,
        reach: Reach,
    ) -> Result<Vec<Link>, StoreError> {
        let (from, most) = reach.bounds();
        let mut links = self.all(
            &format!(
                "{LINKS} WHERE session_id = $1 AND public.oneact_request(body) = $2 AND seq >= $3 \
                 AND event NOT IN ('replayed', 'reused', 'suppressed') ORDER BY seq DESC LIMIT $4"
            ),
            &[
                Value::text(session_id),
                Value::text(request_hash),
                Value::since(from),
                Value::int(most),
            ],
            link,
        )?;
        links.reverse();
        Ok(links)
    }

    fn is_used(&mut self, session_id: &str) -> Result<bool, StoreError> {
        let found = self.ask(
            "SELECT 1 FROM public.ledger_events WHERE session_id = $1 AND event NOT IN ('genesis', 'keyed') LIMIT 1",
            &[Value::text(session_id)],
        )?;
        Ok(!found.is_empty())
    }

    fn session(&mut self, id: &str) -> Result<Option<Session>, StoreError> {
        let statement = format!("{} WHERE session_key = $1", rows::SESSIONS);
        self.first(&statement, &[Value::text(id)], rows::session)
    }

    fn open_session(&mut self, session: &Session) -> Result<(), StoreError> {
        let uuid = rows::uuid(&session.session_id);
        let values = [
            Value::int(session.seq),
            Value::text(&session.session_id),
            Value::text(&uuid),
            Value::text(&session.context),
            Value::text(&session.profile),
            Value::text(&session.principal),
            Value::text(&session.opened_at),
        ];
        self.ask(
            "INSERT INTO public.oneact_sessions \
               (seq, session_key, session_id, context, profile, principal, opened_at) \
             VALUES ($1, $2, $3::uuid, $4, $5, $6, $7::timestamptz)",
            &values,
        )
        .map(drop)
    }

    fn answers(&mut self, session_id: &str) -> Result<u64, StoreError> {
        let count = self.first(
            "SELECT count(*) FROM public.agent_actions WHERE COALESCE(session_key, session_id::text) = $1",
            &[Value::text(session_id)],
            |row| rows::number(row, 0),
        )?;
        Ok(count.unwrap_or_default())
    }

    /// After our last; for the first of ours after those of before, but for numbers that nobody can have
    /// counted to. Others may write rows of theirs at any time.
    fn next_step(&mut self, session_id: &str) -> Result<u64, StoreError> {
        let next = self.first(
            "SELECT COALESCE((SELECT max(step_index) FROM public.agent_actions \
               WHERE COALESCE(session_key, session_id::text) = $1 AND seq IS NOT NULL), \
              (SELECT max(step_index) FROM public.agent_actions \
               WHERE COALESCE(session_key, session_id::text) = $1 AND step_index BETWEEN 0 AND 1073741823) \
             )::bigint + 1",
            &[Value::text(session_id)],
            |row| rows::number(row, 0),
        )?;
        Ok(next.unwrap_or_default())
    }

    fn sessions(&mut self, from: Seq, most: usize) -> Result<Vec<Session>, StoreError> {
        let statement = format!("{} WHERE seq >= $1 ORDER BY seq LIMIT $2", rows::SESSIONS);
        self.all(
            &statement,
            &[Value::since(from), Value::int(most)],
            rows::session,
        )
    }

    fn newest_session(&mut self) -> Result<Option<Session>, StoreError> {
        let statement = format!("{} ORDER BY seq DESC LIMIT 1", rows::SESSIONS);
        self.first(&statement, &[], rows::session)
    }

    fn insert(&mut self, row: &Row) -> Result<(), StoreError> {
        if row.seq.is_none() && self.head()?.is_some() {
            return Err(self.refused("history comes before the first link".to_owned()));
        }
        let made = rows::Made::of(row);
        self.ask(rows::INSERT, &made.values(row)).map(drop)
    }

    fn rows(&mut self, which: &Which<'_>, most: usize) -> Result<Vec<Row>, StoreError> {
        let columns = match which {
            Which::ReusesOf(_) => rows::BARE,
            Which::From(_) => rows::TWICE_KEPT,
            _ => rows::COLUMNS,
        };
        self.chosen(columns, which, most, rows::row)
    }

    fn steps(&mut self, which: &Which<'_>, most: usize) -> Result<Vec<u64>, StoreError> {
        self.chosen("step_index::bigint", which, most, |row| {
            rows::number(row, 0)
        })
    }

    fn revoke(&mut self, row_id: &str, by: Seq) -> Result<(), StoreError> {
        self.change(
            &format!("row {row_id}"),
            "UPDATE public.agent_actions SET revoked_by = $2 WHERE id = $1::uuid RETURNING 1",
            &[Value::text(row_id), Value::int(by)],
        )
    }

    fn prune(&mut self, row_id: &str) -> Result<(), StoreError> {
        self.change(
            &format!("row {row_id}"),
            "UPDATE public.agent_actions \
             SET request = NULL, request_text = NULL, response = NULL, response_text = NULL \
             WHERE id = $1::uuid RETURNING 1",
            &[Value::text(row_id)],
        )
    }

    fn outside(&mut self) -> Result<u64, StoreError> {
        let found = self.first(
            "SELECT count(*) FROM public.agent_actions WHERE seq IS NULL AND state IS NULL",
            &[],
            |row| rows::number(row, 0),
        )?;
        Ok(found.unwrap_or_default())
    }

    fn unlinked(&mut self) -> Result<Option<String>, StoreError> {
        self.first(
            "SELECT id::text FROM public.agent_actions WHERE seq IS NULL AND state IS NOT NULL LIMIT 1",
            &[],
            |row| rows::text(row, 0),
        )
    }

    fn damaged(&self, why: String) -> StoreError {
        StoreError::Corrupt {
            place: self.place.to_owned(),
            why,
        }
    }

    fn claim(&mut self, key: &ClaimKey) -> Result<Option<Claim>, StoreError> {
        self.first(
            "SELECT session_id, request_hash, operation_id, seq, state, effects \
             FROM public.oneact_claims WHERE session_id = $1 AND request_hash = $2",
            &[Value::text(&key.session_id), Value::text(&key.request_hash)],
            claim,
        )
    }

    fn claims(&mut self) -> Result<Vec<Claim>, StoreError> {
        self.all(
            "SELECT session_id, request_hash, operation_id, seq, state, effects FROM public.oneact_claims ORDER BY seq",
            &[],
            claim,
        )
    }

    fn put_claim(&mut self, claim: &Claim) -> Result<(), StoreError> {
        self.ask(
            "INSERT INTO public.oneact_claims (session_id, request_hash, operation_id, seq, state, effects) \
             VALUES ($1, $2, $3, $4, $5, $6) \
             ON CONFLICT (session_id, request_hash) DO UPDATE SET operation_id = EXCLUDED.operation_id, \
               seq = EXCLUDED.seq, state = EXCLUDED.state, effects = EXCLUDED.effects",
            &[
                Value::text(&claim.key.session_id),
                Value::text(&claim.key.request_hash),
                Value::text(&claim.operation_id),
                Value::int(claim.seq),
                Value::text(claim.state.name()),
                Value::text(claim.effects.name()),
            ],
        )
        .map(drop)
    }

    fn drop_claim(&mut self, key: &ClaimKey, seq: Seq) -> Result<Option<Claim>, StoreError> {
        self.first(
            "DELETE FROM public.oneact_claims WHERE session_id = $1 AND request_hash = $2 AND seq = $3 \
             RETURNING session_id, request_hash, operation_id, seq, state, effects",
            &[
                Value::text(&key.session_id),
                Value::text(&key.request_hash),
                Value::int(seq),
            ],
            claim,
        )
    }

    fn secret_key(&mut self) -> Result<Option<[u8; 32]>, StoreError> {
        let ask = "SELECT key FROM public.oneact_keys WHERE name = 'secrets'";
        let kept = self.first(ask, &[], |row| row.try_get::<_, Vec<u8>>(0))?;
        let whole = |key: Vec<u8>| {
            key.try_into().map_err(|key: Vec<u8>| StoreError::Corrupt {
                place: self.place.to_owned(),
                why: format!("its key for secrets has {} bytes and not 32", key.len()),
            })
        };
        kept.map(whole).transpose()
    }

    fn secret_key_sha256(&mut self) -> Result<Option<String>, StoreError> {
        let ask = "SELECT sha256 FROM public.oneact_key_hashes WHERE name = 'secrets'";
        self.first(ask, &[], |row| rows::text(row, 0))
    }

    fn keyed(&mut self) -> Result<Option<Link>, StoreError> {
        let statement = format!("{LINKS} WHERE event = 'keyed' ORDER BY seq LIMIT 1");
        self.first(&statement, &[], link)
    }

    fn put_secret_key(&mut self, key: &[u8; 32]) -> Result<(), StoreError> {
        self.ask(
            "INSERT INTO public.oneact_keys (name, key) VALUES ('secrets', $1)",
            &[Value::Bytes(key)],
        )
        .map(drop)
    }
}

fn link(row: &Found) -> Result<Link, tokio_postgres::Error> {
    Ok(Link {
        seq: rows::number(row, 0)?,
        operation_id: rows::text(row, 1)?,
        session_id: rows::text(row, 2)?,
        event: rows::text(row, 3)?,
        at: rows::text(row, 4)?,
        actor: rows::text(row, 5)?,
        body: rows::text(row, 6)?,
        prev_hash: rows::text(row, 7)?,
        entry_hash: rows::text(row, 8)?,
    })
}

fn claim(row: &Found) -> Result<Claim, tokio_postgres::Error> {
    Ok(Claim {
        key: ClaimKey {
            session_id: rows::text(row, 0)?,
            request_hash: rows::text(row, 1)?,
        },
        operation_id: rows::text(row, 2)?,
        seq: rows::number(row, 3)?,
        state: row.try_get::<_, Word<ClaimState>>(4)?.0,
        effects: row.try_get::<_, Word<Effects>>(5)?.0,
    })
}
