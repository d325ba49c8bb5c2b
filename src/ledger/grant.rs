//! Grants (R-003-06). There is no table of them: the link of the answer that opens a grant contains its limits, the
//! links `dispatched` of the calls under it name it, and the link that revokes that answer closes it.

use jiff::Timestamp;
use serde_json::Value;

use crate::task::{Failure, Fault, Granted, IMPROVISED, visible};

use super::{
    Ledger,
    answer::action_type,
    claims::must_have,
    decide::about,
    naming::{CommandError, Name, find},
    past::{FEW, Past, examined},
    record::{Effects, Event, Head, Link, Row, RowOutcome, RowState, Seq},
    store::{StoreError, Tx, Which},
    validity::has_own_request,
    words::{Ask, Under},
};

/// A grant, and everything that happened to it since.
#[derive(Debug, Clone)]
pub(crate) struct GrantState {
    /// The row of the answer that opened it.
    pub(crate) row: Row,
    pub(crate) granted: Granted,
    pub(crate) session_id: String,
    /// The name of the root in which it was opened.
    home: Option<String>,
    /// The operations of its calls, in their order. A call that was dispatched twice is there twice.
    pub(crate) calls: Vec<String>,
    /// The link that closed it.
    pub(crate) closed: Option<Seq>,
}

impl GrantState {
    /// The grant that the operation opened; none unless a link seals it. The answer may have been returned by a later
    /// operation, too.
    fn by(tx: &mut Tx<'_>, operation_id: &str) -> Result<Option<Self>, StoreError> {
        match answer(tx, operation_id)? {
            Some(row) => Self::of(tx, row),
            None => Ok(None),
        }
    }

    /// The grant that this row opened; none unless its link seals it.
    pub(super) fn of_row(tx: &mut Tx<'_>, row: &Row) -> Result<Option<Self>, StoreError> {
        if row.action_type.as_deref() != Some(IMPROVISED) {
            return Ok(None);
        }
        let believed = believed(tx, vec![row.clone()])?;
        believed.map_or(Ok(None), |row| Self::of(tx, row))
    }

    /// The grant that this believed row opened, if it opened one.
    fn of(tx: &mut Tx<'_>, row: Row) -> Result<Option<Self>, StoreError> {
        let opened = tx.link_of(&row)?.and_then(|link| {
            let body = link.body()?;
            Some((body.grant?, body.home, link))
        });
        let Some((granted, home, link)) = opened else {
            return Ok(None);
        };
        let mut calls = tx.links_naming(&link.session_id, link.seq, &link.operation_id)?;
        let counts = |call: &Link| is_under(call, &link.operation_id);
        let newest = examined(tx, &link.session_id)?;
        must_have(tx, &calls, &newest, counts)?;
        calls.retain(counts);
        Ok(Some(Self {
            granted,
            home,
            calls: calls.into_iter().map(|call| call.operation_id).collect(),
            session_id: link.session_id,
            closed: row.revoked_by,
            row,
        }))
    }
}

