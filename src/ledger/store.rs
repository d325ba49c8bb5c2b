//! Where the record is kept: one trait of small steps, so that every rule is written once above it.

#[cfg(test)]
mod memory;
mod postgres;
mod rules;
mod sqlite;
#[cfg(test)]
pub(super) mod tests;

use std::any::Any;

use super::{
    canonical::sha256,
    record::{Claim, ClaimKey, Head, Link, Row, Seq, Session},
};

pub(crate) use postgres::PostgresStore;
pub(super) use sqlite::real;
pub(crate) use sqlite::{SqliteStore, Wish};

#[cfg(test)]
pub(crate) use memory::Memory;

/// Why the ledger cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// Somebody else has held it for too long.
    #[error("the ledger {place} is locked: {why}. Try again")]
    Busy { place: String, why: String },
    /// It cannot be reached or opened.
    #[error("the ledger {place} cannot be opened: {why}")]
    Unreachable { place: String, why: String },
    /// There is none that could be used as it is, until a run makes it or brings it up to date.
    #[error("the ledger {place} cannot be opened: {why}")]
    NotYet { place: String, why: String },
    /// It may be read and not written.
    #[error("the ledger {place} cannot be written: {why}")]
    ReadOnly { place: String, why: String },
    /// A database of another program.
    #[error("{place} is no ledger: {why}. Name another file, or move it away")]
    Foreign { place: String, why: String },
    /// Written by a later program.
    #[error(
        "the ledger {place} has schema version {found}, and this program knows {known}: a newer oneact wrote it. Use that one"
    )]
    Newer {
        place: String,
        found: i64,
        known: i64,
    },
    /// A migration that was changed after it was applied, or is not complete.
    #[error(
        "the ledger {place} cannot be used by this program: {why}. Use the oneact that wrote it, or restore it from its backup"
    )]
    HalfMigrated { place: String, why: String },
    /// The file is damaged.
    #[error(
        "the ledger {place} is damaged: {why}. `oneact verify` says where; restore it from a backup"
    )]
    Corrupt { place: String, why: String },
    #[error("no space is left for the ledger {place}")]
    Full { place: String },
    /// The connection ended before the transaction was asked to be kept: none of it was.
    #[error(
        "the connection to the ledger {place} was lost: {why}. Nothing was recorded; try again"
    )]
    Lost { place: String, why: String },
    /// The connection ended after that and before the answer: it may have been kept.
    #[error(
        "the connection to the ledger {place} was lost while a record was being kept: {why}. Whether it was kept is not known: read it again"
    )]
    Unconfirmed { place: String, why: String },
    /// The chain or a row would break a rule of the database.
    #[error("the ledger {place} refused a record: {why}")]
    Refused { place: String, why: String },
}

impl StoreError {
    /// Whether it is the same until a person has done something about it.
    pub(crate) fn lasts(&self) -> bool {
        match self {
            Self::ReadOnly { .. }
            | Self::Foreign { .. }
            | Self::Newer { .. }
            | Self::HalfMigrated { .. }
            | Self::Corrupt { .. }
            | Self::Refused { .. } => true,
            Self::Busy { .. }
            | Self::Unreachable { .. }
            | Self::NotYet { .. }
            | Self::Full { .. }
            | Self::Lost { .. }
            | Self::Unconfirmed { .. } => false,
        }
    }
}

/// How safe a transaction must be when it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Also after a power failure.
    Disk,
    /// After a crash of this program, but not of the machine: what it says is only ever needed while the
    /// machine runs.
    Process,
}

/// A ledger's database. One transaction after the other; writers of other processes wait.
pub(crate) trait Store {
    /// For people: a path, or a URI without its password.
    fn place(&self) -> &str;

