//! What the questions ask and know, and how they end.

use super::super::{
    chain::Stamp,
    record::{Claim, Row},
    request::Hashes,
    review::Usable,
    store::{Seq, StoreError, Tx},
    words::{Answered, Ask, LedgerError, Miss},
};

/// How a transaction ends without a claim.
pub(in crate::ledger) enum QuestionEnd {
    Answered(Box<Answered>),
    /// An old answer, to be judged outside the transaction, because that may mean reading files.
    Judge(Box<Row>, Usable),
    /// Another run has claimed the request. The caller checks whether that run is alive.
    Claimed(Box<Claim>),
    /// The owner died after the request may have happened.
    Unknown {
        operation: String,
    },
}

/// What was found out between two transactions.
#[derive(Default)]
pub(in crate::ledger) struct Known {
    /// The judged old answers, as they were then. Those to the same delivery and to the same request may differ.
    pub(in crate::ledger) judged: Vec<(Row, Result<(), Miss>)>,
    /// The operations of claims whose owners have died. A database that crashed can give the number of a lost claim to another.
    pub(in crate::ledger) dead: Vec<String>,
}

pub(in crate::ledger) struct Questions<'t, 'd, 'a> {
    pub(in crate::ledger) tx: &'t mut Tx<'d>,
    pub(in crate::ledger) ask: &'t Ask<'a>,
    pub(in crate::ledger) hashes: &'t Hashes,
    pub(in crate::ledger) known: &'t Known,
    pub(in crate::ledger) stamp: Stamp<'t>,
    /// What runs of the delivery performed before this link does not count. Their answer was revoked, or it is a failure
    /// that the next attempt follows.
    pub(in crate::ledger) since: Seq,
    pub(in crate::ledger) turn: Turn,
}

/// Whether the runs of the delivery are runs of the same attempt.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::ledger) enum Turn {
    Same,
    /// The caller does not count, and the last attempt has failed.
    Next,
}

/// Why the questions do not lead to a claim. The transaction of a step is kept, that of an error is not.
pub(in crate::ledger) enum Stop {
    End(QuestionEnd),
    Error(LedgerError),
}

impl From<LedgerError> for Stop {
    fn from(error: LedgerError) -> Self {
        Self::Error(error)
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Error(error.into())
    }
}

/// What a question finds out, unless it ends the questions.
pub(super) type Question<T> = Result<T, Stop>;
