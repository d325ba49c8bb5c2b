//! Reads from the ledger why a request was performed, or why an old answer was given.

use super::{
    record::{Made, Row, RowState, SeenInput},
    store::{StoreError, Tx, Which},
    validity::list,
    words::{Again, Miss, Why},
};
use crate::task::Sight;

#[derive(Debug)]
pub(crate) enum Decision {
    /// It was performed.
    Ran {
        why: Why,
        /// The old answer that could not be given, if there was one.
        although: Option<Box<Row>>,
        differences: Vec<Difference>,
    },
    /// It was answered from the ledger.
    Answered {
        how: Again,
        original: Option<Box<Row>>,
    },
    /// The row is from before oneact: nothing was decided.
    History,
    /// A reason that this program does not know.
    Other(String),
}

/// A difference between the old run and the new one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    /// A URI, or the name of what differs.
    pub(crate) what: String,
    pub(crate) then: Fact,
    /// The fact in the new run; none if it is not recorded.
    pub(crate) now: Option<Fact>,
}

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
                Some(id) => tx.row(&Which::id(id))?,
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

/// The old answer that was not good enough.
fn before(tx: &mut Tx<'_>, row: &Row, why: Why) -> Result<Option<Row>, StoreError> {
    let (session, link) = (&row.session_id, row.seq.unwrap_or_default());
    let which = match (why, &row.task_id, &row.action_type) {
        (Why::Miss(_) | Why::Repeat, _, Some(action_type)) => {
            Which::success(session, action_type, &row.request_hash, link)
        }
        (Why::Retry, Some(task_id), _) => Which::failure(session, task_id, link),
        _ => return Ok(None),
    };
    tx.row(&which)
}

/// The recorded differences since the old answer.
fn differences(miss: Miss, before: &Row, row: &Row) -> Vec<Difference> {
    let said = |what: &str, then: &Option<String>, now: &Option<String>| {
        let fact = |text: &Option<String>| Fact::Said(text.clone().unwrap_or("none".to_owned()));
        vec![Difference {
            what: what.to_owned(),
            then: fact(then),
            now: Some(fact(now)),
        }]
    };
    match miss {
        Miss::CatalogChanged => said("the entry", &before.entry_digest, &row.entry_digest),
        Miss::ToolChanged => said("the pin", &before.tool_pin, &row.tool_pin),
        Miss::OneactChanged => {
            let [then, now] = [before, row].map(|row| Some(row.oneact_version.clone()));
            said("oneact", &then, &now)
        }
        Miss::Expired => {
            let now = Some(row.started_at.clone());
            said("answered", &Some(before.timestamp.clone()), &now)
        }
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
                    then: Fact::Said("it was changed while the old run read it".to_owned()),
                    now: None,
                })
                .collect()
        }
        Miss::Degraded => said("changed parameters", &before.adjusted, &row.adjusted),
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

/// The URIs that differ; all of them if none is known to differ.
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