    /// Runs `work` in one transaction that no other writer comes between: all of it is kept or, where
    /// it fails, nothing.
    fn write(
        &mut self,
        durability: Durability,
        work: &mut dyn FnMut(&mut dyn Tx) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;

    /// Runs `work` on one unchanging view.
    fn read(
        &mut self,
        work: &mut dyn FnMut(&mut dyn Tx) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;

    /// Takes the lock of a claim, for as long as this process (or its connection) lives.
    fn hold(&mut self, claim: Seq) -> Result<(), StoreError>;

    /// Gives the lock of a claim back.
    fn release(&mut self, claim: Seq);

    /// Whether the owner of that claim is alive.
    fn held(&mut self, claim: Seq) -> Result<bool, StoreError>;

    /// For the end of the process: what closes it when dropped, unless the system does that by itself.
    fn closing(self: Box<Self>) -> Box<dyn Any>;
}

/// Inside a transaction.
pub(crate) trait Tx {
    // --- the chain ---

    fn head(&mut self) -> Result<Option<Head>, StoreError>;
    /// Adds the next link; any other is refused.
    fn append(&mut self, link: &Link) -> Result<(), StoreError>;
    /// Up to `most` links from that number on, ascending.
    fn links(&mut self, from: Seq, most: usize) -> Result<Vec<Link>, StoreError>;
    /// The link of that number.
    fn link(&mut self, seq: Seq) -> Result<Option<Link>, StoreError> {
        let found = self.links(seq, 1)?.into_iter().next();
        Ok(found.filter(|link| link.seq == seq))
    }

    /// The hash of that link, where there is one.
    fn entry_hash(&mut self, seq: Seq) -> Result<Option<String>, StoreError> {
        Ok(self.link(seq)?.map(|link| link.entry_hash))
    }

    /// Those of a session, ascending.
    fn links_of(&mut self, session_id: &str) -> Result<Vec<Link>, StoreError>;
    /// Those of a session that tell of that request, ascending, but for those that say that its answer was
    /// given again.
    fn links_about(
        &mut self,
        session_id: &str,
        request_hash: &str,
        reach: Reach,
    ) -> Result<Vec<Link>, StoreError>;
    /// Whether a link tells of something that was asked in that session.
    fn is_used(&mut self, session_id: &str) -> Result<bool, StoreError>;

    /// The first link of a session after that one by which something that may change what later reads see
    /// was begun or ended, not counting that operation's own.
    fn changed_since(
        &mut self,
        seq: Seq,
        session_id: &str,
        but: &str,
    ) -> Result<Option<Seq>, StoreError>;

    // --- sessions ---

    fn session(&mut self, id: &str) -> Result<Option<Session>, StoreError>;
    /// Once: nobody else can open it again.
    fn open_session(&mut self, session: &Session) -> Result<(), StoreError>;
    /// How many answers it has.
    fn answers(&mut self, session_id: &str) -> Result<u64, StoreError>;
    /// The number of its next one.
    fn next_step(&mut self, session_id: &str) -> Result<u64, StoreError>;
    /// Up to `most` that were opened by that link or a later one, ascending.
    fn sessions(&mut self, from: Seq, most: usize) -> Result<Vec<Session>, StoreError>;
    /// The one that was opened last.
    fn newest_session(&mut self) -> Result<Option<Session>, StoreError>;

    // --- rows ---

    fn insert(&mut self, row: &Row) -> Result<(), StoreError>;
    fn rows(&mut self, which: &Which<'_>, most: usize) -> Result<Vec<Row>, StoreError>;
    /// Of the same rows in the same order nothing but their steps.
    fn steps(&mut self, which: &Which<'_>, most: usize) -> Result<Vec<u64>, StoreError>;
    /// Marks a row as taken back by that link; the only other change is pruning.
    fn revoke(&mut self, row_id: &str, by: Seq) -> Result<(), StoreError>;
    /// Removes request and response of a row; their hashes stay.
    fn prune(&mut self, row_id: &str) -> Result<(), StoreError>;

    /// How many rows are of before oneact: they have neither state nor link.
    fn outside(&mut self) -> Result<u64, StoreError>;
    /// The id of a row that says it is ours and names no link.
    fn unlinked(&mut self) -> Result<Option<String>, StoreError>;

    // --- the database ---

    /// What of it is not as this program makes it, where that can be known.
    fn flaw(&mut self) -> Result<Option<String>, StoreError> {
        Ok(None)
    }
    /// Something in it is not what was recorded.
    fn damaged(&self, why: String) -> StoreError;

    // --- claims ---

    fn claim(&mut self, key: &ClaimKey) -> Result<Option<Claim>, StoreError>;
    /// All of them, by their number.
    fn claims(&mut self) -> Result<Vec<Claim>, StoreError>;
    /// Puts it in the place of the one with the same key, if there is one.
    fn put_claim(&mut self, claim: &Claim) -> Result<(), StoreError>;
    /// Removes it if it is still the one with that number, and gives it; none where it was taken over.
    fn drop_claim(&mut self, key: &ClaimKey, seq: Seq) -> Result<Option<Claim>, StoreError>;

    // --- small things kept beside ---

    /// The key for hashes of secrets, once it was put here.
    fn secret_key(&mut self) -> Result<Option<[u8; 32]>, StoreError>;
    /// Its SHA-256, which also those may see who may not see the key.
    fn secret_key_sha256(&mut self) -> Result<Option<String>, StoreError> {
        Ok(self.secret_key()?.map(sha256))
    }
    /// The first link that says which key there is.
    fn keyed(&mut self) -> Result<Option<Link>, StoreError>;
    /// Puts it here: once.
    fn put_secret_key(&mut self, key: &[u8; 32]) -> Result<(), StoreError>;
}

/// Which links about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    All,
    Newest(usize),
    From(Seq),
}

impl Reach {
    /// The number that they begin with, and how many they are at most.
    fn bounds(self) -> (Seq, usize) {
        match self {
            Self::All => (0, usize::MAX),
            Self::Newest(most) => (0, most),
            Self::From(seq) => (seq, usize::MAX),
        }
    }
}

/// Which rows of `agent_actions`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which<'a> {
    /// Answers to the same delivery, the newest first: not those that only repeat another, nor those of
    /// which nothing came.
    Delivery(Delivery<'a>),
    /// All answers for a task, the newest first.
    Task {
        session_id: &'a str,
        task_id: &'a str,
    },
    /// What came of its attempts, where they ran to an end, the newest first.
    Runs {
        session_id: &'a str,
        task_id: &'a str,
    },
    /// By operation id: the one that is no longer first, then the newest first.
    Operation(Begin<'a>),
    /// By row id, in their order.
    Id(Begin<'a>),
    /// Of a session, by step.
    Session(&'a str),
    /// Of a session, the last step first.
    Latest(&'a str),
    /// One answer.
    Step {
        session_id: &'a str,
        step_index: u64,
    },
    /// The row of a link.
    Seq(Seq),
    /// From that link on, ascending: for a walk over everything.
    From(Seq),
    /// What was answered before that link, the newest first.
    Earlier {
        than: Seq,
        session_id: &'a str,
        what: Earlier<'a>,
    },
    /// Rows that reuse that row, the newest first: without request and response, for they can be many.
    ReusesOf(&'a str),
    /// The newest first.
    Newest,
}

impl<'a> Which<'a> {
    /// By operation id, whole or its beginning, of any session.
    pub(crate) const fn operation(text: &'a str) -> Self {
        Self::Operation(Begin {
            text,
            session_id: None,
        })
    }

    /// By row id, whole or its beginning, of any session.
    pub(crate) const fn id(text: &'a str) -> Self {
        Self::Id(Begin {
            text,
            session_id: None,
        })
    }
}

/// An id, or the beginning of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Begin<'a> {
    pub(crate) text: &'a str,
    /// None where it may be of any session.
    pub(crate) session_id: Option<&'a str>,
}

/// What is looked for among earlier answers of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Earlier<'a> {
    /// A success (`done`, `partial`) of the same request.
    Success {
        action_type: &'a str,
        request_hash: &'a str,
    },
    /// A failure of that task.
    Failure { task_id: &'a str },
}

/// What makes two deliveries the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery<'a> {
    /// The caller's own key.
    Key {
        session_id: &'a str,
        idempotency_key: &'a str,
    },
    /// The task of a request. `attempt` is none where the caller counts none: every attempt fits.
    Task {
        session_id: &'a str,
        request_id: Option<&'a str>,
        task_id: &'a str,
        attempt: Option<u32>,
    },
}

/// Runs `work` in a writing transaction and gives what it gave.
pub(crate) fn write<T, E: From<StoreError>>(
    store: &mut dyn Store,
    durability: Durability,
    mut work: impl FnMut(&mut dyn Tx) -> Result<T, E>,
) -> Result<T, E> {
    let mut came = None;
    let done = store.write(durability, &mut |tx| match work(tx) {
        Ok(value) => {
            came = Some(Ok(value));
            Ok(())
        }
        Err(error) => {
            came = Some(Err(error));
            Err(taken_back())
        }
    });
    outcome(done, came)
}

/// Runs `work` on one unchanging view and gives what it gave.
pub(crate) fn read<T, E: From<StoreError>>(
    store: &mut dyn Store,
    mut work: impl FnMut(&mut dyn Tx) -> Result<T, E>,
) -> Result<T, E> {
    let mut came = None;
    let done = store.read(&mut |tx| match work(tx) {
        Ok(value) => {
            came = Some(Ok(value));
            Ok(())
        }
        Err(error) => {
            came = Some(Err(error));
            Err(taken_back())
        }
    });
    outcome(done, came)
}

/// What ends a transaction whose own error is told elsewhere.
fn taken_back() -> StoreError {
    StoreError::Refused {
        place: String::new(),
        why: "the work failed".to_owned(),
    }
}

fn outcome<T, E: From<StoreError>>(
    done: Result<(), StoreError>,
    came: Option<Result<T, E>>,
) -> Result<T, E> {
    match (done, came) {
        // An error of the work says more than that of the transaction it ended.
        (_, Some(Err(error))) => Err(error),
        (Err(error), _) => Err(error.into()),
        (Ok(()), Some(Ok(value))) => Ok(value),
        (Ok(()), None) => Err(taken_back().into()),
    }
}