/// The first of these rows that its link seals. All links about its request say whether its answer was revoked. The newest
/// links must be among them.
fn believed(tx: &mut Tx<'_>, rows: Vec<Row>) -> Result<Option<Row>, StoreError> {
    for row in rows {
        let newest = examined(tx, &row.session_id)?;
        let all = (Effects::Once, newest.as_slice());
        let past = Past::of(tx, &row.session_id, &row.request_hash, all)?;
        if let Some(row) = past.first_believed(tx, vec![row])? {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

/// The answer of an operation, where it was made; none unless a link seals it.
fn answer(tx: &mut Tx<'_>, operation_id: &str) -> Result<Option<Row>, StoreError> {
    let mut rows = tx.rows(&Which::operation(operation_id), FEW)?;
    rows.retain(|row| row.operation_id == operation_id);
    let row = believed(tx, rows)?;
    let Some(origin) = row.as_ref().and_then(|row| row.reused_from.clone()) else {
        return Ok(row);
    };
    let rows = tx.rows(&Which::id(&origin), 1)?;
    believed(tx, rows)
}

/// An improvised action that has succeeded.
#[derive(Debug)]
pub(crate) struct Improvisation {
    pub(crate) row: Row,
    /// The link of its answer.
    pub(crate) link: Link,
    /// Of a grant: the answers of the calls that succeeded, in the order in which the calls began.
    pub(crate) calls: Option<Vec<Row>>,
}

/// The improvised action of an operation. `operation` may be the beginning of the id.
pub(super) fn improvised(tx: &mut Tx<'_>, operation: &str) -> Result<Improvisation, CommandError> {
    let operation = find(tx, Name::operation(operation))?.operation_id;
    let row = answer(tx, &operation)?.filter(|row| {
        row.action_type.as_deref() == Some(IMPROVISED)
            && row.outcome == RowOutcome::Success
            && has_own_request(row)
    });
    let sealed = match row {
        Some(row) => tx.link_of(&row)?.map(|link| (row, link)),
        None => None,
    };
    let Some((row, link)) = sealed else {
        return Err(CommandError::NotImprovised { operation });
    };
    let calls = match (GrantState::of(tx, row.clone())?, row.revoked_by) {
        (None, Some(by)) => {
            return Err(CommandError::RevokedBefore { row: operation, by });
        }
        (None, None) => None,
        (Some(grant), _) => {
            let mut calls: Vec<Row> = Vec::new();
            for operation in grant.calls {
                let row = answer(tx, &operation)?.filter(has_own_request);
                let is_done =
                    |link: &Link| link.operation_id == operation && link.is(Event::Succeeded);
                if row.is_none() && tx.links_of(&grant.session_id)?.iter().any(is_done) {
                    return Err(CommandError::Unsealed { row: operation });
                }
                let done =
                    row.filter(|row| row.state == Some(RowState::Done) && row.revoked_by.is_none());
                calls.extend(done.filter(|row| calls.iter().all(|other| other.id != row.id)));
            }
            Some(calls)
        }
    };
    Ok(Improvisation { row, link, calls })
}

/// The operation under whose grant the task of this row was sent.
pub(super) fn under(row: &Row) -> Option<String> {
    let request = row.request.as_ref();
    let request = request.filter(|text| text.contains(r#""under":"#))?;
    let request: Value = serde_json::from_str(request).ok()?;
    Some(request.pointer("/context/under")?.as_str()?.to_owned())
}

fn is_under(link: &Link, operation_id: &str) -> bool {
    let under = link.body().and_then(|body| body.under);
    under.as_deref() == Some(operation_id)
}

/// Everything on which the coverage of a call depends.
struct Facts<'a> {
    grant: &'a GrantState,
    entry: &'a str,
    under: &'a Under<'a>,
    session_id: &'a str,
    /// By the clock of the ledger's host.
    now: Timestamp,
}

/// A condition, its fault, and what a person reads if it does not hold.
type Condition = (Fault, fn(&Facts<'_>) -> bool, fn(&Facts<'_>) -> String);

/// The first one that does not hold is reported.
const CONDITIONS: [Condition; 6] = [
    (
        Fault::GrantNotFound,
        |of| of.grant.session_id == of.session_id,
        |_| "another session opened it".to_owned(),
    ),
    (
        Fault::GrantClosed,
        |of| of.grant.closed.is_none(),
        |of| format!("link {} closed it", of.grant.closed.unwrap_or_default()),
    ),
    (
        Fault::GrantExpired,
        |of| {
            of.grant
                .granted
                .until
                .parse()
                .is_ok_and(|until: Timestamp| of.now < until)
        },
        |of| format!("it expired at {}", of.grant.granted.until),
    ),
    (
        Fault::GrantMismatch,
        |of| of.grant.home.as_ref() == Some(&of.under.home),
        |_| "it was opened in another root".to_owned(),
    ),
    (
        Fault::GrantMismatch,
        |of| of.grant.granted.entries.get(of.entry) == Some(&of.under.seal),
        |of| {
            let ids: Vec<&str> = of
                .grant
                .granted
                .entries
                .keys()
                .map(String::as_str)
                .collect();
            if of.grant.granted.entries.contains_key(of.entry) {
                format!("the entry {} has changed in the catalog since", of.entry)
            } else {
                format!(
                    "it does not contain {}; it contains {}",
                    of.entry,
                    ids.join(", ")
                )
            }
        },
    ),
    (
        Fault::GrantUsedUp,
        |of| {
            let most = usize::try_from(of.grant.granted.max_calls).unwrap_or(usize::MAX);
            of.grant.calls.len() < most
        },
        |of| format!("all {} calls were made", of.grant.granted.max_calls),
    ),
];

/// The operation of the grant that the call names, if the grant covers the call now. The caller records the call in
/// the same transaction.
pub(super) fn covers(
    tx: &mut Tx<'_>,
    under: &Under<'_>,
    ask: &Ask<'_>,
    now: Timestamp,
) -> Result<Result<String, Failure>, StoreError> {
    let grant = GrantState::by(tx, under.operation_id)?;
    let refused = |fault, why: &str| {
        let operation = visible(under.operation_id);
        let message = format!(
            "the grant {operation} does not cover the call: {why}. Nothing was performed. Propose a new grant, or send \
             the call without `under`"
        );
        Ok(Err(Failure::new(fault, message)))
    };
    let Some(grant) = grant else {
        return refused(
            Fault::GrantNotFound,
            "no operation with this id opened a grant",
        );
    };
    let facts = Facts {
        grant: &grant,
        entry: &action_type(&ask.asked),
        under,
        session_id: ask.who.session_id,
        now,
    };
    let mut conditions = CONDITIONS.iter();
    if let Some((fault, _, why)) = conditions.find(|(_, holds, _)| !holds(&facts)) {
        return refused(*fault, &why(&facts));
    }
    Ok(Ok(grant.row.operation_id))
}

impl Ledger<'_> {
    /// Closes a grant, and returns it with the link that does. `operation` may be the beginning of the id.
    pub(crate) fn close(
        &mut self,
        operation: &str,
        note: Option<&str>,
    ) -> Result<(GrantState, Head), CommandError> {
        self.decide(note, |tx, person| {
            let operation = find(tx, Name::operation(operation))?.operation_id;
            let Some(grant) = GrantState::by(tx, &operation)? else {
                return Err(CommandError::NoGrant { operation });
            };
            if let Some(by) = grant.closed {
                return Err(CommandError::ClosedBefore { operation, by });
            }
            let link = about(tx, Event::Revoked, &grant.row, person, Some("closed"))?;
            tx.revoke(&grant.row.id, link.seq)?;
            Ok(((grant, link.clone()), link))
        })
    }
}
