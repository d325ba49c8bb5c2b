//! The facts of the contract, told of every kind of store.

pub(crate) mod contract;

use tempfile::TempDir;

pub(crate) use super::postgres::tests::cluster::Cluster;
use super::{SqliteStore, Store, Wish, memory::Memory, postgres::PostgresStore};
pub(crate) use contract::{Ledger, contract, given};

impl Ledger for Memory {
    fn open(&self) -> Box<dyn Store + Send> {
        Box::new(Self::open(self))
    }
}

/// A ledger in a file of a directory that goes with it.
struct InFile(TempDir);

impl Ledger for InFile {
    fn open(&self) -> Box<dyn Store + Send> {
        let path = self.0.path().join("ledger.db");
        let path = path.as_path().try_into().unwrap();
        Box::new(SqliteStore::open(path, Wish::Write).unwrap())
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

contract!(in_memory, || Some(Memory::default()));
contract!(in_sqlite, || Some(InFile(tempfile::tempdir().unwrap())));
contract!(in_postgres, || Some(InPostgres(
    Cluster::shared().database()
)));
