//! Why something was done although it had been asked before, or why it was not: read back from the record.

use super::{
    record::{Made, Row, RowState, SeenInput},
    store::{Earlier, StoreError, Tx, Which},
    validity::list,
    words::{Again, Miss, Why},
};
use crate::task::Sight;

/// What was decided on a request.
#[derive(Debug)]
pub(crate) enum Decision {
    /// It was done.
    Ran {
        why: Why,
        /// The answer that did not do: none where there was none.
        although: Option<Box<Row>>,
        differences: Vec<Difference>,
    },
    /// It was answered from the record.
    Answered {
        how: Again,
        original: Option<Box<Row>>,
    },
    /// Of before oneact: nothing was decided.
    History,
    /// A reason that this program does not know.
    Other(String),
}

/// What was not as before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    /// A URI, or what else differs.
    pub(crate) what: String,
    pub(crate) then: Fact,
    /// What was found when it was done again; none where that is not recorded.
    pub(crate) now: Option<Fact>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fact {
    Seen(Sight),
    Said(String),
}

impl Decision {
    /// What was decided on the request of a row.
    pub(super) fn of(tx: &mut Tx<'_>, row: &Row) -> Result<Self, StoreError> {
        let how = match row.state {
            None => return Ok(Self::History),
            Some(RowState::Reused) => Some(Again::Reused),
            Some(RowState::Suppressed) => Some(Again::Suppressed),
            Some(RowState::Replayed) => Some(Again::Replayed),
            Some(_) => None,
        };
        if let Some(how) = how {
            let original = match &row.reused_from {
                Some(id) => tx.rows(&Which::id(id), 1)?.into_iter().next(),
                None => None,
            };
            return Ok(Self::Answered {
                how,
                original: original.map(Box::new),
            });
        }
        let name = row.reason.as_deref().unwrap_or_default();
        let Some(why) = Why::read(name) else {
            return Ok(Self::Other(name.to_owned()));
        };
        let although = before(tx, row, why)?;
        let differences = match (why, &although) {
            (Why::Miss(miss), Some(before)) => differences(miss, before, row),
            _ => Vec::new(),
        };
        Ok(Self::Ran {
            why,
            although: although.map(Box::new),
            differences,
        })
    }
}

/// The answer that was there already and did not do.
fn before(tx: &mut Tx<'_>, row: &Row, why: Why) -> Result<Option<Row>, StoreError> {
    let what = match (why, &row.task_id, &row.action_type) {
        (Why::Miss(_) | Why::Repeat, _, Some(action_type)) => Earlier::Success {
            action_type,
            request_hash: &row.request_hash,
        },
        (Why::Retry, Some(task_id), _) => Earlier::Failure { task_id },
        _ => return Ok(None),
    };
    let which = Which::Earlier {
        than: row.seq.unwrap_or_default(),
        session_id: &row.session_id,
        what,
    };
    Ok(tx.rows(&which, 1)?.into_iter().next())
}

/// What of the old answer did not hold any more, as far as it was recorded.
fn differences(miss: Miss, before: &Row, row: &Row) -> Vec<Difference> {
    let said = |what: &str, then: Option<&String>, now: Option<&String>| {
        let none = || "none".to_owned();
        vec![Difference {
            what: what.to_owned(),
            then: Fact::Said(then.cloned().unwrap_or_else(none)),
            now: Some(Fact::Said(now.cloned().unwrap_or_else(none))),
        }]
    };
    match miss {
        Miss::CatalogChanged => said(
            "the entry",
            before.entry_digest.as_ref(),
            row.entry_digest.as_ref(),
        ),
        Miss::ToolChanged => said("the pin", before.tool_pin.as_ref(), row.tool_pin.as_ref()),
        Miss::OneactChanged => said(
            "oneact",
            Some(&before.oneact_version),
            Some(&row.oneact_version),
        ),
        Miss::Expired => said("answered", Some(&before.timestamp), Some(&row.started_at)),
        Miss::InputChanged | Miss::InputUnknown => changed(inputs(before), &inputs(row)),
        Miss::OutputMissing | Miss::OutputChanged | Miss::OutputExpiring => {
            changed(outputs(before), &outputs(row))
        }
        Miss::InputChangedDuringRun => {
            let written = list::<SeenInput>(before.input_ids.as_deref()).unwrap_or_default();
            let written = written.into_iter().filter(|seen| seen.changed_meanwhile);
            written
                .map(|seen| Difference {
                    what: seen.print.uri,
                    then: Fact::Said("written to while the old run read it".to_owned()),
                    now: None,
                })
                .collect()
        }
        Miss::Degraded => said(
            "the demands",
            before.adjusted.as_ref(),
            row.adjusted.as_ref(),
        ),
        Miss::Disabled
        | Miss::NotSuccessful
        | Miss::LedgerDamaged
        | Miss::Revoked
        | Miss::StateMayHaveChanged
        | Miss::Pruned => Vec::new(),
    }
}

fn inputs(row: &Row) -> Vec<(String, Sight)> {
    let seen = list::<SeenInput>(row.input_ids.as_deref()).unwrap_or_default();
    seen.into_iter()
        .map(|seen| (seen.print.uri, seen.print.sight))
        .collect()
}

fn outputs(row: &Row) -> Vec<(String, Sight)> {
    let made = list::<Made>(row.output_ids.as_deref()).unwrap_or_default();
    made.into_iter()
        .map(|made| (made.storage_uri, made.print.sight))
        .collect()
}

/// Those that differ; all of them where none is known to.
fn changed(then: Vec<(String, Sight)>, now: &[(String, Sight)]) -> Vec<Difference> {
    let all = then.into_iter().map(|(uri, sight)| {
        let now = now.iter().find(|(other, _)| *other == uri);
        Difference {
            now: now.map(|(_, sight)| Fact::Seen(sight.clone())),
            then: Fact::Seen(sight),
            what: uri,
        }
    });
    let all: Vec<Difference> = all.collect();
    let differ = |difference: &&Difference| match (&difference.then, &difference.now) {
        (Fact::Seen(Sight::Content(then)), Some(Fact::Seen(Sight::Content(now)))) => {
            then.blake3 != now.blake3
        }
        (then, now) => Some(then) != now.as_ref(),
    };
    let those: Vec<Difference> = all.iter().filter(differ).cloned().collect();
    if those.is_empty() { all } else { those }
}
