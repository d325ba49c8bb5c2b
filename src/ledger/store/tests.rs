//! The facts of the contract, told of every kind of store.

pub(crate) mod contract;

use std::{cell::Cell, rc::Rc};

use camino::{Utf8Path, Utf8PathBuf};
use rusqlite::{Connection, params, params_from_iter};
use tempfile::TempDir;

pub(crate) use super::postgres::tests::cluster::Cluster;
use super::{
    Access, Durability, SqliteStore, Store, StoreError, Tx, Wish, columns,
    postgres::PostgresStore,
    sql::{Sql, Value},
};
use crate::{
    ledger::canonical::canonical,
    ledger::record::{Head, Link, Row, Which},
};
pub(crate) use contract::{Ledger, contract, given};

/// A ledger in a file of a directory that goes with it.
pub(crate) struct InFile(TempDir);

impl InFile {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn dir(&self) -> &Utf8Path {
        self.0.path().try_into().unwrap()
    }

    fn path(&self) -> Utf8PathBuf {
        self.dir().join("ledger.db")
    }

    pub(crate) fn store(&self) -> SqliteStore {
        SqliteStore::open(&self.path(), Wish::Write).unwrap()
    }

    /// Writes as somebody does who minds no rule.
    fn by_hand(&self) -> Connection {
        let conn = Connection::open(self.path()).unwrap();
        conn.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
        conn
    }

    /// Changes the rows behind the ledger's back.
    pub(crate) fn change(&self, mut change: impl FnMut(&mut Row)) {
        let conn = self.by_hand();
        let rows = given::seen(&mut self.store(), |tx| {
            tx.rows(&Which::newest(), usize::MAX)
        });
        for row in rows.into_iter().rev() {
            let mut changed = row.clone();
            change(&mut changed);
            if changed != row {
                rewrite(&conn, &changed);
            }
        }
    }

    /// Changes the newest row, and its link as if it had always been so.
    pub(crate) fn reseal(&self, change: impl FnOnce(&mut Row)) {
        let newest = given::seen(&mut self.store(), |tx| tx.rows(&Which::newest(), 1));
        let mut row = newest.into_iter().next().unwrap();
        change(&mut row);
        let link = given::seen(&mut self.store(), |tx| tx.link(row.seq.unwrap()));
        let link = link.unwrap();
        let mut body = link.body().unwrap();
        body.row = Some(row.seal());
        let body = canonical(&serde_json::to_value(body).unwrap());
        let link = Link { body, ..link };
        let conn = self.by_hand();
        rewrite(&conn, &row);
        conn.execute(
            "UPDATE ledger_events SET body = ?2, entry_hash = ?3 WHERE seq = ?1",
            params![row.seq.map(u64::cast_signed), link.body, link.hash()],
        )
        .unwrap();
    }

    /// From now on no link can be added: the newest one is to be the only one of its kind.
    pub(crate) fn break_down(&self) {
        let head = given::seen(&mut self.store(), Tx::newest_link).unwrap();
        let index = format!(
            "CREATE UNIQUE INDEX broken ON ledger_events (length(prev_hash)) WHERE seq >= {}",
            head.seq
        );
        self.by_hand().execute_batch(&index).unwrap();
    }

    pub(crate) fn mend(&self) {
        self.by_hand().execute_batch("DROP INDEX broken").unwrap();
    }
}

fn rewrite(conn: &Connection, row: &Row) {
    let (names, values): (Vec<String>, Vec<Value>) = columns::values(row).unzip();
    let set = names.iter().zip(1..);
    let set: Vec<String> = set.map(|(name, at)| format!("{name} = ?{at}")).collect();
    let text = format!("UPDATE agent_actions SET {} WHERE id = ?1", set.join(", "));
    assert_eq!(conn.execute(&text, params_from_iter(values)).unwrap(), 1);
}

impl Ledger for InFile {
    fn open(&self) -> Box<dyn Store + Send> {
        Box::new(self.store())
    }
}

/// A store that counts the rows and links that its statements find.
pub(crate) struct Counting {
    pub(crate) store: SqliteStore,
    pub(crate) found: Rc<Cell<usize>>,
}

impl Store for Counting {
    fn place(&self) -> &str {
        self.store.place()
    }

    fn begin(&mut self, access: Access) -> Result<Tx<'_>, StoreError> {
        let mut tx = self.store.begin(access)?;
        tx.db = Box::new(Counted {
            db: tx.db,
            found: Rc::clone(&self.found),
        });
        Ok(tx)
    }

    fn hold(&mut self, owner: u64) -> Result<(), StoreError> {
        self.store.hold(owner)
    }

    fn release(&mut self, owner: u64) {
        self.store.release(owner);
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        self.store.sync()
    }

    fn held(&mut self, owner: u64) -> Result<bool, StoreError> {
        self.store.held(owner)
    }

    fn is_remote(&self) -> bool {
        self.store.is_remote()
    }
}

struct Counted<'a> {
    db: Box<dyn Sql + 'a>,
    found: Rc<Cell<usize>>,
}

impl Sql for Counted<'_> {
    fn run(&mut self, statement: &str, values: &[Value]) -> Result<Vec<Vec<Value>>, StoreError> {
        let rows = self.db.run(statement, values)?;
        self.found.update(|found| found + rows.len());
        Ok(rows)
    }

    fn commit(self: Box<Self>, durability: Durability) -> Result<(), StoreError> {
        self.db.commit(durability)
    }

    fn flaw(&mut self) -> Result<Option<String>, StoreError> {
        self.db.flaw()
    }
}

/// A database of the server that the test process has.
struct InPostgres(String);

impl Ledger for InPostgres {
    fn open(&self) -> Box<dyn Store + Send> {
        let uri = Cluster::shared().uri(&self.0);
        Box::new(PostgresStore::open(&uri, Wish::Write).unwrap())
    }
}

contract!(in_sqlite, || Some(InFile::new()));
contract!(in_postgres, || Some(InPostgres(
    Cluster::shared().database()
)));

impl Tx<'_> {
    pub(crate) fn newest_link(&mut self) -> Result<Option<Head>, StoreError> {
        self.one("ORDER BY seq DESC LIMIT 1", &[])
    }
}
