//! What a ledger is opened for, and how its transactions begin.

use std::any::Any;

use super::{StoreError, error::Result, sql::Durability, tx::Tx};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access<'a> {
    /// All reads see the same state.
    Read,
    /// No other transaction writes about this session meanwhile.
    Session(&'a str),
    /// No other transaction writes meanwhile.
    Write,
    /// The same, if the others end within a moment.
    IfFree,
}

/// A ledger's database. It has one transaction at a time, and writers of other processes wait: in SQLite all, in PostgreSQL
/// those about the same session.
pub(crate) trait Store: Any {
    /// The name of the ledger, for people: a path, or a URI without its password.
    fn place(&self) -> &str;

    /// Begins a transaction. If it is dropped without a commit, it leaves nothing.
    fn begin(&mut self, access: Access<'_>) -> Result<Tx<'_>>;

    /// Takes the lock of an owner of claims for as long as this process or its connection lives. `owner` is the hash of the
    /// id of its operation.
    fn hold(&mut self, owner: u64) -> Result<()>;

    fn release(&mut self, owner: u64);

    /// Releases the lock with the next commit, if that saves a round trip. If the commit fails, [`release`](Self::release)
    /// is still needed.
    fn release_with_commit(&mut self, _: u64) {}

    /// Whether that owner is alive.
    fn held(&mut self, owner: u64) -> Result<bool>;

    /// Whether the database is behind a network, which can be silent for longer than a run may take.
    fn is_remote(&self) -> bool {
        false
    }

    /// Waits until everything that can be read is on the disk.
    fn sync(&mut self) -> Result<()>;
}

/// Runs `work` in a transaction that writes alone, and returns its result. If it fails, nothing of it is kept.
pub(crate) fn write<'s, T, E: From<StoreError>>(
    store: &'s mut dyn Store,
    durability: Durability,
    work: impl FnOnce(&mut Tx<'s>) -> Result<T, E>,
) -> Result<T, E> {
    write_as(store, Access::Write, |tx| Ok((work(tx)?, durability)))
}

/// The same for work about one session.
pub(crate) fn write_in<'s, T, E: From<StoreError>>(
    store: &'s mut dyn Store,
    session_id: &str,
    durability: Durability,
    work: impl FnOnce(&mut Tx<'s>) -> Result<T, E>,
) -> Result<T, E> {
    write_as(store, Access::Session(session_id), |tx| {
        Ok((work(tx)?, durability))
    })
}

/// The same with this access, for work that knows only at its end what it must survive.
pub(crate) fn write_as<'s, T, E: From<StoreError>>(
    store: &'s mut dyn Store,
    access: Access<'_>,
    work: impl FnOnce(&mut Tx<'s>) -> Result<(T, Durability), E>,
) -> Result<T, E> {
    let mut tx = store.begin(access)?;
    let (value, durability) = work(&mut tx)?;
    tx.commit(durability)?;
    Ok(value)
}

/// Runs `work` in a reading transaction and returns its result.
pub(crate) fn read<'s, T, E: From<StoreError>>(
    store: &'s mut dyn Store,
    work: impl FnOnce(&mut Tx<'s>) -> Result<T, E>,
) -> Result<T, E> {
    work(&mut store.begin(Access::Read)?)
}

/// What a ledger is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// To write. A missing ledger is created, and the table of specification 004 is taken over.
    Write,
    /// To write into a ledger of this program's version. Nothing is created or taken over.
    Decide,
    /// To read. Nothing is created or changed. The ledger may be read-only, or of a later version.
    Read,
}
